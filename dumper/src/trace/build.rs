//! From captured frames to a trace: parse, order by mirror sequence number, unwrap time.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::{Extra, Flow, FlowId, Origin, Record, Trace, flags};
use crate::mirror::{self, MirrorMeta};
use crate::wire::frame::{NotRoce, Parsed, UdpPorts};
use crate::wire::{Frame, ROCE_PORT, WireError};
use crate::{Exit, Nanos};

/// Most errors that are kept with their packet; further ones are only counted.
const MAX_ERRORS_KEPT: usize = 16;

/// A RoCEv2 packet that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketError {
    /// Capture file, as the caller numbered it.
    pub file: usize,
    /// Position of the packet in its file, from 1.
    pub packet: u64,
    /// What was wrong.
    pub error: PacketFault,
}

/// What was wrong with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PacketFault {
    /// A header is cut short or contradicts itself.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The capture is a mirrored one, but this packet carries no mirror sequence number.
    #[error("no mirror sequence number in the Ethernet source address {0}")]
    NoSequence(crate::wire::Mac),
}

/// Frames of a capture that are not in the trace, counted by reason; nothing is skipped silently.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Skipped {
    /// Well-formed frames of other protocols.
    pub other: BTreeMap<NotRoce, u64>,
    /// RoCEv2 packets that could not be read.
    pub malformed: u64,
    /// The first of them.
    pub errors: Vec<PacketError>,
}

/// A place where a capture file itself is damaged; what came before it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Capture file, as the caller numbered it.
    pub file: usize,
    /// Byte offset in the file.
    pub offset: u64,
    /// What is wrong there.
    pub reason: String,
}

/// A trace with what could not be part of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Traced {
    /// The trace.
    pub trace: Trace,
    /// Frames left out.
    pub skipped: Skipped,
    /// Damaged capture files.
    pub damage: Vec<Damage>,
    /// Packets whose whole bytes were there and whose ICRC was right, and wrong. Corrupted ones are mirrored
    /// restored, so a wrong one is always worth a look.
    pub icrc: IcrcTally,
}

/// Result of checking the ICRC of every packet that a capture holds whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IcrcTally {
    /// Packets with the right ICRC.
    pub right: u64,
    /// Packets with a wrong ICRC.
    pub wrong: u64,
    /// Sequence number of the first wrong one that was read.
    pub first_wrong: Option<u32>,
}

/// Address pair and QPN as plain numbers: cheaper to hash than `IpAddr`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FlowKey {
    source: u128,
    destination: u128,
    dest_qpn: u32,
}

impl FlowKey {
    #[inline]
    fn new(source: IpAddr, destination: IpAddr, dest_qpn: u32) -> Self {
        // IPv4 as IPv4-mapped IPv6 (RFC 4291 §2.5.5.2): no real IPv6 packet has such an address.
        let bits = |ip| match ip {
            IpAddr::V4(ip) => 0xffff_0000_0000 | u128::from(ip.to_bits()),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        Self { source: bits(source), destination: bits(destination), dest_qpn }
    }
}

/// Collects the frames of any number of capture files into one trace.
///
/// Memory grows by 64 bytes a packet, never by frame contents.
pub struct TraceBuilder {
    trace: Trace,
    flow_ids: FxHashMap<FlowKey, FlowId>,
    last_flow: Option<(FlowKey, FlowId)>,
    skipped: Skipped,
    damage: Vec<Damage>,
    icrc: IcrcTally,
    ports: UdpPorts,
    /// Packets came in mirror order (by time in a plain capture).
    in_order: bool,
    /// Times never stepped back, so that none can have wrapped.
    time_ascends: bool,
}

impl TraceBuilder {
    /// A builder for captures of the given origin; `ports` says which UDP ports are RoCEv2.
    pub fn new(origin: Origin, ports: UdpPorts) -> Self {
        Self {
            trace: Trace::new(origin),
            flow_ids: FxHashMap::default(),
            last_flow: None,
            skipped: Skipped::default(),
            damage: Vec::new(),
            icrc: IcrcTally::default(),
            ports,
            in_order: true,
            time_ascends: true,
        }
    }

    /// Makes room for about this many packets.
    pub fn reserve(&mut self, packets: usize) {
        self.trace.records.reserve(packets);
    }

    /// Notes that a capture file is damaged at `offset`.
    pub fn damaged(&mut self, file: usize, offset: u64, reason: impl Into<String>) {
        self.damage.push(Damage { file, offset, reason: reason.into() });
    }

    /// Number of packets so far.
    pub fn packets(&self) -> usize {
        self.trace.records.len()
    }

    /// Adds a captured frame: its bytes, its length on the wire, its time in the file, and how it left the
    /// switch where the file says so. `file` and `packet` (from 1) name it in errors.
    #[inline]
    pub fn push(&mut self, at: (usize, u64), frame: &[u8], wire_len: u32, stamp: Nanos, exit: Option<Exit>) {
        match Frame::parse(frame, self.ports) {
            Ok(Parsed::Roce(frame)) => self.push_roce(at, &frame, wire_len, stamp, exit),
            Ok(Parsed::Other(reason)) => *self.skipped.other.entry(reason).or_default() += 1,
            Err(error) => self.malformed(at, error.into()),
        }
    }

    #[cold]
    fn malformed(&mut self, (file, packet): (usize, u64), error: PacketFault) {
        self.skipped.malformed += 1;
        if self.skipped.errors.len() < MAX_ERRORS_KEPT {
            self.skipped.errors.push(PacketError { file, packet, error });
        }
    }

