//! From an observation to a script that it fits.

use std::collections::BTreeMap;

use corpus::{ConnectionSet, Copies, Event, SetField, TestConfig};
use dumper::script::{
    Action, Connections, ControlKind, Delivered, Expectation, Expected, Field, Host, Injection, MAX_PACKETS,
    Messages, Operand, Packet, Placed, Post, PostVerb, Script, Span, Step, Target, Unit, Window,
};
use dumper::trace::Origin;
use dumper::{Form, Nanos, Observation};

use super::compare::event_of;
use super::events::to_packet;
use super::expect::arrivals;
use super::seen::Seen;
use super::settings::settings;

/// Prints an observation as a script: the first [`MAX_PACKETS`] packets, with generous times around the
/// observed ones, the injector's actions beside the packets where a line can say them, and the hosts' reports
/// at the end.
///
/// Compared with the same observation the script passes, unless packets belong to no connection of the test. The
/// script's test is `config`, which must be valid, with its events in another order, and sets of one connection as
/// a number.
pub fn record(config: &TestConfig, observation: &Observation) -> Script {
    let seen = Seen::new(config, observation);
    let mut events = Events::of(config);
    let shows_events = observation.trace.origin() == Origin::Mirror;
    let step = |at: usize| {
        let mut packet = seen.brief(at, None);
        if at > 0 {
            packet.time = window(seen.time(at) - seen.time(at - 1));
        }
        if shows_events {
            packet.actions =
                events.of_packet(&seen.packet(at), |actions| event_of(actions) == seen.event(at));
        }
        Step::Packet(packet)
    };
    let recorded = seen.len().min(MAX_PACKETS);
    let mut steps: Vec<Step> = (0..recorded).map(step).collect();
    if recorded < seen.len() {
        steps.push(Step::Skip(Default::default()));
    }
    Script {
        file: "recorded.rds".to_owned(),
        prose: Vec::new(),
        settings: settings(config),
        post: post(config),
        injections: events.others().map(injection).collect(),
        steps,
        expectations: expectations(config, observation),
    }
}

/// From half to twice as long, in whole microseconds.
fn window(distance: Nanos) -> Window {
    let least = distance.0 / 2_000;
    let most = distance.times(2).0.div_ceil(1_000).max(1);
    match most {
        0..=Span::MAX_WHOLE => {
            Window { least: Span::whole(least, Unit::Us), most: Some(Span::whole(most, Unit::Us)) }
        }
        _ => Window::ANY,
    }
}

/// The events of a test, and which of them stand beside a packet.
struct Events<'a> {
    all: &'a [Event],
    /// Those that name one packet, by connection and packet.
    single: BTreeMap<(u32, Single), Vec<usize>>,
    beside: Vec<bool>,
}

/// One packet of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Single {
    Data { psn: u32, iter: u32 },
    Control { packet: corpus::ControlPacket, nth: u32 },
}

impl<'a> Events<'a> {
    fn of(config: &'a TestConfig) -> Self {
        let mut single: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (index, event) in config.events.iter().enumerate() {
            let Connections::One(qp) = connections(&event.connections) else { continue };
            let target = match event.target {
                corpus::Target::Data { psn, iter } => Single::Data { psn, iter },
                corpus::Target::Control { packet, nth } => Single::Control { packet, nth },
            };
            if event.progression.is_none() {
                single.entry((qp, target)).or_default().push(index);
            }
        }
        Self { all: &config.events, single, beside: vec![false; config.events.len()] }
    }

    /// Actions of the test on this packet alone, if `seen` confirms that they happened to it.
    fn of_packet(
        &mut self,
        packet: &Packet,
        seen: impl Fn(&[Placed<Action>]) -> bool,
    ) -> Vec<Placed<Action>> {
        let number = |field| packet.fields.get(&field).and_then(|value| u32::try_from(*value).ok());
        let target = match packet.name.control() {
            Some(kind) => number(Field::Nth).map(|nth| Single::Control { packet: to_packet(kind), nth }),
            None => number(Field::Psn).zip(number(Field::Iter)).map(|(psn, iter)| Single::Data { psn, iter }),
        };
        // Rounds that begin again with each message can name a packet twice.
        let named = target.and_then(|target| self.single.remove(&(packet.qp, target))).unwrap_or_default();
        let actions: Vec<_> =
            named.iter().map(|index| Placed::new(action(self.all[*index].action))).collect();
        if actions.is_empty() || !seen(&actions) {
            return Vec::new();
        }
        for index in named {
            self.beside[index] = true;
        }
        actions
    }

    /// Events that stand beside no packet.
    fn others(&self) -> impl Iterator<Item = &'a Event> {
        self.all.iter().zip(&self.beside).filter(|(_, beside)| !**beside).map(|(event, _)| event)
    }
}

fn connections(set: &ConnectionSet) -> Connections {
    match set {
        ConnectionSet::One(qp) => Connections::One(*qp),
        ConnectionSet::List(list) => match list.as_slice() {
            [one] => Connections::One(*one),
            _ => Connections::List(list.clone()),
        },
        ConnectionSet::First(n) => Connections::First(*n),
        ConnectionSet::All => Connections::All,
    }
}

