//! A conforming responder.

use std::collections::VecDeque;

use dumper::wire::{AethRepr, NakCode, Opcode, Syndrome};

use super::dice::Dice;
use super::packet::{Direction, Op, Packet};
use super::spec::Connection;

/// Packet that a responder has still to send, in order.
#[derive(Clone, Copy, Debug)]
enum Out {
    Answer { at: u64, syndrome: Syndrome, msn: u32 },
    Stream { next: u64, first: u64, end: u64, bytes: u32, atomic: bool, msn: u32 },
}

/// Counters, as in hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub(super) duplicates: u64,
    pub(super) out_of_sequence: u64,
}

#[derive(Debug)]
pub(super) struct Responder {
    mtu: u32,
    rnr_timer: u8,
    expected: u64,
    msn: u32,
    naked: bool,
    not_ready: bool,
    dead: bool,
    refusals: Vec<(usize, u32)>,
    /// Bytes of requests taken, by message.
    taken: Vec<u64>,
    out: VecDeque<Out>,
    send_pending: bool,
    pub(super) counts: Counts,
}

impl Responder {
    pub(super) fn new(spec: &Connection, mtu: u32, rnr_timer: u8) -> Self {
        Self {
            mtu,
            rnr_timer,
            expected: 0,
            msn: 0,
            naked: false,
            not_ready: false,
            dead: false,
            refusals: spec.not_ready.clone(),
            taken: vec![0; spec.messages.len()],
            out: VecDeque::new(),
            send_pending: false,
            counts: Counts::default(),
        }
    }

    /// Bytes of each message's requests that were taken.
    pub(super) fn taken(&self) -> &[u64] {
        &self.taken
    }

    /// A request arrives. Returns whether it was out of order.
    pub(super) fn takes(&mut self, packet: &Packet, spec: &Connection, dice: &mut Dice) -> bool {
        if self.dead {
            return false;
        }
        if packet.at < self.expected {
            self.counts.duplicates += 1;
            self.take_duplicate(packet, spec);
        } else if packet.at > self.expected {
            if !self.naked && (!self.not_ready || spec.habits.responder.naks_after_rnr) {
                self.naked = true;
                self.counts.out_of_sequence += 1;
                self.answer(self.expected, Syndrome::Nak(NakCode::PsnSequenceError));
            }
            return !self.not_ready;
        } else {
            self.take_expected(packet, spec, dice);
        }
        false
    }

    fn take_expected(&mut self, packet: &Packet, spec: &Connection, dice: &mut Dice) {
        let message = match packet.op {
            Op::Data { message, .. } | Op::ReadRequest { message, .. } | Op::AtomicRequest { message } => {
                message
            }
            _ => return,
        };
        if spec.refused == Some(message) {
            self.dead = true;
            self.answer(packet.at, Syndrome::Nak(NakCode::RemoteAccessError));
            return;
        }
        if matches!(packet.op, Op::Data { takes_receive: true, .. })
            && let Some((_, left)) = self.refusals.iter_mut().find(|(of, left)| *of == message && *left > 0)
        {
            *left -= 1;
            self.not_ready = true;
            self.answer(packet.at, Syndrome::RnrNak(self.rnr_timer));
            return;
        }
        self.naked = false;
        self.not_ready = false;
        match packet.op {
            Op::Data { ack_req, ends, .. } => {
                self.taken[message] += u64::from(packet.payload);
                self.expected += 1;
                self.msn += u32::from(ends);
                if ack_req || dice.chance(spec.habits.responder.volunteers) {
                    self.acknowledge();
                }
            }
            Op::ReadRequest { count, bytes, .. } => {
                self.expected += count;
                self.msn += 1;
                self.stream(packet.at, count, bytes, false);
            }
            _ => {
                self.expected += 1;
                self.msn += 1;
                self.stream(packet.at, 1, 8, true);
            }
        }
    }

    fn take_duplicate(&mut self, packet: &Packet, spec: &Connection) {
        match packet.op {
            Op::Data { ack_req, .. } if ack_req || spec.habits.responder.acknowledges_all_duplicates => {
                self.acknowledge();
            }
            Op::ReadRequest { count, bytes, .. } => {
                self.abandon_from(packet.at, spec);
                self.stream(packet.at, count, bytes, false);
            }
            Op::AtomicRequest { .. } => {
                self.abandon_from(packet.at, spec);
                self.stream(packet.at, 1, 8, true);
            }
            _ => {}
        }
    }

