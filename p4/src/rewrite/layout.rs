//! Offsets of the headers of a frame, to change them in place.

use std::ops::Range;

use dumper::wire::{
    BthRepr, EtherType, Ethernet, EthernetRepr, Ipv4, Ipv4Repr, Ipv6, Ipv6Repr, Opcode, ROCE_PORT, Udp,
    UdpRepr, VlanTag, VlanTagRepr, icrc,
};

/// IP protocol number of UDP.
const UDP_PROTOCOL: u8 = 17;
/// VLAN tags that are looked through, as when captures are read.
const MAX_VLAN_TAGS: usize = 2;

/// Versions of IP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ip {
    V4,
    V6,
}

/// A RoCEv2 frame whose headers are there up to the BTH.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) ip: Ip,
    pub(super) ip_at: usize,
    pub(super) udp_at: usize,
    pub(super) bth_at: usize,
    /// End of the packet by its IP length, which may be beyond the frame, or before padding of Ethernet.
    end: usize,
}

impl Layout {
    pub(super) fn locate(frame: &[u8]) -> Option<Self> {
        let mut ether_type = EthernetRepr::parse(&Ethernet::new_checked(frame).ok()?).ether_type;
        let mut ip_at = EthernetRepr::LEN;
        for _ in 0..MAX_VLAN_TAGS {
            if matches!(ether_type, EtherType::Vlan | EtherType::ServiceVlan) {
                ether_type = VlanTagRepr::parse(&VlanTag::new_checked(frame.get(ip_at..)?).ok()?).ether_type;
                ip_at += VlanTagRepr::LEN;
            }
        }
        let packet = frame.get(ip_at..)?;
        let (ip, header_len, len, protocol) = match ether_type {
            EtherType::Ipv4 => {
                let (repr, header_len) = Ipv4Repr::parse(&Ipv4::new_checked(packet).ok()?).ok()?;
                (Ip::V4, header_len, usize::from(repr.total_length), repr.protocol)
            }
            EtherType::Ipv6 => {
                let repr = Ipv6Repr::parse(&Ipv6::new_checked(packet).ok()?).ok()?;
                (Ip::V6, Ipv6Repr::LEN, Ipv6Repr::LEN + usize::from(repr.payload_length), repr.next_header)
            }
            _ => return None,
        };
        let udp_at = ip_at + header_len;
        let bth_at = udp_at + UdpRepr::LEN;
        let udp = UdpRepr::parse(&Udp::new_checked(frame.get(udp_at..)?).ok()?);
        let is_roce = protocol == UDP_PROTOCOL && udp.dst_port == ROCE_PORT;
        let has_bth =
            frame.len() >= bth_at + BthRepr::LEN && len >= bth_at + BthRepr::LEN + icrc::LEN - ip_at;
        (is_roce && has_bth).then_some(Self { ip, ip_at, udp_at, bth_at, end: ip_at + len })
    }

    /// Offset of the ICRC, if the frame holds all of the packet.
    pub(super) fn icrc_at(&self, frame: &[u8]) -> Option<usize> {
        (self.end <= frame.len()).then_some(self.end - icrc::LEN)
    }

    /// Offset of the extension headers.
    pub(super) const fn extensions_at(&self) -> usize {
        self.bth_at + BthRepr::LEN
    }

    pub(super) fn opcode(&self, frame: &[u8]) -> Opcode {
        Opcode::from(frame[self.bth_at])
    }

    /// Range of the payload, without pad; `None` if the lengths contradict each other.
    pub(super) fn payload(&self, frame: &[u8]) -> Option<Range<usize>> {
        let pad_count = usize::from(frame[self.bth_at + 1] >> 4 & 0b11);
        let start = self.extensions_at() + self.opcode(frame).extensions_len();
        let end = self.icrc_at(frame)?.checked_sub(pad_count)?;
        (start <= end).then_some(start..end)
    }

    /// Length of the packet from its UDP header on, as far as the IP length reaches.
    pub(super) const fn udp_len(&self) -> usize {
        self.end - self.udp_at
    }

    pub(super) fn clear_udp_checksum(&self, frame: &mut [u8]) {
        frame[self.udp_at + 6..self.udp_at + 8].fill(0);
    }
}

/// Each takes the bytes from the IP header on.
impl Ip {
    pub(super) fn traffic_class(self, packet: &[u8]) -> u8 {
        match self {
            Self::V4 => packet[1],
            Self::V6 => packet[0] << 4 | packet[1] >> 4,
        }
    }

    pub(super) fn set_traffic_class(self, packet: &mut [u8], class: u8) {
        match self {
            Self::V4 => set_v4_word(packet, 0, [packet[0], class]),
            Self::V6 => {
                packet[0] = packet[0] & 0xf0 | class >> 4;
                packet[1] = packet[1] & 0x0f | class << 4;
            }
        }
    }

    pub(super) fn set_ttl(self, packet: &mut [u8], ttl: u8) {
        match self {
            Self::V4 => set_v4_word(packet, 8, [ttl, packet[9]]),
            Self::V6 => packet[7] = ttl,
        }
    }

    /// Byte offset of the length field, which has 16 bits.
    pub(super) const fn length_at(self) -> usize {
        match self {
            Self::V4 => 2,
            Self::V6 => 4,
        }
    }

    pub(super) fn set_length(self, packet: &mut [u8], length: u16) {
        match self {
            Self::V4 => set_v4_word(packet, self.length_at(), length.to_be_bytes()),
            Self::V6 => packet[self.length_at()..self.length_at() + 2].copy_from_slice(&length.to_be_bytes()),
        }
    }
}

/// Sets two bytes of an IPv4 header and changes its checksum by as much (RFC 1624), so that one that was wrong stays
/// wrong.
fn set_v4_word(packet: &mut [u8], at: usize, word: [u8; 2]) {
    const CHECKSUM: usize = 10;
    let read = |packet: &[u8], at: usize| u32::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    let (old, new) = (read(packet, at), u32::from(u16::from_be_bytes(word)));
    let checksum = read(packet, CHECKSUM);
    let mut sum = (!checksum & 0xffff) + (!old & 0xffff) + new;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[at..at + 2].copy_from_slice(&word);
    packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
