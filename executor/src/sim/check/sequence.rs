//! The responders: neither the expected PSN nor the MSN goes back, and no more messages have ended than begun.

use crate::sim::nic::Nic;

/// The responders of a NIC, as they were after the step before.
#[derive(Default)]
pub(super) struct Sequence {
    /// Offset of the expected PSN, and MSN, by QP.
    last: Vec<(u32, u32)>,
}

impl Sequence {
    /// Checks the responders of a NIC.
    pub(super) fn check(&mut self, nic: &Nic) {
        self.last.resize(nic.qps().len(), (0, 0));
        for (qp, last) in nic.qps().iter().zip(&mut self.last) {
            let responder = &qp.responder;
            let (expected, msn) = (responder.acceptance.expected(), responder.msn);
            assert!(expected >= last.0, "the expected PSN goes back from {} to {expected}", last.0);
            assert!(msn >= last.1, "the MSN goes back from {} to {msn}", last.1);
            let executed_twice = nic.profile().all_quirks().any(|quirks| quirks.duplicate_write_executed);
            assert!(
                msn <= responder.begun || executed_twice,
                "{msn} messages ended of {} begun",
                responder.begun
            );
            *last = (expected, msn);
        }
    }
}
