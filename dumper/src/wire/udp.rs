//! UDP (RFC 768).

use super::error::Layer;
use super::view::{be, put_be, view};

/// UDP destination port of RoCEv2 (annex A17.4.3; assigned by IANA).
pub const ROCE_PORT: u16 = 4791;

mod field {
    use std::ops::Range;

    pub(super) const SRC_PORT: Range<usize> = 0..2;
    pub(super) const DST_PORT: Range<usize> = 2..4;
    pub(super) const LENGTH: Range<usize> = 4..6;
    pub(super) const CHECKSUM: Range<usize> = 6..8;
}

view! {
    /// View of a UDP header, 8 bytes.
    Udp, Layer::Udp, 8
}

/// Meaning of a UDP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpRepr {
    /// Source port; a RoCEv2 sender varies it per QP for load balancing (annex A17.4.3).
    pub src_port: u16,
    /// Destination port, 4791 but on the mirror wire.
    pub dst_port: u16,
    /// Length of header and data in bytes.
    pub length: u16,
    /// Checksum, 0 where none was made; never verified (see `wire::icrc`).
    pub checksum: u16,
}

impl UdpRepr {
    /// Length in bytes.
    pub const LEN: usize = 8;

    /// Reads the header.
    #[inline]
    pub fn parse<T: AsRef<[u8]>>(udp: &Udp<T>) -> Self {
        let bytes = udp.bytes();
        Self {
            src_port: be(bytes, field::SRC_PORT) as u16,
            dst_port: be(bytes, field::DST_PORT) as u16,
            length: be(bytes, field::LENGTH) as u16,
            checksum: be(bytes, field::CHECKSUM) as u16,
        }
    }

    /// Writes the header.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, udp: &mut Udp<T>) {
        let bytes = udp.bytes_mut();
        put_be(bytes, field::SRC_PORT, u64::from(self.src_port));
        put_be(bytes, field::DST_PORT, u64::from(self.dst_port));
        put_be(bytes, field::LENGTH, u64::from(self.length));
        put_be(bytes, field::CHECKSUM, u64::from(self.checksum));
    }
}
