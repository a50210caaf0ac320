//! Losses that a requester recovers from; its reactions to them are in [`super::reactions`].

use crate::sim::agenda::Timer;
use crate::sim::nic::context::Context;

/// Losses that a requester recovers from.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// First offset of the retransmission that is pending for a NACK.
    pub(super) pending: Option<u32>,
    /// Runs while a retransmission is pending.
    pub(super) recover: Timer,
    /// The missing response that an implied NAK was found for.
    pub(super) implied: Option<u32>,
    /// Offset after the last packet that the other end, or for answers this one, discarded behind a missing
    /// one.
    pub(super) discarded: u32,
    /// The offset that an RNR NAK refused, until the wait that it asked for is over.
    pub(super) refused: Option<u32>,
    /// Runs during that wait.
    pub(super) rnr: Timer,
}

impl Losses {
    /// Returns true while an RNR NAK forbids sending.
    #[inline]
    pub(super) const fn waits_for_receiver(&self) -> bool {
        self.refused.is_some()
    }

    /// Everything before an offset is acknowledged.
    #[inline]
    pub(super) fn progress(&mut self, oldest: u32) {
        if self.implied.is_some_and(|missing| missing < oldest) {
            self.implied = None;
        }
    }

    /// The QP has failed.
    pub(super) fn stop(&mut self, cx: &mut Context<'_>) {
        self.stop_recovery(cx);
        self.refused = None;
        cx.agenda.stop(self.rnr);
    }

    /// Nothing is to be retransmitted for a NACK any more.
    pub(super) fn stop_recovery(&mut self, cx: &mut Context<'_>) {
        self.pending = None;
        cx.agenda.stop(self.recover);
    }
}
