//! Traces written as captures: every packet with full valid headers, checksums and ICRC, payloads as zeros.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::net::IpAddr;
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapTsResolution, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};

use super::{chain, comment};
use crate::mirror::{MirrorMeta, TIME_SPAN};
use crate::trace::{Origin, Record, Trace, flags};
use crate::wire::frame::{ExtensionReprs, IpRepr};
use crate::wire::{BthRepr, FrameRepr, IethRepr, ImmDtRepr, Ipv4Repr, Ipv6Repr, Mac, RethRepr, WireError};
use crate::{Connection, Nanos};

/// TTL of the packets of a plain trace, which does not keep it.
const PLAIN_TTL: u8 = 64;
/// Longest frame that a capture header may promise; jumbo frames with a 4096-byte MTU fit.
const WHOLE_FRAME: u32 = 65_535;

/// Capture file format to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaptureFormat {
    /// Classic pcap with microsecond time stamps, as the published tool's merged files.
    PcapMicros,
    /// Classic pcap with nanosecond time stamps.
    PcapNanos,
    /// pcapng with nanosecond time stamps, events as packet comments, connections as interface comments.
    PcapNg,
}

/// A trace that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file could not be written; the kind is the system's.
    #[error("capture cannot be written: {0}")]
    Io(io::Error),
    /// A packet has no wire form.
    #[error("packet {sequence} cannot be written: {reason}")]
    Packet {
        /// Mirror sequence number.
        sequence: u32,
        /// Reason.
        reason: String,
    },
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// An error of the capture library, of the kind of the system's error.
fn io(error: &(dyn Error + 'static)) -> WriteError {
    let mut causes = std::iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source());
    let system = causes.find_map(|error| error.downcast_ref::<io::Error>());
    WriteError::Io(io::Error::new(system.map_or(io::ErrorKind::Other, io::Error::kind), chain(error)))
}

/// Writes a trace as a capture. Frames are cut to `snap_len` bytes where given (the published dumper: 128).
///
/// # Errors
/// When `out` fails, or a packet's headers cannot be written.
pub fn write(
    trace: &Trace,
    connections: &[Connection],
    format: CaptureFormat,
    snap_len: Option<u32>,
    out: impl Write,
) -> Result<(), WriteError> {
    write_with_notes(trace, connections, format, snap_len, &BTreeMap::new(), out)
}

/// The same, with notes for people as further comments of packets, by their sequence numbers. Only pcapng has comments.
///
/// # Errors
/// When `out` fails, or a packet's headers cannot be written.
pub fn write_with_notes(
    trace: &Trace,
    connections: &[Connection],
    format: CaptureFormat,
    snap_len: Option<u32>,
    notes: &BTreeMap<u32, String>,
    out: impl Write,
) -> Result<(), WriteError> {
    let mut frame = Vec::new();
    let mut sink = Sink::open(format, connections, snap_len, out)?;
    for record in trace.records() {
        let repr = frame_of(trace, record)?;
        repr.emit(&mut frame).map_err(|error: WireError| WriteError::Packet {
            sequence: record.sequence,
            reason: error.to_string(),
        })?;
        let kept = frame.len().min(snap_len.map_or(usize::MAX, |len| len as usize));
        let wire_len = frame.len() as u32;
        sink.packet(
            record.time,
            wire_len,
            &frame[..kept],
            [
                comment::of_packet(record.event(), record.vantage(), trace.exit(record)),
                notes.get(&record.sequence).map(|note| comment::of_people(note)),
            ],
        )?;
    }
    Ok(sink.into_inner().flush()?)
}

enum Sink<W: Write> {
    Pcap(PcapWriter<W>),
    PcapNg(PcapNgWriter<W>),
}

