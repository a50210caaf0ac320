//! Loss recovery of a connection: which packets a requester sends next, and which a responder takes.

use dumper::Psn;

use super::go_back_n::{Place, Reaction, Receiver, Repeats, Sender};

/// Recovery of a requester.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Recovery {
    /// Go-back-N.
    GoBackN(Sender),
}

impl Recovery {
    /// Go-back-N before its first packet.
    pub(super) fn go_back_n() -> Self {
        Self::GoBackN(Sender::default())
    }

    /// Offset of the oldest unacknowledged PSN; of a Read, the next response.
    #[inline]
    pub(in crate::sim) const fn oldest(&self) -> u32 {
        let Self::GoBackN(sender) = self;
        sender.oldest
    }

    /// Offset of the next PSN to send.
    #[inline]
    pub(in crate::sim) const fn cursor(&self) -> u32 {
        let Self::GoBackN(sender) = self;
        sender.cursor
    }

    /// Offset after the highest PSN that was sent.
    #[inline]
    pub(in crate::sim) const fn sent(&self) -> u32 {
        let Self::GoBackN(sender) = self;
        sender.sent
    }

    /// See [`Sender::resume`].
    #[inline]
    pub(super) fn resume(&mut self, first: u32) -> u32 {
        let Self::GoBackN(sender) = self;
        sender.resume(first)
    }

    /// See [`Sender::sent_before`].
    #[inline]
    pub(super) fn sent_before(&mut self, offset: u32) {
        let Self::GoBackN(sender) = self;
        sender.sent_before(offset);
    }

    /// See [`Sender::acknowledged_before`].
    #[inline]
    pub(super) fn acknowledged_before(&mut self, offset: u32) -> bool {
        let Self::GoBackN(sender) = self;
        sender.acknowledged_before(offset)
    }

    /// See [`Sender::go_back`].
    pub(super) const fn go_back(&mut self, offset: u32) {
        let Self::GoBackN(sender) = self;
        sender.go_back(offset);
    }
}

/// Recovery of a responder.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Acceptance {
    /// Go-back-N.
    GoBackN(Receiver),
}

impl Acceptance {
    /// Go-back-N before its first packet.
    pub(super) const fn go_back_n() -> Self {
        Self::GoBackN(Receiver::new())
    }

    /// Offset of the expected PSN.
    #[inline]
    pub(in crate::sim) const fn expected(&self) -> u32 {
        let Self::GoBackN(receiver) = self;
        receiver.expected
    }

    /// See [`Receiver::place`].
    #[inline]
    pub(super) fn place(&self, psn: Psn, first: Psn) -> Place {
        let Self::GoBackN(receiver) = self;
        receiver.place(psn, first)
    }

    /// See [`Receiver::take`].
    #[inline]
    pub(super) const fn take(&mut self, packets: u32) {
        let Self::GoBackN(receiver) = self;
        receiver.take(packets);
    }

    /// See [`Receiver::beyond`].
    pub(super) const fn beyond(&mut self, repeats: Repeats) -> Reaction {
        let Self::GoBackN(receiver) = self;
        receiver.beyond(repeats)
    }

    /// See [`Receiver::wait_for`].
    pub(super) const fn wait_for(&mut self, packets: u32) {
        let Self::GoBackN(receiver) = self;
        receiver.wait_for(packets);
    }

    /// See [`Receiver::not_ready`].
    pub(super) const fn not_ready(&mut self) {
        let Self::GoBackN(receiver) = self;
        receiver.not_ready();
    }

    /// See [`Receiver::is_refusing`].
    pub(in crate::sim::nic) fn is_refusing(&self) -> bool {
        let Self::GoBackN(receiver) = self;
        receiver.is_refusing()
    }

    /// See [`Receiver::is_not_ready`].
    #[inline]
    pub(super) fn is_not_ready(&self) -> bool {
        let Self::GoBackN(receiver) = self;
        receiver.is_not_ready()
    }
}
