//! IPv4 (RFC 791).

use std::net::Ipv4Addr;

use super::error::{Layer, Reason, WireError};
use super::view::{be, put_be, view};

mod field {
    use std::ops::Range;

    pub(super) const VERSION_IHL: usize = 0;
    pub(super) const TOS: usize = 1;
    pub(super) const TOTAL_LENGTH: Range<usize> = 2..4;
    pub(super) const IDENTIFICATION: Range<usize> = 4..6;
    pub(super) const FLAGS_FRAGMENT: Range<usize> = 6..8;
    pub(super) const TTL: usize = 8;
    pub(super) const PROTOCOL: usize = 9;
    pub(super) const CHECKSUM: Range<usize> = 10..12;
    pub(super) const SOURCE: Range<usize> = 12..16;
    pub(super) const DESTINATION: Range<usize> = 16..20;
}

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS_AND_OFFSET: u16 = 0x3fff;

view! {
    /// View of an IPv4 header, 20 bytes without options.
    Ipv4, Layer::Ipv4, 20
}

/// Meaning of an IPv4 header. Options are skipped when read and never written: RoCEv2 has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv4Repr {
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Length of header and data in bytes.
    pub total_length: u16,
    /// Identification.
    pub identification: u16,
    /// Don't-fragment flag; RoCEv2 senders set it (annex A17.4.2).
    pub dont_fragment: bool,
    /// Time to live.
    pub ttl: u8,
    /// Protocol of the data; 17 is UDP.
    pub protocol: u8,
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
}

impl Ipv4Repr {
    /// Length in bytes, as written.
    pub const LEN: usize = 20;

    /// Reads the header; returns it with its length in bytes, options included. The checksum is not verified:
    /// mirrored packets have a rewritten TTL.
    ///
    /// # Errors
    /// On another version, a header length below 20, a total length below the header's, or a fragment.
    pub fn parse<T: AsRef<[u8]>>(ipv4: &Ipv4<T>) -> Result<(Self, usize), WireError> {
        let bytes = ipv4.bytes();
        let shape = shape(bytes)?;
        let repr = Self {
            traffic_class: bytes[field::TOS],
            total_length: be(bytes, field::TOTAL_LENGTH) as u16,
            identification: be(bytes, field::IDENTIFICATION) as u16,
            dont_fragment: be(bytes, field::FLAGS_FRAGMENT) as u16 & DONT_FRAGMENT != 0,
            ttl: bytes[field::TTL],
            protocol: bytes[field::PROTOCOL],
            source: Ipv4Addr::from_bits(be(bytes, field::SOURCE) as u32),
            destination: Ipv4Addr::from_bits(be(bytes, field::DESTINATION) as u32),
        };
        Ok((repr, shape.header_len))
    }

    /// Writes the header with a valid checksum.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, ipv4: &mut Ipv4<T>) {
        let bytes = ipv4.bytes_mut();
        bytes[field::VERSION_IHL] = 0x45;
        bytes[field::TOS] = self.traffic_class;
        put_be(bytes, field::TOTAL_LENGTH, u64::from(self.total_length));
        put_be(bytes, field::IDENTIFICATION, u64::from(self.identification));
        let fragment = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        put_be(bytes, field::FLAGS_FRAGMENT, u64::from(fragment));
        bytes[field::TTL] = self.ttl;
        bytes[field::PROTOCOL] = self.protocol;
        put_be(bytes, field::CHECKSUM, 0);
        put_be(bytes, field::SOURCE, u64::from(self.source.to_bits()));
        put_be(bytes, field::DESTINATION, u64::from(self.destination.to_bits()));
        let checksum = header_checksum(bytes);
        put_be(bytes, field::CHECKSUM, u64::from(checksum));
    }
}

/// Fields that tell how to parse beyond an IPv4 header.
pub(super) struct Shape {
    /// Length of the header in bytes, options included.
    pub(super) header_len: usize,
    /// Length of header and data in bytes.
    pub(super) total_len: usize,
    /// Protocol of the data.
    pub(super) protocol: u8,
}

/// Checks a header; see [`Ipv4Repr::parse`] for the errors.
#[inline(always)]
pub(super) fn shape(bytes: &[u8; Ipv4Repr::LEN]) -> Result<Shape, WireError> {
    let error = |offset, reason| Err(WireError { layer: Layer::Ipv4, offset, reason });
    let version = bytes[field::VERSION_IHL] >> 4;
    if version != 4 {
        return error(field::VERSION_IHL, Reason::Version(version));
    }
    let header_len = usize::from(bytes[field::VERSION_IHL] & 0x0f) * 4;
    if header_len < Ipv4Repr::LEN {
        return error(field::VERSION_IHL, Reason::HeaderLength(header_len));
    }
    let total_len = be(bytes, field::TOTAL_LENGTH) as usize;
    if total_len < header_len {
        return error(field::TOTAL_LENGTH.start, Reason::TotalLength(total_len));
    }
    if be(bytes, field::FLAGS_FRAGMENT) as u16 & MORE_FRAGMENTS_AND_OFFSET != 0 {
        return error(field::FLAGS_FRAGMENT.start, Reason::Fragment);
    }
    Ok(Shape { header_len, total_len, protocol: bytes[field::PROTOCOL] })
}

/// Internet checksum of a header whose checksum field is 0 (RFC 1071).
fn header_checksum(header: &[u8; 20]) -> u16 {
    let mut sum: u32 = header.chunks_exact(2).map(|pair| be(pair, 0..2) as u32).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
