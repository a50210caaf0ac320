//! The ACK timers (IBA vol. 1, 9.7.6.1.3): a requester with packets that are not acknowledged has one that runs, unless
//! its timer is off, or its reaction point holds back its next packet, with which the timer starts.

use crate::sim::nic::Nic;

/// Checks the ACK timers of a NIC.
pub(super) fn check(nic: &Nic) {
    if nic.attributes().timeout == 0 {
        return;
    }
    let resumes_elsewhere = nic.profile().all_quirks().any(|quirks| quirks.resume_offset != 0);
    for (number, qp) in nic.qps().iter().enumerate() {
        let requester = &qp.requester;
        // The timer starts with what selective repeat sends again.
        let recovery = &requester.recovery;
        let outstanding =
            !requester.failed && recovery.cursor() > recovery.oldest() && recovery.next_again().is_none();
        let runs = nic.agenda().expiry(requester.timers.ack).is_some();
        assert!(
            !outstanding || runs || qp.is_slowed() || resumes_elsewhere,
            "no ACK timer for the outstanding packets of QP {number}: {requester:?}"
        );
        assert!(!runs || !requester.failed, "the ACK timer of the failed QP {number} runs");
    }
}
