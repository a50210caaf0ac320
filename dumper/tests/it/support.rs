//! Frames and traces that the tests share.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use dumper::capture::{self, CaptureFormat, Captured, ReadError, ReadOptions};
use dumper::trace::{Extra, Origin, flags};
use dumper::wire::frame::{ExtensionReprs, IpRepr};
use dumper::wire::{
    AethRepr, AtomicAckEthRepr, AtomicEthRepr, BthRepr, CNP_PAYLOAD_LEN, Class, DethRepr, FrameRepr,
    IethRepr, ImmDtRepr, Ipv4Repr, Ipv6Repr, Mac, NakCode, Opcode, RethRepr, Syndrome,
};
use dumper::{ActionKind, Connection, Endpoint, Event, Exit, Flow, FlowId, Nanos, Psn, Record, Trace};

/// The three formats that are written.
pub(crate) const FORMATS: [CaptureFormat; 3] =
    [CaptureFormat::PcapMicros, CaptureFormat::PcapNanos, CaptureFormat::PcapNg];

/// Snap length of the published dumper.
pub(crate) const SNAP_LEN: u32 = 128;

/// Extension headers behind the BTH of an opcode, in wire order: IBA vol. 1, 9.2 to 9.5, written down a
/// second time so that the table of the code is not checked against itself.
pub(crate) fn headers_of(opcode: Opcode) -> &'static [&'static str] {
    use Opcode as O;
    match opcode {
        O::WriteFirst | O::WriteOnly | O::ReadRequest => &["reth"],
        O::WriteOnlyImm => &["reth", "imm"],
        O::SendLastImm | O::SendOnlyImm | O::WriteLastImm => &["imm"],
        O::SendLastInv | O::SendOnlyInv => &["ieth"],
        O::ReadResponseFirst | O::ReadResponseLast | O::ReadResponseOnly | O::Acknowledge => &["aeth"],
        O::AtomicAcknowledge => &["aeth", "atomic_ack"],
        O::CompareSwap | O::FetchAdd => &["atomic"],
        O::UdSendOnly => &["deth"],
        O::UdSendOnlyImm => &["deth", "imm"],
        _ => &[],
    }
}

/// Extension headers of an opcode with a different value in every byte where they can.
pub(crate) fn extensions_of(opcode: Opcode) -> ExtensionReprs {
    let has = |name| headers_of(opcode).contains(&name);
    ExtensionReprs {
        deth: has("deth").then_some(DethRepr { queue_key: 0x8001_0203, source_qpn: 0xabcdef }),
        reth: has("reth").then_some(RethRepr {
            virtual_address: 0x1122_3344_5566_7788,
            remote_key: 0x99aa_bbcc,
            dma_length: 10_240,
        }),
        atomic: has("atomic").then_some(AtomicEthRepr {
            virtual_address: 0x0102_0304_0506_0708,
            remote_key: 0x0a0b_0c0d,
            swap_or_add: 0x1112_1314_1516_1718,
            compare: 0x2122_2324_2526_2728,
        }),
        aeth: has("aeth")
            .then_some(AethRepr { syndrome: Syndrome::Nak(NakCode::PsnSequenceError), msn: 0x01_0203 }),
        atomic_ack: has("atomic_ack").then_some(AtomicAckEthRepr { original: 0x3132_3334_3536_3738 }),
        imm: has("imm").then_some(ImmDtRepr { data: 0x4142_4344 }),
        ieth: has("ieth").then_some(IethRepr { remote_key: 0x5152_5354 }),
    }
}

/// An IPv4 header between two hosts.
pub(crate) fn v4() -> IpRepr {
    IpRepr::V4(Ipv4Repr {
        traffic_class: 0x1a,
        total_length: 0,
        identification: 0x7654,
        dont_fragment: true,
        ttl: 64,
        protocol: 17,
        source: "10.0.0.1".parse().unwrap(),
        destination: "10.0.0.2".parse().unwrap(),
    })
}

/// An IPv6 header between two hosts.
pub(crate) fn v6() -> IpRepr {
    IpRepr::V6(Ipv6Repr {
        traffic_class: 0x1a,
        flow_label: 0x5_4321,
        payload_length: 0,
        next_header: 17,
        hop_limit: 64,
        source: "fd00::1".parse().unwrap(),
        destination: "fd00::2".parse().unwrap(),
    })
}

