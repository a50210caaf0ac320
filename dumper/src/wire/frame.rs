//! A whole RoCEv2 frame: every header from Ethernet to the ICRC.

use std::net::IpAddr;

use super::error::{Layer, Reason, WireError};
use super::layout::{IpBytes, Layout, Located, UDP_PROTOCOL};
pub use super::layout::{NotRoce, UdpPorts};
use super::opcode::Extensions;
use super::{
    Aeth, AethRepr, AtomicAckEth, AtomicAckEthRepr, AtomicEth, AtomicEthRepr, Bth, BthRepr, Deth, DethRepr,
    EtherType, Ethernet, EthernetRepr, Ieth, IethRepr, ImmDt, ImmDtRepr, Ipv4, Ipv4Repr, Ipv6, Ipv6Repr, Mac,
    Opcode, ROCE_PORT, Reth, RethRepr, Udp, UdpRepr, VlanTag, VlanTagRepr, icrc,
};

/// IPv4 or IPv6 header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum IpRepr {
    V4(Ipv4Repr),
    V6(Ipv6Repr),
}

impl IpRepr {
    /// DSCP and ECN.
    #[inline]
    pub const fn traffic_class(&self) -> u8 {
        match self {
            Self::V4(ip) => ip.traffic_class,
            Self::V6(ip) => ip.traffic_class,
        }
    }

    /// Time to live or hop limit: the event, in a mirrored packet.
    #[inline]
    pub const fn ttl(&self) -> u8 {
        match self {
            Self::V4(ip) => ip.ttl,
            Self::V6(ip) => ip.hop_limit,
        }
    }

    /// Source address.
    #[inline]
    pub const fn source(&self) -> IpAddr {
        match self {
            Self::V4(ip) => IpAddr::V4(ip.source),
            Self::V6(ip) => IpAddr::V6(ip.source),
        }
    }

    /// Destination address.
    #[inline]
    pub const fn destination(&self) -> IpAddr {
        match self {
            Self::V4(ip) => IpAddr::V4(ip.destination),
            Self::V6(ip) => IpAddr::V6(ip.destination),
        }
    }

    const fn len(&self) -> usize {
        match self {
            Self::V4(_) => Ipv4Repr::LEN,
            Self::V6(_) => Ipv6Repr::LEN,
        }
    }
}

/// Extension headers after the BTH; which are there follows from the opcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)] // the names are the headers' own
pub struct ExtensionReprs {
    pub deth: Option<DethRepr>,
    pub reth: Option<RethRepr>,
    pub atomic: Option<AtomicEthRepr>,
    pub aeth: Option<AethRepr>,
    pub atomic_ack: Option<AtomicAckEthRepr>,
    pub imm: Option<ImmDtRepr>,
    pub ieth: Option<IethRepr>,
}

/// A RoCEv2 frame as parsed; trimmed frames are complete up to their last header.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Ethernet header.
    pub ethernet: EthernetRepr,
    /// Innermost VLAN tag's control information.
    pub vlan: Option<u16>,
    /// IP header.
    pub ip: IpRepr,
    /// UDP header.
    pub udp: UdpRepr,
    /// Base transport header.
    pub bth: BthRepr,
    /// Extension headers.
    pub extensions: ExtensionReprs,
    /// Length of the RDMA payload on the wire, without pad, in bytes; by the IP length, so right for trimmed
    /// frames too.
    pub payload_len: usize,
    /// The packet from its IP header to the end of its ICRC, where the capture holds all of it.
    pub whole_packet: Option<&'a [u8]>,
}

/// Result of parsing a captured frame.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // the large variant is the usual one, and it is consumed at once
pub enum Parsed<'a> {
    /// A RoCEv2 packet.
    Roce(Frame<'a>),
    /// Something else.
    Other(NotRoce),
}

