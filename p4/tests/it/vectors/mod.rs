//! The vectors of `p4/vectors`: packets in, packets out, mirrored packets.

pub(crate) mod file;
mod pipeline;
pub(crate) mod sockets;
mod virtual_time;

use corpus::Role;
use dumper::{Event, Nanos, Psn};

/// One vector.
pub(crate) struct Vector {
    pub(crate) name: String,
    /// Its text is read anew by each kind of injector.
    test: corpus::TestConfig,
    initial: Psn,
    pub(crate) packets: Vec<Packet>,
    /// Packets in the order in which they leave, by their places.
    order: Vec<usize>,
}

/// A packet that enters, and what becomes of it.
pub(crate) struct Packet {
    pub(crate) from: Role,
    pub(crate) frame: Vec<u8>,
    /// What leaves.
    pub(crate) out: Vec<Leaves>,
    after: Nanos,
    pub(crate) mirror: Event,
}

/// A packet that leaves.
pub(crate) struct Leaves {
    pub(crate) frame: Vec<u8>,
    /// It differs from the packet that entered.
    changed: bool,
}

impl Vector {
    pub(crate) fn tables(&self) -> p4::Tables {
        let connections = crate::support::connections(self.test.traffic.load.connections(), self.initial);
        p4::translate(&self.test, &connections).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Time at which a packet enters, where the injector has no clock of its own.
    fn enters(place: usize) -> Nanos {
        Nanos(1_000 * place as u64)
    }

    /// Frames in the order in which they leave at a host's port.
    pub(crate) fn leave_to(&self, host: Role) -> Vec<&[u8]> {
        let packets = self.order.iter().map(|place| &self.packets[*place]);
        let out = packets.filter(|packet| packet.from.peer() == host).flat_map(|packet| &packet.out);
        out.map(|leaves| leaves.frame.as_slice()).collect()
    }

    /// Compares what left at a host's port.
    pub(crate) fn assert_left(&self, host: Role, left: &[Vec<u8>]) {
        let expected = self.leave_to(host);
        let names = |frames: &[&[u8]]| frames.iter().map(|frame| self.name_of(frame)).collect::<Vec<_>>();
        let left: Vec<&[u8]> = left.iter().map(Vec::as_slice).collect();
        assert!(
            left == expected,
            "{}: to the {}: {:?}, expected {:?}",
            self.name,
            host.name(),
            names(&left),
            names(&expected)
        );
    }

    /// Opcode, PSN and bytes of a frame, for people.
    fn name_of(&self, frame: &[u8]) -> String {
        let packet = crate::frames::parse(frame);
        let icrc = if packet.icrc_ok() == Some(true) { "" } else { " with a wrong ICRC" };
        format!(
            "{} {}, traffic class {}, {} bytes{icrc}",
            packet.bth.opcode,
            packet.bth.psn.value(),
            packet.ip.traffic_class(),
            frame.len()
        )
    }
}
