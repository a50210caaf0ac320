//! The packets of the requesters: `oldest <= cursor <= sent <= posted`, the oldest one never goes back, and no more are
//! unacknowledged than allowed.

use corpus::Verb;

use crate::sim::nic::{Credit, Nic};

/// The requesters of a NIC, as they were after the step before.
#[derive(Default)]
pub(super) struct Window {
    /// Offset of the oldest unacknowledged PSN, by QP.
    last: Vec<u32>,
}

impl Window {
    /// Checks the requesters of a NIC.
    pub(super) fn check(&mut self, nic: &Nic) {
        self.last.resize(nic.qps().len(), 0);
        if let Some((in_flight, most)) = nic.credit().map(Credit::bytes) {
            let most = most.max(nic.attributes().mtu.into());
            assert!(in_flight <= most, "{in_flight} bytes in flight of {most}");
        }
        // A quirk resumes before the oldest one.
        let early = nic.profile().all_quirks().map(|quirks| quirks.resume_offset.min(0)).min().unwrap_or(0);
        let skips = nic.profile().all_quirks().any(|quirks| quirks.psn_skipped_every > 0);
        let window = if skips { 0 } else { nic.profile().requester.window_packets };
        for (qp, last) in nic.qps().iter().zip(&mut self.last) {
            let requester = &qp.requester;
            let (oldest, cursor) = (requester.recovery.oldest(), requester.recovery.cursor());
            let (sent, posted) = (requester.recovery.sent(), requester.posted);
            let first = oldest.saturating_add_signed(early);
            assert!(
                first <= cursor && cursor <= sent && oldest <= sent && sent <= posted,
                "oldest {oldest}, cursor {cursor}, sent {sent}, posted {posted}"
            );
            let reads = requester.work.iter().any(|request| request.verb == Verb::Read);
            let is_bound = window > 0 && !reads && !requester.failed;
            assert!(!is_bound || sent - oldest <= window, "{} of {window} packets", sent - oldest);
            assert!(oldest >= *last, "the oldest PSN goes back from {last} to {oldest}");
            *last = oldest;
        }
    }
}
