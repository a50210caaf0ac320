//! A packet as the machines of a connection take it.

use dumper::timers::rnr_wait;
use dumper::wire::{AethRepr, NakCode, Opcode, Syndrome};
use dumper::{Nanos, Psn};

use super::window::ReadOf;

/// A packet at one of its two moments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) sequence: u32,
    pub(super) time: Nanos,
    pub(super) psn: Psn,
    pub(super) opcode: Opcode,
    pub(super) ack_req: bool,
    /// Bytes of payload.
    pub(super) payload: u32,
    /// PSNs that a request takes.
    pub(super) count: u32,
    pub(super) aeth: u32,
    /// Address and length of a Read request.
    pub(super) read: ReadOf,
}

impl Packet {
    /// One past its last PSN.
    #[inline]
    pub(super) const fn end(&self) -> Psn {
        self.psn.add(self.count)
    }

    pub(super) fn aeth(&self) -> AethRepr {
        AethRepr::from(self.aeth)
    }
}

/// Kind of an acknowledgement packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    Ack,
    SequenceNak,
    /// RNR NAK with the wait that it asks for.
    Rnr(Nanos),
    Fatal,
}

impl Answer {
    /// `None` for reserved syndromes, which mean nothing (IBA vol. 1, 9.3.5).
    #[inline]
    pub(super) fn of(aeth: AethRepr) -> Option<Self> {
        match aeth.syndrome {
            Syndrome::Ack(_) => Some(Self::Ack),
            Syndrome::RnrNak(code) => Some(Self::Rnr(rnr_wait(code))),
            Syndrome::Nak(NakCode::PsnSequenceError) => Some(Self::SequenceNak),
            Syndrome::Nak(NakCode::Reserved(_)) | Syndrome::Reserved(_) => None,
            Syndrome::Nak(_) => Some(Self::Fatal),
        }
    }
}
