//! A conforming requester.

use dumper::observation::CompletionStatus;
use dumper::wire::{AethRepr, NakCode, Opcode, Syndrome};

use super::dice::Dice;
use super::packet::{Direction, Op, Packet};
use super::spec::{Connection, Verb};

/// One request packet as posted: a Send or Write packet, a whole Read, an atomic.
#[derive(Clone, Copy, Debug)]
struct Unit {
    first: u64,
    count: u64,
    message: usize,
    opcode: Opcode,
    bytes: u32,
    ack_req: bool,
    ends: bool,
    starts: bool,
}

impl Unit {
    const fn end(&self) -> u64 {
        self.first + self.count
    }

    const fn answered(&self) -> bool {
        matches!(self.opcode, Opcode::ReadRequest | Opcode::FetchAdd)
    }
}

/// Request of a requester to its surroundings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    /// Wake up to send.
    Send { at: u64 },
    /// Wake up to retransmit.
    GoBack { at: u64 },
    /// Wake up when the ACK timer expires.
    Expire { at: u64, generation: u64 },
}

/// Counters, as in hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub(super) naks: u64,
    pub(super) rnr_naks: u64,
    pub(super) implied_naks: u64,
    pub(super) timeouts: u64,
}

#[derive(Debug)]
pub(super) struct Requester {
    units: Vec<Unit>,
    mtu: u32,
    /// T in nanoseconds; 0 is never.
    timer: u64,
    rnr_wait: u64,
    una: u64,
    next: u64,
    high: u64,
    retries: u32,
    rnr_retries: u32,
    /// Reason why it gave up.
    failure: Option<CompletionStatus>,
    /// Bytes of responses taken, by message.
    taken: Vec<u64>,
    send_pending: bool,
    /// Going back at this time.
    going_back: Option<u64>,
    waiting_rnr: bool,
    /// Oldest unacknowledged position at the last retransmission, until progress.
    gone_back_at: Option<u64>,
    /// Highest position of an out-of-order response since the gap was acted upon.
    beyond_gap: u64,
    timer_generation: u64,
    timer_runs: bool,
    pub(super) counts: Counts,
}

impl Requester {
    pub(super) fn new(spec: &Connection, mtu: u32, timer: u64, rnr_wait: u64) -> Self {
        Self {
            units: units(spec, mtu),
            mtu,
            timer,
            rnr_wait,
            una: 0,
            next: 0,
            high: 0,
            retries: 0,
            rnr_retries: 0,
            failure: None,
            taken: vec![0; spec.messages.len()],
            send_pending: false,
            going_back: None,
            waiting_rnr: false,
            gone_back_at: None,
            beyond_gap: 0,
            timer_generation: 0,
            timer_runs: false,
            counts: Counts::default(),
        }
    }

    /// Returns true if all work is done.
    pub(super) fn is_done(&self) -> bool {
        self.units.last().is_none_or(|last| self.una >= last.end())
    }

    /// Returns true if it gave up.
    pub(super) const fn is_dead(&self) -> bool {
        self.failure.is_some()
    }

