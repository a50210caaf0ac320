//! Header fields rewritten.

use std::ops::Range;

use corpus::config::{HeaderField, SetField};
use dumper::wire::{AethRepr, Class, Position, RethRepr, Verb};

use super::layout::Layout;
use super::seal;

/// Bits of a frame: the lowest ones of some bytes, read big-endian and shifted.
struct Bits {
    bytes: Range<usize>,
    shift: u32,
}

/// Rewrites a field and makes the ICRC right. A packet that does not have it, or is not all there, stays as it is.
pub(super) fn set(frame: &mut Vec<u8>, layout: Layout, set: SetField) {
    let Some(icrc_at) = layout.icrc_at(frame) else { return };
    if set.field == HeaderField::Payload {
        return truncate(frame, &layout, set.value as usize);
    }
    let Some(Bits { bytes, shift }) = place(set.field, &layout, frame) else { return };
    let old = frame[bytes.clone()].iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    let new = set.apply(old >> shift);
    if set.field == HeaderField::IpLength {
        layout.ip.set_length(&mut frame[layout.ip_at..], new as u16);
    } else {
        let mask = (u64::MAX >> (u64::BITS - set.field.bits())) << shift;
        let value = (old & !mask | new << shift).to_be_bytes();
        let width = bytes.len();
        frame[bytes].copy_from_slice(&value[value.len() - width..]);
    }
    seal(frame, &layout, icrc_at);
}

/// Offset of a field, if the packet has it.
fn place(field: HeaderField, layout: &Layout, frame: &[u8]) -> Option<Bits> {
    let bits = |start: usize, bytes: Range<usize>, shift| Bits {
        bytes: start + bytes.start..start + bytes.end,
        shift,
    };
    let bth = |bytes, shift| Some(bits(layout.bth_at, bytes, shift));
    let extension = |layer_len: usize, has: bool, bytes| {
        // RETH and AETH are the first extension headers of the opcodes of a reliable connection that have them.
        let whole =
            layout.payload(frame).is_some_and(|payload| payload.start >= layout.extensions_at() + layer_len);
        (has && whole).then(|| bits(layout.extensions_at(), bytes, 0))
    };
    let (has_reth, has_aeth) = match layout.opcode(frame).class() {
        Class::Request(Verb::Write, position) => (position.starts(), false),
        Class::ReadRequest => (true, false),
        Class::ReadResponse(position) => (false, position != Position::Middle),
        Class::Acknowledge | Class::AtomicAcknowledge => (false, true),
        _ => (false, false),
    };
    match field {
        HeaderField::Opcode => bth(0..1, 0),
        HeaderField::MigReq => bth(1..2, 6),
        HeaderField::PadCount => bth(1..2, 4),
        HeaderField::PartitionKey => bth(2..4, 0),
        HeaderField::DestQpn => bth(5..8, 0),
        HeaderField::AckReq => bth(8..9, 7),
        HeaderField::Psn => bth(9..12, 0),
        HeaderField::RethAddress => extension(RethRepr::LEN, has_reth, 0..8),
        HeaderField::RethKey => extension(RethRepr::LEN, has_reth, 8..12),
        HeaderField::RethLength => extension(RethRepr::LEN, has_reth, 12..16),
        HeaderField::AethSyndrome => extension(AethRepr::LEN, has_aeth, 0..1),
        HeaderField::Msn => extension(AethRepr::LEN, has_aeth, 1..4),
        HeaderField::UdpLength => Some(bits(layout.udp_at, 4..6, 0)),
        HeaderField::IpLength => {
            let at = layout.ip.length_at();
            Some(bits(layout.ip_at, at..at + 2, 0))
        }
        HeaderField::Payload => None,
    }
}

/// Cuts the packet behind so many bytes of payload; lengths of UDP and IP follow. The pad count stays, so
/// that a receiver takes as many of these bytes for pad.
fn truncate(frame: &mut Vec<u8>, layout: &Layout, len: usize) {
    let (Some(payload), Some(icrc_at)) = (layout.payload(frame), layout.icrc_at(frame)) else { return };
    if payload.len() <= len {
        return;
    }
    let end = payload.start + len;
    let cut = icrc_at - end;
    frame.drain(end..icrc_at);
    let udp_len = (layout.udp_len() - cut) as u16;
    frame[layout.udp_at + 4..layout.udp_at + 6].copy_from_slice(&udp_len.to_be_bytes());
    let packet = &mut frame[layout.ip_at..];
    let at = layout.ip.length_at();
    let length = u16::from_be_bytes([packet[at], packet[at + 1]]) - cut as u16;
    layout.ip.set_length(packet, length);
    let Some(layout) = Layout::locate(frame) else { return };
    if let Some(icrc_at) = layout.icrc_at(frame) {
        seal(frame, &layout, icrc_at);
    }
}