/// A frame of any opcode.
pub(crate) fn frame(opcode: Opcode, ip: IpRepr, vlan: Option<u16>, payload_len: u16) -> FrameRepr {
    let mut bth = BthRepr::new(opcode, 0x12_3456, Psn::new(0xab_cdef));
    bth.ack_req = true;
    bth.becn = opcode == Opcode::Cnp;
    FrameRepr {
        destination: Mac(0x0200_0000_0002),
        source: Mac(0x0200_0000_0001),
        vlan,
        ip,
        src_port: 0xc123,
        bth,
        extensions: extensions_of(opcode),
        payload_len,
    }
}

/// The bytes of a frame.
pub(crate) fn bytes_of(frame: &FrameRepr) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.emit(&mut bytes).unwrap();
    bytes
}

/// A flow between two addresses.
pub(crate) fn flow(source: &str, destination: &str, dest_qpn: u32) -> Flow {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    Flow { source: ip(source), destination: ip(destination), dest_qpn, vlan: None }
}

/// Payload that a packet of this opcode may carry, long enough to be cut by [`SNAP_LEN`] where it may be.
pub(crate) fn usual_payload(opcode: Opcode) -> u16 {
    match opcode.class() {
        Class::Request(..) | Class::ReadResponse(_) => 255,
        // A CM datagram: 256 bytes of MAD, so that a dissector finds all of it.
        Class::Datagram => 256,
        Class::Cnp => CNP_PAYLOAD_LEN as u16,
        _ => 0,
    }
}

/// A mirrored trace with every known opcode in both IP versions, with and without a VLAN tag, every event, and
/// every kind of [`Exit`].
pub(crate) fn every_opcode() -> Trace {
    let mut trace = Trace::new(Origin::Mirror);
    let tagged = |vlan, flow: Flow| Flow { vlan, ..flow };
    let flows: Vec<FlowId> = [None, Some(0x6064)]
        .into_iter()
        .flat_map(|vlan| {
            [
                tagged(vlan, flow("10.0.0.1", "10.0.0.2", 0x11 + u32::from(vlan.unwrap_or(0)))),
                tagged(vlan, flow("fd00::1", "fd00::2", 0x12 + u32::from(vlan.unwrap_or(0)))),
            ]
        })
        .map(|flow| trace.add_flow(flow))
        .collect();
    let mut sequence = 0;
    for opcode in Opcode::KNOWN {
        for flow in &flows {
            sequence += 1;
            let event = Event::from_code((sequence % 10) as u8);
            push(&mut trace, *flow, sequence, *opcode, event);
        }
    }
    trace
}

/// Appends a packet of any opcode, one microsecond and a bit after the one before, with the fields that its
/// headers carry and an [`Exit`] where the event is not one of the published switch.
pub(crate) fn push(trace: &mut Trace, flow: FlowId, sequence: u32, opcode: Opcode, event: Event) {
    let time = Nanos(1_000_000_007 + 1_237 * u64::from(sequence));
    let extensions = extensions_of(opcode);
    let mut record = Record::new(time, sequence, flow, opcode, Psn::new(sequence.wrapping_sub(16)));
    record.set_event(event);
    record.payload_len = usual_payload(opcode);
    record.src_port = 0xc000 | sequence as u16;
    // A copy that is marked does not tell what it was but for ECT(0), and what is not ECN-capable stays so.
    record.traffic_class =
        if event == Event::Action(ActionKind::Ecn) { 2 * (sequence % 2) } else { sequence % 4 } as u8;
    record.flags = match opcode.class() {
        Class::Cnp => flags::BECN | flags::MIG_REQ,
        Class::Acknowledge => flags::MIG_REQ,
        _ if sequence.is_multiple_of(2) => flags::MIG_REQ | flags::ACK_REQ | flags::SOLICITED,
        _ => flags::FECN,
    };
    if let Some(reth) = extensions.reth {
        record.virtual_address = reth.virtual_address;
        record.remote_key = reth.remote_key;
        record.dma_length = reth.dma_length;
    }
    if let Some(atomic) = extensions.atomic {
        record.virtual_address = atomic.virtual_address;
        record.remote_key = atomic.remote_key;
    }
    record.aeth = extensions.aeth.map_or(0, u32::from);
    record.immediate = extensions.imm.map_or(0, |imm| imm.data);
    if let Some(ieth) = extensions.ieth {
        record.remote_key = ieth.remote_key;
    }
    let exit = (event.code() >= 4).then(|| Exit {
        time: time + Nanos(5_000_000_000),
        copies: event.code() - 3,
        plain: event.code() % 2,
        corrupt: sequence.is_multiple_of(2),
        ce: sequence.is_multiple_of(3),
        mig_req: (event == Event::Action(ActionKind::SetField)).then_some(sequence.is_multiple_of(2)),
        rewritten: event == Event::Action(ActionKind::SetField) && sequence.is_multiple_of(3),
    });
    let extra =
        Extra { exit, atomic: extensions.atomic, atomic_ack: extensions.atomic_ack, deth: extensions.deth };
    record.frame_len = wire_len(trace, &record);
    if extra == Extra::default() {
        trace.push(record);
    } else {
        trace.push_with(record, extra);
    }
}