    /// Status of each message; those after the one that failed were flushed.
    pub(super) fn statuses(&self) -> impl Iterator<Item = CompletionStatus> + '_ {
        let mut failure = self.failure;
        (0..self.taken.len()).map_while(move |message| {
            let end = self.units.iter().rfind(|unit| unit.message == message)?.end();
            if end <= self.una {
                return Some(CompletionStatus::Success);
            }
            let status = failure?;
            failure = Some(CompletionStatus::Flushed);
            Some(status)
        })
    }

    /// Bytes of each message's responses that were taken.
    pub(super) fn taken(&self) -> &[u64] {
        &self.taken
    }

    fn unit(&self, at: u64) -> Option<&Unit> {
        self.units.get(self.units.partition_point(|unit| unit.end() <= at))
    }

    /// Returns true if the window lets the unit be sent.
    fn may_send(&self, unit: &Unit, spec: &Connection) -> bool {
        if self.going_back.is_some() && (self.waiting_rnr || !spec.habits.requester.drains_pipeline) {
            return false;
        }
        let oldest = self.unit(self.una).map_or(usize::MAX, |unit| unit.message);
        let mut reads = self.units[self.units.partition_point(|unit| unit.end() <= self.una)..]
            .iter()
            .take_while(|other| other.first < unit.first);
        let outstanding = reads.by_ref().filter(|other| other.answered()).count();
        unit.message < oldest.saturating_add(spec.tx_depth)
            && (!unit.answered() || outstanding < spec.habits.requester.max_reads)
    }

    /// Asks to be woken for sending, if there is something to send.
    pub(super) fn want_to_send(&mut self, at: u64, spec: &Connection, wishes: &mut Vec<Wish>) {
        let ready = self.unit(self.next).is_some_and(|unit| self.may_send(unit, spec));
        if ready && !self.is_dead() && !self.send_pending {
            self.send_pending = true;
            wishes.push(Wish::Send { at });
        }
    }

    /// Sends one packet.
    pub(super) fn send(
        &mut self,
        now: u64,
        connection: usize,
        spec: &Connection,
        dice: &mut Dice,
        wishes: &mut Vec<Wish>,
    ) -> Option<Packet> {
        self.send_pending = false;
        if self.is_dead() {
            return None;
        }
        let unit = *self.unit(self.next).filter(|unit| self.may_send(unit, spec))?;
        let at = self.next;
        self.next = unit.end();
        self.high = self.high.max(self.next);
        if !self.timer_runs {
            self.start_timer(now, spec, dice, wishes);
        }
        self.want_to_send(now + dice.within(spec.habits.requester.pace.clone()), spec, wishes);
        let done = (at - unit.first) as u32 * self.mtu;
        let (op, payload) = match unit.opcode {
            Opcode::ReadRequest => {
                let bytes = unit.bytes - done;
                (Op::ReadRequest { count: unit.end() - at, bytes, message: unit.message }, 0)
            }
            Opcode::FetchAdd => (Op::AtomicRequest { message: unit.message }, 0),
            _ => {
                let takes_receive = unit.starts && spec.messages[unit.message].verb == Verb::Send;
                let (ack_req, ends, message) = (unit.ack_req, unit.ends, unit.message);
                (Op::Data { ack_req, ends, message, takes_receive }, unit.bytes)
            }
        };
        let opcode = unit.opcode;
        Some(Packet { connection, direction: Direction::Forth, opcode, at, op, payload, marked: false })
    }

    fn start_timer(&mut self, now: u64, spec: &Connection, dice: &mut Dice, wishes: &mut Vec<Wish>) {
        self.timer_generation += 1;
        self.timer_runs = self.timer > 0;
        if self.timer_runs {
            let percent = dice.within(spec.habits.requester.expiry_percent.clone());
            let at = now + self.timer * percent / 100;
            wishes.push(Wish::Expire { at, generation: self.timer_generation });
        }
    }

    fn stop_timer(&mut self) {
        self.timer_generation += 1;
        self.timer_runs = false;
    }

    /// The ACK timer expires.
    pub(super) fn expire(
        &mut self,
        now: u64,
        generation: u64,
        spec: &Connection,
        dice: &mut Dice,
        wishes: &mut Vec<Wish>,
    ) {
        if generation != self.timer_generation || self.una >= self.high || self.is_dead() || self.waiting_rnr
        {
            return;
        }
        self.counts.timeouts += 1;
        self.spend_retry(spec);
        if !self.is_dead() {
            self.next = self.una;
            self.gone_back_at = Some(self.una);
            self.start_timer(now, spec, dice, wishes);
            self.want_to_send(now, spec, wishes);
        }
    }

    fn spend_retry(&mut self, spec: &Connection) {
        self.retries += 1;
        if self.retries > spec.habits.requester.retry_count {
            self.failure = Some(CompletionStatus::RetryExceeded);
        }
    }

    /// It is time to retransmit after a NAK.
    pub(super) fn go_back(&mut self, now: u64, spec: &Connection, dice: &mut Dice, wishes: &mut Vec<Wish>) {
        // Only the last request to retransmit counts, and none once the missing packet was acknowledged.
        if self.going_back != Some(now) || self.is_dead() {
            return;
        }
        self.going_back = None;
        if self.una < self.high {
            self.next = self.una;
            self.gone_back_at = Some(self.una);
            if spec.habits.requester.restarts_timer || self.waiting_rnr || !self.timer_runs {
                self.start_timer(now, spec, dice, wishes);
            }
        }
        self.waiting_rnr = false;
        self.want_to_send(now, spec, wishes);
    }

    /// The window moves up to `to`.
    fn progress(&mut self, to: u64, now: u64, spec: &Connection, dice: &mut Dice, wishes: &mut Vec<Wish>) {
        if to <= self.una {
            return;
        }
        self.una = to;
        self.next = self.next.max(to);
        self.retries = 0;
        self.rnr_retries = 0;
        self.gone_back_at = None;
        self.beyond_gap = 0;
        self.going_back = None;
        self.waiting_rnr = false;
        if self.una < self.high {
            self.start_timer(now, spec, dice, wishes);
        } else {
            self.stop_timer();
        }
    }

    fn hears_gap(
        &mut self,
        beyond: u64,
        now: u64,
        spec: &Connection,
        dice: &mut Dice,
        wishes: &mut Vec<Wish>,
    ) {
        // A response that is not beyond the last one belongs to a new stream: the re-issued Read's.
        let new_stream = beyond <= self.beyond_gap;
        self.beyond_gap = beyond;
        let acted = self.going_back.is_some() || self.gone_back_at == Some(self.una);
        if acted && !(new_stream && self.going_back.is_none()) {
            return;
        }
        self.counts.implied_naks += 1;
        self.owe_going_back(now, spec, dice, wishes);
    }

    fn owe_going_back(&mut self, now: u64, spec: &Connection, dice: &mut Dice, wishes: &mut Vec<Wish>) {
        self.spend_retry(spec);
        let at = now + dice.within(spec.habits.requester.reaction.clone());
        self.going_back = Some(at);
        wishes.push(Wish::GoBack { at });
    }

    /// An ACK or NAK arrives.
    pub(super) fn hears(
        &mut self,
        at: u64,
        aeth: AethRepr,
        now: u64,
        spec: &Connection,
        dice: &mut Dice,
        wishes: &mut Vec<Wish>,
    ) {
        if self.is_dead() || at >= self.high {
            return;
        }
        if let Syndrome::Nak(code) = aeth.syndrome
            && code != NakCode::PsnSequenceError
        {
            self.failure = Some(CompletionStatus::RemoteError);
            return;
        }
        let covered = match aeth.syndrome {
            Syndrome::Ack(_) => at + 1,
            _ => at,
        };
        match aeth.syndrome {
            Syndrome::Nak(NakCode::PsnSequenceError) => self.counts.naks += 1,
            Syndrome::RnrNak(_) => self.counts.rnr_naks += 1,
            _ => {}
        }
        if let Some(missing) = self.missing_before(covered) {
            self.progress(missing, now, spec, dice, wishes);
            self.hears_gap(at, now, spec, dice, wishes);
            self.want_to_send(now, spec, wishes);
            return;
        }
        self.progress(covered, now, spec, dice, wishes);
        match aeth.syndrome {
            Syndrome::Nak(NakCode::PsnSequenceError) if at == self.una && !self.waiting_rnr => {
                let again = self.gone_back_at == Some(at) || self.going_back.is_some();
                if !again || spec.habits.requester.repeats_for_each_nak {
                    self.owe_going_back(now, spec, dice, wishes);
                }
            }
            Syndrome::RnrNak(_) if at == self.una && !self.waiting_rnr => {
                self.stop_timer();
                self.rnr_retries += 1;
                if spec.habits.requester.rnr_retries.is_some_and(|most| self.rnr_retries > most) {
                    self.failure = Some(CompletionStatus::RnrRetryExceeded);
                    return;
                }
                self.waiting_rnr = true;
                let at = now + self.rnr_wait;
                self.going_back = Some(at);
                wishes.push(Wish::GoBack { at });
            }
            _ => {}
        }
        self.want_to_send(now, spec, wishes);
    }

    /// First position that a Read or atomic before `end` still misses.
    fn missing_before(&self, end: u64) -> Option<u64> {
        self.units[self.units.partition_point(|unit| unit.end() <= self.una)..]
            .iter()
            .take_while(|unit| unit.first < end)
            .find(|unit| unit.answered())
            .map(|unit| unit.first.max(self.una))
    }

    /// A Read response or atomic acknowledgement arrives. Returns whether it was out of order.
    pub(super) fn hears_response(
        &mut self,
        at: u64,
        payload: u32,
        now: u64,
        spec: &Connection,
        dice: &mut Dice,
        wishes: &mut Vec<Wish>,
    ) -> bool {
        if self.is_dead() || at >= self.high || at < self.una {
            return false;
        }
        let missing = self.missing_before(at + 1);
        match missing {
            Some(missing) if missing < at => {
                self.progress(missing, now, spec, dice, wishes);
                self.hears_gap(at, now, spec, dice, wishes);
            }
            Some(_) => {
                if let Some(unit) = self.unit(at).copied() {
                    let atomic = unit.opcode == Opcode::FetchAdd;
                    self.taken[unit.message] += u64::from(if atomic { unit.bytes } else { payload });
                }
                self.progress(at + 1, now, spec, dice, wishes);
            }
            None => {}
        }
        self.want_to_send(now, spec, wishes);
        missing.is_some_and(|missing| missing < at)
    }
}

