//! Actions of the injector on packets, and the recovery of `rdma_rxe`.

use dumper::observation::CompletionStatus;
use dumper::{ActionKind, Event, Nanos};
use scoring::ExpiryCause;

use super::pair::{PAIRS, Ran, alone, run, test};

const WRITES: &str = "rdma-verb = \"write\"\nnum-msgs-per-qp = 3\nmessage-size = 4096";
const SENDS: &str = "rdma-verb = \"send\"\nnum-msgs-per-qp = 3\nmessage-size = 4096";
const READS: &str = "rdma-verb = \"read\"\nnum-msgs-per-qp = 3\nmessage-size = 4096";

/// Three messages of four packets, and one event that hits one packet: they arrive all the same.
fn recovers(traffic: &str, event: &str, hit: Event) -> Ran {
    run(traffic, &format!("[[event]]\nqpn = 1\n{event}")).whole().completes().hits(hit, 1)
}

/// A gap in a Read response is acted on only when the timer expires, and a Read that is re-issued in its middle is
/// answered as if it went on (docs/findings-rxe.md).
const WAITS: &str = "implied-nak-missing";
const GOES_ON: &str = "response-position";

#[test]
fn dropped_data_is_repeated() {
    // First, middle and last packet of all.
    for (psn, of_reads) in [(1, &[WAITS][..]), (6, &[WAITS, GOES_ON]), (12, &[GOES_ON])] {
        let event = format!("psn = {psn}\ntype = \"drop\"");
        recovers(WRITES, &event, Event::Action(ActionKind::Drop)).conforms();
        recovers(SENDS, &event, Event::Action(ActionKind::Drop)).conforms();
        recovers(READS, &event, Event::Action(ActionKind::Drop)).breaks(of_reads);
    }
}

#[test]
fn dropped_control_packets_are_made_up_for() {
    recovers(WRITES, "packet = \"ack\"\nnth = 1\ntype = \"drop\"", Event::Action(ActionKind::Drop));
    recovers(READS, "packet = \"read-request\"\nnth = 2\ntype = \"drop\"", Event::Action(ActionKind::Drop));
    let lost_nak = "psn = 2\ntype = \"drop\"\n[[event]]\nqpn = 1\npacket = \"nak\"\nnth = 1\ntype = \"drop\"";
    run(WRITES, &format!("[[event]]\nqpn = 1\n{lost_nak}"))
        .whole()
        .completes()
        .hits(Event::Action(ActionKind::Drop), 2);
}

/// Of a NAK that the network sends twice the first is lost: each time the second one makes a time-out unnecessary, which the same losses
/// cost without it.
#[test]
fn a_second_nak_spares_a_time_out() {
    for psn in [1, 2, 3, 5, 6] {
        let lost = format!(
            "[[event]]\nqpn = 1\npsn = {psn}\ntype = \"drop\"\n\
             [[event]]\nqpn = 1\npacket = \"nak\"\nnth = 1\ntype = \"drop\"\n"
        );
        let causes = |network: &str| {
            let ran = run(WRITES, &format!("{network}{lost}")).whole().completes();
            ran.analysis().timeout_causes().into_iter().collect::<Vec<_>>()
        };
        assert_eq!(causes(""), [(ExpiryCause::NakLost, 1)], "{psn}");
        assert_eq!(causes("[network.repeat]\nnaks = 2\n"), [], "{psn}");
    }
}

#[test]
fn a_corrupt_packet_is_discarded() {
    recovers(WRITES, "psn = 6\ntype = \"corrupt\"", Event::Action(ActionKind::Corrupt)).conforms();
    recovers(READS, "psn = 6\ntype = \"corrupt\"", Event::Action(ActionKind::Corrupt))
        .breaks(&[WAITS, GOES_ON]);
}

#[test]
fn a_marked_packet_is_delivered() {
    recovers(WRITES, "psn = 6\ntype = \"ecn\"", Event::Action(ActionKind::Ecn));
}

