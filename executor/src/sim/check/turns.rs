//! The transmit scheduler: whatever has a packet to send has a turn coming, once, or a timer that gives it one.

use crate::sim::nic::{Half, Nic};

/// Checks the transmit scheduler of a NIC.
pub(super) fn check(nic: &Nic) {
    let (transmitter, agenda) = (nic.transmitter(), nic.agenda());
    let mut turns = 0;
    for ring in &transmitter.rings {
        turns += ring.turns.len();
        for (qp, half) in &ring.turns {
            assert!(
                transmitter.waits(*qp, *half),
                "a turn of the {half:?} of QP {qp} that it does not wait for"
            );
        }
    }
    let mut waiting = 0;
    for (qp, number) in nic.qps().iter().zip(0..) {
        let held = agenda.expiry(qp.hold).is_some();
        let lacks_credit = nic.credit().is_some_and(|credit| credit.waits(number));
        let waits = Half::ALL.map(|half| transmitter.waits(number, half));
        waiting += waits.into_iter().filter(|waits| *waits).count();
        let [requester, responder] = waits;
        assert!(
            requester || held || lacks_credit || !qp.requester.is_ready(nic.attributes().max_rd_atomic),
            "no turn for the requester of QP {number}"
        );
        let answers = &qp.responder.answers;
        assert!(
            responder || held || answers.first().is_none() || agenda.expiry(answers.ready).is_some(),
            "no turn for the responder of QP {number}"
        );
    }
    assert_eq!(turns, waiting, "turns, and the halves of QPs that wait for one");
}