/// The packets of all messages.
fn units(spec: &Connection, mtu: u32) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut at = 0;
    for (number, message) in spec.messages.iter().enumerate() {
        let packets = u64::from(message.bytes.div_ceil(mtu).max(1));
        let unit = |first, count, opcode, bytes| Unit {
            first,
            count,
            message: number,
            opcode,
            bytes,
            ack_req: true,
            ends: true,
            starts: true,
        };
        match message.verb {
            Verb::Read => units.push(unit(at, packets, Opcode::ReadRequest, message.bytes)),
            Verb::Atomic => units.push(unit(at, 1, Opcode::FetchAdd, 8)),
            Verb::Send | Verb::Write => {
                for n in 0..packets {
                    let (starts, ends) = (n == 0, n + 1 == packets);
                    let asked = spec.ack_every.is_some_and(|every| (at + n) % every == every - 1);
                    units.push(Unit {
                        ack_req: ends || asked,
                        ends,
                        starts,
                        ..unit(
                            at + n,
                            1,
                            data_opcode(message.verb, starts, ends),
                            (message.bytes - n as u32 * mtu).min(mtu),
                        )
                    });
                }
            }
        }
        at += if message.verb == Verb::Atomic { 1 } else { packets };
    }
    units
}

const fn data_opcode(verb: Verb, starts: bool, ends: bool) -> Opcode {
    match (verb, starts, ends) {
        (Verb::Send, true, true) => Opcode::SendOnly,
        (Verb::Send, true, false) => Opcode::SendFirst,
        (Verb::Send, false, false) => Opcode::SendMiddle,
        (Verb::Send, false, true) => Opcode::SendLast,
        (_, true, true) => Opcode::WriteOnly,
        (_, true, false) => Opcode::WriteFirst,
        (_, false, false) => Opcode::WriteMiddle,
        (_, false, true) => Opcode::WriteLast,
    }
}
