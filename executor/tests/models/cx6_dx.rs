//! The model of ConnectX-6 Dx: transmission selection that does not conserve work (Lumina §6.2.1).

use super::measure::{assert_between, assert_within, config, data, run};

/// Messages of each QP: 1 MB each.
const MESSAGES: u32 = 10;
const PACKETS: u32 = 1024;

/// Each QP in a class of its own, of equal weight, or both in one.
const APART: &str = "requester.traffic-class = [0, 1]\nrequester.ets = { weights = [50, 50] }";
const TOGETHER: &str = "requester.traffic-class = 0\nrequester.ets = { weights = [100] }";

/// Goodputs of two QPs in Gb/s, up to when the second one has sent everything, with one of 50 packets of the
/// first one marked or none.
fn goodputs(nic: &str, classes: &str, marks: bool) -> [f64; 2] {
    let event = if marks { "[[event]]\nqpn = 1\npsn = 50\nevery = 50\ntype = \"ecn\"\n" } else { "" };
    let observation = run(&config(
        nic,
        &format!(
            "{classes}\n[traffic]\nnum-connections = 2\nnum-msgs-per-qp = {MESSAGES}\nmessage-size = 1_048_576\n\
             tx-depth = 4\n{event}"
        ),
    ));
    let data = data(&observation);
    let end = data.iter().find(|(qp, psn, _)| (*qp, *psn) == (2, MESSAGES * PACKETS)).unwrap().2;
    [1, 2].map(|of| {
        let sent = data.iter().filter(|(qp, _, at)| *qp == of && *at <= end).count();
        sent as f64 * 1024.0 * 8.0 / (end * 1e3)
    })
}

/// The goodput of a link of 100 Gb/s: 1024 bytes of payload in a frame of 1082, which takes 24 more on the cable.
const LINK: f64 = 100.0 * 1024.0 / 1106.0;

#[test]
fn two_classes_share_the_link() {
    for nic in ["cx5", "cx6-dx"] {
        for goodput in goodputs(nic, APART, false) {
            assert_within(goodput, LINK / 2.0, 5.0);
        }
    }
}

#[test]
fn what_one_class_leaves_the_other_does_not_get() {
    let [marked, other] = goodputs("cx6-dx", APART, true);
    assert_between(marked, 0.0, LINK / 4.0);
    assert_within(other, LINK / 2.0, 5.0);
}

#[test]
fn in_one_class_it_gets_it() {
    let [marked, other] = goodputs("cx6-dx", TOGETHER, true);
    assert_between(marked, 0.0, LINK / 4.0);
    assert_between(other, LINK * 0.75, LINK);
}

#[test]
fn a_connectx_5_conserves_work() {
    let [marked, other] = goodputs("cx5", APART, true);
    assert_between(marked, 0.0, LINK / 4.0);
    assert_between(other, LINK * 0.75, LINK);
}
