//! Arithmetic of messages and packets on *relative* indices: PSN 1 is the first data packet of a
//! connection, over all its messages in posting order. Nothing here knows a PSN of the wire.

use std::ops::RangeInclusive;

use crate::config::{Load, Mtu, Role, Traffic, Verb};

/// Traffic of every connection of a test: equal messages, cut into packets, with dummies behind each, or behind those that it takes time to
/// follow: where the packets are that come behind the first message is not known before the test then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    mtu: u32,
    message_size: u32,
    messages: u32,
    dummies: u32,
    /// Dummies are behind some messages only.
    is_timed: bool,
}

/// Place of a data packet in its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Message, from 0.
    pub message: u32,
    /// Packet in the message, from 0; dummies are counted on.
    pub packet: u32,
    /// First, middle, last or only one of its message; a dummy is the only one of its own.
    pub position: Position,
    /// Payload bytes.
    pub payload: u32,
}

/// Position of a packet in its message; picks the opcode (IBA 9.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Position {
    /// The first of several.
    First,
    /// Neither first nor last.
    Middle,
    /// The last of several.
    Last,
    /// The only one.
    Only,
}

impl Shape {
    /// Messages of `message_size` bytes over an MTU.
    #[must_use]
    pub const fn new(mtu: Mtu, message_size: u32, messages: u32) -> Self {
        Self { mtu: mtu.bytes(), message_size, messages, dummies: 0, is_timed: false }
    }

    /// Packets that carry a message: size over MTU, rounded up, and at least one (an empty message is
    /// one packet, IBA 9.7.2.1).
    #[must_use]
    pub const fn own_packets(self) -> u32 {
        let packets = self.message_size.div_ceil(self.mtu);
        if packets == 0 { 1 } else { packets }
    }

    /// Packets of each message with the dummies behind it: the distance of the PSNs of two messages, or the largest one.
    #[must_use]
    pub const fn packets_per_message(self) -> u32 {
        self.own_packets().saturating_add(self.dummies)
    }

    /// Data packets of one connection without retransmissions, or the most that there may be. 64 bits, as a configuration that
    /// has not been checked may ask for more than 32 hold.
    #[must_use]
    pub const fn packets(self) -> u64 {
        self.messages as u64 * self.packets_per_message() as u64
    }

    /// Packets of a connection whose place is known before the test: those of the first message where dummies wait for time to pass.
    #[must_use]
    pub const fn known_packets(self) -> u64 {
        if self.is_timed && self.messages > 0 { self.own_packets() as u64 } else { self.packets() }
    }

    /// The place of the packet with a relative PSN (from 1); none if the connection has no such
    /// packet, or none whose place is known.
    #[must_use]
    pub const fn locate(self, psn: u32) -> Option<Place> {
        if psn == 0 || psn as u64 > self.known_packets() {
            return None;
        }
        let per_message = self.packets_per_message();
        let (message, packet) = ((psn - 1) / per_message, (psn - 1) % per_message);
        let own = self.own_packets();
        if packet >= own {
            return Some(Place { message, packet, position: Position::Only, payload: 0 });
        }
        let is_last = packet == own - 1;
        let position = match (packet == 0, is_last) {
            (true, true) => Position::Only,
            (true, false) => Position::First,
            (false, true) => Position::Last,
            (false, false) => Position::Middle,
        };
        let payload = if is_last { self.message_size - packet * self.mtu } else { self.mtu };
        Some(Place { message, packet, position, payload })
    }

    /// The relative PSN that the packet with a relative PSN has where no dummies are sent; none of a dummy, and where the connection
    /// has no such packet.
    #[must_use]
    pub fn psn_without_dummies(self, psn: u32) -> Option<u32> {
        let place = self.locate(psn).filter(|place| place.packet < self.own_packets())?;
        Some(psn - place.message * self.dummies)
    }

    /// The relative PSNs of a message (index from 0); none if there is no such message, if they are not known, or if they
    /// do not fit 32 bits.
    #[must_use]
    pub fn message_psns(self, message: u32) -> Option<RangeInclusive<u32>> {
        if message >= self.messages {
            return None;
        }
        if self.is_timed {
            return (message == 0).then(|| 1..=self.own_packets());
        }
        let per_message = self.packets_per_message();
        let first = message.checked_mul(per_message)?.checked_add(1)?;
        Some(first..=first.checked_add(per_message - 1)?)
    }
}

impl Traffic {
    /// The shape of every connection.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        let dummies = self.dummy_headers as u32;
        Shape {
            dummies,
            is_timed: self.times_dummies(),
            ..Shape::new(self.mtu, self.message_size, self.num_msgs_per_qp)
        }
    }

    /// Returns true if dummies wait for time to pass, and are behind some messages only.
    #[must_use]
    pub const fn times_dummies(&self) -> bool {
        self.dummy_headers > 0 && self.dummy_idle_ns > 0
    }

    /// Data packets of the whole test without retransmissions.
    #[must_use]
    pub const fn total_packets(&self) -> u64 {
        self.shape().packets().saturating_mul(self.load.connections() as u64)
    }

    /// Returns true if both hosts send data on a connection (relative QPN): Sends and Reads take turns on it.
    #[must_use]
    pub fn has_data_both_ways(&self, qpn: u32) -> bool {
        Role::ALL.into_iter().all(|role| self.load.sends_data(qpn, self.num_msgs_per_qp, role))
    }

    /// The host that sends the data packet with a relative PSN on a connection (relative QPN);
    /// none if there is no such packet.
    #[must_use]
    pub fn data_sender(&self, qpn: u32, psn: u32) -> Option<Role> {
        if qpn == 0 || qpn > self.load.connections() {
            return None;
        }
        self.shape().locate(psn).map(|place| self.load.verb(qpn, place.message).data_sender())
    }
}

