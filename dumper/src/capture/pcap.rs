//! Classic pcap, with time stamps in microseconds or nanoseconds.

use std::borrow::Cow;
use std::path::Path;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapParseError, PcapParser, PcapTsResolution};

use super::{PROGRESS_EVERY, ReadError};
use crate::Nanos;
use crate::trace::TraceBuilder;

/// Reads all records into `builder`; a record that is cut short or impossible ends the reading and is noted.
pub(super) fn read(
    path: &Path,
    bytes: &[u8],
    file: usize,
    builder: &mut TraceBuilder,
    report: &mut dyn FnMut(usize, usize),
) -> Result<(), ReadError> {
    let (mut rest, parser) = PcapParser::new(bytes)
        .map_err(|error| ReadError::Header { path: path.into(), reason: error.to_string() })?;
    let header = parser.header();
    if header.datalink != DataLink::ETHERNET {
        return Err(ReadError::LinkType { path: path.into(), link_type: header.datalink.into() });
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
                builder.push((file, packet), frame, raw.orig_len, stamp, None);
            }
            Err(error) => {
                let reason = match error {
                    PcapParseError::IncompleteBuffer(needed, have) => format!(
                        "record {packet} needs {needed} more bytes, and the file has {have}: it was cut short, \
                         or the record's length is wrong"
                    ),
                    other => format!("record {packet}: {other}"),
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