/// Length on the wire of a record's frame, added up by hand.
fn wire_len(trace: &Trace, record: &Record) -> u32 {
    let flow = trace.flow(record);
    let ip = if flow.source.is_ipv4() { 20 } else { 40 };
    let vlan = if flow.vlan.is_some() { 4 } else { 0 };
    let extensions: u32 = headers_of(record.opcode())
        .iter()
        .map(|name| match *name {
            "deth" | "atomic_ack" => 8,
            "reth" => 16,
            "atomic" => 28,
            _ => 4,
        })
        .sum();
    let payload = u32::from(record.payload_len).next_multiple_of(4);
    14 + vlan + ip + 8 + 12 + extensions + payload + 4
}

/// `packets` mirrored Write packets, alternating with the other direction's ACKs every third packet.
pub(crate) fn two_way(packets: u32) -> Trace {
    let mut trace = Trace::new(Origin::Mirror);
    let there = trace.add_flow(flow("10.0.0.1", "10.0.0.2", 0x12));
    let back = trace.add_flow(flow("10.0.0.2", "10.0.0.1", 0x11));
    for sequence in 1..=packets {
        let (flow, opcode) = match sequence % 3 {
            0 => (back, Opcode::Acknowledge),
            _ => (there, Opcode::WriteMiddle),
        };
        push(&mut trace, flow, sequence, opcode, Event::None);
    }
    trace
}

/// The trace with its records changed, in the order given.
pub(crate) fn with_records(trace: &Trace, change: impl FnOnce(&mut Vec<Record>)) -> Trace {
    let mut records = trace.records().to_vec();
    change(&mut records);
    let mut changed = Trace::new(trace.origin());
    for flow in trace.flows() {
        changed.add_flow(*flow);
    }
    for record in records {
        match trace.extra(&record) {
            Some(extra) => changed.push_with(record, extra),
            None => changed.push(record),
        }
    }
    changed
}

/// Two connections, one of them with an end of unknown QPN.
pub(crate) fn connections() -> Vec<Connection> {
    let end = |ip: &str, qpn, psn: u32| Endpoint {
        ip: ip.parse().unwrap(),
        qpn: Some(qpn),
        initial_psn: Some(Psn::new(psn)),
    };
    vec![
        Connection { requester: end("10.0.0.1", 0x11, 1000), responder: end("10.0.0.2", 0x12, 0xff_ffff) },
        Connection {
            requester: end("fd00::1", 0x13, 7),
            responder: Endpoint::new("fd00::2".parse().unwrap()),
        },
    ]
}

/// A trace as the bytes of a capture file.
pub(crate) fn written(trace: &Trace, format: CaptureFormat, snap_len: Option<u32>) -> Vec<u8> {
    let mut bytes = Vec::new();
    capture::write(trace, &connections(), format, snap_len, &mut bytes).unwrap();
    bytes
}

/// Reads one capture from memory with default options.
pub(crate) fn read(bytes: &[u8]) -> Result<Captured, ReadError> {
    read_all(&[bytes])
}

/// Reads several captures from memory with default options.
pub(crate) fn read_all(files: &[&[u8]]) -> Result<Captured, ReadError> {
    let named: Vec<(&Path, &[u8])> = files.iter().map(|bytes| (Path::new("test.pcap"), *bytes)).collect();
    capture::read_slices(&named, ReadOptions::default(), &mut |_| ())
}

/// A capture of a real stack.
pub(crate) fn data_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name)
}
