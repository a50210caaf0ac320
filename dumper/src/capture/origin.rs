//! Detects from a capture's packets whether they carry mirror metadata.

use pcap_file::pcap::PcapParser;
use pcap_file::pcapng::{Block, PcapNgParser};
use rustc_hash::FxHashSet;

use super::FileFormat;
use crate::event::Event;
use crate::mirror::MirrorMeta;
use crate::trace::Origin;
use crate::wire::Frame;
use crate::wire::frame::{Parsed, UdpPorts};

/// RoCEv2 packets looked at in each file.
const SAMPLE: usize = 64;
/// Frames of any kind looked at in each file, so that a file without RoCEv2 is not read to its end for this.
const MAX_FRAMES: usize = 4096;

/// The origin of captures: mirrored where most sampled source addresses can be a mirror sequence number, most of
/// them differ, and most packets carry an event code in the place of their time to live. Most, not all: one stray
/// frame in a mirrored capture is an error to report, not another kind of capture.
///
/// In a plain capture of two hosts there are two source addresses, however small, and a handful of packets too
/// short to show that still has an ordinary time to live. Addresses are told apart per file: the same capture
/// given twice is mirrored no less.
pub(super) fn detect<'a>(files: impl Iterator<Item = (FileFormat, &'a [u8])>, ports: UdpPorts) -> Origin {
    let (mut sampled, mut valid, mut with_event) = (0usize, 0usize, 0usize);
    let mut distinct = FxHashSet::default();
    for (file, (format, bytes)) in files.enumerate() {
        let mut in_file = 0;
        each_frame(format, bytes, |frame| {
            if let Ok(Parsed::Roce(frame)) = Frame::parse(frame, ports) {
                in_file += 1;
                let ethernet = frame.ethernet;
                let meta = MirrorMeta::read(ethernet.source, ethernet.destination, frame.ip.ttl());
                valid += usize::from(meta.is_some());
                with_event += usize::from(meta.is_some_and(|meta| !matches!(meta.event, Event::Unknown(_))));
                distinct.insert((file, ethernet.source));
            }
            in_file < SAMPLE
        });
        sampled += in_file;
    }
    let most = |count: usize| count * 2 > sampled;
    if most(valid) && most(distinct.len()) && most(with_event) { Origin::Mirror } else { Origin::Plain }
}

/// Calls `visit` with the first frames of a capture until it returns false; damage just ends it.
fn each_frame(format: FileFormat, bytes: &[u8], mut visit: impl FnMut(&[u8]) -> bool) {
    match format {
        FileFormat::Pcap => {
            let Ok((mut rest, parser)) = PcapParser::new(bytes) else { return };
            for _ in 0..MAX_FRAMES {
                let Ok((tail, raw)) = parser.next_raw_packet(rest) else { return };
                rest = tail;
                if !visit(&raw.data) {
                    return;
                }
            }
        }
        FileFormat::PcapNg => {
            let Ok((mut rest, mut parser)) = PcapNgParser::new(bytes) else { return };
            for _ in 0..MAX_FRAMES {
                let Ok((tail, block)) = parser.next_block(rest) else { return };
                rest = tail;
                let go_on = match &block {
                    Block::EnhancedPacket(packet) => visit(&packet.data),
                    Block::SimplePacket(packet) => visit(&packet.data),
                    Block::Packet(packet) => visit(&packet.data),
                    _ => true,
                };
                if !go_on {
                    return;
                }
            }
        }
    }
}