impl<'a> Frame<'a> {
    /// Parses the captured bytes of an Ethernet frame.
    ///
    /// # Errors
    /// When a header is cut short, or its fields contradict each other.
    pub fn parse(frame: &'a [u8], ports: UdpPorts) -> Result<Parsed<'a>, WireError> {
        let layout = match Layout::locate(frame, ports)? {
            Located::Roce(layout) => layout,
            Located::Other(reason) => return Ok(Parsed::Other(reason)),
        };
        let ip = match layout.ip {
            IpBytes::V4(ip) => IpRepr::V4(Ipv4Repr::parse(&Ipv4::of(ip))?.0),
            IpBytes::V6(ip) => IpRepr::V6(Ipv6Repr::parse(&Ipv6::of(ip))?),
        };
        let bth = BthRepr::parse(&Bth::of(layout.bth))?;
        Ok(Parsed::Roce(Self {
            ethernet: EthernetRepr::parse(&Ethernet::of(layout.ethernet)),
            vlan: layout.vlan,
            ip,
            udp: UdpRepr::parse(&Udp::of(layout.udp)),
            bth,
            extensions: ExtensionReprs::parse(bth.opcode, layout.extensions)?,
            payload_len: layout.payload_len,
            whole_packet: layout.whole_packet,
        }))
    }
}

impl Frame<'_> {
    /// Result of the ICRC check: `None` for a trimmed frame, whose ICRC is missing, and for one as on the
    /// mirror wire, whose rewritten port the ICRC covers.
    pub fn icrc_ok(&self) -> Option<bool> {
        icrc::verify_unless_rewritten(self.udp.dst_port, self.whole_packet)
    }
}

impl ExtensionReprs {
    /// Reads the extension headers of an opcode, which `bytes` start with.
    ///
    /// # Errors
    /// When they are cut short.
    pub fn parse(opcode: Opcode, bytes: &[u8]) -> Result<Self, WireError> {
        let mut extensions = Self::default();
        let present = opcode.extensions();
        let mut at = 0;
        macro_rules! take {
            ($bit:ident, $slot:ident, $view:ident, $repr:ident) => {
                if present & Extensions::$bit != 0 {
                    let view = $view::new_checked(&bytes[at..]).map_err(|error| error.at(at))?;
                    extensions.$slot = Some($repr::parse(&view));
                    at += $repr::LEN;
                }
            };
        }
        take!(DETH, deth, Deth, DethRepr);
        take!(RETH, reth, Reth, RethRepr);
        take!(ATOMIC, atomic, AtomicEth, AtomicEthRepr);
        take!(AETH, aeth, Aeth, AethRepr);
        take!(ATOMIC_ACK, atomic_ack, AtomicAckEth, AtomicAckEthRepr);
        take!(IMM, imm, ImmDt, ImmDtRepr);
        take!(IETH, ieth, Ieth, IethRepr);
        let _whatever_follows = &bytes[at..];
        Ok(extensions)
    }
}

/// A RoCEv2 frame to write. Lengths, checksums and ICRC are made when it is emitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameRepr {
    /// Destination address.
    pub destination: Mac,
    /// Source address.
    pub source: Mac,
    /// VLAN tag control information, where there is a tag.
    pub vlan: Option<u16>,
    /// IP header; its length field is ignored.
    pub ip: IpRepr,
    /// UDP source port.
    pub src_port: u16,
    /// Base transport header; its pad count is ignored.
    pub bth: BthRepr,
    /// Extension headers; exactly those of the opcode are written, absent ones as zero.
    pub extensions: ExtensionReprs,
    /// Length of the payload in bytes, written as zeros: payloads are not kept.
    pub payload_len: u16,
}

impl FrameRepr {
    /// Length of the frame in bytes.
    pub fn len(&self) -> usize {
        EthernetRepr::LEN + self.vlan.map_or(0, |_| VlanTagRepr::LEN) + self.ip.len() + self.udp_len()
    }

    /// Always false: a frame has headers.
    pub const fn is_empty(&self) -> bool {
        false
    }

    fn pad_count(&self) -> u8 {
        (self.payload_len.wrapping_neg() & 0b11) as u8
    }

