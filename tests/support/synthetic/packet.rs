//! Packets on their way through a world.

use dumper::wire::{AethRepr, Opcode, Syndrome};

/// Kinds of packet that a fault can name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Kind {
    /// Packets of Sends and Writes, Read responses.
    Data,
    /// ACKs.
    Ack,
    /// NAKs and RNR NAKs.
    Nak,
    /// Read requests.
    ReadRequest,
    /// Atomic requests and acknowledgements.
    Atomic,
    /// CNPs.
    Cnp,
}

/// Direction of a packet on its connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Direction {
    /// From requester to responder.
    Forth,
    /// From responder to requester.
    Back,
}

/// Operation of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Packet of a Send or Write.
    Data {
        /// It asks for an ACK.
        ack_req: bool,
        /// It ends its message.
        ends: bool,
        /// Message, from 0.
        message: usize,
        /// It starts a message that needs a receive.
        takes_receive: bool,
    },
    /// Read request for so many PSNs.
    ReadRequest {
        /// PSNs that it takes.
        count: u64,
        /// Bytes that it asks for.
        bytes: u32,
        /// Message, from 0.
        message: usize,
    },
    /// Atomic request.
    AtomicRequest {
        /// Message, from 0.
        message: usize,
    },
    /// ACK or NAK.
    Acknowledge(AethRepr),
    /// Read response or atomic acknowledgement; MIDDLE has no AETH.
    Response(Option<AethRepr>),
    /// CNP.
    Cnp,
}

/// A packet. PSNs are positions from the connection's initial PSN, which do not wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Connection, from 0.
    pub connection: usize,
    /// Its direction.
    pub direction: Direction,
    /// Operation code.
    pub opcode: Opcode,
    /// Position.
    pub at: u64,
    /// Its operation.
    pub op: Op,
    /// RDMA payload in bytes.
    pub payload: u32,
    /// Congestion experienced.
    pub marked: bool,
}

impl Packet {
    pub(super) fn is_data(&self) -> bool {
        matches!(self.op, Op::Data { .. })
            || matches!(self.op, Op::Response(_)) && self.opcode != Opcode::AtomicAcknowledge
    }

    pub(super) fn kind(&self) -> Kind {
        match self.op {
            Op::Data { .. } => Kind::Data,
            Op::ReadRequest { .. } => Kind::ReadRequest,
            Op::AtomicRequest { .. } => Kind::Atomic,
            Op::Acknowledge(aeth) => match aeth.syndrome {
                Syndrome::Ack(_) => Kind::Ack,
                _ => Kind::Nak,
            },
            Op::Response(_) if self.opcode == Opcode::AtomicAcknowledge => Kind::Atomic,
            Op::Response(_) => Kind::Data,
            Op::Cnp => Kind::Cnp,
        }
    }

    /// Bytes on the wire, near enough: Ethernet, IPv4, UDP, BTH, 16 of extensions, payload, ICRC.
    pub(super) const fn wire_bytes(&self) -> u64 {
        14 + 20 + 8 + 12 + 16 + self.payload as u64 + 4
    }
}
