//! Offsets of the headers of a frame, found and checked in one pass.
//!
//! [`Frame`](super::Frame) is made from it, header by header. The reader of captures takes the few fields that a
//! trace keeps straight from here: to build all headers of every packet in memory first costs three times the time.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::error::{Layer, Reason, WireError};
use super::opcode::Extensions;
use super::view::be;
use super::{
    BthRepr, EtherType, EthernetRepr, Ipv4Repr, Ipv6Repr, Opcode, ROCE_PORT, Reth, RethRepr, UdpRepr,
    VlanTagRepr, icrc, ipv4, ipv6,
};

/// IP protocol number of UDP.
pub(super) const UDP_PROTOCOL: u8 = 17;
/// VLAN tags that are looked through; frames of two networks' tags have two.
const MAX_VLAN_TAGS: usize = 2;

/// Reasons why a well-formed frame is not a RoCEv2 packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum NotRoce {
    /// Another protocol on Ethernet, such as ARP.
    #[error("EtherType {0:#06x}")]
    EtherType(u16),
    /// Another protocol on IP.
    #[error("IP protocol {0}")]
    IpProtocol(u8),
    /// UDP to another port.
    #[error("UDP port {0}")]
    UdpPort(u16),
}

/// UDP destination ports that count as RoCEv2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UdpPorts {
    /// 4791 only.
    #[default]
    Roce,
    /// Any: packets as on the mirror wire, where the injector has rewritten the port (Lumina §3.4).
    Any,
}

/// An IPv4 or IPv6 header.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IpBytes<'a> {
    V4(&'a [u8; Ipv4Repr::LEN]),
    V6(&'a [u8; Ipv6Repr::LEN]),
}

/// The headers of a RoCEv2 frame: all there, and none contradicting another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<'a> {
    pub(crate) ethernet: &'a [u8; EthernetRepr::LEN],
    /// Innermost VLAN tag's control information.
    pub(crate) vlan: Option<u16>,
    pub(crate) ip: IpBytes<'a>,
    pub(crate) udp: &'a [u8; UdpRepr::LEN],
    pub(crate) bth: &'a [u8; BthRepr::LEN],
    /// The extension headers of the opcode, one after the other.
    pub(crate) extensions: &'a [u8],
    /// Length of the RDMA payload on the wire, without pad, in bytes; by the IP length.
    pub(crate) payload_len: usize,
    /// From the IP header to the end of the ICRC, where the capture holds all of it.
    pub(crate) whole_packet: Option<&'a [u8]>,
}

/// Result of locating the headers of a frame.
pub(crate) enum Located<'a> {
    Roce(Layout<'a>),
    Other(NotRoce),
}

impl<'a> Layout<'a> {
    /// Offset of the UDP header in the frame that this was found in.
    pub(crate) fn udp_at(&self) -> usize {
        self.udp.as_ptr().addr() - self.ethernet.as_ptr().addr()
    }

