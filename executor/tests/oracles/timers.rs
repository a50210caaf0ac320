//! Time-outs and retries (Lumina §6.3): configured against observed.

use dumper::Nanos;
use dumper::timers::ack_timeout;
use scoring::Rule;

use crate::{judged, nic, signatures, test};

const TOO_LATE: &str = "unexpected-timeout/requester/rto-above-maximum";
const TOO_EARLY: &str = "unexpected-timeout/requester/rto-below-minimum";
const TOO_OFTEN: &str = "retry-count/requester/retries-beyond-budget";

/// Five Writes of 10 KB whose tails are lost so many times each (Lumina (preprint) §6.3), with retry_cnt = 7.
fn tails_lost(exponent: u8, times: u32) -> corpus::TestConfig {
    let mut text = format!(
        "[traffic]\nrdma-verb = \"write\"\nnum-msgs-per-qp = 5\nmessage-size = 10_240\nmtu = 1024\n\
         min-retransmit-timeout = {exponent}\nmax-retransmit-retry = 7\n\
         [requester.roce-parameters]\nadaptive-retrans = true\n"
    );
    for message in 1..=5 {
        for iter in 1..=times {
            let psn = message * 10;
            let iter = (message - 1) * times + iter;
            text += &format!("[[event]]\nqpn = 1\npsn = {psn}\niter = {iter}\ntype = \"drop\"\n");
        }
    }
    test(&text)
}

/// Not adaptive: first 3 to 6 T, then 8 T (Lumina (preprint) §6.3).
#[test]
fn timers_that_expire_too_late_are_seen_at_every_exponent() {
    let late = nic("[timeout]\nfirst = [3.0, 6.0]\nfurther = 8.0\n");
    let conforming = nic("[timeout]\nfirst = [3.0, 4.0]\nfurther = 4.0\n");
    for exponent in 4..=18 {
        let config = tails_lost(exponent, 2);
        let (analysis, assessment) = judged(&config, &[late.clone(), late.clone()]);
        assert_eq!(signatures(&assessment), [TOO_LATE], "{exponent}");
        let t = ack_timeout(exponent).unwrap();
        let times: Vec<_> = analysis.expiries.iter().map(|one| (one.time, one.waits_ns.len())).collect();
        assert_eq!(times, [(1, 2), (2, 2), (3, 2), (4, 2), (5, 2)], "{exponent}");
        let seconds = analysis.expiries.iter().map(|one| one.waits_ns[1]);
        for wait in seconds {
            assert!(wait >= t.times(8) && wait < t.times(8) + Nanos::from_micros(5), "{exponent}: {wait}");
        }
        let (_, usual) = judged(&config, &[conforming.clone(), conforming.clone()]);
        assert_eq!(signatures(&usual), [""; 0], "{exponent}");
    }
}

/// Adaptive: the schedule and the retries of Lumina (preprint) §6.3, in multiples of T.
const ADAPTIVE: &str = "[adaptive]\nextra-retries = [6, 1]\n\
    schedules = [[0.084, 0.061, 0.125, 0.249, 0.374, 1.0, 2.0], [4.0], [10.0]]\n";
const SCHEDULE: [f64; 7] = [0.084, 0.061, 0.125, 0.249, 0.374, 1.0, 2.0];

#[test]
fn an_adaptive_nic_is_found_early_and_too_often() {
    let adaptive = nic(ADAPTIVE);
    for exponent in [10, 14, 16] {
        let (analysis, assessment) = judged(&tails_lost(exponent, 20), &[adaptive.clone(), adaptive.clone()]);
        assert_eq!(signatures(&assessment), [TOO_EARLY, TOO_OFTEN], "{exponent}");
        let t = ack_timeout(exponent).unwrap();
        for finding in assessment.findings() {
            let evidence = &finding.evidence;
            assert_eq!((evidence.numbers["retry-cnt"], evidence.numbers["retries"]), (7, 13), "{finding:?}");
            assert_eq!(evidence.times_ns["t"], t);
            for (at, factor) in SCHEDULE.iter().enumerate() {
                let wait = evidence.times_ns[format!("wait-{:02}", at + 1).as_str()].0 as f64;
                let right = t.0 as f64 * factor;
                assert!((wait - right).abs() < 0.1 * right, "{exponent}, {at}: {wait}, {right}");
            }
        }
        let [stuck] = &analysis.expiries[..] else { panic!("{:?}", analysis.expiries) };
        assert_eq!((stuck.time, stuck.waits_ns.len(), stuck.failed), (1, 13, true));
    }
}

/// Only the switched-on schedule is the NIC's doing.
#[test]
fn an_adaptive_nic_that_is_not_told_to_be_conforms() {
    let mut config = tails_lost(14, 20);
    config.requester.roce.adaptive_retrans = false;
    let adaptive = nic(ADAPTIVE);
    let (analysis, assessment) = judged(&config, &[adaptive.clone(), adaptive]);
    assert_eq!(signatures(&assessment), [""; 0]);
    assert_eq!(analysis.expiries[0].waits_ns.len(), 7);
    assert!(analysis.expiries[0].failed);
}

/// One retry more than configured, and one fewer, are found with what was configured.
#[test]
fn retries_are_counted() {
    for (offset, rule, retries) in [
        (1, Rule::RetriesBeyondBudget, 8),
        (-1, Rule::RetriesBelowBudget, 6),
        (0, Rule::RetriesBelowBudget, 7),
    ] {
        let nic = nic(&format!("[quirks]\nretry-offset = {offset}\n"));
        let (_, assessment) = judged(&tails_lost(12, 20), &[nic.clone(), nic]);
        let found: Vec<_> =
            assessment.findings().map(|one| (one.rule, one.evidence.numbers.clone())).collect();
        let expected = (rule, [("retries", retries), ("retry-cnt", 7)].into());
        assert_eq!(found, if offset == 0 { vec![] } else { vec![expected] }, "{offset}");
    }
}

/// A requester that repeats its last packets without a cause has no timer that expires, though nothing is
/// acknowledged for many T.
#[test]
fn what_is_repeated_without_reason_is_no_retry() {
    let often = nic("[link]\nrate-gbps = 10\n[quirks]\nretransmits-unprovoked-every = 60\n");
    for exponent in 4..=6 {
        let config = test(&format!(
            "[traffic]\nrdma-verb = \"write\"\nnum-msgs-per-qp = 2\nmessage-size = 1_048_576\n\
             min-retransmit-timeout = {exponent}\nmax-retransmit-retry = 2\n"
        ));
        let (analysis, assessment) = judged(&config, &[often.clone(), often.clone()]);
        assert!(analysis.retransmissions.len() > 3, "{exponent}: {:?}", analysis.retransmissions);
        assert!(!signatures(&assessment).contains(&TOO_OFTEN.to_owned()), "{exponent}");
    }
}