    fn udp_len(&self) -> usize {
        UdpRepr::LEN
            + BthRepr::LEN
            + self.bth.opcode.extensions_len()
            + usize::from(self.payload_len)
            + usize::from(self.pad_count())
            + icrc::LEN
    }

    /// Writes the whole frame, ICRC included, in the place of the contents of `out`.
    ///
    /// # Errors
    /// When the packet is longer than an IP length field can say.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let udp_len = self.udp_len();
        let too_long = |layer| WireError { layer, offset: 0, reason: Reason::TotalLength(self.len()) };
        let udp_length = u16::try_from(udp_len).map_err(|_| too_long(Layer::Udp))?;
        out.clear();
        out.resize(self.len(), 0);
        let ether_type = match self.ip {
            IpRepr::V4(_) => EtherType::Ipv4,
            IpRepr::V6(_) => EtherType::Ipv6,
        };
        let mut rest = &mut out[..];
        macro_rules! put {
            ($view:ident, $repr:expr, $len:expr) => {{
                let (header, tail) = rest.split_at_mut($len);
                $repr.emit(&mut $view::new_checked(header)?);
                rest = tail;
            }};
        }
        let outer_type = if self.vlan.is_some() { EtherType::Vlan } else { ether_type };
        let ethernet =
            EthernetRepr { destination: self.destination, source: self.source, ether_type: outer_type };
        put!(Ethernet, ethernet, EthernetRepr::LEN);
        if let Some(tci) = self.vlan {
            put!(VlanTag, VlanTagRepr { tci, ether_type }, VlanTagRepr::LEN);
        }
        match self.ip {
            IpRepr::V4(ip) => {
                let total_length =
                    u16::try_from(Ipv4Repr::LEN + udp_len).map_err(|_| too_long(Layer::Ipv4))?;
                put!(Ipv4, Ipv4Repr { total_length, protocol: UDP_PROTOCOL, ..ip }, Ipv4Repr::LEN);
            }
            IpRepr::V6(ip) => {
                let ip = Ipv6Repr { payload_length: udp_length, next_header: UDP_PROTOCOL, ..ip };
                put!(Ipv6, ip, Ipv6Repr::LEN);
            }
        }
        // Checksum 0: none was made, as RoCEv2 senders do (annex A17.4.3); the ICRC covers the packet.
        let udp = UdpRepr { src_port: self.src_port, dst_port: ROCE_PORT, length: udp_length, checksum: 0 };
        put!(Udp, udp, UdpRepr::LEN);
        put!(Bth, BthRepr { pad_count: self.pad_count(), ..self.bth }, BthRepr::LEN);
        let present = self.bth.opcode.extensions();
        macro_rules! put_extension {
            ($bit:ident, $slot:ident, $view:ident, $repr:ident) => {
                if present & Extensions::$bit != 0 {
                    match self.extensions.$slot {
                        Some(repr) => put!($view, repr, $repr::LEN),
                        None => rest = &mut rest[$repr::LEN..],
                    }
                }
            };
        }
        put_extension!(DETH, deth, Deth, DethRepr);
        put_extension!(RETH, reth, Reth, RethRepr);
        put_extension!(ATOMIC, atomic, AtomicEth, AtomicEthRepr);
        put_extension!(AETH, aeth, Aeth, AethRepr);
        put_extension!(ATOMIC_ACK, atomic_ack, AtomicAckEth, AtomicAckEthRepr);
        put_extension!(IMM, imm, ImmDt, ImmDtRepr);
        put_extension!(IETH, ieth, Ieth, IethRepr);
        let _payload_pad_and_icrc_are_zero = rest;

        let ip_at = self.len() - self.ip.len() - udp_len;
        let icrc_at = out.len() - icrc::LEN;
        let crc = icrc::compute(&out[ip_at..icrc_at]).expect("IP, UDP and BTH were just written");
        out[icrc_at..].copy_from_slice(&crc.to_le_bytes());
        Ok(())
    }
}