    /// Drops what is still to be sent for `at` and on: the requester repeats it all. NAKs are still to be
    /// sent.
    fn abandon_from(&mut self, at: u64, spec: &Connection) {
        if !spec.habits.responder.abandons_old_stream {
            return;
        }
        let covers = |out: &Out| matches!(out, Out::Stream { end, .. } if *end > at);
        if let Some(from) = self.out.iter().position(covers) {
            let left = self.out.split_off(from);
            self.out.extend(left.into_iter().filter(
                |out| matches!(out, Out::Answer { syndrome, .. } if !matches!(syndrome, Syndrome::Ack(_))),
            ));
        }
    }

    fn stream(&mut self, first: u64, count: u64, bytes: u32, atomic: bool) {
        let msn = self.msn;
        let stream = Out::Stream { next: first, first, end: first + count, bytes, atomic, msn };
        // A NAK says that everything before it was answered.
        let naks = |out: &Out| matches!(out, Out::Answer { at, syndrome, .. } if *at >= first + count && !matches!(syndrome, Syndrome::Ack(_)));
        match self.out.iter().position(naks) {
            Some(before) => self.out.insert(before, stream),
            None => self.out.push_back(stream),
        }
    }

    fn answer(&mut self, at: u64, syndrome: Syndrome) {
        let msn = self.msn;
        self.out.push_back(Out::Answer { at, syndrome, msn });
    }

    fn acknowledge(&mut self) {
        self.answer(self.expected - 1, Syndrome::Ack(AethRepr::NO_CREDITS));
    }

    /// Time to wake up for sending, if there is something to send and no wake-up is pending.
    pub(super) fn wants_to_send(&mut self, at: u64) -> Option<u64> {
        let wants = !self.out.is_empty() && !self.send_pending;
        self.send_pending |= wants;
        wants.then_some(at)
    }

    /// Sends one packet.
    pub(super) fn send(&mut self, connection: usize, spec: &Connection, dice: &mut Dice) -> Option<Packet> {
        self.send_pending = false;
        while let [
            Out::Answer { syndrome: Syndrome::Ack(_), .. },
            Out::Answer { syndrome: Syndrome::Ack(_), .. },
        ] = self.out.iter().copied().take(2).collect::<Vec<_>>()[..]
            && dice.chance(spec.habits.responder.coalesces)
        {
            self.out.pop_front();
        }
        let direction = Direction::Back;
        match self.out.front_mut()? {
            Out::Answer { at, syndrome, msn } => {
                let aeth = AethRepr { syndrome: *syndrome, msn: *msn };
                let at = *at;
                self.out.pop_front();
                let opcode = Opcode::Acknowledge;
                let op = Op::Acknowledge(aeth);
                Some(Packet { connection, direction, opcode, at, op, payload: 0, marked: false })
            }
            Out::Stream { next, first, end, bytes, atomic, msn } => {
                let at = *next;
                *next += 1;
                let opcode = match (*atomic, at == *first, at + 1 == *end) {
                    (true, ..) => Opcode::AtomicAcknowledge,
                    (_, true, true) => Opcode::ReadResponseOnly,
                    (_, true, false) => Opcode::ReadResponseFirst,
                    (_, false, false) => Opcode::ReadResponseMiddle,
                    (_, false, true) => Opcode::ReadResponseLast,
                };
                let has_aeth = opcode != Opcode::ReadResponseMiddle;
                let aeth = AethRepr { syndrome: Syndrome::Ack(AethRepr::NO_CREDITS), msn: *msn };
                let payload =
                    if *atomic { 0 } else { (*bytes - (at - *first) as u32 * self.mtu).min(self.mtu) };
                if *next == *end {
                    self.out.pop_front();
                }
                let op = Op::Response(has_aeth.then_some(aeth));
                Some(Packet { connection, direction, opcode, at, op, payload, marked: false })
            }
        }
    }
}
