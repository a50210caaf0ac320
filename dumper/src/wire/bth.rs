//! Base Transport Header (IBA vol. 1, 9.2).

use super::error::Layer;
use super::view::{be, put_be, view};
use super::{Opcode, Reason, WireError};
use crate::Psn;

mod field {
    use std::ops::Range;

    pub(super) const OPCODE: usize = 0;
    /// Solicited event, MigReq, pad count, transport header version.
    pub(super) const BITS: usize = 1;
    pub(super) const PKEY: Range<usize> = 2..4;
    /// FECN, BECN and six reserved bits; masked in the ICRC.
    pub(super) const CONGESTION: usize = 4;
    pub(super) const DEST_QP: Range<usize> = 5..8;
    /// AckReq and seven reserved bits.
    pub(super) const ACK: usize = 8;
    pub(super) const PSN: Range<usize> = 9..12;
}

const SOLICITED: u8 = 0x80;
const MIG_REQ: u8 = 0x40;
const FECN: u8 = 0x80;
const BECN: u8 = 0x40;
const ACK_REQ: u8 = 0x80;

view! {
    /// View of a Base Transport Header, 12 bytes.
    Bth, Layer::Bth, 12
}

impl<T: AsRef<[u8]>> Bth<T> {
    /// Operation.
    #[inline]
    pub fn opcode(&self) -> Opcode {
        Opcode::from(self.bytes()[field::OPCODE])
    }

    /// Solicited event bit.
    #[inline]
    pub fn solicited(&self) -> bool {
        self.bytes()[field::BITS] & SOLICITED != 0
    }

    /// Migration request bit; 1 in the migrated state, which is where a QP starts (IBA vol. 1, 17.2.8).
    #[inline]
    pub fn mig_req(&self) -> bool {
        self.bytes()[field::BITS] & MIG_REQ != 0
    }

    /// Pad bytes after the payload, 0 to 3.
    #[inline]
    pub fn pad_count(&self) -> u8 {
        (self.bytes()[field::BITS] >> 4) & 0b11
    }

    /// Transport header version; 0 in every published specification.
    #[inline]
    pub fn transport_version(&self) -> u8 {
        self.bytes()[field::BITS] & 0x0f
    }

    /// Partition key.
    #[inline]
    pub fn partition_key(&self) -> u16 {
        be(self.bytes(), field::PKEY) as u16
    }

    /// Forward explicit congestion notification bit.
    #[inline]
    pub fn fecn(&self) -> bool {
        self.bytes()[field::CONGESTION] & FECN != 0
    }

    /// Backward explicit congestion notification bit; set in a CNP (annex A17.9.3).
    #[inline]
    pub fn becn(&self) -> bool {
        self.bytes()[field::CONGESTION] & BECN != 0
    }

    /// QP number at the receiver, 24 bits.
    #[inline]
    pub fn dest_qpn(&self) -> u32 {
        be(self.bytes(), field::DEST_QP) as u32
    }

    /// AckReq bit: the sender requests an acknowledgement.
    #[inline]
    pub fn ack_req(&self) -> bool {
        self.bytes()[field::ACK] & ACK_REQ != 0
    }

    /// Packet sequence number.
    #[inline]
    pub fn psn(&self) -> Psn {
        Psn::new(be(self.bytes(), field::PSN) as u32)
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Bth<T> {
    /// Sets or clears the migration request bit, as the injector's set-field action does.
    pub fn set_mig_req(&mut self, on: bool) {
        let bits = &mut self.bytes_mut()[field::BITS];
        *bits = if on { *bits | MIG_REQ } else { *bits & !MIG_REQ };
    }
}

/// Meaning of a Base Transport Header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BthRepr {
    /// Operation.
    pub opcode: Opcode,
    /// Solicited event.
    pub solicited: bool,
    /// Migration request.
    pub mig_req: bool,
    /// Pad bytes after the payload, 0 to 3.
    pub pad_count: u8,
    /// Partition key.
    pub partition_key: u16,
    /// Forward congestion notification.
    pub fecn: bool,
    /// Backward congestion notification.
    pub becn: bool,
    /// Destination QP number, 24 bits.
    pub dest_qpn: u32,
    /// Acknowledgement requested.
    pub ack_req: bool,
    /// Packet sequence number.
    pub psn: Psn,
}

impl BthRepr {
    /// Length in bytes.
    pub const LEN: usize = 12;
    /// Default partition key with full membership (IBA vol. 1, 10.9.1.1).
    pub const DEFAULT_PARTITION_KEY: u16 = 0xffff;

    /// A header for `opcode` to `dest_qpn` with the defaults of a RoCEv2 sender.
    pub const fn new(opcode: Opcode, dest_qpn: u32, psn: Psn) -> Self {
        Self {
            opcode,
            solicited: false,
            mig_req: true,
            pad_count: 0,
            partition_key: Self::DEFAULT_PARTITION_KEY,
            fecn: false,
            becn: false,
            dest_qpn,
            ack_req: false,
            psn,
        }
    }

    /// Reads the header.
    ///
    /// # Errors
    /// When the transport header version is not 0.
    pub fn parse<T: AsRef<[u8]>>(bth: &Bth<T>) -> Result<Self, WireError> {
        Self::check(bth.bytes())?;
        Ok(Self {
            opcode: bth.opcode(),
            solicited: bth.solicited(),
            mig_req: bth.mig_req(),
            pad_count: bth.pad_count(),
            partition_key: bth.partition_key(),
            fecn: bth.fecn(),
            becn: bth.becn(),
            dest_qpn: bth.dest_qpn(),
            ack_req: bth.ack_req(),
            psn: bth.psn(),
        })
    }

    /// Checks a header; see [`BthRepr::parse`] for the errors.
    #[inline(always)]
    pub(super) fn check(bytes: &[u8; Self::LEN]) -> Result<(), WireError> {
        match bytes[field::BITS] & 0x0f {
            0 => Ok(()),
            version => {
                let reason = Reason::TransportVersion(version);
                Err(WireError { layer: Layer::Bth, offset: field::BITS, reason })
            }
        }
    }

    /// Writes the header; reserved bits are 0.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, bth: &mut Bth<T>) {
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        let bytes = bth.bytes_mut();
        bytes[field::OPCODE] = self.opcode.into();
        bytes[field::BITS] =
            flag(self.solicited, SOLICITED) | flag(self.mig_req, MIG_REQ) | ((self.pad_count & 0b11) << 4);
        put_be(bytes, field::PKEY, u64::from(self.partition_key));
        bytes[field::CONGESTION] = flag(self.fecn, FECN) | flag(self.becn, BECN);
        put_be(bytes, field::DEST_QP, u64::from(self.dest_qpn));
        bytes[field::ACK] = flag(self.ack_req, ACK_REQ);
        put_be(bytes, field::PSN, u64::from(self.psn.value()));
    }
}
