//! From captured frames to a trace: parse, order by mirror sequence number, unwrap time.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Extra, Flow, FlowId, Origin, Record, Trace, Vantage, flags};
use crate::mirror;
use crate::wire::frame::{ExtensionReprs, NotRoce, UdpPorts};
use crate::wire::layout::{AddressBytes, Layout, Located};
use crate::wire::{Bth, BthRepr, Ethernet, EthernetRepr, ROCE_PORT, Udp, UdpRepr, WireError};
use crate::{Event, Exit, Nanos};

/// Most errors that are kept with their packet; further ones are only counted.
const MAX_ERRORS_KEPT: usize = 16;

/// Flows that are found without hashing. NICs number their QPs one after the other, so that the low bits tell
/// those of a test apart; 256 entries take 16 KB, half of a level-1 cache.
const RECENT_FLOWS: usize = 256;

/// A RoCEv2 packet that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketError {
    /// Capture file, as the caller numbered it.
    pub file: usize,
    /// Position of the packet in its file, from 1.
    pub packet: u64,
    /// Fault of the packet.
    pub error: PacketFault,
}

/// Fault of a packet.
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

/// A place where a capture file itself is damaged; the packets before it were read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Capture file, as the caller numbered it.
    pub file: usize,
    /// Byte offset in the file.
    pub offset: u64,
    /// Description of the damage.
    pub reason: String,
}

/// A trace with the packets that could not be part of it.
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

/// Fields that distinguish flows, as they stand in the packet: cheap to make and to compare.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FlowKey {
    addresses: AddressBytes,
    dest_qpn: u32,
}

impl FlowKey {
    /// Where the flow is among the recent ones. The source keeps the two directions of a connection apart, whose
    /// QPNs tend to be the same.
    #[inline(always)]
    const fn slot(&self) -> usize {
        let source = self.addresses.last_of_source() as usize;
        (self.dest_qpn as usize).wrapping_add(source * 61) % RECENT_FLOWS
    }
}

/// Tells if packets came in the order that the trace will have.
struct Arrival {
    /// Sequence number and time of the last packet.
    last: Option<(u32, Nanos)>,
    /// Packets came in mirror order, each at most half of the ring after the one before.
    sequence_ascends: bool,
    /// Mirror sequence numbers from the first packet to the last, where they came in order.
    span: u64,
    /// Times never stepped back, so that none can have wrapped.
    time_ascends: bool,
}

impl Arrival {
    const fn new() -> Self {
        Self { last: None, sequence_ascends: true, span: 0, time_ascends: true }
    }

    #[inline(always)]
    fn note(&mut self, sequence: u32, time: Nanos) {
        if let Some((last_sequence, last_time)) = self.last {
            let forward = mirror::steps_forward(last_sequence, sequence);
            self.sequence_ascends &= forward.wrapping_sub(1) < HALF_RING;
            self.span += u64::from(forward);
            self.time_ascends &= time >= last_time;
        }
        self.last = Some((sequence, time));
    }

    /// Returns true if mirrored packets are in order. Steps forward that add up to more than half of the ring
    /// have more than one order.
    fn in_mirror_order(&self) -> bool {
        self.sequence_ascends && self.span <= u64::from(HALF_RING)
    }
}

/// Half of the ring of mirror sequence numbers.
const HALF_RING: u32 = mirror::MAX_SEQUENCE / 2;

/// Collects the frames of any number of capture files into one trace.
///
/// Memory grows by 64 bytes a packet, never by frame contents.
pub struct TraceBuilder {
    trace: Trace,
    flow_ids: FxHashMap<FlowKey, FlowId>,
    /// Flows seen lately, by the low bits of their destination QPN.
    recent_flows: Box<[Option<(FlowKey, FlowId)>; RECENT_FLOWS]>,
    skipped: Skipped,
    damage: Vec<Damage>,
    icrc: IcrcTally,
    ports: UdpPorts,
    arrival: Arrival,
}

