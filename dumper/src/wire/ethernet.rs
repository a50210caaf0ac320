//! Ethernet II and IEEE 802.1Q tags.

use std::fmt;

use super::error::Layer;
use super::view::{be, put_be, view};

mod field {
    use std::ops::Range;

    pub(super) const DESTINATION: Range<usize> = 0..6;
    pub(super) const SOURCE: Range<usize> = 6..12;
    pub(super) const ETHER_TYPE: Range<usize> = 12..14;
    pub(super) const TCI: Range<usize> = 0..2;
    pub(super) const INNER_TYPE: Range<usize> = 2..4;
}

/// A 48-bit MAC address as a number, so that mirror metadata can live in it (see `mirror`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Mac(pub u64);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, _, a, b, c, d, e, g] = self.0.to_be_bytes();
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Payload protocol of an Ethernet frame or a VLAN tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum EtherType {
    /// 0x0800.
    Ipv4,
    /// 0x86dd.
    Ipv6,
    /// 0x8100, a customer VLAN tag.
    Vlan,
    /// 0x88a8, a service VLAN tag.
    ServiceVlan,
    /// Anything else.
    Other(u16),
}

impl From<u16> for EtherType {
    #[inline]
    fn from(value: u16) -> Self {
        match value {
            0x0800 => Self::Ipv4,
            0x86dd => Self::Ipv6,
            0x8100 => Self::Vlan,
            0x88a8 => Self::ServiceVlan,
            other => Self::Other(other),
        }
    }
}

impl From<EtherType> for u16 {
    fn from(value: EtherType) -> Self {
        match value {
            EtherType::Ipv4 => 0x0800,
            EtherType::Ipv6 => 0x86dd,
            EtherType::Vlan => 0x8100,
            EtherType::ServiceVlan => 0x88a8,
            EtherType::Other(other) => other,
        }
    }
}

view! {
    /// View of an Ethernet header, 14 bytes.
    Ethernet, Layer::Ethernet, 14
}

view! {
    /// View of the bytes behind a VLAN EtherType: tag control information and the inner EtherType, 4 bytes.
    VlanTag, Layer::Vlan, 4
}

/// Meaning of an Ethernet header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EthernetRepr {
    /// Destination address.
    pub destination: Mac,
    /// Source address.
    pub source: Mac,
    /// Type of the next header.
    pub ether_type: EtherType,
}

impl EthernetRepr {
    /// Length in bytes.
    pub const LEN: usize = 14;

    /// Reads the header.
    #[inline]
    pub fn parse<T: AsRef<[u8]>>(ethernet: &Ethernet<T>) -> Self {
        let bytes = ethernet.bytes();
        Self {
            destination: Mac(be(bytes, field::DESTINATION)),
            source: Mac(be(bytes, field::SOURCE)),
            ether_type: EtherType::from(be(bytes, field::ETHER_TYPE) as u16),
        }
    }

    /// Writes the header.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, ethernet: &mut Ethernet<T>) {
        let bytes = ethernet.bytes_mut();
        put_be(bytes, field::DESTINATION, self.destination.0);
        put_be(bytes, field::SOURCE, self.source.0);
        put_be(bytes, field::ETHER_TYPE, u64::from(u16::from(self.ether_type)));
    }
}

/// Meaning of a VLAN tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VlanTagRepr {
    /// Tag control information: priority (3 bits), drop eligible (1), VLAN identifier (12).
    pub tci: u16,
    /// Type of the next header.
    pub ether_type: EtherType,
}

impl VlanTagRepr {
    /// Length in bytes.
    pub const LEN: usize = 4;

    /// Reads the tag.
    pub fn parse<T: AsRef<[u8]>>(tag: &VlanTag<T>) -> Self {
        let bytes = tag.bytes();
        Self {
            tci: be(bytes, field::TCI) as u16,
            ether_type: EtherType::from(be(bytes, field::INNER_TYPE) as u16),
        }
    }

    /// Writes the tag.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, tag: &mut VlanTag<T>) {
        let bytes = tag.bytes_mut();
        put_be(bytes, field::TCI, u64::from(self.tci));
        put_be(bytes, field::INNER_TYPE, u64::from(u16::from(self.ether_type)));
    }
}
