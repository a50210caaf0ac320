//! Classic pcap, with time stamps in microseconds or nanoseconds.

use std::path::Path;

use pcap_file::pcap::{PcapParseError, PcapParser, PcapTsResolution};
use pcap_file::{DataLink, Endianness};

use super::{PROGRESS_EVERY, ReadError, chain};
use crate::Nanos;
use crate::trace::{TraceBuilder, Vantage};

/// The link type is in the low half of its field; the high half tells of a frame check sequence, which is
/// beyond the packet's own length and so never looked at.
const LINK_TYPE_BITS: u32 = 0xffff;

/// A fraction of a second is less than a second, in ns; a damaged one must not make a time that no file can hold.
const LONGEST_FRACTION: u64 = 999_999_999;

/// Reads all records into `builder`; a record that is cut short or impossible ends the reading and is noted.
pub(super) fn read(
    path: &Path,
    bytes: &[u8],
    file: usize,
    builder: &mut TraceBuilder,
    report: &mut dyn FnMut(usize, usize),
) -> Result<(), ReadError> {
    let (rest, parser) = PcapParser::new(bytes)
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
    let source = Source { bytes, file, tick };
    match header.endianness {
        Endianness::Little => read_records(&source, rest, u32::from_le_bytes, builder, report),
        Endianness::Big => read_records(&source, rest, u32::from_be_bytes, builder, report),
    }
    report(bytes.len(), builder.packets());
    Ok(())
}

/// File data that the reader of records needs.
struct Source<'a> {
    bytes: &'a [u8],
    file: usize,
    /// Nanoseconds in the unit of the time stamps.
    tick: u64,
}

/// Reads the records that `rest` of the file holds; `number` reads its numbers.
fn read_records(
    source: &Source<'_>,
    mut rest: &[u8],
    number: impl Fn([u8; 4]) -> u32,
    builder: &mut TraceBuilder,
    report: &mut dyn FnMut(usize, usize),
) {
    let mut packet = 0u64;
    while !rest.is_empty() {
        packet += 1;
        match split_record(rest, &number) {
            Ok((record, tail)) => {
                let fraction = (u64::from(record.ticks) * source.tick).min(LONGEST_FRACTION);
                let stamp = Nanos(u64::from(record.seconds) * 1_000_000_000 + fraction);
                // Some tools leave the original length at 0; no frame was shorter than its captured part.
                let wire_len = record.original_len.max(record.frame.len() as u32);
                builder.push((source.file, packet), record.frame, wire_len, stamp, (Vantage::FIRST, None));
                rest = tail;
            }
            Err(CutShort { needed, have }) => {
                let reason = format!(
                    "record {packet} needs {needed} more bytes, and the file has {have}: it was cut short, or \
                     the record's length is wrong"
                );
                builder.damaged(source.file, (source.bytes.len() - rest.len()) as u64, reason);
                return;
            }
        }
        if packet.is_multiple_of(PROGRESS_EVERY) {
            report(source.bytes.len() - rest.len(), builder.packets());
        }
    }
}

/// A packet record: its 16-byte header, and the captured part of the frame.
struct PacketRecord<'a> {
    seconds: u32,
    /// In the resolution of the file.
    ticks: u32,
    original_len: u32,
    frame: &'a [u8],
}

/// The file ends before the record does.
struct CutShort {
    needed: usize,
    have: usize,
}

/// The first record, and the bytes behind it. The capture library has the same, but takes as long for it as
/// all headers of the packet together take.
#[inline(always)]
fn split_record(
    bytes: &[u8],
    number: impl Fn([u8; 4]) -> u32,
) -> Result<(PacketRecord<'_>, &[u8]), CutShort> {
    let Some((header, rest)) = bytes.split_first_chunk::<16>() else {
        return Err(CutShort { needed: 16, have: bytes.len() });
    };
    let field = |at: usize| number([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let needed = field(8) as usize;
    let Some((frame, tail)) = rest.split_at_checked(needed) else {
        return Err(CutShort { needed, have: rest.len() });
    };
    Ok((PacketRecord { seconds: field(0), ticks: field(4), original_len: field(12), frame }, tail))
}

fn header_fault(error: PcapParseError) -> String {
    match error {
        PcapParseError::IncompleteBuffer(needed, have) => {
            format!("it takes {needed} bytes, the file has {have}")
        }
        other => chain(&other),
    }
}
