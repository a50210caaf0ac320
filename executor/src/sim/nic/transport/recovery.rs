//! Loss recovery of a connection: which packets a requester sends next, and which a responder takes.

use dumper::Psn;

use super::go_back_n::{self, Place};
use super::selective_repeat;
use crate::profile::Reorder;

/// Recovery of a requester.
#[derive(Clone, Debug)]
pub(in crate::sim) enum Recovery {
    /// Go-back-N.
    GoBackN(go_back_n::Sender),
    /// Selective repeat.
    Selective(Box<selective_repeat::Sender>),
}

impl Recovery {
    /// Selective repeat for a NIC with a reorder engine, before the first packet; else go-back-N.
    pub(super) fn new(reorder: Option<&Reorder>) -> Self {
        match reorder {
            Some(reorder) => Self::Selective(Box::new(selective_repeat::Sender::new(reorder))),
            None => Self::GoBackN(go_back_n::Sender::default()),
        }
    }

    /// Offset of the oldest unacknowledged PSN; of a Read, the next response.
    #[inline]
    pub(in crate::sim) const fn oldest(&self) -> u32 {
        match self {
            Self::GoBackN(sender) => sender.oldest,
            Self::Selective(sender) => sender.oldest,
        }
    }

    /// Offset of the next PSN to send, but for those that selective repeat sends again.
    #[inline]
    pub(in crate::sim) const fn cursor(&self) -> u32 {
        match self {
            Self::GoBackN(sender) => sender.cursor,
            Self::Selective(sender) => sender.sent,
        }
    }

    /// Offset after the highest PSN that was sent.
    #[inline]
    pub(in crate::sim) const fn sent(&self) -> u32 {
        match self {
            Self::GoBackN(sender) => sender.sent,
            Self::Selective(sender) => sender.sent,
        }
    }

    /// Offset of the packet that selective repeat sends again next.
    #[inline]
    pub(in crate::sim) fn next_again(&self) -> Option<u32> {
        match self {
            Self::GoBackN(_) => None,
            Self::Selective(sender) => sender.next_again(),
        }
    }

    /// Offset of the next PSN to send of a request, which begins at an offset: PSNs before it may have been left out.
    #[inline]
    pub(super) fn resume(&mut self, first: u32) -> u32 {
        match self {
            Self::GoBackN(sender) => sender.resume(first),
            Self::Selective(sender) => sender.sent.max(first),
        }
    }

    /// Everything before an offset is sent.
    #[inline]
    pub(super) fn sent_before(&mut self, offset: u32) {
        match self {
            Self::GoBackN(sender) => sender.sent_before(offset),
            Self::Selective(sender) => sender.sent = offset,
        }
    }

    /// Everything before an offset is acknowledged; returns true if something sent behind it is not.
    #[inline]
    pub(super) fn acknowledged_before(&mut self, offset: u32) -> bool {
        match self {
            Self::GoBackN(sender) => sender.acknowledged_before(offset),
            Self::Selective(sender) => sender.acknowledged_before(offset),
        }
    }
}

/// Recovery of a responder.
#[derive(Clone, Debug)]
pub(in crate::sim) enum Acceptance {
    /// Go-back-N.
    GoBackN(go_back_n::Receiver),
    /// Selective repeat.
    Selective(Box<selective_repeat::Receiver>),
}

impl Acceptance {
    /// Selective repeat for a NIC with a reorder engine, before the first packet; else go-back-N.
    pub(super) fn new(reorder: Option<&Reorder>) -> Self {
        match reorder {
            Some(reorder) => Self::Selective(Box::new(selective_repeat::Receiver::new(reorder))),
            None => Self::GoBackN(go_back_n::Receiver::new()),
        }
    }

    /// Offset of the expected PSN.
    #[inline]
    pub(in crate::sim) const fn expected(&self) -> u32 {
        match self {
            Self::GoBackN(receiver) => receiver.expected,
            Self::Selective(receiver) => receiver.arrived.base,
        }
    }

    /// Place of a packet, where offset 0 has this PSN.
    #[inline]
    pub(super) fn place(&self, psn: Psn, first: Psn) -> Place {
        Place::of(psn, first, self.expected())
    }

    /// Takes so many PSNs.
    #[inline]
    pub(super) fn take(&mut self, packets: u32) {
        match self {
            Self::GoBackN(receiver) => receiver.take(packets),
            Self::Selective(receiver) => receiver.take(packets),
        }
    }
}
