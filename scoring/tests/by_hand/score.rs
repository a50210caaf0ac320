//! Oracles just below and just above their thresholds.

use dumper::observation::CompletionStatus;
use dumper::wire::Opcode::{WriteFirst, WriteLast, WriteMiddle};
use dumper::{Completion, Connection, Counters, Endpoint, HostCounters, Nanos, Observation, Psn};
use scoring::score::{
    Assessment, Baseline, Burst, Mct, Objective, Reference, References, references_needed, score, unjudged,
};

use crate::hand::{Hand, NAK, analysis, burst_of, config, host, signatures};

/// Time that a packet of a `Hand`, which has no length, takes on the slowest link: 24 bytes at 0.8 ns.
const ITSELF: u64 = 20;
const MS: u64 = 1_000_000;

/// A Write of four packets whose second is lost: generation and reaction in nanoseconds.
fn lossy(generation: u64, reaction: u64) -> Vec<String> {
    let (mut hand, there, back) = Hand::lossy_write();
    let nak = 1_200 + generation;
    hand.answer(nak, back, 11, NAK, 0);
    hand.packet(nak + reaction, there, WriteMiddle, 11);
    hand.packet(nak + reaction + 100, there, WriteMiddle, 12);
    hand.last(nak + reaction + 200, there, WriteLast, 13);
    hand.ack(nak + reaction + 3_000, back, 13, 1);
    let config = config("[traffic]\n[[event]]\nqpn = 1\npsn = 2\ntype = \"drop\"\n");
    let observation = hand.observation();
    let analysis = analysis(&config, &observation);
    signatures(&score(&config, &observation, &analysis, &References::default()))
}

#[test]
fn slow_phases() {
    let limit = 100_000 + ITSELF;
    let none: [&str; 0] = [];
    assert_eq!(lossy(limit, 5_000), none);
    assert_eq!(lossy(limit + 1, 5_000), ["slow-retransmission/responder/slow-nack/generation-write"]);
    assert_eq!(lossy(5_000, limit), none);
    assert_eq!(lossy(5_000, limit + 1), ["slow-retransmission/requester/slow-nack/reaction-write"]);
    // As long as the ACK timer, 67 ms: it may have expired.
    assert_eq!(lossy(5_000, 67_108_864), none);
}

/// Connection 1 loses a packet; connection 2, which no event names, takes so long for a message, fails or
/// not, retransmits or not, and a host discards so many packets of a length.
#[derive(Clone, Copy)]
struct Neighbours {
    mct: u64,
    status: CompletionStatus,
    repeats: bool,
    discards: u64,
    frame_len: u32,
    usual: u64,
}

const QUIET: Neighbours = Neighbours {
    mct: 200_000,
    status: CompletionStatus::Success,
    repeats: false,
    discards: 0,
    frame_len: 0,
    usual: 200_000,
};

const CONFIG: &str = "[traffic]\nnum-connections = 2\nnum-msgs-per-qp = 1\nmessage-size = 2048\n\
    [[event]]\nqpn = 1\npsn = 1\ntype = \"drop\"\n";

impl Neighbours {
    fn observation(self) -> Observation {
        let mut hand = Hand::new();
        let (noisy, noisy_back) = hand.connection();
        let (innocent, back) = (hand.flow(1, 2, 0x44, 0xc001), hand.flow(2, 1, 0x33, 0xc001));
        hand.lost(1_000, noisy, WriteFirst, 10);
        hand.last(1_100, noisy, WriteLast, 11);
        hand.packet(1_200, innocent, WriteFirst, 50);
        hand.with(1_300, innocent, WriteLast, 51, |record| {
            record.flags |= dumper::trace::flags::ACK_REQ;
            record.frame_len = self.frame_len;
        });
        hand.answer(3_000, noisy_back, 10, NAK, 0);
        hand.packet(5_000, noisy, WriteFirst, 10);
        hand.last(5_100, noisy, WriteLast, 11);
        hand.ack(7_000, noisy_back, 11, 1);
        let mut end = 8_000;
        if self.repeats {
            end = 100 * MS;
            hand.packet(end, innocent, WriteFirst, 50);
            hand.last(end + 100, innocent, WriteLast, 51);
        }
        hand.ack(end + 2_000, back, 51, 1);
        let end = |n, qpn, psn| Endpoint { ip: host(n), qpn: Some(qpn), initial_psn: Some(Psn::new(psn)) };
        let connections = [(0x11, 0x22, 10), (0x33, 0x44, 50)];
        let completion = |connection, time, status| Completion {
            connection,
            message: 1,
            posted_ns: Nanos(0),
            completed_ns: Nanos(time),
            bytes: 2_048,
            status,
        };
        let counters = |discards| Counters {
            ethtool_counters: [("rx_discards_phy".to_owned(), discards)].into(),
            ..Counters::default()
        };
        let counted = |discards| Some(HostCounters { start: counters(0), finish: counters(discards) });
        Observation {
            connections: connections
                .map(|(asks, answers, psn)| Connection {
                    requester: end(1, asks, psn),
                    responder: end(2, answers, psn),
                })
                .to_vec(),
            completions: Some(vec![
                completion(1, 10_000, CompletionStatus::Success),
                completion(2, self.mct, self.status),
            ]),
            requester: counted(0),
            responder: counted(self.discards),
            ..hand.observation()
        }
    }

