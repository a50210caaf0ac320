//! The pipeline against a model that keeps everything that ever happened and works out each answer from it:
//! no registers, no tables, no PSNs of the wire.

use std::collections::BTreeSet;

use corpus::{
    Action, ConnectionSet, ControlPacket, Event, IterMode, Load, Mtu, Progression, Role, Target, TestConfig,
    Traffic, Verb,
};
use dumper::{Nanos, Psn};
use p4::{Actions, Kind, Packet, Pipeline, Ticket, translate};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{connections, egress, ports};

const CONTROL: [ControlPacket; 4] =
    [ControlPacket::Ack, ControlPacket::Nak, ControlPacket::Cnp, ControlPacket::ReadRequest];
/// Data packets of a connection: three messages of four.
const PACKETS: u32 = 12;

/// A packet that entered.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// `None` for a connection that does not belong to the test.
    connection: Option<u32>,
    from: Role,
    kind: Kind,
    psn: u32,
}

#[derive(Clone, Debug)]
enum Step {
    Enter(Seen),
    /// The n-th ticket that was ever given, modulo their number, expires.
    Expire(usize),
}

struct Model<'a> {
    config: &'a TestConfig,
    entered: Vec<Seen>,
    /// Indices into `entered`, in the order of leaving; each once, without delayed ones.
    left: Vec<usize>,
    /// Held ones with their distance.
    held: BTreeSet<(usize, u16)>,
}

impl Model<'_> {
    fn same_flow(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.entered[a], self.entered[b]);
        (a.connection, a.from) == (b.connection, b.from)
    }

    /// Relative PSNs of all data packets of the flow up to this one, and whether a message starts with them.
    fn data(&self, of: usize) -> Vec<(u32, bool)> {
        (0..=of)
            .filter(|at| self.same_flow(*at, of))
            .filter_map(|at| match self.entered[at].kind {
                Kind::Data { starts, ends: false } => Some((self.entered[at].psn, starts)),
                _ => None,
            })
            .collect()
    }

    fn round(&self, of: usize) -> usize {
        let data = self.data(of);
        let mixed = matches!(self.config.traffic.load, Load::Alternating { .. });
        let previous = |at: usize| if at == 0 { 0 } else { data[at - 1].0 };
        let in_order = |at: usize| match self.config.traffic.iter_mode {
            IterMode::Paper => data[at].0 > previous(at),
            IterMode::PerMessage => {
                data[at].0 == previous(at) + 1 || (mixed && data[at].1 && data[at].0 > previous(at))
            }
        };
        let anew = match self.config.traffic.iter_mode {
            IterMode::Paper => 0,
            IterMode::PerMessage => (0..data.len()).rfind(|at| data[*at].1 && in_order(*at)).unwrap_or(0),
        };
        // The packet that makes a message start again is itself in order, so it adds nothing.
        1 + (anew..data.len()).filter(|at| !in_order(*at)).count()
    }

    fn occurrence(&self, of: usize, kind: ControlPacket) -> usize {
        (0..=of)
            .filter(|at| self.entered[*at].kind == Kind::Control(kind))
            .filter(|at| match kind {
                ControlPacket::Cnp => self.entered[*at].connection == self.entered[of].connection,
                _ => self.same_flow(*at, of),
            })
            .count()
    }

    fn names(&self, event: &Event, number: u32) -> bool {
        let (Target::Data { psn: first, .. } | Target::Control { nth: first, .. }) = event.target;
        match event.progression {
            None => number == first,
            Some(Progression { every, count }) => {
                number >= first
                    && (number - first).is_multiple_of(every)
                    && count.is_none_or(|count| (number - first) / every < count)
            }
        }
    }

    fn hits(&self, event: &Event, of: usize) -> bool {
        let Seen { connection: Some(connection), from, kind, psn } = self.entered[of] else { return false };
        event.connections.contains(connection)
            && match (event.target, kind) {
                (Target::Data { iter, .. }, Kind::Data { .. }) => {
                    self.config.traffic.data_sender(connection, psn) == Some(from)
                        && self.names(event, psn)
                        && self.round(of) == iter as usize
                }
                (Target::Control { packet, .. }, Kind::Control(kind)) => {
                    let sender = match packet {
                        ControlPacket::Ack | ControlPacket::Nak => from == Role::Responder,
                        ControlPacket::ReadRequest => from == Role::Requester,
                        ControlPacket::Cnp => true,
                    };
                    packet == kind && sender && self.names(event, self.occurrence(of, kind) as u32)
                }
                _ => false,
            }
    }

    fn enter(&mut self, packet: Seen) -> Vec<Action> {
        let this = self.entered.len();
        self.entered.push(packet);
        let actions: Vec<Action> = self
            .config
            .events
            .iter()
            .filter(|event| self.hits(event, this))
            .map(|event| event.action)
            .collect();
        let by = actions.iter().find_map(|action| match action {
            Action::Reorder { by } => Some(*by),
            _ => None,
        });
        match by {
            Some(by) => {
                self.held.insert((this, by));
            }
            None if actions.iter().any(|action| matches!(*action, Action::DROP | Action::Delay { .. })) => {}
            None => self.left.push(this),
        }
        actions
    }

    /// Whatever has been overtaken by enough packets leaves.
    fn settle(&mut self) -> Vec<usize> {
        let mut released = Vec::new();
        while let Some(due) = self.held.iter().copied().find(|(at, by)| {
            let overtaken = self.left.iter().filter(|other| **other > *at && self.same_flow(**other, *at));
            overtaken.count() >= usize::from(*by)
        }) {
            self.held.remove(&due);
            self.left.push(due.0);
            released.push(due.0);
        }
        released
    }

    fn expire(&mut self, at: usize) -> bool {
        let expired = self.held.iter().copied().find(|(held, _)| *held == at);
        if let Some(expired) = expired {
            self.held.remove(&expired);
            self.left.push(at);
        }
        expired.is_some()
    }
}

