//! Copies and dummies that harm a NIC (Gao et al., §4), and NICs that they do not harm.

use scoring::score::Assessment;

use super::{judged, nic, signatures, test};

const FAILS: &str = "mitigation-harm/requester/mitigation-harms/fails";
/// Copies of NAKs spend its retries.
const SPENDS: &str = "[quirks]\nnak-copy-spends-retry = true\n";

/// The middle of the second of ten Writes is lost, on a requester with so many retries, with further lines of the test and the NIC.
fn assessed(retries: u32, lines: &str, fields: &str) -> Assessment {
    let text = format!(
        "[traffic]\nrdma-verb = \"write\"\ntx-depth = 4\nmax-retransmit-retry = {retries}\n{lines}\n\
         [[event]]\nqpn = 1\npsn = 15\ntype = \"drop\"\n"
    );
    judged(&test(&text), &[nic(fields), nic("")]).1
}

fn copied(naks: u32) -> String {
    format!("[network.repeat]\nnaks = {naks}\n")
}

#[test]
fn a_requester_that_fails_at_copies_of_a_nak() {
    let assessment = assessed(1, &copied(2), SPENDS);
    assert_eq!(signatures(&assessment), [FAILS]);
    let anomaly = assessment.findings().next().unwrap();
    assert_eq!(anomaly.who.connection, Some(1));
    let number = |name| anomaly.evidence.numbers[name];
    assert_eq!((number("copies"), number("retries"), number("retry-cnt")), (1, 1, 1));
    let none = Default::default();
    assert_eq!(
        anomaly.evidence.timeouts,
        [("timeouts", none), ("reference-timeouts", Default::default())].into()
    );
    assert_eq!(signatures(&assessed(2, &copied(3), SPENDS)), [FAILS]);
}

#[test]
fn retries_that_are_enough_for_the_copies_show_nothing() {
    assert_eq!(signatures(&assessed(2, &copied(2), SPENDS)), [""; 0]);
    assert_eq!(signatures(&assessed(1, "", SPENDS)), [""; 0]);
}

#[test]
fn copies_harm_no_nic_that_takes_them_for_what_they_are() {
    for fields in [
        "",
        "[retransmission.nack-reaction-ns]\nwrite = 0\n",
        "[retransmission.nack-reaction-ns]\nwrite = 90_000\n",
    ] {
        for naks in [2, 3, 8] {
            assert_eq!(signatures(&assessed(1, &copied(naks), fields)), [""; 0], "{naks} {fields}");
        }
    }
}

/// With no retry the NAK itself ends the QP, as it does without copies.
#[test]
fn a_requester_without_retries_fails_at_the_nak() {
    for fields in ["", SPENDS] {
        assert_eq!(signatures(&assessed(0, &copied(2), fields)), [""; 0]);
    }
}

/// A fault that dummies only bring to light has its own rule, and what it costs is a symptom of that.
#[test]
fn a_fault_that_shows_with_dummies_alone_is_named_by_its_own_rule() {
    let text = "[traffic]\nrdma-verb = \"write\"\ntx-depth = 1\ndummy-headers = 2\n\
        [[event]]\nqpn = 1\npsn = 22\ntype = \"drop\"\n";
    let (_, assessment) = judged(&test(text), &[nic(""), nic("[quirks]\nnak-suppressed = true\n")]);
    assert_eq!(signatures(&assessment), ["gbn-violation/responder/nak-missing"]);
    let harm = assessment.anomalies.iter().find(|anomaly| anomaly.state == "time-outs").unwrap();
    assert_eq!(harm.signature(), "mitigation-harm/responder/mitigation-harms/time-outs");
    let causes = |run| harm.evidence.timeouts[run].keys().map(|cause| cause.name()).collect::<Vec<_>>();
    assert_eq!((causes("timeouts"), causes("reference-timeouts")), (vec!["nak-missing"], vec!["tail-lost"]));
}
