//! Traces written by hand, one line a packet.
//!
//! ```text
//! 0      > WRITE_FIRST 1
//! 300    > WRITE_LAST 2 ackreq drop
//! 5000   < NAK 2 msn=0
//! 60     c2 > READ 1 bytes=3000
//! ```
//!
//! Times are nanoseconds, absolute, or since the line before with a `+`. PSNs are relative, from 1. `>` is from
//! requester to responder. `ACK`, `NAK`, `RESERVED`, `RESERVED_NAK`, `RNR`, `FATAL`, `READ` and `CNP` are short names; every other operation has
//! the name that traces print. Events: `drop`, `corrupt`, `ecn`, `delay=NS`, `copies=N`, `rewritten`. A Read response
//! has the payload that its Read asks for, a packet of a Send or Write that of the MTU, or `bytes=N`. The RETH of a
//! Write has the length of its packets, up to the next LAST, or `reth=N`. A Read reads from an address that goes with
//! its PSN, as its rest does; `va=N` gives it that of another PSN. An RNR NAK asks for 480 µs, or names the timer code
//! `timer=N`. A CNP can be made a wrong one with `psn=N` and `no-becn`.

use std::net::{IpAddr, Ipv4Addr};

use dumper::trace::{Extra, Flow, FlowId, Origin, flags};
use dumper::wire::{AethRepr, Class, NakCode, Opcode, Syndrome};
use dumper::{ActionKind, Connection, Endpoint, Event, Exit, Nanos, Observation, Psn, Record, Trace};

use super::dice::Dice;

/// Switch time of time 0.
const START: u64 = 1_000_000;

/// Initial PSN of every connection: near the wrap, so that every tape crosses it.
pub const INITIAL_PSN: u32 = 0xff_fffc;

/// Address that Reads read from: a Read of relative PSN `n` from `n` times the MTU beyond, so that its rest
/// does, too.
const READ_FROM: u64 = 0x10_0000;

/// Path MTU that the addresses of Reads are made for.
const MTU: u64 = 1024;

/// RETH length of a Write whose last packet has not come yet.
const OPEN: u32 = 64 * MTU as u32;

/// A tape of packets.
#[derive(Clone, Debug)]
pub struct Tape {
    packets: Vec<(Record, Extra)>,
    connections: usize,
}

/// Number of the first flow of a connection, from 1.
const fn flow_of(connection: usize, back: bool) -> FlowId {
    FlowId((2 * (connection - 1) + back as usize) as u32)
}

