//! Data in flight: a NIC keeps what it has sent until it is acknowledged, and has room for so many bytes.

use std::collections::VecDeque;

/// Bytes that a NIC has sent, and that are not acknowledged, of all of its QPs.
#[derive(Debug)]
pub(in crate::sim) struct Credit {
    /// Most bytes of Sends and Writes in flight.
    limit: u64,
    in_flight: u64,
    qps: Vec<Flight>,
    /// QPs that wait for room, in turn.
    waiting: VecDeque<u32>,
}

/// Data of a QP in flight.
#[derive(Debug, Default)]
struct Flight {
    /// The packets, each by the offset after its PSN and its payload, in order.
    packets: VecDeque<(u32, u32)>,
    /// Offset after the last PSN that was sent.
    sent: u32,
    waits: bool,
}

impl Credit {
    /// So many bytes for so many QPs; none if there is no limit.
    pub(in crate::sim::nic) fn new(limit: u64, qps: usize) -> Option<Self> {
        (limit > 0).then(|| Self {
            limit,
            in_flight: 0,
            qps: (0..qps).map(|_| Flight::default()).collect(),
            waiting: VecDeque::new(),
        })
    }

    /// Returns true if the next packet of a QP has to wait for room; the QP then waits.
    pub(in crate::sim::nic) fn holds(&mut self, qp: u32, bytes: u32) -> bool {
        if self.room(bytes) > 0 {
            return false;
        }
        let flight = &mut self.qps[qp as usize];
        if !flight.waits {
            flight.waits = true;
            self.waiting.push_back(qp);
        }
        true
    }

    /// Returns true if a QP waits for room.
    pub(in crate::sim) fn waits(&self, qp: u32) -> bool {
        self.qps[qp as usize].waits
    }

    /// A QP has sent everything before an offset, now a packet of data: it is kept from now on, unless it was sent before.
    pub(in crate::sim::nic) fn sent(&mut self, qp: u32, end: u32, payload: u32) {
        let flight = &mut self.qps[qp as usize];
        if end > flight.sent {
            flight.sent = end;
            flight.packets.push_back((end, payload));
            self.in_flight += u64::from(payload);
        }
    }

    /// What a QP has sent before an offset is acknowledged.
    pub(in crate::sim::nic) fn acknowledged(&mut self, qp: u32, before: u32) {
        let packets = &mut self.qps[qp as usize].packets;
        while let Some((_, payload)) = packets.front().copied().filter(|(end, _)| *end <= before) {
            packets.pop_front();
            self.in_flight -= u64::from(payload);
        }
    }

    /// Number of packets of so many bytes that there is room for, one at least while nothing is in flight.
    pub(in crate::sim::nic) fn room(&self, bytes: u32) -> u64 {
        let packets = self.limit.saturating_sub(self.in_flight) / u64::from(bytes.max(1));
        packets.max(u64::from(self.in_flight == 0))
    }

    /// The QP that waits longest, which waits no more.
    pub(in crate::sim::nic) fn next_waiting(&mut self) -> Option<u32> {
        let qp = self.waiting.pop_front()?;
        self.qps[qp as usize].waits = false;
        Some(qp)
    }

    /// Bytes in flight, and the most that there can be.
    pub(in crate::sim) const fn bytes(&self) -> (u64, u64) {
        (self.in_flight, self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qps_share_the_room_in_turn() {
        let mut credit = Credit::new(2_000, 3).unwrap();
        assert!(!credit.holds(0, 1_000));
        credit.sent(0, 1, 1_000);
        credit.sent(1, 1, 600);
        assert!(credit.holds(2, 1_000));
        assert!(credit.holds(0, 1_000));
        assert!(credit.holds(2, 1_000));
        assert_eq!(credit.room(1_000), 0);
        credit.acknowledged(0, 1);
        assert_eq!((credit.bytes(), credit.room(1_000)), ((600, 2_000), 1));
        assert_eq!(
            [credit.next_waiting(), credit.next_waiting(), credit.next_waiting()],
            [Some(2), Some(0), None]
        );
        credit.acknowledged(1, 0);
        credit.sent(0, 1, 1_000);
        assert_eq!(credit.bytes().0, 600);
    }

    #[test]
    fn one_packet_always_has_room() {
        let mut credit = Credit::new(100, 1).unwrap();
        assert!(!credit.holds(0, 4_096));
        credit.sent(0, 1, 4_096);
        assert!(credit.holds(0, 4_096));
        assert!(Credit::new(0, 1).is_none());
    }
}
