//! Loss recovery of a connection: which packets a requester sends next, and which a responder takes.

use dumper::{Nanos, Psn};

use super::go_back_n::{self, Place};
use super::selective_repeat;
use crate::profile::Reorder;

/// Recovery of a requester.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Recovery {
    /// Its packets. With selective repeat the next one to send, but for those that are sent again, has never been sent.
    packets: go_back_n::Sender,
    /// With selective repeat, the packets that are missing; apart, so that the others have their fields at one place for both.
    pub(super) selective: Option<Box<selective_repeat::Sender>>,
}

impl Recovery {
    /// Selective repeat for a NIC with a reorder engine, before the first packet; else go-back-N.
    pub(super) fn new(reorder: Option<&Reorder>) -> Self {
        Self {
            packets: go_back_n::Sender::default(),
            selective: reorder.map(|reorder| Box::new(selective_repeat::Sender::new(reorder))),
        }
    }

    /// Offset of the oldest unacknowledged PSN; of a Read, the next response.
    #[inline]
    pub(in crate::sim) const fn oldest(&self) -> u32 {
        self.packets.oldest
    }

    /// Offset of the next PSN to send, but for those that selective repeat sends again.
    #[inline]
    pub(in crate::sim) const fn cursor(&self) -> u32 {
        self.packets.cursor
    }

    /// Offset after the highest PSN that was sent.
    #[inline]
    pub(in crate::sim) const fn sent(&self) -> u32 {
        self.packets.sent
    }

    /// Offset of the packet that selective repeat sends again next.
    #[inline]
    pub(in crate::sim) fn next_again(&self) -> Option<u32> {
        self.selective.as_ref()?.next_again()
    }

    /// Offset of the next PSN to send of a request, which begins at an offset: PSNs before it may have been left out.
    #[inline]
    pub(super) fn resume(&mut self, first: u32) -> u32 {
        self.packets.resume(first)
    }

    /// Everything before an offset is sent.
    #[inline]
    pub(super) fn sent_before(&mut self, offset: u32) {
        self.packets.sent_before(offset);
    }

    /// A packet that was sent is to be sent again; with go-back-N everything after it too, and true is returned.
    pub(super) fn send_again(&mut self, offset: u32) -> bool {
        match &mut self.selective {
            Some(selective) => selective.repeat(offset, self.packets.under_way()),
            None => self.packets.go_back(offset),
        }
        self.selective.is_none()
    }

    /// Packets that selective repeat repeats later, and whose time has come, are to be sent again; returns the time of the next.
    pub(super) fn due(&mut self, now: Nanos) -> Option<Nanos> {
        self.selective.as_mut()?.due(now, self.packets.under_way())
    }

    /// Everything before an offset is acknowledged; returns true if something sent behind it is not.
    #[inline]
    pub(super) fn acknowledged_before(&mut self, offset: u32) -> bool {
        if let Some(selective) = &mut self.selective {
            selective.acknowledged_before(offset);
        }
        self.packets.acknowledged_before(offset)
    }
}

/// Recovery of a responder.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Acceptance {
    /// Offset of the expected PSN; with selective repeat the base of what has arrived. At one place for both, as each packet is compared with it.
    expected: u32,
    pub(super) receiver: Receiver,
}

/// State of a responder besides the PSN that it expects.
#[derive(Clone, Debug)]
pub(super) enum Receiver {
    /// Go-back-N.
    GoBackN(go_back_n::Receiver),
    /// Selective repeat.
    Selective(Box<selective_repeat::Receiver>),
}

impl Acceptance {
    /// Selective repeat for a NIC with a reorder engine, before the first packet; else go-back-N.
    pub(super) fn new(reorder: Option<&Reorder>) -> Self {
        let receiver = match reorder {
            Some(reorder) => Receiver::Selective(Box::new(selective_repeat::Receiver::new(reorder))),
            None => Receiver::GoBackN(go_back_n::Receiver::new()),
        };
        Self { expected: 0, receiver }
    }

    /// Offset of the expected PSN.
    #[inline]
    pub(in crate::sim) const fn expected(&self) -> u32 {
        self.expected
    }

    /// Place of a packet, where offset 0 has this PSN.
    #[inline]
    pub(super) fn place(&self, psn: Psn, first: Psn) -> Place {
        Place::of(psn, first, self.expected)
    }

    /// Takes so many PSNs.
    #[inline]
    pub(super) fn take(&mut self, packets: u32) {
        self.expected += packets;
        match &mut self.receiver {
            Receiver::GoBackN(receiver) => receiver.taken(),
            Receiver::Selective(receiver) => receiver.take(packets),
        }
    }
}