impl Verb {
    /// The host whose packets carry the data: the responder for Reads, else the requester.
    #[must_use]
    pub const fn data_sender(self) -> Role {
        match self {
            Self::Write | Self::Send => Role::Requester,
            Self::Read => Role::Responder,
        }
    }
}

impl Load {
    /// Returns true if a host sends data on a connection (relative QPN) that has `messages` messages.
    #[must_use]
    pub fn sends_data(self, qpn: u32, messages: u32, role: Role) -> bool {
        [Verb::Write, Verb::Read, Verb::Send]
            .into_iter()
            .any(|verb| verb.data_sender() == role && self.carries(qpn, messages, verb))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn listing_2_has_ten_packets_a_message() {
        let shape = Shape::new(Mtu::B1024, 10_240, 10);
        assert_eq!((shape.packets_per_message(), shape.packets()), (10, 100));
        assert_eq!(
            shape.locate(5).unwrap(),
            Place { message: 0, packet: 4, position: Position::Middle, payload: 1024 }
        );
        assert_eq!(shape.locate(11).unwrap().position, Position::First);
        assert_eq!(shape.locate(100).unwrap().position, Position::Last);
        assert_eq!((shape.locate(0), shape.locate(101)), (None, None));
        assert_eq!(shape.message_psns(9), Some(91..=100));
        assert_eq!(shape.message_psns(10), None);
    }

    #[test]
    fn dummies_that_wait_leave_only_the_first_message_in_its_place() {
        let traffic = Traffic {
            message_size: 2_000,
            num_msgs_per_qp: 3,
            dummy_headers: 2,
            dummy_idle_ns: 1_000,
            ..Traffic::default()
        };
        let shape = traffic.shape();
        assert_eq!((shape.packets(), shape.known_packets()), (12, 2));
        assert_eq!(shape.locate(2).map(|place| place.position), Some(Position::Last));
        assert_eq!(shape.locate(3), None);
        assert_eq!((shape.message_psns(0), shape.message_psns(1)), (Some(1..=2), None));
        assert_eq!(shape.psn_without_dummies(2), Some(2));
    }

    #[test]
    fn dummies_follow_each_message() {
        let traffic =
            Traffic { message_size: 2_000, num_msgs_per_qp: 3, dummy_headers: 2, ..Traffic::default() };
        let shape = traffic.shape();
        assert_eq!((shape.own_packets(), shape.packets_per_message(), shape.packets()), (2, 4, 12));
        let place = |psn| shape.locate(psn).unwrap();
        assert_eq!((place(2).position, place(2).payload), (Position::Last, 976));
        for dummy in [3, 4, 11, 12] {
            assert_eq!((place(dummy).position, place(dummy).payload), (Position::Only, 0), "{dummy}");
        }
        assert_eq!((place(5).message, place(5).position), (1, Position::First));
        assert_eq!((shape.message_psns(2), shape.locate(13)), (Some(9..=12), None));
        let without: Vec<_> = (0..=13).map(|psn| shape.psn_without_dummies(psn)).collect();
        let message = |first: u32| [Some(first), Some(first + 1), None, None];
        assert_eq!(without, [&[None], &message(1)[..], &message(3), &message(5), &[None]].concat());
    }

    #[test]
    fn an_empty_message_is_one_packet() {
        let shape = Shape::new(Mtu::B4096, 0, 3);
        assert_eq!((shape.packets_per_message(), shape.packets()), (1, 3));
        let place = shape.locate(2).unwrap();
        assert_eq!((place.message, place.position, place.payload), (1, Position::Only, 0));
    }

    #[test]
    fn the_largest_shape_does_not_overflow() {
        let shape = Shape::new(Mtu::B256, u32::MAX, u32::MAX);
        assert_eq!(shape.packets(), u64::from(u32::MAX) << 24);
        assert!(shape.locate(u32::MAX).is_some());
        assert_eq!(shape.message_psns(u32::MAX - 1), None);
    }

    #[test]
    fn data_flows_from_the_owner_of_the_message() {
        let mut traffic =
            Traffic { load: Load::Alternating { connections: 2 }, num_msgs_per_qp: 3, ..Traffic::default() };
        assert_eq!(traffic.data_sender(1, 10), Some(Role::Requester));
        assert_eq!(traffic.data_sender(1, 11), Some(Role::Responder));
        assert_eq!(traffic.data_sender(2, 21), Some(Role::Requester));
        assert_eq!(traffic.data_sender(3, 1), None);
        traffic.load = Load::Split { send: 1, read: 1 };
        assert_eq!(traffic.data_sender(1, 30), Some(Role::Requester));
        assert_eq!(traffic.data_sender(2, 1), Some(Role::Responder));
        assert_eq!(traffic.data_sender(2, 31), None);
    }

    proptest! {
        #[test]
        fn messages_and_packets_agree(
            size in 0..20_000u32, messages in 1..20u32, mtu in 0..5usize, dummies in 0..8u32,
        ) {
            let shape = Shape { dummies, ..Shape::new(Mtu::ALL[mtu], size, messages) };
            let mut next = 1;
            for message in 0..messages {
                let psns = shape.message_psns(message).unwrap();
                prop_assert_eq!(*psns.start(), next);
                next = psns.end() + 1;
                let payload: u32 = psns.map(|psn| {
                    let place = shape.locate(psn).unwrap();
                    assert_eq!(place.message, message);
                    place.payload
                }).sum();
                prop_assert_eq!(payload, size);
            }
            prop_assert_eq!(u64::from(next), shape.packets() + 1);
        }
    }
}
