//! Go-back-N (IBA vol. 1, 9.7.5): a requester repeats everything from a missing packet on, and a responder takes
//! requests only in the order of their PSNs: it discards what is beyond a missing one, behind one NAK.
//!
//! Offsets count from the first PSN of a direction.

use std::ops::Range;

use dumper::Psn;

/// Packets of a requester: `oldest <= cursor <= sent`, but where a quirk lets it resume before the oldest one.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Sender {
    /// Offset of the oldest unacknowledged PSN; of a Read, the next response.
    pub(in crate::sim) oldest: u32,
    /// Offset of the next PSN to send.
    pub(in crate::sim) cursor: u32,
    /// Offset after the highest PSN that was sent.
    pub(in crate::sim) sent: u32,
}

impl Sender {
    /// Offset of the next PSN to send of a request, which begins at an offset: PSNs before it may have been left out.
    #[inline]
    pub(super) fn resume(&mut self, first: u32) -> u32 {
        self.cursor = self.cursor.max(first);
        self.cursor
    }

    /// Everything before an offset is sent.
    #[inline]
    pub(super) fn sent_before(&mut self, offset: u32) {
        self.cursor = offset;
        self.sent = self.sent.max(offset);
    }

    /// Everything before an offset is acknowledged; returns true if something sent behind it is not.
    #[inline]
    pub(super) fn acknowledged_before(&mut self, offset: u32) -> bool {
        self.oldest = offset;
        // The packets to retransmit have arrived meanwhile.
        self.cursor = self.cursor.max(offset);
        self.cursor > offset
    }

    /// Offsets that are sent and not acknowledged.
    pub(super) const fn under_way(&self) -> Range<u32> {
        self.oldest..self.sent
    }

    /// An offset and everything after it is sent again.
    pub(super) const fn go_back(&mut self, offset: u32) {
        self.cursor = offset;
    }
}

/// Packets of a responder.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Receiver {
    refusal: Refusal,
    /// Further packets out of order that a NAK waits for.
    unconfirmed: u32,
}

/// Reason for discarding packets beyond the expected PSN without a NAK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refusal {
    /// None: the next one is NAKed.
    None,
    /// One was NAKed; further NAKs that a quirk allows, and packets out of order since the last one.
    Sequence { repeats: u32, since: u32 },
    /// The expected request was refused for lack of a Receive.
    NotReady,
}

/// Place of a request packet among those that a responder has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// The expected one.
    Expected,
    /// Beyond the expected one.
    Beyond,
    /// A duplicate, of the packet at this offset.
    Before(u32),
    /// Before the first one: no packet of this connection.
    Nowhere,
}

impl Place {
    /// Place of a packet, where offset 0 and the expected offset are given.
    #[inline]
    pub(super) fn of(psn: Psn, first: Psn, expected: u32) -> Self {
        match psn.since(first.add(expected)) {
            0 => Self::Expected,
            1.. => Self::Beyond,
            ahead => expected.checked_add_signed(ahead).map_or(Self::Nowhere, Self::Before),
        }
    }
}

/// Further NAKs for the same expected PSN, which only quirks allow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repeats {
    /// One for each further packet out of order, at most so many.
    pub(super) at_most: u32,
    /// One for every so many further packets out of order; 0 for none.
    pub(super) every: u32,
}

/// Reaction of a responder to a packet beyond the expected one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reaction {
    /// A NAK.
    Nak,
    /// The NAK that waits for further packets out of order has all that it waits for.
    Confirmed,
    /// The packet is discarded.
    Silence,
}

impl Receiver {
    /// A responder that has taken no packet.
    pub(super) const fn new() -> Self {
        Self { refusal: Refusal::None, unconfirmed: 0 }
    }

    /// The expected packet was taken.
    #[inline]
    pub(super) const fn taken(&mut self) {
        (self.refusal, self.unconfirmed) = (Refusal::None, 0);
    }

