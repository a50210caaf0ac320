//! Losses at random as explicit events: the first step of the minimiser, so that a reproducer says which packets are lost.

use std::collections::{BTreeMap, HashMap};

use corpus::config::{LAST_OCCURRENCE, Points, fields};
use corpus::{
    Action, ConnectionSet, ControlPacket, Copies, Event, LossEffect, Path, Progression, Target, TestConfig,
    Traffic,
};
use dumper::wire::Opcode;
use dumper::{Connection, Nanos, Observation, Record, Trace};
use p4::{Dumper, FlowIndex, Kind, MAX_ITER, Packet, Pipeline, Ports, Rounds, Timing, Verdict, translate};

/// The packets that an event names, but for their numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Which {
    /// Data packets of a round of transmission.
    Data(u32),
    /// Control packets.
    Control(ControlPacket),
}

/// Packets of which something is lost: the connection, and which it is there. With each, the events that lose the same.
type Lost = BTreeMap<(u32, Which, u32), Vec<Action>>;

/// The same test with an event for each packet that the network of an observed run lost, and without losses at random; none if
/// events cannot name them, or if they are too many. Losses of packets that the test's retries should not send are left out,
/// and where rounds begin again with each message an event may name a second packet: the caller runs the test.
#[must_use]
pub fn derandomise(config: &TestConfig, observation: &Observation) -> Option<TestConfig> {
    if !config.network.moves_packets() {
        return None;
    }
    let lost = lost(config, observation)?;
    let mut explicit = with_events(config, &lost);
    if explicit.events.len() > fields::MAX_EVENTS {
        return None;
    }
    // Events on packets that the test can never have.
    explicit.drop_events(&explicit.violations());
    explicit.is_valid().then_some(explicit)
}

/// The same, if its events do to each packet of the run what the network did: the explicit test then has this run.
#[must_use]
pub fn derandomise_exactly(config: &TestConfig, observation: &Observation) -> Option<TestConfig> {
    derandomise(config, observation).filter(|explicit| does_the_same(explicit, config, observation))
}

/// Returns true if the events of one test do to each packet of an observed run what events and losses of another one did.
fn does_the_same(explicit: &TestConfig, config: &TestConfig, observation: &Observation) -> bool {
    let [Some(mut explicit), Some(mut losing)] = [explicit, config].map(|test| Again::new(test, observation))
    else {
        return false;
    };
    let fate = |(.., verdict): (FlowIndex, Packet, Verdict)| (verdict.sent, verdict.delay);
    let records = observation.trace.records();
    records.iter().all(|record| explicit.take(record).map(fate) == losing.take(record).map(fate))
}

/// The test with an event for each of these packets, and without losses at random.
fn with_events(config: &TestConfig, lost: &Lost) -> TestConfig {
    let own = config.events.iter().flat_map(|event| without(config, event, lost));
    let events = own.chain(events(lost)).collect();
    let mut network = config.network.without_chance();
    // What is compared with one path still is.
    network.paths = config.network.paths.first().map(|_| Path::default()).into_iter().collect();
    TestConfig { network, events, ..config.clone() }
}

/// A pipeline that sees the packets of a trace again, in the order in which they entered.
struct Again<'a> {
    pipeline: Pipeline,
    trace: &'a Trace,
}

impl<'a> Again<'a> {
    fn new(config: &TestConfig, observation: &'a Observation) -> Option<Self> {
        let ports = Ports::new(1, 2, &[Dumper { port: 3, weight: 1 }]).ok()?;
        let tables = translate(config, &observation.connections).ok()?;
        Some(Self { pipeline: Pipeline::new(tables, ports), trace: &observation.trace })
    }

