//! Reordering of packets on their way to their receivers, and its price: NAKs and retransmissions of packets that were not lost.
//!
//! The metrics are those of RFC 4737, of the packets of one direction of a connection as they *left* the switch. Only the first
//! transmission of each PSN counts: a retransmission comes late without having been overtaken.

use dumper::wire::{AethRepr, Class, NakCode, Syndrome};
use dumper::{Fate, Nanos, Psn, Record};
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::see::connections::Pair;
use crate::see::psns::psns_of;

/// Reordering of the packets towards one end of a connection, and its price.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Reordering {
    /// Packets that left the switch in their first transmission.
    pub packets: u64,
    /// Those among them that a packet with a larger PSN has overtaken (RFC 4737, 3.3).
    pub reordered: u64,
    /// Largest extent: packets that left from the first with a larger PSN on, up to the overtaken one (RFC 4737, 4.2.2).
    pub extent: u64,
    /// Largest late time: from the first packet with a larger PSN to the overtaken one (RFC 4737, 4.3).
    pub late_ns: Nanos,
    /// Largest n for which a packet is n-reordered: so many packets right before it have larger PSNs (RFC 4737, 5.3).
    pub n_reordering: u64,
    /// Packets that the receiver asked for although they were not lost: NAKs of PSN sequence errors, or for responses Read
    /// requests for them.
    pub spurious_naks: u64,
    /// Packets that were sent again although they were not lost.
    pub spurious_retransmissions: u64,
}

/// Reordering on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct ConnectionReordering {
    /// Connection, from 1.
    pub connection: usize,
    /// Of requests.
    pub to_responder: Reordering,
    /// Of responses to Reads and atomics.
    pub to_requester: Reordering,
}

impl Reordering {
    /// Returns true if packets were overtaken, or asked for or sent again without need.
    #[must_use]
    pub const fn shows(&self) -> bool {
        self.reordered + self.spurious_naks + self.spurious_retransmissions > 0
    }

    /// That of all connections together: towards the responder, and towards the requester.
    #[must_use]
    pub fn of_all(connections: &[ConnectionReordering]) -> [Self; 2] {
        let mut all = [Self::default(); 2];
        for one in connections {
            all[0].add(&one.to_responder);
            all[1].add(&one.to_requester);
        }
        all
    }

    /// Takes the packets of another direction or connection.
    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.reordered += other.reordered;
        self.extent = self.extent.max(other.extent);
        self.late_ns = self.late_ns.max(other.late_ns);
        self.n_reordering = self.n_reordering.max(other.n_reordering);
        self.spurious_naks += other.spurious_naks;
        self.spurious_retransmissions += other.spurious_retransmissions;
    }
}

/// One end of a connection as a sender, and what leaves the switch of it. Offsets count from the first PSN.
#[derive(Default)]
struct Direction {
    seen: Reordering,
    /// Offset after the highest PSN that was sent.
    end: u32,
    /// Offsets of packets whose last transmission was lost.
    lost: FxHashSet<u32>,
    /// Retransmissions that have not left yet.
    again: FxHashSet<u32>,
    /// First transmissions with a larger PSN than all before them: offset, number and time.
    leading: Vec<(u32, u64, Nanos)>,
    /// Offsets of those that have left, each with its number, such that no later one has a smaller offset.
    smaller: Vec<(u32, u64)>,
}

impl Direction {
    /// A packet with so many PSNs enters the switch.
    fn enters(&mut self, offset: u32, psns: u32, sequence: u32, is_lost: bool) {
        if offset < self.end {
            if !self.lost.remove(&offset) {
                self.seen.spurious_retransmissions += 1;
            }
            if !is_lost {
                self.again.insert(sequence);
            }
        }
        if is_lost {
            self.lost.insert(offset);
        }
        self.end = self.end.max(offset.saturating_add(psns));
    }

    /// Returns true if a packet was sent, and not lost when it was sent last.
    fn is_under_way(&self, offset: u32) -> bool {
        offset < self.end && !self.lost.contains(&offset)
    }

    /// A packet leaves the switch.
    fn leaves(&mut self, offset: u32, sequence: u32, left: Nanos) {
        if !self.again.is_empty() && self.again.remove(&sequence) {
            return;
        }
        let number = self.seen.packets;
        self.seen.packets += 1;
        if self.leading.last().is_none_or(|(leads, ..)| *leads < offset) {
            self.leading.push((offset, number, left));
        } else {
            // The first that is larger.
            let at = self.leading.partition_point(|(leads, ..)| *leads <= offset);
            if let Some((_, before, since)) = self.leading.get(at) {
                self.seen.reordered += 1;
                self.seen.extent = self.seen.extent.max(number - before);
                self.seen.late_ns = self.seen.late_ns.max(left - *since);
            }
        }
        while self.smaller.pop_if(|(before, _)| *before > offset).is_some() {}
        let larger_before = self.smaller.last().map_or(number, |(_, before)| number - before - 1);
        self.seen.n_reordering = self.seen.n_reordering.max(larger_before);
        self.smaller.push((offset, number));
    }
}

