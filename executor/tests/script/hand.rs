//! Observations made from scripts: what a script says is taken for what was seen.

use std::net::IpAddr;

use corpus::TestConfig;
use dumper::script::{Direction, Field, Found, Packet, Script, parse};
use dumper::trace::{Origin, flags};
use dumper::wire::{AethRepr, NakCode, Opcode, Syndrome};
use dumper::{Connection, Endpoint, Event, Flow, FlowId, Nanos, Observation, Psn, Record, Trace};
use executor::script::{compare, to_config};

/// The last PSN but one, so that PSNs wrap.
pub(crate) const INITIAL: Psn = Psn::new(0xff_fffe);

pub(crate) fn script(text: &str) -> Script {
    parse("test.rds", text).unwrap_or_else(|errors| panic!("{errors}"))
}

pub(crate) fn config(script: &Script) -> TestConfig {
    to_config(script).unwrap_or_else(|errors| panic!("{errors}"))
}

fn host(n: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, n])
}

/// Connections with QPNs 0x11, 0x12 ... at the requester and 0x21, 0x22 ... at the responder.
pub(crate) fn connections(count: u32) -> Vec<Connection> {
    let end = |n, qpn| Endpoint { ip: host(n), qpn: Some(qpn), initial_psn: Some(INITIAL) };
    (1..=count).map(|qp| Connection { requester: end(1, 0x10 + qp), responder: end(2, 0x20 + qp) }).collect()
}

/// Observation that a script describes: packets enter at the earliest time that their lines allow, and fields
/// that lines leave out are 0.
pub(crate) fn observe(script: &Script) -> Observation {
    let config = config(script);
    let connections = connections(config.traffic.load.connections());
    let timeout = Nanos(4096 << config.traffic.min_retransmit_timeout);
    let mut trace = Trace::new(Origin::Mirror);
    for connection in &connections {
        let ends =
            [(connection.requester, connection.responder), (connection.responder, connection.requester)];
        for (from, to) in ends {
            trace.add_flow(Flow {
                source: from.ip,
                destination: to.ip,
                dest_qpn: to.qpn.unwrap(),
                vlan: None,
            });
        }
    }
    let mut time = Nanos(1_000_000);
    for (sequence, packet) in (1..).zip(script.packets()) {
        time += packet.time.least.nanos(timeout);
        trace.push(record(packet, time, sequence));
    }
    Observation::of_trace(trace, connections)
}

fn record(packet: &Packet, time: Nanos, sequence: u32) -> Record {
    let field = |field| packet.fields.get(&field).copied().unwrap_or_default();
    let back = u32::from(packet.direction == Direction::ToRequester);
    let psn = match packet.name.to_opcode() {
        Opcode::Cnp => Psn::new(0),
        _ => Psn::from_relative(field(Field::Psn) as u32, INITIAL),
    };
    let flow = FlowId(2 * (packet.qp - 1) + back);
    let mut record = Record::new(time, sequence, flow, packet.name.to_opcode(), psn);
    let syndrome = match packet.name.to_string().as_str() {
        "NAK-SEQ" => Syndrome::Nak(NakCode::PsnSequenceError),
        "RNR-NAK" => Syndrome::RnrNak(field(Field::Timer) as u8),
        _ => Syndrome::Ack(AethRepr::NO_CREDITS),
    };
    if packet.name.has(Field::Msn) {
        record.aeth = AethRepr { syndrome, msn: field(Field::Msn) as u32 }.into();
    }
    record.payload_len = field(Field::Len) as u16;
    record.dma_length = field(Field::Dma) as u32;
    record.virtual_address = 0x10_0000_u64.wrapping_add_signed(field(Field::Offset));
    record.traffic_class = if field(Field::Ce) == 1 { 3 } else { 0 };
    for (bit, set) in [(flags::ACK_REQ, Field::AckReq), (flags::MIG_REQ, Field::MigReq)] {
        if field(set) == 1 {
            record.flags |= bit;
        }
    }
    record.set_event(Event::of(packet.actions.iter().map(|action| action.value.kind)));
    record
}

/// Differences, as users read them.
pub(crate) fn differences(expected: &Script, observation: &Observation, found: &Found) -> String {
    let mismatches = compare(expected, &config(expected), observation, found);
    mismatches.iter().map(|mismatch| format!("{mismatch}\n")).collect()
}