    /// A packet of a connection, with the verdict on it.
    fn take(&mut self, record: &Record) -> Option<(FlowIndex, Packet, Verdict)> {
        let to = self.trace.flow(record);
        let flow = self.pipeline.flow(to.destination, to.dest_qpn)?;
        let syndrome = (record.opcode() == Opcode::Acknowledge).then(|| record.aeth().syndrome);
        let packet = Packet::new(record.opcode(), syndrome, record.psn, record.frame_len);
        let verdict = self.pipeline.process(flow.towards().peer(), Some(flow), packet, record.time);
        drop(self.pipeline.take_released());
        Some((flow, packet, verdict))
    }
}

/// The packets that the network lost; none if one of them has no name, or the test cannot be followed.
fn lost(config: &TestConfig, observation: &Observation) -> Option<Lost> {
    let mut again = Again::new(config, observation)?;
    let mut names = Names::of(config, observation);
    let mut lost = Lost::new();
    for record in observation.trace.records() {
        let Some((flow, packet, verdict)) = again.take(record) else { continue };
        let name = names.of_next(flow, packet);
        let actions = as_events(config, &verdict)?;
        if actions.is_empty() {
            continue;
        }
        let (which, number) = name?;
        lost.insert((flow.connection(), which, number), actions);
        if lost.len() > fields::MAX_EVENTS {
            return None;
        }
    }
    Some(lost)
}

/// Events that lose of a packet what the network lost; none if no event does.
fn as_events(config: &TestConfig, verdict: &Verdict) -> Option<Vec<Action>> {
    let (lost, sent) = (verdict.lost, verdict.sent);
    if lost.all_originals && sent.copies > 0 && sent.actions.timing != Timing::AtOnce {
        // No event loses a packet and has its copies leave later.
        return None;
    }
    let original = match (lost.originals, config.network.loss_effect) {
        (0, _) => None,
        // No event loses some of the duplicates that another one makes.
        _ if !lost.all_originals => return None,
        (_, LossEffect::Corrupt) if sent.originals() > 0 => Some(Action::Corrupt),
        _ => Some(Action::DROP),
    };
    let delay = match verdict.delay {
        _ if verdict.on_path == Nanos::ZERO => None,
        // No event holds a packet back until others have left, and longer; none delays copies of a packet that another one drops.
        _ if verdict.hold.is_some() || sent.originals() == 0 => return None,
        delay => Some(Action::Delay { ns: delay?.0 }),
    };
    let copies = (0..u8::BITS as u8).filter(|bit| lost.copies >> bit & 1 == 1);
    let copies = copies.map(|bit| Action::Drop(Copies::One(bit + 1)));
    Some(original.into_iter().chain(delay).chain(copies).collect())
}

/// Names of packets as events give them, by what has passed before.
struct Names<'a> {
    traffic: &'a Traffic,
    connections: &'a [Connection],
    rounds: BTreeMap<FlowIndex, Rounds>,
    seen: BTreeMap<(FlowIndex, ControlPacket), u32>,
}

impl<'a> Names<'a> {
    fn of(config: &'a TestConfig, observation: &'a Observation) -> Self {
        let connections = &observation.connections;
        Self { traffic: &config.traffic, connections, rounds: BTreeMap::new(), seen: BTreeMap::new() }
    }

    /// Name of the next packet, if it has one.
    fn of_next(&mut self, flow: FlowIndex, packet: Packet) -> Option<(Which, u32)> {
        match packet.kind {
            Kind::Data { starts, .. } => {
                let connection = self.connections.get(flow.connection() as usize - 1)?;
                let initial = connection.requester.initial_psn?;
                let first = || Rounds::new(self.traffic, flow.connection(), initial);
                let iter = self.rounds.entry(flow).or_insert_with(first).take(packet.psn, starts);
                let name = (Which::Data(iter.into()), packet.psn.relative_to(initial));
                Some(name).filter(|_| iter <= MAX_ITER)
            }
            Kind::Control(kind) => {
                let nth = self.seen.entry((flow.counts_at(kind), kind)).or_default();
                *nth += 1;
                Some((Which::Control(kind), *nth))
            }
            Kind::Other => None,
        }
    }
}

