//! IPv6 (RFC 8200).

use std::net::Ipv6Addr;

use super::error::{Layer, Reason, WireError};
use super::view::{be, put_be, view};

mod field {
    use std::ops::Range;

    pub(super) const VERSION_CLASS_FLOW: Range<usize> = 0..4;
    pub(super) const PAYLOAD_LENGTH: Range<usize> = 4..6;
    pub(super) const NEXT_HEADER: usize = 6;
    pub(super) const HOP_LIMIT: usize = 7;
    pub(super) const SOURCE: Range<usize> = 8..24;
    pub(super) const DESTINATION: Range<usize> = 24..40;
}

view! {
    /// View of an IPv6 header, 40 bytes.
    Ipv6, Layer::Ipv6, 40
}

/// Meaning of an IPv6 header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv6Repr {
    /// Traffic class: DSCP and ECN.
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Length of the payload behind the header, in bytes.
    pub payload_length: u16,
    /// Protocol of the payload; 17 is UDP.
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
}

impl Ipv6Repr {
    /// Length in bytes.
    pub const LEN: usize = 40;

    /// Reads the header.
    ///
    /// # Errors
    /// On another version.
    pub fn parse<T: AsRef<[u8]>>(ipv6: &Ipv6<T>) -> Result<Self, WireError> {
        let bytes = ipv6.bytes();
        shape(bytes)?;
        let word = be(bytes, field::VERSION_CLASS_FLOW) as u32;
        let address = |range: std::ops::Range<usize>| {
            Ipv6Addr::from_bits(
                u128::from(be(bytes, range.start..range.start + 8)) << 64
                    | u128::from(be(bytes, range.start + 8..range.end)),
            )
        };
        Ok(Self {
            traffic_class: (word >> 20) as u8,
            flow_label: word & 0xf_ffff,
            payload_length: be(bytes, field::PAYLOAD_LENGTH) as u16,
            next_header: bytes[field::NEXT_HEADER],
            hop_limit: bytes[field::HOP_LIMIT],
            source: address(field::SOURCE),
            destination: address(field::DESTINATION),
        })
    }

    /// Writes the header.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, ipv6: &mut Ipv6<T>) {
        let bytes = ipv6.bytes_mut();
        let word = (6 << 28) | (u32::from(self.traffic_class) << 20) | (self.flow_label & 0xf_ffff);
        put_be(bytes, field::VERSION_CLASS_FLOW, u64::from(word));
        put_be(bytes, field::PAYLOAD_LENGTH, u64::from(self.payload_length));
        bytes[field::NEXT_HEADER] = self.next_header;
        bytes[field::HOP_LIMIT] = self.hop_limit;
        bytes[field::SOURCE].copy_from_slice(&self.source.octets());
        bytes[field::DESTINATION].copy_from_slice(&self.destination.octets());
    }
}

/// Fields that tell how to parse beyond an IPv6 header.
pub(super) struct Shape {
    /// Length of header and data in bytes.
    pub(super) total_len: usize,
    /// Protocol of the data.
    pub(super) next_header: u8,
}

/// Checks a header; see [`Ipv6Repr::parse`] for the errors.
#[inline(always)]
pub(super) fn shape(bytes: &[u8; Ipv6Repr::LEN]) -> Result<Shape, WireError> {
    let version = bytes[0] >> 4;
    if version != 6 {
        return Err(WireError { layer: Layer::Ipv6, offset: 0, reason: Reason::Version(version) });
    }
    let total_len = Ipv6Repr::LEN + be(bytes, field::PAYLOAD_LENGTH) as usize;
    Ok(Shape { total_len, next_header: bytes[field::NEXT_HEADER] })
}