impl TraceBuilder {
    /// A builder for captures of the given origin; `ports` says which UDP ports are RoCEv2.
    pub fn new(origin: Origin, ports: UdpPorts) -> Self {
        Self {
            trace: Trace::new(origin),
            flow_ids: FxHashMap::default(),
            recent_flows: Box::new([None; RECENT_FLOWS]),
            skipped: Skipped::default(),
            damage: Vec::new(),
            icrc: IcrcTally::default(),
            ports,
            arrival: Arrival::new(),
        }
    }

    /// Notes that a capture file is damaged at `offset`.
    pub fn damaged(&mut self, file: usize, offset: u64, reason: impl Into<String>) {
        self.damage.push(Damage { file, offset, reason: reason.into() });
    }

    /// Number of packets so far.
    pub fn packets(&self) -> usize {
        self.trace.records.len()
    }

    /// Adds a captured frame: its bytes, its length on the wire, its time in the file, and where the file says so its exit
    /// from the switch and its vantage. `file` and `packet` (from 1) name it in errors.
    // Always inlined, so that nothing is handed over in memory; there is one call for each format.
    #[inline(always)]
    pub fn push(
        &mut self,
        at: (usize, u64),
        frame: &[u8],
        wire_len: u32,
        stamp: Nanos,
        (vantage, exit): (Vantage, Option<Exit>),
    ) {
        match Layout::locate(frame, self.ports) {
            Ok(Located::Roce(layout)) => self.push_roce(at, &layout, wire_len, stamp, (vantage, exit)),
            Ok(Located::Other(reason)) => self.other(reason),
            Err(error) => self.malformed(at, error.into()),
        }
    }

    #[cold]
    fn other(&mut self, reason: NotRoce) {
        *self.skipped.other.entry(reason).or_default() += 1;
    }

    #[cold]
    fn malformed(&mut self, (file, packet): (usize, u64), error: PacketFault) {
        self.skipped.malformed += 1;
        if self.skipped.errors.len() < MAX_ERRORS_KEPT {
            self.skipped.errors.push(PacketError { file, packet, error });
        }
    }

    #[inline(always)]
    fn push_roce(
        &mut self,
        at: (usize, u64),
        layout: &Layout<'_>,
        wire_len: u32,
        stamp: Nanos,
        (vantage, exit): (Vantage, Option<Exit>),
    ) {
        let (time, sequence, event) = match self.trace.origin {
            Origin::Mirror => {
                let ethernet = EthernetRepr::parse(&Ethernet::of(layout.ethernet));
                let Some(sequence) = mirror::sequence_of(ethernet.source) else {
                    return self.malformed(at, PacketFault::NoSequence(ethernet.source));
                };
                (Nanos(ethernet.destination.0), sequence, layout.ip.ttl())
            }
            // Position in the order of reading until all are sorted; 32 bits, as packets are counted in 31.
            Origin::Plain => (stamp, self.trace.records.len() as u32 + 1, 0),
        };
        self.arrival.note(sequence, time);
        let flow = self.flow_of(layout);
        let bth = Bth::of(layout.bth);
        let reth = layout.reth();
        let udp = UdpRepr::parse(&Udp::of(layout.udp));
        // Filled in where it stands: a record that is made elsewhere and moved costs as much again, as it is stored in
        // bytes and words, and at once loaded in vectors.
        self.trace.records.push(Record::ZERO);
        let Some(record) = self.trace.records.last_mut() else { return };
        record.time = time;
        record.virtual_address = reth.virtual_address;
        record.sequence = sequence;
        record.flow = flow;
        record.psn = bth.psn();
        record.aeth = layout.aeth();
        record.dma_length = reth.dma_length;
        record.remote_key = reth.remote_key;
        record.frame_len = wire_len;
        record.payload_len = layout.payload_len as u16;
        record.src_port = src_port(&udp);
        record.partition_key = bth.partition_key();
        record.opcode = layout.bth[0];
        record.event = event;
        record.traffic_class = mirror::entered_class(layout.ip.traffic_class(), Event::from_code(event));
        record.flags = flags_of(&bth) | vantage.flags();
        if exit.is_some() || layout.has_rare_extensions() {
            self.add_rare(layout, exit);
        }
        if layout.whole_packet.is_some() {
            self.tally_icrc(layout, sequence);
        }
    }

