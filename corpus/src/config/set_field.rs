//! Header fields that the injector can rewrite.

use super::fields::IntField;
use serde::{Deserialize, Serialize};

/// A header field to rewrite and the operand; the ICRC is recomputed, as is the checksum of an IPv4 header.
///
/// A packet that does not have the field (a RETH address on an ACK) passes as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SetField {
    /// Field that is rewritten.
    pub field: HeaderField,
    /// The new value, or the summand of the old one; see [`HeaderField::is_added`] and
    /// [`HeaderField::largest`].
    pub value: u64,
}

impl SetField {
    /// New value of a field that had the value `old`: both are numbers of [`HeaderField::bits`] bits.
    #[must_use]
    pub const fn apply(self, old: u64) -> u64 {
        let new = if self.field.is_added() { old.wrapping_add(self.value) } else { self.value };
        new & self.field.mask()
    }
}

/// A field of a RoCEv2 packet (IBA vol. 1, clause 9; annex A17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HeaderField {
    /// MigReq of the BTH.
    MigReq,
    /// Opcode of the BTH; the headers behind it stay unchanged.
    Opcode,
    /// PSN of the BTH.
    Psn,
    /// Destination QPN of the BTH.
    DestQpn,
    /// AckReq of the BTH.
    AckReq,
    /// Partition key of the BTH.
    PartitionKey,
    /// Pad count of the BTH; the bytes of padding stay.
    PadCount,
    /// Length field of the UDP header; the packet keeps its bytes.
    UdpLength,
    /// Total length of the IPv4 header or payload length of the IPv6 header; the packet keeps its bytes.
    IpLength,
    /// Virtual address of the RETH.
    RethAddress,
    /// Remote key of the RETH.
    RethKey,
    /// DMA length of the RETH.
    RethLength,
    /// Syndrome of the AETH.
    AethSyndrome,
    /// MSN of the AETH.
    Msn,
    /// The payload is cut to so many bytes and the lengths of UDP and IP follow; pad count and RETH stay. A shorter
    /// payload passes as it came.
    Payload,
}

impl HeaderField {
    /// Names in files (`field`).
    pub const NAMES: &[(&str, Self)] = &[
        ("mig-req", Self::MigReq),
        ("opcode", Self::Opcode),
        ("psn", Self::Psn),
        ("dest-qpn", Self::DestQpn),
        ("ack-req", Self::AckReq),
        ("p-key", Self::PartitionKey),
        ("pad-count", Self::PadCount),
        ("udp-length", Self::UdpLength),
        ("ip-length", Self::IpLength),
        ("reth-address", Self::RethAddress),
        ("reth-key", Self::RethKey),
        ("reth-length", Self::RethLength),
        ("aeth-syndrome", Self::AethSyndrome),
        ("msn", Self::Msn),
        ("payload", Self::Payload),
    ];

    /// Name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Width of the field on the wire.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::MigReq | Self::AckReq => 1,
            Self::PadCount => 2,
            Self::Opcode | Self::AethSyndrome => 8,
            Self::PartitionKey | Self::UdpLength | Self::IpLength | Self::Payload => 16,
            Self::Psn | Self::DestQpn | Self::Msn => 24,
            Self::RethKey | Self::RethLength => 32,
            Self::RethAddress => 64,
        }
    }

    const fn mask(self) -> u64 {
        u64::MAX >> (u64::BITS - self.bits())
    }

    /// Returns true if the operand is added to the packet's value, modulo the width, as the value itself is
    /// known only when the test runs.
    #[must_use]
    pub const fn is_added(self) -> bool {
        matches!(self, Self::Psn | Self::DestQpn | Self::RethAddress | Self::RethKey | Self::Msn)
    }

    /// The largest operand; the smallest is 0.
    #[must_use]
    pub const fn largest(self) -> u64 {
        match self {
            // No payload is longer than the largest MTU.
            Self::Payload => 4096,
            // A TOML integer is signed.
            Self::RethAddress => i64::MAX as u64,
            _ => self.mask(),
        }
    }

    /// Bounds of the operand.
    #[must_use]
    pub const fn bounds(self) -> IntField {
        let why = match self {
            Self::Payload => "no payload is longer than the largest MTU",
            Self::RethAddress => "a TOML integer is signed and has 64 bits",
            _ => "the field has no more bits",
        };
        IntField { key: "value", min: 0, max: self.largest(), default: 0, unit: "", why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_in_their_order() {
        for (at, (name, field)) in HeaderField::NAMES.iter().enumerate() {
            assert_eq!((*field as usize, field.name()), (at, *name));
        }
    }

    #[test]
    fn operands_replace_or_are_added_modulo_the_width() {
        let set = |field, value| SetField { field, value };
        assert_eq!(set(HeaderField::Opcode, 4).apply(17), 4);
        assert_eq!(set(HeaderField::Psn, 0xff_ffff).apply(5), 4);
        assert_eq!(set(HeaderField::Psn, 3).apply(0xff_fffe), 1);
        assert_eq!(set(HeaderField::RethAddress, 1).apply(u64::MAX), 0);
        assert_eq!(set(HeaderField::PadCount, 3).apply(0), 3);
        for (name, field) in HeaderField::NAMES {
            assert!(set(*field, field.largest()).apply(0) == field.largest(), "{name}");
        }
    }
}
