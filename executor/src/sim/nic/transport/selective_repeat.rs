//! Selective repeat: a requester repeats the packets that are missing and no others, and a receiver of data keeps what
//! arrives beyond a missing packet. The InfiniBand specification does not have it, and nobody has published the packets
//! of a NIC that does: a NAK names one missing PSN and acknowledges nothing (one of go-back-N acknowledges everything
//! before its PSN), an ACK acknowledges everything before it, and a missing response is asked for by a Read request for
//! it. Each missing packet is asked for once: a repetition that is lost waits for the ACK timer, which repeats the oldest
//! packet alone.
//!
//! Offsets count from the first PSN of a direction.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use dumper::Nanos;

use crate::profile::{LossBy, Reorder};
use crate::sim::nic::reorder::Bitmap;
use crate::sim::packet::Packet;

/// Packets that arrived beyond the first missing one.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Arrived<T> {
    /// Offset of the first missing packet.
    pub(in crate::sim) base: u32,
    /// The packets from there on, to the last one that is there.
    slots: VecDeque<Option<T>>,
    /// Number of those that are there.
    pub(in crate::sim) kept: u32,
    /// Missing packets before this offset have been asked for.
    asked: u32,
    rule: LossRule,
}

/// Evidence that a packet is lost.
#[derive(Clone, Copy, Debug)]
struct LossRule {
    by: LossBy,
    /// Distance to the first missing packet, counted from 1, at which it counts as lost by its span.
    span: u32,
    /// Largest distance, counted from 1, at which a packet is kept.
    widest: u32,
}

impl<T> Arrived<T> {
    fn new(reorder: &Reorder) -> Self {
        let rule =
            LossRule { by: reorder.loss_by, span: reorder.loss_span_packets, widest: reorder.span_packets };
        Self { base: 0, slots: VecDeque::new(), kept: 0, asked: 0, rule }
    }

    /// Distance from the first missing packet to the last one that is there, counted from 1; 0 if nothing is beyond it.
    #[inline]
    fn reach(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The packets that are there, as bits.
    #[inline]
    pub(super) fn bitmap(&self) -> Bitmap {
        Bitmap { kept: self.kept, reach: self.reach() }
    }

    /// Returns true if the packet at an offset is there, or has been.
    #[inline]
    pub(super) fn has(&self, offset: u32) -> bool {
        offset < self.base || self.slots.get((offset - self.base) as usize).is_some_and(Option::is_some)
    }

    /// Returns true if a packet beyond the first missing one is near enough to be kept.
    #[inline]
    pub(super) const fn holds(&self, offset: u32) -> bool {
        offset - self.base < self.rule.widest
    }

    /// Keeps a packet that is missing and near enough.
    pub(super) fn keep(&mut self, offset: u32, packet: T) {
        let at = (offset - self.base) as usize;
        if self.slots.len() <= at {
            self.slots.resize_with(at + 1, || None);
        }
        self.kept += u32::from(self.slots[at].replace(packet).is_none());
    }

    /// The packet at the first missing offset, if it has arrived.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<T> {
        let packet = self.slots.front_mut()?.take()?;
        self.kept -= 1;
        Some(packet)
    }

    /// So many offsets from the first missing one on are done with.
    #[inline]
    pub(super) fn advance(&mut self, offsets: u32) {
        self.base += offsets;
        for _ in 0..offsets.min(self.reach()) {
            self.kept -= u32::from(self.slots.pop_front().flatten().is_some());
        }
    }

    /// The offsets whose missing packets count as lost once one at an offset has arrived, and were not asked for before.
    pub(super) fn lost(&mut self, arrived: u32) -> Range<u32> {
        let end = match self.rule.by {
            LossBy::Psn => arrived,
            LossBy::Span => (arrived + 2).saturating_sub(self.rule.span),
            LossBy::Timer => 0,
        };
        let first = self.asked.max(self.base);
        self.asked = first.max(end);
        first..end
    }

    /// Missing packets before an offset need not be asked for any more.
    pub(super) fn asked_before(&mut self, offset: u32) {
        self.asked = self.asked.max(offset);
    }

    /// Returns true the first time that the first missing packet is to be asked for.
    pub(super) fn asks_for_first(&mut self) -> bool {
        let asks = self.asked <= self.base;
        self.asked_before(self.base + 1);
        asks
    }
}

/// Packets of a requester that are to be sent again, and the responses to its Reads.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Sender {
    /// Offset before which everything is acknowledged, but for Reads, which only their responses complete.
    pub(super) acknowledged: u32,
    /// Responses to Reads; the base is the first missing one.
    pub(in crate::sim) responses: Arrived<()>,
    /// Packets to send again, before any new one.
    again: BTreeSet<u32>,
    /// Packets that will be, each with its time, in the order of the times.
    pending: VecDeque<(Nanos, u32)>,
}

impl Sender {
    pub(super) fn new(reorder: &Reorder) -> Self {
        Self {
            acknowledged: 0,
            responses: Arrived::new(reorder),
            again: BTreeSet::new(),
            pending: VecDeque::new(),
        }
    }

    /// The packet to send again next.
    #[inline]
    pub(super) fn next_again(&self) -> Option<u32> {
        self.again.first().copied()
    }

    /// A packet is sent again.
    pub(super) fn sent_again(&mut self, offset: u32) {
        self.again.remove(&offset);
    }

    /// A packet is to be sent again, at once, if it is under way.
    pub(super) fn repeat(&mut self, offset: u32, under_way: Range<u32>) {
        if under_way.contains(&offset) {
            self.again.insert(offset);
        }
    }

