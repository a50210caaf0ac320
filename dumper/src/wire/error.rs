//! Errors in the bytes of a header.

use std::fmt;

/// The header that could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the names are the headers' own
pub enum Layer {
    Ethernet,
    Vlan,
    Ipv4,
    Ipv6,
    Udp,
    Bth,
    Reth,
    Aeth,
    AtomicEth,
    AtomicAckEth,
    ImmDt,
    Ieth,
    Deth,
    Icrc,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ethernet => "Ethernet",
            Self::Vlan => "VLAN tag",
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
            Self::Udp => "UDP",
            Self::Bth => "BTH",
            Self::Reth => "RETH",
            Self::Aeth => "AETH",
            Self::AtomicEth => "AtomicETH",
            Self::AtomicAckEth => "AtomicAckETH",
            Self::ImmDt => "ImmDt",
            Self::Ieth => "IETH",
            Self::Deth => "DETH",
            Self::Icrc => "ICRC",
        })
    }
}

/// Fault of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, thiserror::Error)]
pub enum Reason {
    /// The bytes end before the header does.
    #[error("needs {needed} bytes, only {have} are there")]
    Truncated {
        /// Bytes that the header needs.
        needed: usize,
        /// Bytes that are there.
        have: usize,
    },
    /// The IP version field does not fit the EtherType.
    #[error("version field is {0}, not what the EtherType says")]
    Version(u8),
    /// A header length field below the header's minimum.
    #[error("header length field says {0} bytes, fewer than any header has")]
    HeaderLength(usize),
    /// A total length field that is smaller than the headers it counts.
    #[error("length field says {0} bytes, fewer than its headers")]
    TotalLength(usize),
    /// A fragment: the transport header is not (all) here.
    #[error("is a fragment; RoCEv2 packets are never fragmented")]
    Fragment,
    /// A BTH transport header version other than 0 (IBA vol. 1, 9.2.5).
    #[error("transport header version is {0}, not 0")]
    TransportVersion(u8),
}

/// A header that could not be read: which, where in the frame, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, thiserror::Error)]
#[error("{layer} at byte {offset}: {reason}")]
pub struct WireError {
    /// The header.
    pub layer: Layer,
    /// Byte offset of the header in the bytes that were parsed.
    pub offset: usize,
    /// Fault of the header.
    pub reason: Reason,
}

impl WireError {
    pub(crate) const fn truncated(layer: Layer, offset: usize, needed: usize, have: usize) -> Self {
        Self { layer, offset, reason: Reason::Truncated { needed, have } }
    }

    pub(crate) const fn at(self, offset: usize) -> Self {
        Self { offset: self.offset + offset, ..self }
    }
}