    /// Finds the headers of a frame.
    // Always inlined, so that the result lives in registers.
    #[inline(always)]
    pub(crate) fn locate(frame: &'a [u8], ports: UdpPorts) -> Result<Located<'a>, WireError> {
        let ethernet = header::<{ EthernetRepr::LEN }>(frame, 0, Layer::Ethernet)?;
        let mut at = EthernetRepr::LEN;
        let mut ether_type = EtherType::from(be(ethernet, 12..14) as u16);
        let mut vlan = None;
        for _ in 0..MAX_VLAN_TAGS {
            if !matches!(ether_type, EtherType::Vlan | EtherType::ServiceVlan) {
                break;
            }
            let tag = header::<{ VlanTagRepr::LEN }>(frame, at, Layer::Vlan)?;
            (vlan, ether_type) = (Some(be(tag, 0..2) as u16), EtherType::from(be(tag, 2..4) as u16));
            at += VlanTagRepr::LEN;
        }

        let ip_at = at;
        let (ip, protocol, packet_len) = match ether_type {
            EtherType::Ipv4 => {
                let ip = header::<{ Ipv4Repr::LEN }>(frame, at, Layer::Ipv4)?;
                let shape = ipv4::shape(ip).map_err(|error| error.at(ip_at))?;
                at += shape.header_len;
                (IpBytes::V4(ip), shape.protocol, shape.total_len)
            }
            EtherType::Ipv6 => {
                let ip = header::<{ Ipv6Repr::LEN }>(frame, at, Layer::Ipv6)?;
                let shape = ipv6::shape(ip).map_err(|error| error.at(ip_at))?;
                at += Ipv6Repr::LEN;
                (IpBytes::V6(ip), shape.next_header, shape.total_len)
            }
            other => return Ok(Located::Other(NotRoce::EtherType(other.into()))),
        };
        if protocol != UDP_PROTOCOL {
            return Ok(Located::Other(NotRoce::IpProtocol(protocol)));
        }
        let udp = header::<{ UdpRepr::LEN }>(frame, at, Layer::Udp)?;
        let port = be(udp, 2..4) as u16;
        if ports == UdpPorts::Roce && port != ROCE_PORT {
            return Ok(Located::Other(NotRoce::UdpPort(port)));
        }
        at += UdpRepr::LEN;

        let bth = header::<{ BthRepr::LEN }>(frame, at, Layer::Bth)?;
        BthRepr::check(bth).map_err(|error| error.at(at))?;
        at += BthRepr::LEN;

        let extensions_at = at;
        at += Opcode::extensions_len_of(bth[0]);
        let Some(extensions) = frame.get(extensions_at..at) else {
            return Err(cut_extension(bth[0].into(), extensions_at, frame.len()));
        };
        let pad_count = usize::from((bth[1] >> 4) & 0b11);
        let Some(payload_len) = packet_len.checked_sub(at - ip_at + pad_count + icrc::LEN) else {
            return Err(WireError {
                layer: Layer::Icrc,
                offset: at,
                reason: Reason::TotalLength(packet_len),
            });
        };
        let whole_packet = frame.get(ip_at..ip_at + packet_len);
        Ok(Located::Roce(Self { ethernet, vlan, ip, udp, bth, extensions, payload_len, whole_packet }))
    }

    /// Destination port of UDP.
    #[inline]
    pub(crate) fn dst_port(&self) -> u16 {
        be(self.udp, 2..4) as u16
    }

    /// The RETH; zeros where the opcode has none.
    #[inline]
    pub(crate) fn reth(&self) -> RethRepr {
        match self.extensions.first_chunk() {
            Some(reth) if self.extension_bits() & Extensions::RETH != 0 => RethRepr::parse(&Reth::of(reth)),
            _ => RethRepr::default(),
        }
    }

    /// The AETH as a number; 0 where the opcode has none.
    #[inline]
    pub(crate) fn aeth(&self) -> u32 {
        match self.extensions.first_chunk() {
            Some(aeth) if self.extension_bits() & Extensions::AETH != 0 => u32::from_be_bytes(*aeth),
            _ => 0,
        }
    }

    /// Returns true if there are extension headers besides RETH and AETH.
    #[inline]
    pub(crate) fn has_rare_extensions(&self) -> bool {
        self.extension_bits() & !(Extensions::RETH | Extensions::AETH) != 0
    }

    #[inline]
    fn extension_bits(&self) -> u8 {
        Opcode::extensions_of(self.bth[0])
    }

    /// Result of the ICRC check; see [`super::Frame::icrc_ok`].
    #[inline]
    pub(crate) fn icrc_ok(&self) -> Option<bool> {
        icrc::verify_unless_rewritten(self.dst_port(), self.whole_packet)
    }
}

impl IpBytes<'_> {
    /// DSCP and ECN.
    #[inline]
    pub(crate) fn traffic_class(&self) -> u8 {
        match self {
            Self::V4(ip) => ip[1],
            Self::V6(ip) => (be(*ip, 0..2) >> 4) as u8,
        }
    }

    /// Time to live or hop limit: the event, in a mirrored packet.
    #[inline]
    pub(crate) fn ttl(&self) -> u8 {
        match self {
            Self::V4(ip) => ip[8],
            Self::V6(ip) => ip[7],
        }
    }

    /// Source and destination.
    #[inline]
    pub(crate) fn addresses(&self) -> AddressBytes {
        const WHOLE: &str = "the range is inside the header";
        match self {
            Self::V4(ip) => AddressBytes::V4(*ip.last_chunk().expect(WHOLE)),
            Self::V6(ip) => AddressBytes::V6(*ip.last_chunk().expect(WHOLE)),
        }
    }
}

/// Source and destination address as they stand in an IP header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum AddressBytes {
    V4([u8; 8]),
    V6([u8; 32]),
}

impl AddressBytes {
    /// Last byte of the source.
    #[inline]
    pub(crate) const fn last_of_source(&self) -> u8 {
        match self {
            Self::V4(bytes) => bytes[3],
            Self::V6(bytes) => bytes[15],
        }
    }

    /// Source and destination.
    pub(crate) fn parse(&self) -> (IpAddr, IpAddr) {
        match self {
            Self::V4(bytes) => {
                let address = |at| IpAddr::from(Ipv4Addr::from_bits(be(bytes, at..at + 4) as u32));
                (address(0), address(4))
            }
            Self::V6(bytes) => {
                let half = |at| u128::from(be(bytes, at..at + 8));
                let address = |at| IpAddr::from(Ipv6Addr::from_bits(half(at) << 64 | half(at + 8)));
                (address(0), address(16))
            }
        }
    }
}

/// The header of `N` bytes at `at`.
#[inline(always)]
fn header<const N: usize>(frame: &[u8], at: usize, layer: Layer) -> Result<&[u8; N], WireError> {
    match frame.get(at..).and_then(<[u8]>::first_chunk) {
        Some(header) => Ok(header),
        None => Err(truncated(layer, at, N, frame.len())),
    }
}

#[cold]
fn truncated(layer: Layer, at: usize, needed: usize, frame_len: usize) -> WireError {
    WireError::truncated(layer, at, needed, frame_len.saturating_sub(at))
}

/// Error for the first of an opcode's extension headers (the first of them at `at`) that is cut off.
#[cold]
fn cut_extension(opcode: Opcode, mut at: usize, frame_len: usize) -> WireError {
    for (layer, len) in opcode.extension_layers() {
        if frame_len < at + len {
            return truncated(layer, at, len, frame_len);
        }
        at += len;
    }
    unreachable!("the extension headers together are longer than the frame, so one of them is")
}
