//! One packet of a trace in 64 bytes.

use crate::event::Event;
use crate::wire::{AethRepr, Class, Ecn, Extensions, Opcode, RethRepr};
use crate::{Nanos, Psn};

/// Index of a [`crate::Flow`] in its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The index as `usize`.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place where packets are mirrored: a switch, by its number. A capture that names none has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, PartialOrd, Ord)]
pub struct Vantage(u8);

impl Vantage {
    /// The first or only one.
    pub const FIRST: Self = Self(0);

    /// Most vantages that a trace may have: 3 bits of a record.
    pub const MAX_COUNT: u8 = 8;

    /// The vantage with a number from 0; none beyond the last.
    pub const fn new(number: u8) -> Option<Self> {
        if number < Self::MAX_COUNT { Some(Self(number)) } else { None }
    }

    /// Its number, from 0.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The bits of [`Record::flags`] that name it.
    #[inline]
    pub(super) const fn flags(self) -> u8 {
        self.0 << flags::VANTAGE.trailing_zeros()
    }
}

/// Header bits of a packet, as bits of [`Record::flags`], and the bits that name its vantage.
pub mod flags {
    /// AckReq of the BTH.
    pub const ACK_REQ: u8 = 1;
    /// FECN of the BTH.
    pub const FECN: u8 = 2;
    /// BECN of the BTH.
    pub const BECN: u8 = 4;
    /// MigReq of the BTH, as it entered.
    pub const MIG_REQ: u8 = 8;
    /// Solicited event of the BTH.
    pub const SOLICITED: u8 = 16;
    /// Number of the [`Vantage`](super::Vantage), in the bits that no header field has.
    pub const VANTAGE: u8 = 0b1110_0000;
}

/// One packet as it entered the switch.
///
/// 64 bytes, so that traces of millions of packets stay in memory. Fields that only some opcodes have are 0
/// elsewhere; rare data is in side tables of the trace ([`crate::Trace::exit`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Record {
    /// Time at which it entered the switch.
    pub time: Nanos,
    /// Virtual address of RETH or AtomicETH.
    pub virtual_address: u64,
    /// Mirror sequence number; position in the file, from 1, in a plain capture.
    pub sequence: u32,
    /// Addresses and destination QPN.
    pub flow: FlowId,
    /// Packet sequence number.
    pub psn: Psn,
    /// AETH as one number: syndrome byte, then MSN.
    pub aeth: u32,
    /// DMA length of the RETH in bytes.
    pub dma_length: u32,
    /// Remote key of RETH, AtomicETH or IETH.
    pub remote_key: u32,
    /// Immediate data.
    pub immediate: u32,
    /// Length of the frame on the wire in bytes.
    pub frame_len: u32,
    /// Index + 1 in the trace's side table, 0 for none.
    pub(crate) extra: u32,
    /// RDMA payload in bytes, without pad.
    pub payload_len: u16,
    /// UDP source port.
    pub src_port: u16,
    /// Partition key.
    pub partition_key: u16,
    /// BTH opcode as its byte.
    pub(crate) opcode: u8,
    /// Event as its mirror code.
    pub(crate) event: u8,
    /// DSCP and ECN as they entered.
    pub traffic_class: u8,
    /// Bits of [`flags`].
    pub flags: u8,
}

const _: () = assert!(size_of::<Record>() == 64);

impl Record {
    /// A packet of which every field is 0.
    pub(super) const ZERO: Self =
        Self { partition_key: 0, ..Self::new(Nanos::ZERO, 0, FlowId(0), Opcode::SendFirst, Psn::new(0)) };

    /// A packet with the fields that every packet has; the others are 0.
    pub const fn new(time: Nanos, sequence: u32, flow: FlowId, opcode: Opcode, psn: Psn) -> Self {
        Self {
            time,
            virtual_address: 0,
            sequence,
            flow,
            psn,
            aeth: 0,
            dma_length: 0,
            remote_key: 0,
            immediate: 0,
            frame_len: 0,
            extra: 0,
            payload_len: 0,
            src_port: 0,
            partition_key: crate::wire::BthRepr::DEFAULT_PARTITION_KEY,
            opcode: opcode.code(),
            event: 0,
            traffic_class: 0,
            flags: 0,
        }
    }

    /// Operation.
    #[inline]
    pub fn opcode(&self) -> Opcode {
        Opcode::from(self.opcode)
    }

    /// Class of the operation in a reliable connection.
    #[inline]
    pub fn class(&self) -> Class {
        self.opcode().class()
    }

    /// Action of the injector on the packet.
    #[inline]
    pub fn event(&self) -> Event {
        Event::from_code(self.event)
    }

    /// Sets the injector's action.
    pub fn set_event(&mut self, event: Event) {
        self.event = event.code();
    }

    /// AckReq bit: the sender requests an acknowledgement.
    #[inline]
    pub const fn ack_req(&self) -> bool {
        self.flags & flags::ACK_REQ != 0
    }

    /// Place where the packet was mirrored.
    #[inline]
    pub const fn vantage(&self) -> Vantage {
        Vantage(self.flags >> flags::VANTAGE.trailing_zeros())
    }

    /// Sets the place where the packet was mirrored.
    #[inline]
    pub const fn set_vantage(&mut self, vantage: Vantage) {
        self.flags = self.flags & !flags::VANTAGE | vantage.flags();
    }

    /// Acknowledgement header; meaningful for the opcodes that have one.
    #[inline]
    pub fn aeth(&self) -> AethRepr {
        AethRepr::from(self.aeth)
    }

    /// Sets the RDMA and the acknowledgement header, each if the opcode has it.
    #[inline]
    pub fn set_extensions(&mut self, reth: RethRepr, aeth: AethRepr) {
        let present = Opcode::extensions_of(self.opcode);
        if present & Extensions::RETH != 0 {
            self.virtual_address = reth.virtual_address;
            self.remote_key = reth.remote_key;
            self.dma_length = reth.dma_length;
        }
        if present & Extensions::AETH != 0 {
            self.aeth = aeth.into();
        }
    }

    /// ECN bits as they entered.
    pub const fn ecn(&self) -> Ecn {
        Ecn::of(self.traffic_class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vantage_leaves_the_header_bits_as_they_are() {
        let mut record = Record { flags: 0b1_1111, ..Record::ZERO };
        assert_eq!(record.vantage(), Vantage::FIRST);
        for number in (0..Vantage::MAX_COUNT).rev() {
            let vantage = Vantage::new(number).unwrap();
            record.set_vantage(vantage);
            assert_eq!((record.vantage(), record.flags & !flags::VANTAGE), (vantage, 0b1_1111));
        }
        assert_eq!((Vantage::new(Vantage::MAX_COUNT), record.flags), (None, 0b1_1111));
    }
}
