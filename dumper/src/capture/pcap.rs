//! Classic pcap, with time stamps in microseconds or nanoseconds.

use std::borrow::Cow;
use std::path::Path;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapParseError, PcapParser, PcapTsResolution};

use super::{PROGRESS_EVERY, ReadError, chain};
use crate::Nanos;
use crate::trace::TraceBuilder;

/// The link type is in the low half of its field; the high half tells of a frame check sequence, which is
/// beyond the packet's own length and so never looked at.
const LINK_TYPE_BITS: u32 = 0xffff;

/// Reads all records into `builder`; a record that is cut short or impossible ends the reading and is noted.
pub(super) fn read(
    path: &Path,
    bytes: &[u8],
    file: usize,
    builder: &mut TraceBuilder,
    report: &mut dyn FnMut(usize, usize),
) -> Result<(), ReadError> {
    let (mut rest, parser) = PcapParser::new(bytes)
        .map_err(|error| ReadError::Header { path: path.into(), reason: header_fault(error) })?;
    let header = parser.header();
    let link_type = u32::from(header.datalink) & LINK_TYPE_BITS;
    if link_type != u32::from(DataLink::ETHERNET) {
        return Err(ReadError::LinkType { path: path.into(), link_type });
    }
    let tick = match header.ts_resolution {
        PcapTsResolution::MicroSecond => 1_000,
        PcapTsResolution::NanoSecond => 1,
    };
    let mut packet = 0u64;
    while !rest.is_empty() {
        packet += 1;
        let offset = bytes.len() - rest.len();
        match parser.next_raw_packet(rest) {
            Ok((tail, raw)) => {
                rest = tail;
                let stamp = Nanos(u64::from(raw.ts_sec) * 1_000_000_000 + u64::from(raw.ts_frac) * tick);
                let Cow::Borrowed(frame) = raw.data else {
                    unreachable!("a record parsed from a slice borrows from it")
                };
                // Some tools leave the original length at 0; no frame was shorter than what is there of it.
                let wire_len = raw.orig_len.max(raw.incl_len);
                builder.push((file, packet), frame, wire_len, stamp, None);
            }
            Err(error) => {
                let reason = match error {
                    PcapParseError::IncompleteBuffer(needed, have) => format!(
                        "record {packet} needs {needed} more bytes, and the file has {have}: it was cut short, \
                         or the record's length is wrong"
                    ),
                    other => format!("record {packet}: {}", chain(&other)),
                };
                builder.damaged(file, offset as u64, reason);
                break;
            }
        }
        if packet.is_multiple_of(PROGRESS_EVERY) {
            report(offset, builder.packets());
        }
    }
    report(bytes.len(), builder.packets());
    Ok(())
}

fn header_fault(error: PcapParseError) -> String {
    match error {
        PcapParseError::IncompleteBuffer(needed, have) => {
            format!("it takes {needed} bytes, the file has {have}")
        }
        other => chain(&other),
    }
}