impl Tape {
    /// Reads the lines of a tape; text after `#` is a comment.
    ///
    /// # Panics
    /// On a line that cannot be read: tapes are part of a test.
    pub fn new(text: &str) -> Self {
        let mut tape = Self { packets: Vec::new(), connections: 1 };
        let mut now = 0;
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                now = tape.line(line, now).unwrap_or_else(|| unreachable!("no packet: {line}"));
            }
        }
        tape
    }

    fn line(&mut self, line: &str, before: u64) -> Option<u64> {
        let mut words = line.split_whitespace().peekable();
        let time = words.next()?;
        let now = match time.strip_prefix('+') {
            Some(later) => before + later.parse::<u64>().ok()?,
            None => time.parse().ok()?,
        };
        let connection = match words.peek()?.strip_prefix('c') {
            Some(number) => {
                words.next();
                number.parse().ok()?
            }
            None => 1,
        };
        self.connections = self.connections.max(connection);
        let back = match words.next()? {
            ">" => false,
            "<" => true,
            _ => return None,
        };
        let (opcode, syndrome) = named(words.next()?)?;
        let initial = Psn::new(INITIAL_PSN);
        let psn = if opcode == Opcode::Cnp {
            Psn::new(0)
        } else {
            Psn::from_relative(words.next()?.parse().ok()?, initial)
        };
        let time = Nanos(START + now);
        let mut record =
            Record::new(time, self.packets.len() as u32 + 1, flow_of(connection, back), opcode, psn);
        record.src_port = 50_000;
        if opcode == Opcode::Cnp {
            record.flags |= flags::BECN;
        }
        if opcode == Opcode::ReadRequest {
            record.virtual_address = READ_FROM + u64::from(psn.relative_to(initial)) * MTU;
        }
        match opcode.class() {
            Class::ReadResponse(_) => record.payload_len = self.asked_for(connection, psn) as u16,
            Class::Request(..) => record.payload_len = MTU as u16,
            _ => {}
        }
        if opcode == Opcode::WriteFirst {
            record.dma_length = OPEN;
        }
        let mut aeth = AethRepr { syndrome, msn: 0 };
        let mut extra = Extra::default();
        let exit =
            Exit { time, copies: 1, plain: 0, corrupt: false, ce: false, mig_req: None, rewritten: false };
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, "0"));
            let value: u64 = value.parse().ok()?;
            match key {
                "no-becn" => record.flags &= !flags::BECN,
                "psn" => record.psn = Psn::new(value as u32),
                "ackreq" => record.flags |= flags::ACK_REQ,
                "va" => record.virtual_address = READ_FROM + value * MTU,
                "bytes" if opcode == Opcode::ReadRequest => record.dma_length = value as u32,
                "bytes" => record.payload_len = value as u16,
                "reth" => record.dma_length = value as u32,
                "key" => record.remote_key = value as u32,
                "msn" => aeth.msn = value as u32,
                "timer" => aeth.syndrome = Syndrome::RnrNak(value as u8),
                "drop" => record.set_event(Event::Action(ActionKind::Drop)),
                "corrupt" => record.set_event(Event::Action(ActionKind::Corrupt)),
                "ecn" => record.set_event(Event::Action(ActionKind::Ecn)),
                "rewritten" => {
                    record.set_event(Event::Action(ActionKind::SetField));
                    extra.exit = Some(Exit { rewritten: true, ..exit });
                }
                "delay" => {
                    record.set_event(Event::Action(ActionKind::Delay));
                    extra.exit = Some(Exit { time: time + Nanos(value), ..exit });
                }
                "copies" => {
                    record.set_event(Event::Action(ActionKind::Duplicate));
                    extra.exit = Some(Exit { copies: value as u8, ..exit });
                }
                _ => return None,
            }
        }
        if opcode.extensions_len() > 0 && !opcode.class().is_request() {
            record.aeth = aeth.into();
        }
        match opcode {
            Opcode::WriteOnly if record.dma_length == 0 => record.dma_length = record.payload_len.into(),
            Opcode::WriteLast => self.end_write(&record),
            _ => {}
        }
        self.packets.push((record, extra));
        Some(now)
    }

    /// Gives the Writes that end with `last` their length.
    fn end_write(&mut self, last: &Record) {
        let first = |record: &Record| {
            record.flow == last.flow
                && record.opcode() == Opcode::WriteFirst
                && record.psn.is_before(last.psn)
        };
        let Some(psn) = self
            .packets
            .iter()
            .map(|(record, _)| *record)
            .filter(first)
            .map(|record| record.psn)
            .max_by_key(|psn| psn.since(last.psn))
        else {
            return;
        };
        let before = u64::from(last.psn.since(psn).unsigned_abs()) * MTU;
        let length = before as u32 + u32::from(last.payload_len);
        let open = |record: &&mut Record| record.psn == psn && first(record) && record.dma_length == OPEN;
        self.packets
            .iter_mut()
            .map(|(record, _)| record)
            .filter(open)
            .for_each(|record| record.dma_length = length);
    }

    /// Payload of the response at a PSN: a whole packet where no Read asks for it.
    fn asked_for(&self, connection: usize, psn: Psn) -> u64 {
        let reads = self.packets.iter().rev().filter(|(record, _)| {
            record.flow == flow_of(connection, false)
                && record.class() == Class::ReadRequest
                && !record.psn.is_after(psn)
        });
        let mut left = reads.filter_map(|(read, _)| {
            u64::from(read.dma_length).checked_sub(u64::from(psn.since(read.psn).unsigned_abs()) * MTU)
        });
        left.next().map_or(MTU, |left| left.min(MTU))
    }

    /// The same packets in the same order at other times: every gap shorter than a millisecond is stretched or
    /// squeezed, longer ones (waits for timers) stay.
    #[must_use]
    pub fn stretched(&self, dice: &mut Dice) -> Self {
        let mut tape = self.clone();
        let mut shift = 0i64;
        let mut before = Nanos(START);
        for ((record, extra), (original, _)) in tape.packets.iter_mut().zip(&self.packets) {
            let gap = (original.time - before).0;
            before = original.time;
            if gap < 1_000_000 {
                shift += (gap * dice.within(30..=300) / 100) as i64 - gap as i64;
            }
            let move_by = |time: Nanos| Nanos(time.0.saturating_add_signed(shift));
            record.time = move_by(record.time);
            if let Some(exit) = &mut extra.exit {
                exit.time = move_by(exit.time);
            }
        }
        tape
    }

    /// Observation of the tape: the trace, with metadata. Connections have QPNs 0x101 and 0x201 on, addresses
    /// 10.0.0.1 and 10.0.0.2.
    pub fn observation(&self) -> Observation {
        let hosts = [1, 2].map(|last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last)));
        let qpn = |connection: usize, responder: bool| 0x100 * (1 + u32::from(responder)) + connection as u32;
        let mut trace = Trace::new(Origin::Mirror);
        for connection in 1..=self.connections {
            for back in [false, true] {
                let [source, destination] = if back { [hosts[1], hosts[0]] } else { hosts };
                trace.add_flow(Flow { source, destination, dest_qpn: qpn(connection, !back), vlan: None });
            }
        }
        for (record, extra) in &self.packets {
            if *extra == Extra::default() {
                trace.push(*record);
            } else {
                trace.push_with(*record, *extra);
            }
        }
        let connections = (1..=self.connections)
            .map(|connection| Connection {
                requester: Endpoint {
                    ip: hosts[0],
                    qpn: Some(qpn(connection, false)),
                    initial_psn: Some(Psn::new(INITIAL_PSN)),
                },
                responder: Endpoint { ip: hosts[1], qpn: Some(qpn(connection, true)), initial_psn: None },
            })
            .collect();
        Observation::of_trace(trace, connections)
    }
}

/// Opcode and syndrome of a packet's name.
fn named(name: &str) -> Option<(Opcode, Syndrome)> {
    Some(match name {
        "ACK" => (Opcode::Acknowledge, Syndrome::Ack(AethRepr::NO_CREDITS)),
        "NAK" => (Opcode::Acknowledge, Syndrome::Nak(NakCode::PsnSequenceError)),
        "RESERVED" => (Opcode::Acknowledge, Syndrome::Reserved(0x5f)),
        "RESERVED_NAK" => (Opcode::Acknowledge, Syndrome::Nak(NakCode::Reserved(5))),
        "RNR" => (Opcode::Acknowledge, Syndrome::RnrNak(11)),
        "FATAL" => (Opcode::Acknowledge, Syndrome::Nak(NakCode::RemoteAccessError)),
        "READ" => (Opcode::ReadRequest, Syndrome::Ack(0)),
        _ => {
            let known = Opcode::KNOWN.iter().find(|opcode| opcode.to_string() == name)?;
            (*known, Syndrome::Ack(AethRepr::NO_CREDITS))
        }
    })
}
