//! Tail packets that are dropped time and again (Lumina (preprint) §6.3, Lumina §6.3): five 10 KB Writes, ACK
//! timeout 14, `retry_cnt` 7.

use dumper::Observation;
use dumper::observation::CompletionStatus;

use super::measure::{assert_between, assert_within, config, passes, run};

/// Packets of a message.
const PACKETS: u32 = 10;

/// Drops of the tail packet that Lumina (preprint) made on each message.
const DROPS: u32 = 7;

/// Tails of messages that are dropped so often each, one message after the other. The injector counts rounds over the
/// connection, so that each message starts in the round in which the one before got through.
fn tail_drops(nic: &str, adaptive: bool, drops: &[u32]) -> Observation {
    let mut events = String::new();
    let mut round = 1;
    for (drops, psn) in drops.iter().zip((PACKETS..).step_by(PACKETS as usize)) {
        for iter in round..round + drops {
            events += &format!("[[event]]\nqpn = 1\npsn = {psn}\niter = {iter}\ntype = \"drop\"\n");
        }
        round += drops;
    }
    run(&config(
        nic,
        &format!(
            "requester.roce-parameters.adaptive-retrans = {adaptive}\n\
             [traffic]\nnum-msgs-per-qp = 5\nmessage-size = 10_240\n{events}"
        ),
    ))
}

/// Expiries of the timer on each message, in seconds, each message losing its tail seven times.
pub(crate) fn expiries(nic: &str, adaptive: bool) -> Vec<Vec<f64>> {
    let observation = tail_drops(nic, adaptive, &[DROPS; 5]);
    let completed = observation.completions();
    assert!(completed.iter().all(|completion| completion.status == CompletionStatus::Success));
    (1..=5)
        .map(|message| {
            let passes = passes(&observation, message * PACKETS);
            passes.windows(2).map(|pair| (pair[1] - pair[0]) / 1e6).collect()
        })
        .collect()
}

/// Retries of each message until the QP fails on it, those before it losing their tails seven times (Lumina
/// (preprint) table 2).
pub(crate) fn retries(nic: &str, adaptive: bool) -> Vec<usize> {
    (1..=5)
        .map(|message| {
            let mut drops = vec![DROPS; message];
            // More than any NIC was seen to retry.
            drops[message - 1] = 15;
            let observation = tail_drops(nic, adaptive, &drops);
            assert_eq!(observation.completions()[message - 1].status, CompletionStatus::RetryExceeded);
            passes(&observation, message as u32 * PACKETS).len() - 1
        })
        .collect()
}

/// The first time-out of every message is 0.2 to 0.4 s and the others 0.537 s; `retry_cnt` is obeyed.
#[test]
fn without_adaptive_retransmission() {
    for nic in ["cx4-lx", "cx5", "cx6-dx"] {
        for expiries in expiries(nic, false) {
            assert_between(expiries[0], 0.2, 0.4);
            for expiry in &expiries[1..] {
                assert_within(*expiry, 0.537, 1.0);
            }
        }
        assert_eq!(retries(nic, false), [7; 5], "{nic}");
    }
}

#[test]
fn with_adaptive_retransmission() {
    for nic in ["cx4-lx", "cx5", "cx6-dx"] {
        let expiries = expiries(nic, true);
        for (expiry, published) in
            expiries[0].iter().zip([0.0056, 0.0041, 0.0084, 0.0167, 0.0251, 0.0671, 0.1342])
        {
            assert_within(*expiry, published, 1.0);
        }
        for (message, first) in [(2, 0.267), (3, 0.671), (4, 0.671), (5, 0.671)] {
            assert_within(expiries[message - 1][0], first, 1.0);
        }
    }
    assert_eq!(retries("cx4-lx", true), [13, 8, 7, 7, 7]);
    assert_eq!(retries("cx5", true), [13, 8, 8, 8, 8]);
    assert_eq!(retries("cx6-dx", true), [13, 8, 8, 8, 8]);
}

/// Timers of the others do not depend on the switch, and are within what the specification allows.
#[test]
fn of_nics_without_adaptive_retransmission() {
    for nic in ["reference", "e810"] {
        let unaffected = expiries(nic, true);
        assert_eq!(unaffected, expiries(nic, false));
        for expiry in unaffected.concat() {
            assert_between(expiry, 0.0671, 0.2685);
        }
        assert_eq!(retries(nic, true), [7; 5], "{nic}");
    }
}

/// A QP that was never stuck is at the start of its schedules, whatever others went through.
#[test]
fn each_qp_has_its_own_place_in_the_schedules() {
    let drop = |qpn, iter| format!("[[event]]\nqpn = {qpn}\npsn = 1\niter = {iter}\ntype = \"drop\"\n");
    let text = format!(
        "requester.roce-parameters.adaptive-retrans = true\n\
         [traffic]\nnum-connections = 2\nnum-msgs-per-qp = 2\nmessage-size = 1_024\n{}{}\
         [[event]]\nqpn = 1\npsn = 2\niter = 2\ntype = \"drop\"\n",
        drop(1, 1),
        drop(2, 1)
    );
    let observation = run(&config("cx6-dx", &text));
    let data = super::measure::data(&observation);
    let gap = |qp, psn| {
        let mut at = data.iter().filter(|(a, b, _)| (*a, *b) == (qp, psn)).map(|(_, _, at)| at / 1e6);
        let first = at.next().unwrap();
        at.next().unwrap() - first
    };
    assert_within(gap(1, 1), 0.0056, 1.0);
    assert_within(gap(2, 1), 0.0056, 1.0);
    assert_within(gap(1, 2), 0.267, 1.0);
}
