//! Fields of a packet that the pipeline reads.

use corpus::ControlPacket;
use dumper::Psn;
use dumper::wire::frame::Frame;
use dumper::wire::{Class, NakCode, Opcode, Syndrome};

/// The headers of a packet, as far as the pipeline matches on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Kind of packet.
    pub kind: Kind,
    /// Its PSN.
    pub psn: Psn,
    /// Bytes of the frame, without frame check sequence.
    pub frame_bytes: u32,
    /// True for a NAK that asks for a PSN again (PSN sequence error).
    pub asks_again: bool,
}

/// Kinds of packets, as events tell them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Packet of a Send or Write request, or of a Read response.
    Data {
        /// True if a message or response starts with it (FIRST, ONLY).
        starts: bool,
        /// True if a message or response ends with it (LAST, ONLY).
        ends: bool,
    },
    /// Matched by its n-th occurrence.
    Control(ControlPacket),
    /// Nothing that an event can name: atomics, datagrams, unknown opcodes, reserved AETH syndromes.
    Other,
}

impl Packet {
    /// Of a frame of so many bytes, without frame check sequence.
    #[must_use]
    pub fn of(frame: &Frame<'_>, frame_bytes: u32) -> Self {
        let aeth = frame.extensions.aeth.filter(|_| frame.bth.opcode == Opcode::Acknowledge);
        Self::new(frame.bth.opcode, aeth.map(|aeth| aeth.syndrome), frame.bth.psn, frame_bytes)
    }

    /// From the BTH and, on an acknowledgement, the AETH, and the length of the frame.
    #[inline]
    #[must_use]
    pub fn new(opcode: Opcode, syndrome: Option<Syndrome>, psn: Psn, frame_bytes: u32) -> Self {
        let kind = match opcode.class() {
            Class::Request(_, position) | Class::ReadResponse(position) => {
                Kind::Data { starts: position.starts(), ends: position.ends() }
            }
            Class::ReadRequest => Kind::Control(ControlPacket::ReadRequest),
            Class::Cnp => Kind::Control(ControlPacket::Cnp),
            Class::Acknowledge => match syndrome {
                Some(Syndrome::Ack(_)) => Kind::Control(ControlPacket::Ack),
                Some(Syndrome::Nak(_) | Syndrome::RnrNak(_)) => Kind::Control(ControlPacket::Nak),
                Some(Syndrome::Reserved(_)) | None => Kind::Other,
            },
            Class::AtomicRequest | Class::AtomicAcknowledge | Class::Datagram | Class::Unknown => Kind::Other,
        };
        let asks_again = kind == Kind::Control(ControlPacket::Nak)
            && matches!(syndrome, Some(Syndrome::Nak(NakCode::PsnSequenceError)));
        Self { kind, psn, frame_bytes, asks_again }
    }
}
