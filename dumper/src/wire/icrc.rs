//! Invariant CRC (IBA vol. 1, 7.8.1; masks for RoCEv2: annex A17.3.3).
//!
//! CRC-32 (the Ethernet polynomial) over eight bytes of 0xff in the place of the InfiniBand link header, then
//! the packet from its IP header to the end of its payload and pad, with every field that a router may change
//! read as ones: IPv4 TOS, TTL and header checksum; IPv6 traffic class, flow label and hop limit; the UDP
//! checksum; and BTH byte 4 (FECN, BECN, reserved). It is stored little-endian.

use super::{BthRepr, Ipv4Repr, Ipv6Repr, ROCE_PORT, UdpRepr};

/// Length of the ICRC at the end of every RoCEv2 packet, in bytes.
pub const LEN: usize = 4;

/// Length of the InfiniBand link header, which stands before the packet as ones.
const LINK_HEADER_LEN: usize = 8;
/// Byte offset in the BTH of the field that routers may change.
const BTH_MASKED_BYTE: usize = 4;
const UDP_CHECKSUM: std::ops::Range<usize> = 6..8;

/// The ICRC of a packet, from the first byte of its IP header up to, but without, its ICRC.
///
/// Returns `None` where the bytes do not hold an IPv4 header without options or an IPv6 header, then UDP and
/// BTH: such a packet has no defined ICRC.
pub fn compute(packet: &[u8]) -> Option<u32> {
    // The place of the link header, then the part with masked fields: at most IPv6, UDP and BTH.
    let mut covered = [0xffu8; LINK_HEADER_LEN + Ipv6Repr::LEN + UdpRepr::LEN + BthRepr::LEN];
    let ip_len = match packet.first()? {
        0x45 => Ipv4Repr::LEN,
        version if version >> 4 == 6 => Ipv6Repr::LEN,
        _ => return None,
    };
    let masked_len = ip_len + UdpRepr::LEN + BthRepr::LEN;
    let (to_mask, rest) = packet.split_at_checked(masked_len)?;
    let covered = &mut covered[..LINK_HEADER_LEN + masked_len];
    let head = &mut covered[LINK_HEADER_LEN..];
    head.copy_from_slice(to_mask);
    if ip_len == Ipv4Repr::LEN {
        head[1] = 0xff;
        head[8] = 0xff;
        head[10..12].fill(0xff);
    } else {
        head[0] |= 0x0f;
        head[1..4].fill(0xff);
        head[7] = 0xff;
    }
    head[ip_len..][UDP_CHECKSUM].fill(0xff);
    head[ip_len + UdpRepr::LEN + BTH_MASKED_BYTE] = 0xff;

    let mut hasher = crc32fast::Hasher::new();
    hasher.update(covered);
    hasher.update(rest);
    Some(hasher.finalize())
}

/// The ICRC in the last four bytes of a packet, or `None` where there are fewer.
pub fn stored(packet: &[u8]) -> Option<u32> {
    packet.last_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Returns true if a whole packet, from its IP header to its last byte, ends in its own ICRC. `None` where
/// [`compute`] has no answer.
pub fn verify(packet: &[u8]) -> Option<bool> {
    let body = packet.get(..packet.len().checked_sub(LEN)?)?;
    Some(compute(body)? == stored(packet)?)
}

/// Result of the ICRC check of a captured packet: `None` where the packet is trimmed, and where its
/// destination port was rewritten after the ICRC was computed.
#[inline]
pub(super) fn verify_unless_rewritten(dst_port: u16, whole_packet: Option<&[u8]>) -> Option<bool> {
    if dst_port != ROCE_PORT {
        return None;
    }
    verify(whole_packet?)
}
