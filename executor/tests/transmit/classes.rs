//! Traffic classes (IEEE 802.1Qaz; Lumina §6.2.1, figure 10).

use corpus::TestConfig;
use dumper::{Nanos, Observation};

use super::{data, run};

/// Two QPs that write 10 MB each, in these classes.
fn config(hosts: &str, rest: &str) -> TestConfig {
    let text = format!(
        "[requester]\n{hosts}\n[traffic]\nnum-connections = 2\nnum-msgs-per-qp = 10\nmessage-size = 1_048_576\n\
         tx-depth = 4\n{rest}"
    );
    corpus::from_toml("test.toml", &text).unwrap()
}

fn two_classes(weights: [u8; 2]) -> String {
    format!("traffic-class = [0, 1]\nets = {{ weights = {weights:?}, strict = [] }}")
}

/// ECN on one of 50 packets of the first QP.
const MARKS: &str = "[[event]]\nqpn = 1\npsn = 50\nevery = 50\ntype = \"ecn\"\n";

/// Gb/s on the cable of each QP while both send; the first 50 µs, in which they start, do not count.
fn rates(observation: &Observation) -> [f64; 2] {
    let packets = [data(observation, 0), data(observation, 1)];
    let from = Nanos::from_micros(50);
    let to = packets.iter().map(|packets| packets.last().unwrap().0).min().unwrap();
    packets.map(|packets| {
        let bytes: u64 =
            packets.iter().filter(|(time, _)| (from..to).contains(time)).map(|(_, bytes)| bytes).sum();
        bytes as f64 * 8.0 / (to - from).0 as f64
    })
}

/// Within 2 % of the link's rate.
#[track_caller]
fn assert_rates(rates: [f64; 2], expected: [f64; 2]) {
    let close = rates.iter().zip(expected).all(|(rate, expected)| (rate - expected).abs() <= 2.0);
    assert!(close, "{rates:?} Gb/s, where {expected:?} is right");
}

#[test]
fn classes_share_the_link_by_weight() {
    for (weights, expected) in
        [([50, 50], [50.0, 50.0]), ([80, 20], [80.0, 20.0]), ([20, 80], [20.0, 80.0]), ([1, 9], [10.0, 90.0])]
    {
        let observation = run(&config(&two_classes(weights), ""), "");
        assert_rates(rates(&observation), expected);
    }
}

#[test]
fn strict_classes_go_first_and_the_highest_before_the_others() {
    for hosts in [
        "traffic-class = [0, 3]\nets = { weights = [100], strict = [3] }",
        "traffic-class = [2, 3]\nets = { weights = [], strict = [2, 3] }",
    ] {
        let observation = run(&config(hosts, ""), "");
        assert_rates(rates(&observation), [0.0, 100.0]);
    }
}

/// Without selection the class of a connection says nothing about its share.
#[test]
fn without_selection_qps_take_turns() {
    let observation = run(&config("traffic-class = [0, 7]", ""), "");
    assert_rates(rates(&observation), [50.0, 50.0]);
}

/// Lumina §6.2.1: the bandwidth that a QP slowed by CNPs leaves goes to the other, in another class or in the
/// same.
#[test]
fn what_a_slowed_qp_leaves_goes_to_the_others() {
    for hosts in [two_classes([50, 50]), "traffic-class = [0, 0]".to_owned()] {
        let [slowed, other] = rates(&run(&config(&hosts, MARKS), ""));
        assert!(slowed < 25.0, "{slowed} Gb/s");
        assert!((slowed + other - 100.0).abs() < 2.0, "{slowed} + {other} Gb/s");
    }
}

/// Lumina §6.2.1, figure 10: a NIC whose classes are limited to what is guaranteed to them.
#[test]
fn a_ceiling_keeps_a_class_from_what_the_others_leave() {
    let limited = "[ets]\nceiling-percent = 100\n";
    let [slowed, other] = rates(&run(&config(&two_classes([50, 50]), MARKS), limited));
    assert!(slowed < 25.0, "{slowed} Gb/s");
    assert!((other - 50.0).abs() < 1.0, "{other} Gb/s");
    // Where both have enough to send, nothing is seen of it; one queue has no ceiling.
    for weights in [[50, 50], [80, 20]] {
        let observation = run(&config(&two_classes(weights), ""), limited);
        assert_rates(rates(&observation), weights.map(f64::from));
    }
    let [slowed, other] = rates(&run(&config("traffic-class = [0, 0]", MARKS), limited));
    assert!((slowed + other - 100.0).abs() < 2.0, "{slowed} + {other} Gb/s");
}

/// A strict class has no ceiling, and twice a share is another one.
#[test]
fn ceilings_are_of_weighted_classes_and_in_percent_of_their_shares() {
    let alone = |hosts: &str, percent: u32| {
        let mut config = config(hosts, "");
        config.traffic.load = corpus::Load::Same { verb: corpus::Verb::Write, connections: 1 };
        let observation = run(&config, &format!("[ets]\nceiling-percent = {percent}\n"));
        let packets = data(&observation, 0);
        let bytes: u64 = packets.iter().map(|(_, bytes)| bytes).sum();
        bytes as f64 * 8.0 / packets.last().unwrap().0.0 as f64
    };
    let weighted = "traffic-class = 0\nets = { weights = [20, 80], strict = [] }";
    for (percent, expected) in [(50, 10.0), (100, 20.0), (200, 40.0), (0, 100.0), (1_000, 100.0)] {
        let rate = alone(weighted, percent);
        assert!((rate - expected).abs() < expected / 50.0, "{percent} %: {rate} Gb/s");
    }
    let strict = alone("traffic-class = 0\nets = { weights = [0, 80], strict = [0] }", 50);
    assert!((strict - 100.0).abs() < 2.0, "{strict} Gb/s");
}