    /// Adds the rarer extension headers, and the packet's exit, to the last record.
    #[inline(never)]
    fn add_rare(&mut self, layout: &Layout<'_>, exit: Option<Exit>) {
        let Some(record) = self.trace.records.last_mut() else { return };
        let extensions = ExtensionReprs::parse(record.opcode(), layout.extensions)
            .expect("the layout holds all of the opcode's headers");
        if let Some(atomic) = extensions.atomic {
            record.virtual_address = atomic.virtual_address;
            record.remote_key = atomic.remote_key;
        }
        if let Some(imm) = extensions.imm {
            record.immediate = imm.data;
        }
        if let Some(ieth) = extensions.ieth {
            record.remote_key = ieth.remote_key;
        }
        let ExtensionReprs { atomic, atomic_ack, deth, .. } = extensions;
        let extra = Extra { exit, atomic, atomic_ack, deth };
        if extra != Extra::default() {
            record.extra = self.trace.extras.keep(extra);
        }
    }

    fn tally_icrc(&mut self, layout: &Layout<'_>, sequence: u32) {
        match layout.icrc_ok() {
            Some(true) => self.icrc.right += 1,
            Some(false) => {
                self.icrc.wrong += 1;
                self.icrc.first_wrong.get_or_insert(sequence);
            }
            None => {}
        }
    }

    #[inline(always)]
    fn flow_of(&mut self, layout: &Layout<'_>) -> FlowId {
        let key = FlowKey { addresses: layout.ip.addresses(), dest_qpn: Bth::of(layout.bth).dest_qpn() };
        match &self.recent_flows[key.slot()] {
            Some((recent, id)) if *recent == key => *id,
            _ => self.find_flow(key, layout),
        }
    }

    #[inline(never)]
    fn find_flow(&mut self, key: FlowKey, layout: &Layout<'_>) -> FlowId {
        let trace = &mut self.trace;
        let id = *self.flow_ids.entry(key).or_insert_with(|| {
            let (source, destination) = key.addresses.parse();
            trace.add_flow(Flow { source, destination, dest_qpn: key.dest_qpn, vlan: layout.vlan })
        });
        self.recent_flows[key.slot()] = Some((key, id));
        id
    }

    /// Orders the packets and hands the trace out.
    pub fn finish(mut self) -> Traced {
        let records = &mut self.trace.records;
        match self.trace.origin {
            Origin::Mirror => {
                let in_order = self.arrival.in_mirror_order();
                if !in_order {
                    order(records);
                }
                if !(in_order && self.arrival.time_ascends) {
                    unwrap_times(records);
                }
            }
            Origin::Plain => {
                if !self.arrival.time_ascends {
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

/// The source port of the sender: on the mirror wire the ports are rewritten and the checksum field keeps it.
#[inline(always)]
const fn src_port(udp: &UdpRepr) -> u16 {
    let rewritten = udp.dst_port != ROCE_PORT && udp.checksum != 0;
    if rewritten { udp.checksum } else { udp.src_port }
}

/// The bits of a BTH that a record keeps.
#[inline(always)]
fn flags_of(bth: &Bth<&[u8; BthRepr::LEN]>) -> u8 {
    [
        (bth.ack_req(), flags::ACK_REQ),
        (bth.fecn(), flags::FECN),
        (bth.becn(), flags::BECN),
        (bth.mig_req(), flags::MIG_REQ),
        (bth.solicited(), flags::SOLICITED),
    ]
    .into_iter()
    .fold(0, |bits, (set, bit)| bits | if set { bit } else { 0 })
}

/// Sorts packets into mirror order. Sequence numbers go round a ring: the trace begins after the largest gap, so
/// that its order does not depend on which packet was read first.
fn order(records: &mut [Record]) {
    records.sort_by_key(|record| record.sequence);
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return };
    let (mut widest, mut begin) = (mirror::steps_forward(last.sequence, first.sequence), 0);
    for (at, pair) in records.windows(2).enumerate() {
        let gap = mirror::steps_forward(pair[0].sequence, pair[1].sequence);
        if gap > widest {
            (widest, begin) = (gap, at + 1);
        }
    }
    records.rotate_left(begin);
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