/// A connection.
struct Connection {
    number: usize,
    first: Psn,
    mtu: u32,
    requests: Direction,
    responses: Direction,
}

impl Connection {
    /// Offset of a PSN near the requests that were sent; none of one before the first.
    fn offset(&self, psn: Psn) -> Option<u32> {
        let end = self.requests.end;
        end.checked_add_signed(psn.since(self.first.add(end)))
    }
}

/// The connections of a test, in the order of the trackers.
pub(crate) struct Reorderings(Vec<Connection>);

impl Reorderings {
    /// No packet has passed yet, of connections with their number and path MTU.
    pub(crate) fn of(connections: impl Iterator<Item = (Pair, usize, u32)>) -> Self {
        let new = |(pair, number, mtu): (Pair, usize, u32)| Connection {
            number,
            first: pair.initial_psn,
            mtu,
            requests: Direction::default(),
            responses: Direction::default(),
        };
        Self(connections.map(new).collect())
    }

    /// A packet of the connection at a place enters the switch.
    pub(crate) fn enters(&mut self, place: usize, record: &Record, fate: Fate) {
        let Some(connection) = self.0.get_mut(place) else { return };
        let Some(offset) = connection.offset(record.psn) else { return };
        let is_lost = fate == Fate::Lost;
        let class = record.class();
        match class {
            Class::Request(..) | Class::ReadRequest | Class::AtomicRequest => {
                let asks_again = class == Class::ReadRequest && offset < connection.requests.end;
                if asks_again && connection.responses.is_under_way(offset) {
                    connection.responses.seen.spurious_naks += 1;
                }
                let psns = psns_of(record, class, connection.mtu);
                connection.requests.enters(offset, psns, record.sequence, is_lost);
            }
            Class::ReadResponse(_) | Class::AtomicAcknowledge => {
                connection.responses.enters(offset, 1, record.sequence, is_lost);
            }
            Class::Acknowledge => {
                let syndrome = AethRepr::from(record.aeth).syndrome;
                if syndrome == Syndrome::Nak(NakCode::PsnSequenceError)
                    && connection.requests.is_under_way(offset)
                {
                    connection.requests.seen.spurious_naks += 1;
                }
            }
            Class::Cnp | Class::Datagram | Class::Unknown => {}
        }
    }

    /// The first copy of a packet of the connection at a place has left the switch.
    pub(crate) fn leaves(&mut self, place: usize, record: &Record, left: Nanos) {
        let Some(connection) = self.0.get_mut(place) else { return };
        let Some(offset) = connection.offset(record.psn) else { return };
        match record.class() {
            Class::Request(..) | Class::ReadRequest | Class::AtomicRequest => {
                connection.requests.leaves(offset, record.sequence, left);
            }
            Class::ReadResponse(_) | Class::AtomicAcknowledge => {
                connection.responses.leaves(offset, record.sequence, left);
            }
            Class::Acknowledge | Class::Cnp | Class::Datagram | Class::Unknown => {}
        }
    }

    /// The connections that show any.
    pub(crate) fn seen(&self) -> Vec<ConnectionReordering> {
        let of = |one: &Connection| ConnectionReordering {
            connection: one.number,
            to_responder: one.requests.seen,
            to_requester: one.responses.seen,
        };
        self.0.iter().map(of).filter(|one| one.to_responder.shows() || one.to_requester.shows()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The metrics of packets that leave in this order of offsets, a microsecond apart.
    fn of(order: &[u32]) -> Reordering {
        let mut direction = Direction { end: 1_000, ..Direction::default() };
        for (at, offset) in (0..).zip(order) {
            direction.leaves(*offset, at as u32, Nanos::from_micros(at));
        }
        direction.seen
    }

    /// By hand, after the definitions of RFC 4737.
    #[test]
    fn hand_computed_metrics() {
        // 4 comes after 5, 6, 7 and 8.
        let one = of(&[1, 2, 3, 5, 6, 7, 8, 4, 9, 10]);
        assert_eq!((one.packets, one.reordered, one.extent), (10, 1, 4));
        assert_eq!((one.late_ns, one.n_reordering), (Nanos::from_micros(4), 4));
        // 5 and 6 come after 7; 5 is between 7 and 6.
        let two = of(&[1, 2, 3, 4, 7, 5, 6, 8, 9, 10]);
        assert_eq!((two.reordered, two.extent, two.n_reordering), (2, 2, 1));
        // 5, 6 and 4 after 7, the latter five behind it; 8 and 9 after 10, the latter five behind it.
        let several = of(&[1, 2, 3, 7, 10, 5, 6, 8, 4, 9, 11]);
        assert_eq!((several.reordered, several.extent, several.n_reordering), (5, 5, 5));
    }

    #[test]
    fn packets_in_order_are_not_reordered() {
        let seen = of(&[0, 1, 2, 3]);
        assert_eq!(seen, Reordering { packets: 4, ..Reordering::default() });
    }
}
