//! The packets of the capture: Writes on many QPs at once, one ACK a message, a few losses with NAK and
//! go-back-N.
//!
//! No simulator: each QP takes turns at the wire, and its responder's answers reach the wire a fixed number of
//! turns later. That is enough for every PSN, MSN and event to be right (IBA vol. 1, 9.7).

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use dumper::trace::{Origin, flags};
use dumper::wire::{AethRepr, NakCode, Opcode, Syndrome};
use dumper::{ActionKind, Connection, Endpoint, Event, Flow, FlowId, Nanos, Psn, Record, Trace};

const QPS: u32 = 64;
/// Payload of every packet, the path MTU, in bytes.
const MTU: u16 = 1024;
/// Packets in a message, and so for each ACK.
const PACKETS_PER_MESSAGE: u64 = 10;
/// One data packet of this many is lost once, on each QP.
const LOSS_EVERY: u64 = 5_000;
/// Turns of its QP from a packet to the answer of the other side.
const ANSWER_AFTER: u64 = 4;
/// Time on a 100 Gb/s wire, preamble and gap included, in ns.
const DATA_NS: u64 = 90;
const ANSWER_NS: u64 = 7;
/// Ethernet, IPv4, UDP and BTH before, and ICRC after the payload, in bytes.
const HEADERS: u32 = 14 + 20 + 8 + 12 + 4;

const REQUESTER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const RESPONDER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

/// The connections of the traffic.
pub(crate) fn connections() -> Vec<Connection> {
    let end = |ip, qpn, psn| Endpoint { ip, qpn: Some(qpn), initial_psn: Some(psn) };
    (0..QPS)
        .map(|qp| Connection {
            requester: end(REQUESTER, requester_qpn(qp), initial_psn(qp)),
            responder: end(RESPONDER, responder_qpn(qp), Psn::new(7 * qp)),
        })
        .collect()
}

/// A mirrored trace of `packets` packets.
pub(crate) fn trace(packets: usize) -> Trace {
    let mut wire = Wire { trace: Trace::new(Origin::Mirror), now: Nanos::ZERO, sequence: 0 };
    let mut qps: Vec<Qp> = (0..QPS).map(|qp| Qp::new(qp, &mut wire.trace)).collect();
    let mut turn = 0;
    while wire.trace.records().len() < packets {
        for qp in qps.iter_mut().take(packets - wire.trace.records().len()) {
            qp.take_turn(turn, &mut wire);
        }
        turn += 1;
    }
    wire.trace
}

const fn requester_qpn(qp: u32) -> u32 {
    0x100 + qp
}

const fn responder_qpn(qp: u32) -> u32 {
    0x800 + qp
}

/// Spread out, so that some QPs wrap early in a long capture.
const fn initial_psn(qp: u32) -> Psn {
    Psn::new(qp * 0x03_ffff)
}

/// The switch: numbers and stamps what passes.
struct Wire {
    trace: Trace,
    now: Nanos,
    sequence: u32,
}

impl Wire {
    fn pass(&mut self, flow: FlowId, opcode: Opcode, psn: Psn, fill: impl FnOnce(&mut Record)) {
        self.sequence += 1;
        let mut record = Record::new(self.now, self.sequence, flow, opcode, psn);
        record.flags = flags::MIG_REQ;
        record.src_port = 0xc000 + flow.0 as u16;
        fill(&mut record);
        record.frame_len = HEADERS + opcode.extensions_len() as u32 + u32::from(record.payload_len);
        self.now += Nanos(if record.payload_len > 0 { DATA_NS } else { ANSWER_NS });
        self.trace.push(record);
    }
}

struct Answer {
    due_turn: u64,
    psn: Psn,
    aeth: AethRepr,
}