impl<W: Write> Sink<W> {
    fn open(
        format: CaptureFormat,
        connections: &[Connection],
        snap_len: Option<u32>,
        out: W,
    ) -> Result<Self, WriteError> {
        let snaplen = snap_len.unwrap_or(WHOLE_FRAME);
        let ts_resolution = match format {
            CaptureFormat::PcapMicros => PcapTsResolution::MicroSecond,
            CaptureFormat::PcapNanos => PcapTsResolution::NanoSecond,
            CaptureFormat::PcapNg => {
                let section = SectionHeaderBlock {
                    endianness: Endianness::Little,
                    options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed("lumina-fuzz"))],
                    ..Default::default()
                };
                let mut writer =
                    PcapNgWriter::with_section_header(out, section).map_err(|error| io(&error))?;
                let mut options = vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed("mirror")),
                    InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
                ];
                options.extend(
                    comment::of_connections(connections).into_iter().map(|text| {
                        InterfaceDescriptionOption::Common(CommonOption::Comment(Cow::Owned(text)))
                    }),
                );
                let interface = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen, options };
                writer.write_pcapng_block(interface).map_err(|error| io(&error))?;
                return Ok(Self::PcapNg(writer));
            }
        };
        let header = PcapHeader {
            snaplen,
            ts_resolution,
            datalink: DataLink::ETHERNET,
            endianness: Endianness::Little,
            ..Default::default()
        };
        PcapWriter::with_header(out, header).map(Self::Pcap).map_err(|error| io(&error))
    }

    fn packet(
        &mut self,
        time: Nanos,
        wire_len: u32,
        bytes: &[u8],
        comments: [Option<String>; 2],
    ) -> Result<(), WriteError> {
        match self {
            Self::Pcap(writer) => {
                // Classic pcap counts seconds in 32 bits; mirrored packets have the time in the MAC as well.
                let time = Nanos(time.0 % (1_000_000_000 << 32));
                let packet = PcapPacket::new(Duration::from_nanos(time.0), wire_len, bytes)
                    .map_err(|error| io(&error))?;
                writer.write_packet(&packet).map_err(|error| io(&error))?;
            }
            Self::PcapNg(writer) => {
                let options = comments.into_iter().flatten();
                let options =
                    options.map(|text| EnhancedPacketOption::Common(CommonOption::Comment(Cow::Owned(text))));
                let block = EnhancedPacketBlock {
                    interface_id: 0,
                    timestamp: Duration::from_nanos(time.0),
                    original_len: wire_len,
                    data: Cow::Borrowed(bytes),
                    options: options.collect(),
                };
                writer.write_pcapng_block(block).map_err(|error| io(&error))?;
            }
        }
        Ok(())
    }

    fn into_inner(self) -> W {
        match self {
            Self::Pcap(writer) => writer.into_inner(),
            Self::PcapNg(writer) => writer.into_inner(),
        }
    }
}

/// The frame of a record, as the dumper's file holds it.
fn frame_of(trace: &Trace, record: &Record) -> Result<FrameRepr, WriteError> {
    let flow = trace.flow(record);
    let traffic_class = record.traffic_class;
    let ip = match (flow.source, flow.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => IpRepr::V4(Ipv4Repr {
            traffic_class,
            total_length: 0,
            identification: 0,
            dont_fragment: true,
            ttl: PLAIN_TTL,
            protocol: 0,
            source,
            destination,
        }),
        (IpAddr::V6(source), IpAddr::V6(destination)) => IpRepr::V6(Ipv6Repr {
            traffic_class,
            flow_label: 0,
            payload_length: 0,
            next_header: 0,
            hop_limit: PLAIN_TTL,
            source,
            destination,
        }),
        _ => {
            let reason = "its source and destination are of different IP versions".into();
            return Err(WriteError::Packet { sequence: record.sequence, reason });
        }
    };
    let flag = |bit| record.flags & bit != 0;
    let bth = BthRepr {
        opcode: record.opcode(),
        solicited: flag(flags::SOLICITED),
        mig_req: flag(flags::MIG_REQ),
        pad_count: 0,
        partition_key: record.partition_key,
        fecn: flag(flags::FECN),
        becn: flag(flags::BECN),
        dest_qpn: flow.dest_qpn,
        ack_req: flag(flags::ACK_REQ),
        psn: record.psn,
    };
    let mut frame = FrameRepr {
        destination: Mac(0),
        source: Mac(0),
        vlan: flow.vlan,
        ip,
        src_port: record.src_port,
        bth,
        extensions: extensions_of(trace, record),
        payload_len: record.payload_len,
    };
    if trace.origin() == Origin::Mirror {
        let time = Nanos(record.time.0 % TIME_SPAN);
        MirrorMeta { sequence: record.sequence, time, event: record.event() }.write(&mut frame);
    }
    Ok(frame)
}

/// Extension headers of a record; the frame writes those that its opcode has.
fn extensions_of(trace: &Trace, record: &Record) -> ExtensionReprs {
    let extra = trace.extra(record).unwrap_or_default();
    ExtensionReprs {
        deth: extra.deth,
        reth: Some(RethRepr {
            virtual_address: record.virtual_address,
            remote_key: record.remote_key,
            dma_length: record.dma_length,
        }),
        atomic: extra.atomic,
        aeth: Some(record.aeth()),
        atomic_ack: extra.atomic_ack,
        imm: Some(ImmDtRepr { data: record.immediate }),
        ieth: Some(IethRepr { remote_key: record.remote_key }),
    }
}