    #[inline]
    fn push_roce(
        &mut self,
        at: (usize, u64),
        frame: &Frame<'_>,
        wire_len: u32,
        stamp: Nanos,
        exit: Option<Exit>,
    ) {
        let meta = match self.trace.origin {
            Origin::Mirror => {
                let ethernet = frame.ethernet;
                match MirrorMeta::read(ethernet.source, ethernet.destination, frame.ip.ttl()) {
                    Some(meta) => meta,
                    None => return self.malformed(at, PacketFault::NoSequence(ethernet.source)),
                }
            }
            Origin::Plain => {
                // Position in the order of reading until all are sorted; 32 bits, as packets are counted in 31.
                let sequence = self.trace.records.len() as u32 + 1;
                MirrorMeta { sequence, time: stamp, event: super::Event::None }
            }
        };
        let flow = self.flow_of(frame);
        let bth = &frame.bth;
        let mut record = Record::new(meta.time, meta.sequence, flow, bth.opcode, bth.psn);
        record.set_event(meta.event);
        record.frame_len = wire_len;
        record.payload_len = frame.payload_len as u16;
        // On the mirror wire the port fields are rewritten and the checksum field keeps the source port.
        let rewritten = frame.udp.dst_port != ROCE_PORT && frame.udp.checksum != 0;
        record.src_port = if rewritten { frame.udp.checksum } else { frame.udp.src_port };
        record.partition_key = bth.partition_key;
        record.traffic_class = frame.ip.traffic_class();
        record.flags = [
            (bth.ack_req, flags::ACK_REQ),
            (bth.fecn, flags::FECN),
            (bth.becn, flags::BECN),
            (bth.mig_req, flags::MIG_REQ),
            (bth.solicited, flags::SOLICITED),
        ]
        .into_iter()
        .fold(0, |bits, (set, bit)| if set { bits | bit } else { bits });

        let extensions = &frame.extensions;
        if let Some(aeth) = extensions.aeth {
            record.aeth = aeth.into();
        }
        if let Some(reth) = extensions.reth {
            record.virtual_address = reth.virtual_address;
            record.remote_key = reth.remote_key;
            record.dma_length = reth.dma_length;
        }
        if let Some(imm) = extensions.imm {
            record.immediate = imm.data;
        }
        if let Some(ieth) = extensions.ieth {
            record.remote_key = ieth.remote_key;
        }
        if let Some(right) = frame.icrc_ok() {
            if right {
                self.icrc.right += 1;
            } else {
                self.icrc.wrong += 1;
                self.icrc.first_wrong.get_or_insert(meta.sequence);
            }
        }

        if let Some(last) = self.trace.records.last() {
            self.time_ascends &= meta.time >= last.time;
            self.in_order &= match self.trace.origin {
                Origin::Mirror => mirror::sequence_distance(meta.sequence, last.sequence) > 0,
                Origin::Plain => self.time_ascends,
            };
        }
        let extra = Extra {
            exit,
            atomic: extensions.atomic,
            atomic_ack: extensions.atomic_ack,
            deth: extensions.deth,
        };
        if extra == Extra::default() {
            self.trace.push(record);
        } else {
            self.trace.push_with(record, extra);
        }
    }

    #[inline]
    fn flow_of(&mut self, frame: &Frame<'_>) -> FlowId {
        let (source, destination) = (frame.ip.source(), frame.ip.destination());
        let dest_qpn = frame.bth.dest_qpn;
        let key = FlowKey::new(source, destination, dest_qpn);
        if let Some((last, id)) = self.last_flow
            && last == key
        {
            return id;
        }
        let trace = &mut self.trace;
        let id = *self
            .flow_ids
            .entry(key)
            .or_insert_with(|| trace.add_flow(Flow { source, destination, dest_qpn, vlan: frame.vlan }));
        self.last_flow = Some((key, id));
        id
    }

    /// Orders the packets and hands the trace out.
    pub fn finish(mut self) -> Traced {
        let records = &mut self.trace.records;
        match self.trace.origin {
            Origin::Mirror => {
                if let (Some(first), false) = (records.first().map(|record| record.sequence), self.in_order) {
                    records.sort_by_key(|record| mirror::sequence_distance(record.sequence, first));
                }
                if !(self.in_order && self.time_ascends) {
                    unwrap_times(records);
                }
            }
            Origin::Plain => {
                if !self.in_order {
                    records.sort_by_key(|record| record.time);
                    let first_wrong = self.icrc.first_wrong;
                    for (record, sequence) in records.iter_mut().zip(1..) {
                        if first_wrong == Some(record.sequence) {
                            self.icrc.first_wrong = Some(sequence);
                        }
                        record.sequence = sequence;
                    }
                }
            }
        }
        Traced { trace: self.trace, skipped: self.skipped, damage: self.damage, icrc: self.icrc }
    }
}

/// Turns 48-bit switch times of ordered packets into times that do not wrap.
fn unwrap_times(records: &mut [Record]) {
    let Some(first) = records.first().map(|record| record.time.0) else { return };
    let mut last = first;
    // Signed time since the first packet; steps are below 2^47, and 2^31 packets of them fit an i128 with ease.
    let mut since_first = 0i128;
    let mut offset = |raw: u64| {
        since_first += i128::from(mirror::time_distance(raw, last));
        last = raw;
        since_first
    };
    let earliest = records.iter().map(|record| offset(record.time.0)).min().unwrap_or(0);
    let base = i128::from(first).max(-earliest);
    let (mut last, mut now) = (first, base);
    for record in records {
        let raw = record.time.0;
        now += i128::from(mirror::time_distance(raw, last));
        last = raw;
        record.time = Nanos(u64::try_from(now).unwrap_or(u64::MAX));
    }
}