    /// True if a reference run is requested, and the findings with one.
    fn judged(self, baseline: &Baseline) -> (bool, Assessment) {
        let (config, observation) = (config(CONFIG), self.observation());
        let analysis = analysis(&config, &observation);
        let asks = references_needed(&config, &observation, &analysis) == [Reference::WithoutEvents];
        let references = References { without_events: Some(baseline.clone()), ..References::default() };
        (asks, score(&config, &observation, &analysis, &references))
    }

    fn usually(self) -> Baseline {
        let mct = |time| Mct { completed: 1, failed: false, mean: Nanos(time), max: Nanos(time) };
        Baseline { connections: vec![mct(5_000), mct(self.usual)], goodput_bps: 1e9, ..Baseline::default() }
    }

    fn gives(self, expected: &[&str]) {
        let (asks, assessment) = self.judged(&self.usually());
        assert_eq!(signatures(&assessment), expected);
        // What is found was suspicious before.
        assert!(asks || expected.is_empty());
    }
}

const DELAYED: &str = "noisy-neighbor/responder/innocent-suffers/delayed";
const LOST: &str = "noisy-neighbor/responder/innocent-suffers/lost";

#[test]
fn innocent_connections_are_delayed() {
    // Nine packets one after the other, 1 µs for the NIC and 19.2 ns for the link each, and what hosts take,
    // once on the way and once for the message.
    let explained = 9_000 + 173 + 8 * MS;
    QUIET.gives(&[]);
    assert!(!QUIET.judged(&QUIET.usually()).0);
    Neighbours { mct: 200_000 + explained, ..QUIET }.gives(&[]);
    Neighbours { mct: 200_001 + explained, ..QUIET }.gives(&[DELAYED]);
    // Ten times as long as usually, which is more than what is explained.
    let slow = Neighbours { usual: 2 * MS, ..QUIET };
    Neighbours { mct: 20 * MS, ..slow }.gives(&[]);
    Neighbours { mct: 20 * MS + 1, ..slow }.gives(&[DELAYED]);
    // It is always so.
    Neighbours { mct: 20 * MS, usual: 20 * MS, ..QUIET }.gives(&[]);
}

#[test]
fn innocent_connections_fail() {
    let fails = Neighbours { status: CompletionStatus::Flushed, ..QUIET };
    fails.gives(&[LOST]);
    // It fails without the events, too.
    let mut usual = fails.usually();
    usual.connections[1] = Mct { failed: true, ..Mct::default() };
    assert_eq!(signatures(&fails.judged(&usual).1), [""; 0]);
}

#[test]
fn innocent_connections_lose_packets() {
    let lost = Neighbours { mct: 102 * MS, repeats: true, discards: 2, ..QUIET };
    lost.gives(&[LOST]);
    let (_, assessment) = lost.judged(&lost.usually());
    let anomaly = assessment.findings().next().unwrap();
    assert_eq!(anomaly.who.address, Some(host(2)));
    assert_eq!(anomaly.evidence.times_ns["innocent-mct-max"], Nanos(102 * MS));
    assert_eq!(anomaly.evidence.times_ns["reference-mct-max"], Nanos(200_000));
    assert_eq!(anomaly.evidence.counters[0].moved, 2);
    assert_eq!(anomaly.evidence.connections["with-events"], [1]);
    assert_eq!(anomaly.evidence.connections["innocent"], [2]);
}

