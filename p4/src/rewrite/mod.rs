//! Effect of actions on the bytes of a real RoCEv2 frame, and the making of its mirrored copy.
//!
//! Frames come from hosts under test and may be anything: every access is checked, and a frame without the
//! field to change passes unchanged.

mod field;
mod layout;

use dumper::mirror::MirrorMeta;
use dumper::wire::{Ecn, Ethernet, EthernetRepr, Mac, icrc};
use dumper::{ActionKind, Event, Nanos};

use crate::Actions;
use layout::Layout;

/// A frame after actions; none if they change no byte of it.
///
/// - `ecn` sets both ECN bits. The checksum of an IPv4 header follows; the ICRC masks them (annex A17.3.3).
/// - `corrupt` inverts a reserved bit of the BTH, which the ICRC covers and no receiver reads: a switch in hardware reaches it in every
///   packet. The ICRC stays as it was, and so is wrong.
/// - `set_field` rewrites a field and recomputes the ICRC.
///
/// A UDP checksum, which RoCEv2 senders do not make (annex A17.4.3), becomes 0, none, where bytes under it change.
#[must_use]
pub fn rewrite(frame: &[u8], actions: &Actions) -> Option<Vec<u8>> {
    let layout = Layout::locate(frame)?;
    let mut left = frame.to_vec();
    let ip = &mut left[layout.ip_at..];
    if actions.ecn {
        layout.ip.set_traffic_class(ip, layout.ip.traffic_class(ip) | 0b11);
    }
    if actions.corrupt {
        corrupt(&mut left, &layout);
    }
    if let Some(set) = actions.set_field {
        field::set(&mut left, layout, set);
    }
    (left != frame).then_some(left)
}

fn corrupt(frame: &mut [u8], layout: &Layout) {
    frame[layout.bth_at + RESERVED] ^= 1;
    layout.clear_udp_checksum(frame);
}

/// Byte of the BTH with the bit that asks for an acknowledgement and seven reserved ones (IBA vol. 1, 9.2).
const RESERVED: usize = 8;

/// Makes the ICRC of a packet right again that ends at `icrc_at`; one without a defined ICRC stays as it is.
fn seal(frame: &mut [u8], layout: &Layout, icrc_at: usize) {
    layout.clear_udp_checksum(frame);
    if let Some(crc) = icrc::compute(&frame[layout.ip_at..icrc_at]) {
        frame[icrc_at..icrc_at + icrc::LEN].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Writes mirror metadata into a frame, as a switch does to the copy for the dumpers (Lumina §3.4); see
/// [`dumper::mirror`]. A frame without a whole IP header gets the addresses only.
pub fn mirror(frame: &mut [u8], meta: MirrorMeta) {
    if let Ok(mut ethernet) = Ethernet::new_checked(&mut *frame) {
        let ether_type = EthernetRepr::parse(&ethernet).ether_type;
        let (source, Nanos(time)) = (Mac(u64::from(meta.sequence)), meta.time);
        EthernetRepr { destination: Mac(time), source, ether_type }.emit(&mut ethernet);
    }
    if let Some(Layout { ip_at, ip, .. }) = Layout::locate(frame) {
        let bytes = &mut frame[ip_at..];
        ip.set_ttl(bytes, meta.event.code());
        let class = ip.traffic_class(bytes);
        if meta.event == Event::Action(ActionKind::Ecn) && Ecn::of(class) != Ecn::NotEct {
            ip.set_traffic_class(bytes, class | 0b11);
        }
    }
}

/// Gives a mirrored packet another UDP destination port, so that the cores of a dumper share the packets of one connection
/// (Lumina §3.4): one that follows from its mirror sequence number, neighbours of which come far from each other.
pub fn scatter(frame: &mut [u8], sequence: u32) {
    // Knuth's multiplicative hash: 2^32 over the golden ratio.
    const GOLDEN: u32 = 0x9e37_79b1;
    if let Some(Layout { udp_at, .. }) = Layout::locate(frame) {
        let port = (sequence.wrapping_mul(GOLDEN) >> 16) as u16;
        frame[udp_at + 2..udp_at + 4].copy_from_slice(&port.to_be_bytes());
    }
}
