//! Goodput where packets overtake each other.

use dumper::observation::CompletionStatus;
use dumper::wire::Opcode::{WriteFirst, WriteLast, WriteMiddle};
use dumper::{Completion, Connection, Counters, Endpoint, HostCounters, Nanos, Observation, Psn};
use scoring::Kind;
use scoring::score::{Baseline, Objective, Reference, References, references_needed, score, unjudged};

use crate::hand::{Hand, NAK, analysis, config, host};

const NAKS: &str = "reorder-collapse/responder/goodput-under-reordering/naks";
const SLOW: &str = "reorder-collapse/responder/goodput-under-reordering/slow-receiver";
const DISCARDS: &str = "reorder-collapse/responder/goodput-under-reordering/discards";

const TWO_PATHS: &str = "[network]\nspray = \"packet\"\n[[network.path]]\n[[network.path]]\ndelay-ns = 2_000";
const DELAYED: &str = "[[network.path]]\n[[event]]\nqpn = 1\npsn = 1\ntype = \"delay\"\ndelay-ns = 2_000";
/// Bytes of the message: 8,192 bits, at 1 Gb/s 8.192 µs.
const BYTES: u64 = 1_024;

/// A Write of three packets whose first one leaves at 3 µs, behind the others; the message takes so long.
#[derive(Clone, Copy)]
struct Test {
    time: u64,
    is_naked: bool,
    discards: u64,
    loses: bool,
    overtakes: bool,
}

const USUAL: Test = Test { time: 8_192, is_naked: false, discards: 0, loses: false, overtakes: true };

fn observed(test: Test) -> Observation {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    if test.overtakes {
        hand.late([1_000, 3_000], there, WriteFirst, 10, |_| ());
    } else {
        hand.packet(1_000, there, WriteFirst, 10);
    }
    hand.packet(1_100, there, WriteMiddle, 11);
    hand.last(1_200, there, WriteLast, 12);
    if test.is_naked {
        hand.answer(2_000, back, 10, NAK, 0);
        for (at, opcode) in [(0, WriteFirst), (1, WriteMiddle), (2, WriteLast)] {
            hand.packet(2_500 + u64::from(at) * 100, there, opcode, 10 + at);
        }
    }
    if test.loses {
        hand.lost(2_900, there, WriteLast, 12);
    }
    hand.ack(7_000, back, 12, 1);
    let end = |n, qpn| Endpoint { ip: host(n), qpn: Some(qpn), initial_psn: Some(Psn::new(10)) };
    let counters = |moved| Counters {
        ethtool_counters: [("rx_discards_phy".to_owned(), moved)].into(),
        ..Counters::default()
    };
    let counted = |moved| Some(HostCounters { start: counters(0), finish: counters(moved) });
    Observation {
        connections: vec![Connection { requester: end(1, 0x11), responder: end(2, 0x22) }],
        completions: Some(vec![Completion {
            connection: 1,
            message: 1,
            posted_ns: Nanos(0),
            completed_ns: Nanos(test.time),
            bytes: BYTES,
            status: CompletionStatus::Success,
        }]),
        requester: counted(0),
        responder: counted(test.discards),
        ..hand.observation()
    }
}

/// Returns true if the run over one path is asked for, and the collapse, beside a goodput of so many Gb/s there.
fn judged(text: &str, test: Test, alone: f64) -> (bool, Option<String>) {
    let (config, observation) = (config(text), observed(test));
    let analysis = analysis(&config, &observation);
    let asks = references_needed(&config, &observation, &analysis).contains(&Reference::OnePath);
    let one_path = Baseline { goodput_bps: alone * 1e9, ..Baseline::default() };
    let references = References { one_path: Some(one_path), ..References::default() };
    let found = score(&config, &observation, &analysis, &references);
    let collapse = found.anomalies.iter().find(|one| one.kind() == Kind::ReorderCollapse);
    (asks, collapse.map(scoring::Anomaly::signature))
}

fn found(signature: &str) -> (bool, Option<String>) {
    (true, Some(signature.to_owned()))
}

#[test]
fn less_than_half_of_the_slowest_path_is_a_collapse() {
    assert_eq!(judged(TWO_PATHS, USUAL, 2.1), found(SLOW));
    assert_eq!(judged(TWO_PATHS, USUAL, 1.9), (true, None), "more than half");
    assert_eq!(judged(TWO_PATHS, USUAL, 0.0), (true, None), "nothing came over one path");
    assert_eq!(judged(TWO_PATHS, Test { is_naked: true, ..USUAL }, 2.1), found(NAKS));
    assert_eq!(judged(TWO_PATHS, Test { is_naked: true, discards: 3, ..USUAL }, 2.1), found(DISCARDS));
}

#[test]
fn only_overtaken_packets_are_no_excuse() {
    let in_order = Test { overtakes: false, ..USUAL };
    assert_eq!(judged(TWO_PATHS, in_order, 9.0), (false, None), "nothing was overtaken");
    assert_eq!(judged(TWO_PATHS, Test { loses: true, ..USUAL }, 9.0), (false, None), "a packet was lost");
    assert_eq!(judged("", USUAL, 9.0), (false, None), "the test does not say why packets were overtaken");
}

/// An event that keeps one packet is compared only where the NIC minded.
#[test]
fn a_packet_that_an_event_delays_is_compared_if_it_was_asked_for() {
    assert!(!judged(DELAYED, USUAL, 9.0).0);
    assert_eq!(judged(DELAYED, Test { is_naked: true, ..USUAL }, 9.0), found(NAKS));
    let without_paths = DELAYED.replace("[[network.path]]\n", "");
    assert_eq!(judged(&without_paths, Test { is_naked: true, ..USUAL }, 9.0), (false, None));
}

#[test]
fn without_the_run_over_one_path_the_kind_is_unjudged() {
    let (config, observation) = (config(TWO_PATHS), observed(Test { is_naked: true, ..USUAL }));
    let analysis = analysis(&config, &observation);
    let reorder = Objective::ALL.iter().position(|one| *one == Objective::Reorder).unwrap();
    let without = References::default();
    let listed = unjudged(Some(&config), &observation, &analysis, &without);
    assert!(listed.iter().any(|one| one.what == "reorder-collapse"), "{listed:?}");
    let one_path = Baseline { goodput_bps: 1e11, ..Baseline::default() };
    let with = References { one_path: Some(one_path), ..References::default() };
    let listed = unjudged(Some(&config), &observation, &analysis, &with);
    assert!(listed.iter().all(|one| one.what != "reorder-collapse"), "{listed:?}");
    // Three packets that were not lost were sent again: 0.4 ln 4 / ln 1001. A hundredth of the goodput is all there is.
    let objective = |references| score(&config, &observation, &analysis, references).objectives[reorder];
    assert!((objective(&without) - 0.4 * 4_f64.ln() / 1_001_f64.ln()).abs() < 1e-9);
    assert!((objective(&with) - 1.0).abs() < 0.01);
}