#[test]
fn counters_that_were_reset_are_named() {
    let (config, mut observation) = (config(CONFIG), QUIET.observation());
    let counters = |discards| Counters {
        ethtool_counters: [("rx_discards_phy", discards), ("temperature", discards)]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        ..Counters::default()
    };
    let mut reset = |start, finish| {
        observation.responder = Some(HostCounters { start: counters(start), finish: counters(finish) });
        let analysis = analysis(&config, &observation);
        let listed = unjudged(Some(&config), &observation, &analysis, &References::default());
        listed.into_iter().filter(|one| one.reason.contains("reset")).map(|one| one.what).collect::<Vec<_>>()
    };
    assert_eq!(reset(9, 4), ["rx_discards_phy of the responder"]);
    assert_eq!(reset(4, 4), [""; 0]);
}

/// More at once than the smallest buffer holds: a few packets more or less are lost on any day.
#[test]
fn what_does_not_fit_is_lost_by_anyone() {
    let jumbo = Neighbours { mct: 102 * MS, repeats: true, frame_len: 9_217, ..QUIET };
    let usual = Baseline { bursts: [Burst::default(), burst_of(9_217)], ..jumbo.usually() };
    let lost = |discards| signatures(&Neighbours { discards, ..jumbo }.judged(&usual).1);
    assert_eq!(lost(10), [""; 0]);
    assert_eq!(lost(11), [LOST]);
    let fits = Neighbours { frame_len: 9_216, discards: 1, ..jumbo };
    assert_eq!(signatures(&fits.judged(&usual).1), [LOST]);
    // The test makes more come at once than the reference run, by more than a quarter.
    let at_once = |usually| {
        let usual = Baseline { bursts: [Burst::default(), burst_of(usually)], ..usual.clone() };
        signatures(&Neighbours { discards: 11, ..jumbo }.judged(&usual).1)
    };
    assert_eq!(at_once(7_374), [LOST]);
    assert_eq!(at_once(7_373), [""; 0]);
}

/// The search has something to climb before the oracle says anything.
#[test]
fn objectives_move_before_the_oracles() {
    let at = |neighbours: Neighbours, objective: Objective| {
        let (_, assessment) = neighbours.judged(&neighbours.usually());
        assert_eq!(signatures(&assessment), [""; 0]);
        assessment.objectives[Objective::ALL.iter().position(|one| *one == objective).unwrap()]
    };
    let slower = Neighbours { mct: 900_000, ..QUIET };
    assert!(at(slower, Objective::NoisyNeighbor) > at(QUIET, Objective::NoisyNeighbor));
    let lossier = Neighbours { discards: 3, ..QUIET };
    assert!(at(lossier, Objective::Discards) > at(QUIET, Objective::Discards));
    // ln 4 / ln 1001.
    assert!((at(lossier, Objective::Discards) - 0.2007).abs() < 1e-4);
}

#[test]
fn a_test_without_innocent_connections_needs_no_reference() {
    let observation = Neighbours { mct: 20 * MS, ..QUIET }.observation();
    let config = config(&CONFIG.replace("qpn = 1", "qpn = \"all\""));
    let analysis = analysis(&config, &observation);
    assert_eq!(references_needed(&config, &observation, &analysis), []);
}

#[test]
fn an_endless_test_is_a_stall() {
    let assessment = Assessment::of_endless_test(4_000_000);
    assert_eq!(signatures(&assessment), ["stall/requester/never-ends/endless"]);
    let stall = Objective::ALL.iter().position(|one| *one == Objective::Stall).unwrap();
    for (at, value) in assessment.objectives.into_iter().enumerate() {
        assert!((value - f64::from(u8::from(at == stall))).abs() < f64::EPSILON);
    }
}

/// Without completions, counters or packets nothing is odd.
#[test]
fn nothing_observed_is_nothing_odd() {
    let (config, observation) = (config(CONFIG), Observation::default());
    let analysis = analysis(&config, &observation);
    let assessment = score(&config, &observation, &analysis, &References::default());
    assert!(assessment.anomalies.is_empty());
    assert!(assessment.objectives.iter().all(|value| *value == 0.0), "{:?}", assessment.objectives);
    assert_eq!(Baseline::of(&observation, &analysis), Baseline::default());
}
