//! The model of E810 against what was published (Lumina §6).

use dumper::wire::Class;

use super::latencies::by_position;
use super::measure::{analyze, assert_within, config, moved, run, signatures};

#[test]
fn nacks_of_reads_take_83_ms() {
    for verb in ["write", "send"] {
        for one in by_position("e810", verb) {
            assert_within(one.generation, 10.0, 15.0);
        }
    }
    for one in by_position("e810", "read") {
        assert_within(one.generation, 83_000.0, 1.0);
    }
    let read = "[traffic]\nrdma-verb = \"read\"\nmin-retransmit-timeout = 15\n[[event]]\nqpn = 1\npsn = 5\ntype = \"drop\"\n";
    assert_eq!(
        signatures(&config("e810", read)),
        ["slow-retransmission/requester/slow-nack/generation-read"]
    );
}

/// The first response arrives after the second one, and closes the gap that this has shown; the third one shows another. The implied NAK of
/// the first gap, after 83 ms, comes about T after the second, and is not the ACK timer's.
#[test]
fn the_slow_nack_of_a_gap_before_is_no_expiry() {
    let delayed = "[traffic]\nrdma-verb = \"read\"\nnum-msgs-per-qp = 1\nmtu = 1024\nmessage-size = 2049\n\
                   [[event]]\nqpn = 1\npsn = 1\nevery = 2\ntype = \"delay\"\ndelay-us = 10_000\n";
    assert_eq!(signatures(&config("e810", delayed)), [""; 0]);
}

/// Every packet is marked, and no interval is configured: CNPs are 50 µs apart, and `cnpSent` does not know of them.
#[test]
fn cnps_have_a_hidden_interval_and_no_counter() {
    for configured in [0, 4, 200] {
        let config = config(
            "e810",
            &format!(
                "requester.roce-parameters.dcqcn-rp-enable = false\n\
                 responder.roce-parameters.min-time-between-cnps = {configured}\n\
                 [traffic]\nnum-msgs-per-qp = 1\nmessage-size = 8_388_608\n\
                 [[event]]\nqpn = 1\npsn = 1\nevery = 1\ntype = \"ecn\"\n"
            ),
        );
        let observation = run(&config);
        let cnps: Vec<_> =
            observation.trace.records().iter().filter(|record| record.class() == Class::Cnp).collect();
        assert!(cnps.len() > 10);
        for pair in cnps.windows(2) {
            assert_within((pair[1].time - pair[0].time).0 as f64 / 1e3, 50.0, 2.0);
        }
        assert_eq!(moved(&observation.responder, "cnpSent"), 0);
        let counts = analyze(&config, &observation).anomalies;
        let stuck = counts.kept().iter().map(scoring::Anomaly::signature);
        assert!(stuck.into_iter().any(|found| found.ends_with("counter-differs/cnpSent")), "{configured}");
    }
}