fn action(action: corpus::Action) -> Action {
    let operand = match action {
        corpus::Action::SetField(SetField { field, value }) => Operand::Field { field: field.name(), value },
        corpus::Action::Drop(Copies::All) => Operand::AllCopies,
        corpus::Action::Drop(Copies::One(copy)) => Operand::Copy(copy),
        action => match (action.kind().form(), action.operand()) {
            (_, None) => Operand::Alone,
            (Form::Time, Some((_, ns))) if ns % 1000 == 0 => Operand::Time(Span::whole(ns / 1000, Unit::Us)),
            (Form::Time, Some((_, ns))) => Operand::Time(Span::whole(ns, Unit::Ns)),
            (_, Some((_, number))) => Operand::Number(u16::try_from(number).unwrap_or(u16::MAX)),
        },
    };
    Action { kind: action.kind(), operand }
}

fn injection(event: &Event) -> Injection {
    let target = match event.target {
        corpus::Target::Data { psn, iter } => Target::Data { psn, iter },
        corpus::Target::Control { packet, nth } => {
            let kind = ControlKind::NAMES.iter().find(|(_, kind)| to_packet(*kind) == packet);
            let (_, kind) = kind.expect("every kind of the test has one in the script, by their names");
            Target::Control { kind: *kind, nth }
        }
    };
    Injection {
        at: Default::default(),
        connections: connections(&event.connections),
        target,
        every: event.progression.map(|progression| progression.every),
        count: event.progression.and_then(|progression| progression.count),
        actions: vec![Placed::new(action(event.action))],
    }
}

fn post(config: &TestConfig) -> Post {
    let traffic = &config.traffic;
    let verb = match traffic.load {
        corpus::Load::Same { verb: corpus::Verb::Write, .. } => PostVerb::Write,
        corpus::Load::Same { verb: corpus::Verb::Read, .. } => PostVerb::Read,
        corpus::Load::Same { verb: corpus::Verb::Send, .. } => PostVerb::Send,
        corpus::Load::Alternating { .. } | corpus::Load::Split { .. } => PostVerb::SendRead,
    };
    Post {
        at: Default::default(),
        verb: Placed::new(verb),
        size: Placed::new(traffic.message_size),
        mtu: Some(Placed::new(traffic.mtu.bytes())),
        count: Some(Placed::new(traffic.num_msgs_per_qp)),
    }
}

fn expectations(config: &TestConfig, observation: &Observation) -> Vec<Expectation> {
    let mut expected = Vec::new();
    for (host, counters) in
        [(Host::Requester, &observation.requester), (Host::Responder, &observation.responder)]
    {
        let Some(counters) = counters else { continue };
        // Counters of RDMA events; those of ports count every packet.
        let names = counters.finish.hw_counters.keys().filter(|name| is_word(name));
        let moved = names.filter_map(|name| Some((name, counters.moved(name).filter(|moved| *moved > 0)?)));
        let known = moved.filter(|(_, moved)| i64::try_from(*moved).is_ok());
        expected.extend(known.map(|(name, moved)| Expected::Counter { host, name: name.clone(), moved }));
    }
    expected.extend(completions(config, observation));
    if observation.deliveries.is_some() {
        let (arrived, of) = arrivals(config, observation);
        expected.push(Expected::Delivered(match arrived == of {
            true => Delivered::All,
            false => Delivered::Some { arrived, of: of.max(arrived) },
        }));
    }
    expected.push(Expected::Packets(observation.trace.records().len() as u64));
    expected.into_iter().map(|expected| Expectation { at: Default::default(), expected }).collect()
}

/// Returns true if a name stands in a script without quotes.
fn is_word(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('#') && !name.contains(|c: char| c.is_whitespace() || c == '"')
}

/// Completions of messages: one line if all have the same status, else ranges.
fn completions(config: &TestConfig, observation: &Observation) -> Vec<Expected> {
    let (connections, messages) = (config.traffic.load.connections(), config.traffic.num_msgs_per_qp);
    let ends: BTreeMap<(u32, u32), _> = observation
        .completions()
        .iter()
        .filter(|one| (1..=connections).contains(&one.connection) && (1..=messages).contains(&one.message))
        .map(|one| ((one.connection, one.message), one.status))
        .collect();
    let Some(first) = ends.values().next() else { return Vec::new() };
    let all = u64::from(connections) * u64::from(messages);
    if ends.len() as u64 == all && ends.values().all(|status| status == first) {
        return vec![Expected::Completion { qp: None, messages: None, status: *first }];
    }
    let mut ranges: Vec<(u32, Messages, _)> = Vec::new();
    for ((qp, message), status) in ends {
        match ranges.last_mut() {
            Some((last_qp, range, last))
                if (*last_qp, *last) == (qp, status) && range.last + 1 == message =>
            {
                range.last = message;
            }
            _ => ranges.push((qp, Messages { first: message, last: message }, status)),
        }
    }
    let expected = ranges.into_iter();
    expected
        .map(|(qp, range, status)| Expected::Completion { qp: Some(qp), messages: Some(range), status })
        .collect()
}