    /// A packet that was sent is to be sent again at a time, or a little later, in the order of the calls. Returns the time of the
    /// first of all.
    pub(super) fn repeat_at(&mut self, offset: u32, due: Nanos) -> Nanos {
        let due = self.pending.back().map_or(due, |(last, _)| due.max(*last));
        self.pending.push_back((due, offset));
        self.pending[0].0
    }

    /// Packets whose time has come are to be sent again, if they are under way; returns the time of the next.
    pub(super) fn due(&mut self, now: Nanos, under_way: Range<u32>) -> Option<Nanos> {
        while let Some((due, offset)) = self.pending.front().copied() {
            if due > now {
                return Some(due);
            }
            self.pending.pop_front();
            self.repeat(offset, under_way.clone());
        }
        None
    }

    /// Nothing is pending any more.
    pub(super) fn stop(&mut self) {
        self.pending.clear();
        self.again.clear();
    }

    /// Everything before an offset is acknowledged.
    pub(super) fn acknowledged_before(&mut self, offset: u32) {
        while self.again.first().is_some_and(|again| *again < offset) {
            self.again.pop_first();
        }
    }
}

/// Packets of a responder; the base is the expected one.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Receiver {
    pub(in crate::sim) arrived: Arrived<Packet>,
    /// Offsets of the responses that Read requests which are kept ask for: no requests have them.
    pub(super) reads: Vec<Range<u32>>,
    /// True from the refusal of the expected request for lack of a Receive until it is taken.
    pub(super) is_not_ready: bool,
}

impl Receiver {
    pub(super) fn new(reorder: &Reorder) -> Self {
        Self { arrived: Arrived::new(reorder), reads: Vec::new(), is_not_ready: false }
    }

    /// Keeps a request beyond the expected one, which takes so many PSNs.
    pub(super) fn keep(&mut self, offset: u32, packet: Packet, packets: u32) {
        self.arrived.keep(offset, packet);
        if packets > 1 {
            self.reads.push(offset..offset + packets);
        }
    }

    /// Offsets of the requests that count as lost once one at an offset has arrived, and were not asked for before.
    pub(super) fn lost(&mut self, arrived: u32) -> Vec<u32> {
        let lost = self.arrived.lost(arrived);
        let is_missing =
            |offset: &u32| !self.arrived.has(*offset) && !self.reads.iter().any(|read| read.contains(offset));
        lost.filter(is_missing).collect()
    }

    /// Takes so many PSNs.
    #[inline]
    pub(super) fn take(&mut self, packets: u32) {
        self.arrived.advance(packets);
        self.is_not_ready = false;
        if !self.reads.is_empty() {
            self.reads.retain(|read| read.end > self.arrived.base);
        }
    }

    /// The expected request was refused for lack of a Receive; the RNR NAK asks for it.
    pub(super) fn not_ready(&mut self) {
        self.is_not_ready = true;
        self.arrived.asked_before(self.arrived.base + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(by: LossBy) -> Arrived<()> {
        Arrived::new(&Reorder { loss_by: by, loss_span_packets: 4, span_packets: 8, ..Reorder::default() })
    }

    #[test]
    fn packets_beyond_a_missing_one_are_kept_until_it_comes() {
        let mut arrived = arrived(LossBy::Psn);
        for offset in [1, 2, 5] {
            arrived.keep(offset, ());
        }
        arrived.keep(5, ());
        assert_eq!((arrived.kept, arrived.reach()), (3, 6));
        assert_eq!(
            [0, 1, 2, 3, 5, 6].map(|offset| arrived.has(offset)),
            [false, true, true, false, true, false]
        );
        assert!(arrived.holds(7) && !arrived.holds(8));
        arrived.advance(1);
        assert!(arrived.take_first().is_some());
        arrived.advance(1);
        assert!(arrived.take_first().is_some());
        arrived.advance(1);
        assert!(arrived.take_first().is_none());
        assert_eq!((arrived.base, arrived.kept, arrived.reach()), (3, 1, 3));
        arrived.advance(9);
        assert_eq!(
            (arrived.base, arrived.kept, arrived.reach()),
            (12, 0, 0),
            "a Read beyond all that is there"
        );
    }

    #[test]
    fn each_missing_packet_counts_as_lost_once() {
        let mut at_once = arrived(LossBy::Psn);
        assert_eq!(at_once.lost(3), 0..3);
        assert!(at_once.lost(2).is_empty());
        assert_eq!(at_once.lost(6), 3..6);
        assert!(!at_once.asks_for_first());
        let mut by_span = arrived(LossBy::Span);
        assert_eq!([2, 3, 5].map(|offset| by_span.lost(offset)), [0..0, 0..1, 1..3]);
        let mut by_timer = arrived(LossBy::Timer);
        assert!(by_timer.lost(7).is_empty());
        assert_eq!([(); 2].map(|()| by_timer.asks_for_first()), [true, false]);
        by_timer.advance(1);
        assert!(by_timer.asks_for_first());
    }

    #[test]
    fn what_is_to_be_sent_again_was_sent_and_is_not_acknowledged() {
        let mut sender = Sender::new(&Reorder::default());
        sender.repeat(9, 0..8);
        assert_eq!(sender.next_again(), None);
        assert_eq!(sender.repeat_at(5, Nanos(20)), Nanos(20));
        assert_eq!(sender.repeat_at(3, Nanos(10)), Nanos(20), "not before the one that was asked for first");
        assert_eq!(sender.due(Nanos(19), 0..8), Some(Nanos(20)));
        assert_eq!((sender.due(Nanos(20), 0..8), sender.next_again()), (None, Some(3)));
        sender.acknowledged_before(4);
        assert_eq!(sender.next_again(), Some(5));
        sender.sent_again(5);
        assert_eq!(sender.next_again(), None);
    }
}