    /// A packet beyond the expected one arrives: one NAK, then silence until the expected one has come (IBA vol. 1,
    /// 9.7.5.2); quirks repeat the NAK.
    pub(super) const fn beyond(&mut self, quirks: Repeats) -> Reaction {
        let (repeats, since) = match self.refusal {
            Refusal::None => (quirks.at_most, 0),
            Refusal::Sequence { .. } if self.unconfirmed > 0 => {
                self.unconfirmed -= 1;
                return if self.unconfirmed == 0 { Reaction::Confirmed } else { Reaction::Silence };
            }
            Refusal::Sequence { repeats, .. } if repeats > 0 => (repeats - 1, 0),
            Refusal::Sequence { repeats, since } if quirks.every > 0 => (repeats, since + 1),
            Refusal::Sequence { .. } | Refusal::NotReady => return Reaction::Silence,
        };
        let is_due = since == 0 || since >= quirks.every;
        self.refusal = Refusal::Sequence { repeats, since: if is_due { 0 } else { since } };
        if is_due { Reaction::Nak } else { Reaction::Silence }
    }

    /// The NAK waits for so many further packets out of order.
    pub(super) const fn wait_for(&mut self, packets: u32) {
        self.unconfirmed = packets;
    }

    /// The expected request was refused for lack of a Receive.
    pub(super) const fn not_ready(&mut self) {
        self.refusal = Refusal::NotReady;
    }

    /// Returns true from the refusal of a packet until the expected one is taken.
    pub(super) fn is_refusing(&self) -> bool {
        self.refusal != Refusal::None
    }

    /// Returns true after such a refusal, until the request is taken.
    #[inline]
    pub(super) fn is_not_ready(&self) -> bool {
        self.refusal == Refusal::NotReady
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_move_what_is_sent_next_and_never_back() {
        let mut sender = Sender::default();
        sender.sent_before(8);
        assert!(sender.acknowledged_before(3));
        sender.go_back(3);
        assert_eq!((sender.resume(0), sender.sent), (3, 8));
        assert!(!sender.acknowledged_before(6), "5 has arrived: nothing from 6 on was sent again yet");
        assert_eq!((sender.oldest, sender.cursor, sender.sent), (6, 6, 8));
        assert_eq!(sender.resume(7), 7, "a request that begins later");
    }

    #[test]
    fn one_nak_for_each_missing_packet() {
        let first = Psn::new(0xff_ffff);
        let place = |expected, psn| Place::of(psn, first, expected);
        assert_eq!(place(0, first), Place::Expected);
        assert_eq!(place(0, Psn::new(0xff_fffe)), Place::Nowhere);
        assert_eq!(place(2, Psn::new(0)), Place::Before(1));
        assert_eq!(place(2, Psn::new(2)), Place::Beyond);
        let mut receiver = Receiver::new();
        assert_eq!(
            [(); 3].map(|()| receiver.beyond(Repeats::default())),
            [Reaction::Nak, Reaction::Silence, Reaction::Silence]
        );
        receiver.taken();
        let once = Repeats { at_most: 1, every: 0 };
        assert_eq!(
            [(); 3].map(|()| receiver.beyond(once)),
            [Reaction::Nak, Reaction::Nak, Reaction::Silence]
        );
        receiver.taken();
        let every = Repeats { at_most: 0, every: 2 };
        let reactions = [(); 5].map(|()| receiver.beyond(every) == Reaction::Nak);
        assert_eq!(reactions, [true, false, true, false, true]);
    }

    #[test]
    fn a_nak_waits_for_confirmations_and_a_refusal_for_its_request() {
        let mut receiver = Receiver::new();
        assert_eq!(receiver.beyond(Repeats::default()), Reaction::Nak);
        receiver.wait_for(2);
        let reactions = [(); 3].map(|()| receiver.beyond(Repeats::default()));
        assert_eq!(reactions, [Reaction::Silence, Reaction::Confirmed, Reaction::Silence]);
        receiver.taken();
        receiver.not_ready();
        assert_eq!(receiver.beyond(Repeats::default()), Reaction::Silence);
        receiver.taken();
        assert!(!receiver.is_not_ready());
    }
}