/// Events that lose these packets, as few as progressions make.
fn events(lost: &Lost) -> Vec<Event> {
    let mut groups: Vec<((u32, Which, Action), Vec<u32>)> = Vec::new();
    let mut places = HashMap::new();
    for ((connection, which, number), actions) in lost {
        for action in actions {
            let group = (*connection, *which, *action);
            let place = *places.entry(group).or_insert_with(|| {
                groups.push((group, Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push(*number);
        }
    }
    let events = groups.into_iter().flat_map(|((connection, which, action), numbers)| {
        Points::of(&numbers).into_iter().map(move |points| {
            event(ConnectionSet::One(connection), which, points, Some(points.count()), action)
        })
    });
    events.collect()
}

/// An event of the test without the lost packets on which it cannot be done as well.
fn without(config: &TestConfig, event: &Event, lost: &Lost) -> Vec<Event> {
    let traffic = &config.traffic;
    let connections = traffic.load.connections();
    let (which, end) = match event.target {
        Target::Data { iter, .. } => (Which::Data(iter), traffic.shape().packets() as u32),
        Target::Control { packet, .. } => (Which::Control(packet), LAST_OCCURRENCE),
    };
    let Some(points) = event.points(end) else { return vec![event.clone()] };
    let gone_on = |connection: u32| -> Vec<u32> {
        let on = (connection, which, points.first)..=(connection, which, points.last);
        let named = |number: &u32| (number - points.first).is_multiple_of(points.step);
        let contradicted = |lost: &[Action]| lost.iter().any(|lost| lost.conflict(event.action).is_some());
        let lost = lost.range(on).filter(|(_, actions)| contradicted(actions));
        lost.map(|((.., number), _)| *number).filter(named).collect()
    };
    let mut spared = Vec::new();
    let mut cut = Vec::new();
    for connection in event.connections.members(connections) {
        let gone = gone_on(connection);
        if gone.is_empty() {
            spared.push(connection);
            continue;
        }
        let has_end = event.progression.is_none_or(|progression| progression.count.is_some());
        for part in parts(points, &gone) {
            let count = Some(part.count()).filter(|_| has_end || part.last != points.last);
            cut.push(self::event(ConnectionSet::One(connection), which, part, count, event.action));
        }
    }
    let whole = (!spared.is_empty()).then(|| {
        let all = cut.is_empty() && spared.len() == event.connections.members(connections).count();
        let connections = if all { event.connections.clone() } else { ConnectionSet::List(spared) };
        Event { connections, ..event.clone() }
    });
    whole.into_iter().chain(cut).collect()
}

/// A progression without some of its numbers, ascending: the parts between them.
fn parts(points: Points, gone: &[u32]) -> Vec<Points> {
    let Points { step, last: end, .. } = points;
    let mut first = points.first;
    let mut parts = Vec::new();
    for number in gone {
        if *number > first {
            parts.push(Points { first, step, last: number - step });
        }
        first = number + step;
    }
    if first <= end {
        parts.push(Points { first, step, last: end });
    }
    parts
}

fn event(
    connections: ConnectionSet,
    which: Which,
    points: Points,
    count: Option<u32>,
    action: Action,
) -> Event {
    let target = match which {
        Which::Data(iter) => Target::Data { psn: points.first, iter },
        Which::Control(packet) => Target::Control { packet, nth: points.first },
    };
    let progression = (count != Some(1)).then_some(Progression { every: points.step, count });
    Event { connections, target, progression, action }
}

#[cfg(test)]
mod tests {
    use corpus::Network;
    use corpus::testing::complete_configs;
    use executor::profile::NicProfile;
    use executor::sim;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// On a testbed where the same test gives the same packets, the explicit test gives those of the random one.
        #[test]
        fn the_explicit_test_loses_the_same_packets(config in complete_configs(), ppb in 1_000_000..100_000_000u32) {
            prop_assume!(config.network.loses() && config.traffic.pattern == corpus::Pattern::OneWay);
            let config = TestConfig { network: Network { loss_ppb: ppb, ..config.network.clone() }, ..config };
            let run = |config: &TestConfig| sim::run(config, [NicProfile::default(), NicProfile::default()]);
            let Ok(random) = run(&config) else { return Ok(()) };
            let Some(explicit) = derandomise(&config, &random) else {
                let lost = lost(&config, &random);
                let has_copies = config.events.iter().any(|event| matches!(event.action, Action::Duplicate { .. }));
                let unnamed = lost.is_none_or(|lost| lost.len() > 500) || has_copies;
                prop_assert!(unnamed || config.traffic.iter_mode == corpus::IterMode::PerMessage, "{config}");
                return Ok(());
            };
            prop_assert!(!explicit.network.loses());
            if !does_the_same(&explicit, &config, &random) {
                // Rounds begin again, or a packet was sent that the checker of tests thinks impossible.
                let begins_again = config.traffic.iter_mode == corpus::IterMode::PerMessage;
                let all = with_events(&config, &lost(&config, &random).unwrap());
                prop_assert!(begins_again || !all.is_valid(), "{config}");
                return Ok(());
            }
            let explicit = run(&explicit).unwrap();
            prop_assert_eq!(explicit.trace.digest(), random.trace.digest());
        }
    }

    /// The switch pauses senders by the delays of its packets, whether paths or events make them: a NIC that is slower than its link gets the
    /// same packets at the same times.
    #[test]
    fn delays_of_events_pause_senders_as_those_of_paths() {
        let text = "traffic = { num-connections = 2, num-msgs-per-qp = 60, message-size = 10240, tx-depth = 60 }\n\
            network = { pfc = true, spray = \"packet\", path = [{ delay-ns = 5_000 }, { delay-ns = 5_050 }] }";
        let config = corpus::from_toml("test.toml", text).unwrap();
        let mut slow = NicProfile::default();
        (slow.receive.packet_ns, slow.receive.buffer_bytes) = (400, 1 << 17);
        let run = |config: &TestConfig| sim::run(config, [slow.clone(), slow.clone()]).unwrap();
        let random = run(&config);
        let paused = random.requester.as_ref().and_then(|host| host.moved("rx_prio0_pause"));
        assert!(paused.is_some_and(|pauses| pauses > 0), "{paused:?}");
        let explicit = derandomise(&config, &random).unwrap();
        assert!(explicit.network.longest_delay_ns() == 0 && explicit.network.pfc, "{explicit}");
        assert_eq!(run(&explicit).trace.digest(), random.trace.digest());
    }

    /// Four connections over a path that is slower than their links, and has room for three packets.
    #[test]
    fn what_finds_no_room_in_a_queue_becomes_events() {
        let text = "traffic = { num-connections = 4, num-msgs-per-qp = 4, message-size = 8192, tx-depth = 4 }\n\
            network.path = [{ rate-gbps = 10, queue-packets = 3 }]";
        let config = corpus::from_toml("test.toml", text).unwrap();
        let run = |config: &TestConfig| sim::run(config, Default::default()).unwrap();
        let random = run(&config);
        let explicit = derandomise(&config, &random).unwrap();
        let drops = explicit.events.iter().filter(|event| event.action == Action::DROP).count();
        assert!(drops > 5 && !explicit.network.moves_packets(), "{explicit}");
        assert_eq!(run(&explicit).trace.digest(), random.trace.digest());
    }

    fn named(points: &[Points]) -> Vec<u32> {
        let mut all: Vec<u32> = points.iter().flat_map(|points| points.iter()).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn parts_leave_out_what_is_gone() {
        let all = Points { first: 2, step: 3, last: 20 };
        let expected = |gone: &[u32]| all.iter().filter(|number| !gone.contains(number)).collect::<Vec<_>>();
        for gone in [&[2][..], &[20], &[2, 5, 20], &[8, 14], &[2, 5, 8, 11, 14, 17, 20], &[]] {
            assert_eq!(named(&parts(all, gone)), expected(gone), "{gone:?}");
        }
    }
}