#[test]
fn delayed_reordered_and_doubled_packets_are_taken() {
    recovers(WRITES, "psn = 6\ntype = \"delay\"\ndelay-us = 5000", Event::Action(ActionKind::Delay));
    recovers(SENDS, "psn = 6\ntype = \"reorder\"\nby = 2", Event::Action(ActionKind::Reorder));
    recovers(WRITES, "psn = 6\ntype = \"duplicate\"\ncopies = 1", Event::Action(ActionKind::Duplicate));
}

#[test]
fn retries_are_exhausted() {
    let ran = run(
        "rdma-verb = \"write\"\nnum-msgs-per-qp = 1\nmessage-size = 1024\nmax-retransmit-retry = 2",
        "[[event]]\nqpn = 1\npsn = 1\ntype = \"drop\"\n[[event]]\nqpn = 1\npsn = 1\niter = 2\ntype = \"drop\"\n\
         [[event]]\nqpn = 1\npsn = 1\niter = 3\ntype = \"drop\"\n[[event]]\nqpn = 1\npsn = 1\niter = 4\ntype = \"drop\"",
    )
    .whole();
    let statuses: Vec<_> = ran.observation.completions().iter().map(|one| one.status).collect();
    assert_eq!(statuses, [CompletionStatus::RetryExceeded]);
    assert!(ran.observation.deliveries().is_empty(), "{:?}", ran.observation.deliveries);
}

/// NAKs that each acknowledge more spend the retries of `rdma_rxe` (docs/findings-rxe.md): its counter of received packets
/// proves that the second one arrived.
#[test]
fn a_nak_that_acknowledges_more_does_not_refill_the_retries() {
    let mut config = test(
        "rdma-verb = \"write\"\nnum-msgs-per-qp = 1\nmessage-size = 4096\nmax-retransmit-retry = 1",
        "[[event]]\nqpn = 1\npsn = 2\ntype = \"drop\"\n[[event]]\nqpn = 1\npsn = 3\niter = 2\ntype = \"drop\"",
    );
    // Longer than any delay of a guest.
    config.traffic.min_retransmit_timeout = 18;
    let _alone = alone();
    Ran::of(&PAIRS, config).whole().breaks(&["retries-below-budget"]);
}

/// A lost NAK and a lost retransmission cost a time-out, and none where the network sends a copy: the trace has a silence as long as the
/// ACK timer, or has not.
#[test]
fn a_copy_saves_the_time_out() {
    const NAK: &str =
        "psn = 2\ntype = \"drop\"\n[[event]]\nqpn = 1\npacket = \"nak\"\nnth = 1\ntype = \"drop\"";
    const AGAIN: &str = "psn = 2\ntype = \"drop\"\n[[event]]\nqpn = 1\npsn = 2\niter = 2\ntype = \"drop\"";
    let _alone = alone();
    for (lost, copies) in [(NAK, "naks = 2"), (AGAIN, "retransmissions = 2")] {
        let times_out = |network: &str| {
            let config = test(WRITES, &format!("{network}\n[[event]]\nqpn = 1\n{lost}"));
            let ran = Ran::of(&PAIRS, config).whole().completes();
            let times: Vec<_> = ran.observation.trace.records().iter().map(|record| record.time).collect();
            // The ACK timer is 0.54 s, longer than any delay of a guest.
            times.windows(2).any(|pair| pair[1] - pair[0] > Nanos::from_millis(400))
        };
        assert!(times_out(""), "{copies}: without copies");
        assert!(!times_out(&format!("[network.repeat]\n{copies}")), "{copies}");
    }
}

/// A retry count of 7 has no limit there (docs/findings-rxe.md), so that a QP whose packets are all lost goes on when the test is stopped.
#[test]
fn a_test_that_is_stopped_says_nothing_of_what_goes_on() {
    let endless = format!("{WRITES}\nmax-retransmit-retry = 7\n");
    let ran =
        run(&endless, "[network]\nloss-ppb = 500_000_000\nlinks = 16\nloss-model = \"per-packet\"\n").whole();
    assert!(ran.observation.completions().is_empty() && ran.observation.stopped_after.is_some());
    assert!(ran.said().iter().all(|(rule, _)| *rule != "completion-missing"), "{:?}", ran.said());
}