/// The verdict's actions as events say them.
fn said(actions: Actions) -> Vec<Action> {
    let mut said = Vec::new();
    said.extend(actions.drop.then_some(Action::DROP));
    said.extend(actions.ecn.then_some(Action::Ecn));
    said.extend(actions.corrupt.then_some(Action::Corrupt));
    said.extend(actions.set_field.map(Action::SetField));
    said.extend((actions.extra_copies > 0).then_some(Action::Duplicate { copies: actions.extra_copies }));
    said.extend(actions.timing.action());
    said
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        1 => Just(Action::DROP),
        1 => Just(Action::Ecn),
        1 => Just(Action::Corrupt),
        1 => (1..9u64).prop_map(|ns| Action::Delay { ns }),
        3 => (1..5u16).prop_map(|by| Action::Reorder { by }),
        1 => (1..4u8).prop_map(|copies| Action::Duplicate { copies }),
        1 => corpus::testing::set_field().prop_map(Action::SetField),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let set = prop_oneof![(1..3u32).prop_map(ConnectionSet::One), Just(ConnectionSet::All)];
    let target = prop_oneof![
        3 => (1..=PACKETS, 1..4u32).prop_map(|(psn, iter)| Target::Data { psn, iter }),
        2 => (select(CONTROL.to_vec()), 1..4u32).prop_map(|(packet, nth)| Target::Control { packet, nth }),
    ];
    let progression =
        (1..4u32, prop::option::of(1..4u32)).prop_map(|(every, count)| Progression { every, count });
    (set, target, prop::option::of(progression), action()).prop_map(
        |(connections, target, progression, action)| Event { connections, target, progression, action },
    )
}

/// Two connections and those of the events that do not contradict the rest.
fn test() -> impl Strategy<Value = TestConfig> {
    let load = prop_oneof![
        Just(Load::Same { verb: Verb::Write, connections: 2 }),
        Just(Load::Same { verb: Verb::Read, connections: 2 }),
        Just(Load::Alternating { connections: 2 }),
        Just(Load::Split { send: 1, read: 1 }),
    ];
    let mode = select(vec![IterMode::Paper, IterMode::PerMessage]);
    (load, mode, prop::collection::vec(event(), 0..12)).prop_map(|(load, iter_mode, events)| {
        let traffic = Traffic {
            load,
            num_msgs_per_qp: 3,
            mtu: Mtu::B1024,
            message_size: 4096,
            iter_mode,
            ..Traffic::default()
        };
        let mut config = TestConfig { traffic, ..TestConfig::default() };
        for event in events {
            config.events.push(event);
            if !config.is_valid() {
                config.events.pop();
            }
        }
        config
    })
}

/// Mostly data that goes on from where it was, with steps back.
fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        4 => any::<bool>().prop_map(|starts| Kind::Data { starts, ends: false }),
        2 => select(CONTROL.to_vec()).prop_map(Kind::Control),
        1 => Just(Kind::Other),
    ];
    let connection = prop_oneof![4 => Just(Some(1)), 2 => Just(Some(2)), 1 => Just(None)];
    let from = select(Role::ALL.to_vec());
    prop_oneof![
        8 => (connection, from, kind, 1..=PACKETS)
            .prop_map(|(connection, from, kind, psn)| Step::Enter(Seen { connection, from, kind, psn })),
        1 => any::<usize>().prop_map(Step::Expire),
    ]
}