/// One connection with both of its ends. Packets are counted from 0 over the whole connection.
struct Qp {
    requests: FlowId,
    answers_flow: FlowId,
    initial_psn: Psn,
    /// Losses of this QP: packets with this remainder by [`LOSS_EVERY`].
    loss_phase: u64,
    /// Requester: the packet that it sends next.
    next: u64,
    /// Requester: one beyond the last packet that it ever sent; earlier ones are retransmissions.
    fresh: u64,
    /// Responder: the packet that it expects.
    expected: u64,
    /// Responder: whether it has NAKed the packet that it expects.
    naked: bool,
    answers: VecDeque<Answer>,
}

impl Qp {
    fn new(qp: u32, trace: &mut Trace) -> Self {
        let flow = |source, destination, dest_qpn| Flow { source, destination, dest_qpn, vlan: None };
        Self {
            requests: trace.add_flow(flow(REQUESTER, RESPONDER, responder_qpn(qp))),
            answers_flow: trace.add_flow(flow(RESPONDER, REQUESTER, requester_qpn(qp))),
            initial_psn: initial_psn(qp),
            loss_phase: LOSS_EVERY / u64::from(QPS) * u64::from(qp) + 3,
            next: 0,
            fresh: 0,
            expected: 0,
            naked: false,
            answers: VecDeque::new(),
        }
    }

    fn take_turn(&mut self, turn: u64, wire: &mut Wire) {
        match self.answers.pop_front_if(|answer| answer.due_turn <= turn) {
            Some(answer) => self.pass_answer(&answer, wire),
            None => self.send(turn, wire),
        }
    }

    /// An answer reaches the wire, and the requester with it: a NAK makes it retransmit.
    fn pass_answer(&mut self, answer: &Answer, wire: &mut Wire) {
        wire.pass(self.answers_flow, Opcode::Acknowledge, answer.psn, |record| {
            record.aeth = answer.aeth.into();
        });
        if matches!(answer.aeth.syndrome, Syndrome::Nak(_)) {
            self.next = self.expected;
        }
    }

    fn send(&mut self, turn: u64, wire: &mut Wire) {
        let packet = self.next;
        let (message, position) = (packet / PACKETS_PER_MESSAGE, packet % PACKETS_PER_MESSAGE);
        let opcode = match position {
            0 => Opcode::WriteFirst,
            last if last == PACKETS_PER_MESSAGE - 1 => Opcode::WriteLast,
            _ => Opcode::WriteMiddle,
        };
        let is_lost = packet == self.fresh && packet % LOSS_EVERY == self.loss_phase;
        let psn = self.psn(packet);
        wire.pass(self.requests, opcode, psn, |record| {
            record.payload_len = MTU;
            if opcode == Opcode::WriteFirst {
                let length = PACKETS_PER_MESSAGE as u32 * u32::from(MTU);
                record.virtual_address = 0x7f00_0000_0000 + message * u64::from(length);
                record.remote_key = 0x1234;
                record.dma_length = length;
            }
            if opcode == Opcode::WriteLast {
                record.flags |= flags::ACK_REQ;
            }
            if is_lost {
                record.set_event(Event::Action(ActionKind::Drop));
            }
        });
        self.next += 1;
        self.fresh = self.fresh.max(self.next);
        if !is_lost {
            self.arrive(packet, opcode, turn);
        }
    }

    /// A packet reaches the responder.
    fn arrive(&mut self, packet: u64, opcode: Opcode, turn: u64) {
        let (psn, syndrome) = if packet == self.expected {
            self.expected += 1;
            self.naked = false;
            if opcode != Opcode::WriteLast {
                return;
            }
            (self.psn(packet), Syndrome::Ack(AethRepr::NO_CREDITS))
        } else if self.naked {
            return;
        } else {
            self.naked = true;
            (self.psn(self.expected), Syndrome::Nak(NakCode::PsnSequenceError))
        };
        let msn = (self.expected / PACKETS_PER_MESSAGE) as u32 & 0xff_ffff;
        let aeth = AethRepr { syndrome, msn };
        self.answers.push_back(Answer { due_turn: turn + ANSWER_AFTER, psn, aeth });
    }

    fn psn(&self, packet: u64) -> Psn {
        self.initial_psn.add((packet % u64::from(Psn::SPACE)) as u32)
    }
}