/// Runs of ascending PSNs, as senders send, in between the single steps.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let run =
        (1..3u32, select(Role::ALL.to_vec()), 1..=PACKETS, 1..8u32).prop_map(|(connection, from, psn, n)| {
            (psn..=(psn + n).min(PACKETS))
                .map(|psn| {
                    let kind = Kind::Data { starts: psn % 4 == 1, ends: false };
                    Step::Enter(Seen { connection: Some(connection), from, kind, psn })
                })
                .collect::<Vec<_>>()
        });
    let single = step().prop_map(|step| vec![step]);
    prop::collection::vec(prop_oneof![run, single], 0..40).prop_map(|runs| runs.concat())
}

proptest! {
    #[test]
    fn the_pipeline_does_what_the_model_says(config in test(), steps in steps(), back in 0..30u32) {
        // PSNs wrap somewhere in the connection, or soon after it.
        let initial = Psn::new(3).sub(back);
        let ends = connections(2, initial);
        let tables = translate(&config, &ends).unwrap();
        let mut pipeline = Pipeline::new(tables, ports());
        let mut model = Model { config: &config, entered: vec![], left: vec![], held: BTreeSet::new() };
        let mut tickets: Vec<(Ticket, usize)> = Vec::new();
        let (mut entered, mut expected) = ([0u64; 2], [0u64; 2]);

        for step in steps {
            let mut must_say = None;
            match step {
                Step::Enter(seen) => {
                    let this = model.entered.len();
                    let wanted = model.enter(seen);
                    let flow = seen.connection.and_then(|number| {
                        let ends = ends[number as usize - 1];
                        let to = if seen.from == Role::Requester { ends.responder } else { ends.requester };
                        pipeline.flow(to.ip, to.qpn.unwrap())
                    });
                    prop_assert_eq!(flow.is_some(), seen.connection.is_some());
                    let packet = Packet { kind: seen.kind, psn: Psn::from_relative(seen.psn, initial), frame_bytes: 78, asks_again: false };
                    let verdict = pipeline.process(seen.from, flow, packet, Nanos(this as u64));

                    let mut actual = said(verdict.sent.actions);
                    prop_assert_eq!(actual.len(), wanted.len(), "{:?} {:?}", actual, wanted);
                    actual.retain(|action| !wanted.contains(action));
                    prop_assert_eq!(actual, vec![]);
                    let code = match wanted.as_slice() {
                        [] => "none",
                        [only] => only.name(),
                        _ => "several",
                    };
                    prop_assert_eq!(verdict.mirror.event.to_string(), code);
                    prop_assert_eq!(verdict.mirror.sequence as usize, this + 1);
                    prop_assert_eq!(verdict.hold.is_some(), model.held.iter().any(|(at, _)| *at == this));
                    tickets.extend(verdict.hold.map(|ticket| (ticket, this)));

                    entered[seen.from as usize] += 1;
                    expected[seen.from.peer() as usize] += leaving(&wanted);
                    must_say = Some(verdict.releases);
                }
                Step::Expire(index) => {
                    if let Some((ticket, at)) = tickets.get(index % tickets.len().max(1)).copied() {
                        prop_assert_eq!(pipeline.expire(ticket), model.expire(at));
                    }
                }
            }
            let released: Vec<usize> = pipeline
                .take_released()
                .map(|ticket| tickets.iter().find(|(held, _)| *held == ticket).unwrap().1)
                .collect();
            prop_assert_eq!(must_say.unwrap_or(!released.is_empty()), !released.is_empty());
            prop_assert_eq!(released, model.settle());
        }

        for (ticket, at) in tickets {
            prop_assert_eq!(pipeline.expire(ticket), model.expire(at));
            prop_assert_eq!(pipeline.take_released().count(), model.settle().len());
        }
        let counters = pipeline.counters();
        prop_assert_eq!(egress(&counters), expected);
        prop_assert_eq!([counters.ingress[&10], counters.ingress[&20]], entered);
        prop_assert_eq!(counters.mirrored(), counters.received());
    }
}

/// Packets that leave in the end, where so much was done to one that entered.
fn leaving(actions: &[Action]) -> u64 {
    actions.iter().fold(1, |packets, action| match *action {
        Action::DROP => 0,
        Action::Duplicate { copies } => packets + u64::from(copies),
        _ => packets,
    })
}
