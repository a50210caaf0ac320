//! The requester's machine: what it sends, judged against what it has heard.

use std::collections::VecDeque;

use dumper::wire::Class;
use dumper::{Nanos, Psn};

use super::tables::requester::{Event, State};
use super::tracker::{Answer, Ledger, Lost, Packet};
use super::window::Window;
use crate::anomaly::Evidence;
use crate::known::Timeout;
use crate::retransmission::{Retransmission, Trigger};
use crate::rules::Rule;
use crate::thresholds::{ACK_IN_FLIGHT, LATEST_EXPIRY, SHORTEST_TIMEOUT};

/// A NACK that the requester has heard (or, for a Read, has reason to make) and not acted on yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    psn: Psn,
    /// The NAK, or the response beyond the gap.
    sequence: u32,
    time: Nanos,
}

/// A NAK as it was sent: when, and by which out-of-order packet. It is heard only if it is delivered.
#[derive(Clone, Copy, Debug)]
pub(super) struct NakCause {
    pub(super) psn: Psn,
    pub(super) out_of_order: u32,
    pub(super) generation: Nanos,
}

/// A re-issued Read whose first response has not been seen.
#[derive(Clone, Copy, Debug)]
struct Reissued {
    psn: Psn,
    time: Nanos,
    /// Its entry among the retransmissions.
    entry: usize,
}

#[derive(Debug)]
pub(super) struct Requester {
    state: State,
    window: Window,
    /// PSN after the packet that was sent last.
    cursor: Psn,
    nak: Option<Pending>,
    gap: Option<Pending>,
    rnr: Option<Pending>,
    /// Cause of the NAK that was sent last.
    nak_cause: Option<NakCause>,
    /// When anything of the window was last sent.
    last_sent: Nanos,
    reissued: Option<Reissued>,
    /// End of an RNR wait: the timer does not run during it.
    rnr_resumed: Nanos,
}

impl Requester {
    pub(super) fn starting_at(psn: Psn, now: Nanos) -> Self {
        Self {
            state: State::Flowing,
            window: Window::starting_at(psn, now),
            cursor: psn,
            nak: None,
            gap: None,
            rnr: None,
            nak_cause: None,
            last_sent: now,
            reissued: None,
            rnr_resumed: Nanos::ZERO,
        }
    }

    #[inline]
    pub(super) const fn una(&self) -> Psn {
        self.window.una()
    }

    /// A request enters the switch.
    #[inline]
    pub(super) fn sends(&mut self, packet: &Packet, lost: &mut VecDeque<Lost>, ledger: &mut Ledger<'_>) {
        let ahead = packet.psn.since(self.window.next());
        if ahead == 0 && self.cursor == packet.psn {
            // By far the most packets: the next new request, with nothing left out and nothing repeated.
            if self.state == State::Repeating {
                self.step(Event::CaughtUp, packet, ledger, String::new);
            }
            self.send_new(packet);
        } else {
            self.sends_out_of_line(packet, ahead, lost, ledger);
        }
        self.cursor = packet.end();
        self.last_sent = packet.time;
    }

    #[inline]
    fn send_new(&mut self, packet: &Packet) {
        let answered = !packet.opcode.class().is_data();
        self.window.send_new(packet.psn, packet.count, packet.time, answered);
    }

    #[cold]
    fn sends_out_of_line(
        &mut self,
        packet: &Packet,
        ahead: i32,
        lost: &mut VecDeque<Lost>,
        ledger: &mut Ledger<'_>,
    ) {
        let psn = packet.psn;
        if ahead >= 0 {
            let skipped = if ahead > 0 { self.window.next() } else { self.cursor };
            let event = match ahead {
                1.. => Event::SendBeyond,
                _ if self.window.una() == self.window.next() => Event::SkipAcknowledged,
                _ => Event::ResumeLate,
            };
            let (from, to) = (ledger.relative(skipped), ledger.relative(psn));
            self.step(event, packet, ledger, || format!("sends PSN {to} and leaves out {from} and on"));
            self.send_new(packet);
        } else if psn == self.cursor {
            self.step(Event::SendNext, packet, ledger, String::new);
            self.window.resend(psn, packet.time);
        } else if psn.is_after(self.cursor) {
            let event =
                if psn.is_after(self.window.una()) { Event::ResumeLate } else { Event::SkipAcknowledged };
            let (from, to) = (ledger.relative(self.cursor), ledger.relative(psn));
            self.step(event, packet, ledger, || {
                format!("repeats PSN {to} and leaves out {from} and on, which nobody acknowledged")
            });
            self.window.resend(psn, packet.time);
        } else {
            self.goes_back(packet, lost, ledger);
            self.window.resend(psn, packet.time);
        }
    }

    /// The requester repeats from an earlier PSN than the one that was next.
    fn goes_back(&mut self, packet: &Packet, lost: &mut VecDeque<Lost>, ledger: &mut Ledger<'_>) {
        let psn = packet.psn;
        let una = self.window.una();
        let event = self.classify_return(packet, ledger);
        let relative = ledger.relative(psn);
        let waited = self.window.waited_at_least(packet.time);
        let mut entry = Retransmission {
            connection: ledger.connection(),
            trigger: Trigger::None,
            from_psn: relative,
            lost: take_from(lost, psn),
            out_of_order: None,
            nack: None,
            retransmission: Some(packet.sequence),
            generation_ns: None,
            reaction_ns: None,
            timeout_ns: None,
        };
        match event {
            Event::ResumeAtNak => {
                let nak = self.nak.take().expect("the event says that a NAK was heard");
                entry.trigger = Trigger::Fast;
                entry.nack = Some(nak.sequence);
                entry.reaction_ns = Some(packet.time - nak.time);
                if let Some(cause) = self.nak_cause.filter(|cause| cause.psn == psn) {
                    entry.out_of_order = Some(cause.out_of_order);
                    entry.generation_ns = Some(cause.generation);
                }
            }
            Event::ResumeAtGap => {
                let gap = self.gap.take().expect("the event says that a gap was heard");
                entry.trigger = Trigger::Fast;
                entry.out_of_order = Some(gap.sequence);
                entry.generation_ns = Some(packet.time - gap.time);
            }
            Event::ResumeAfterRnr => {
                let rnr = self.rnr.take().expect("the event says that an RNR NAK was heard");
                entry.trigger = Trigger::Rnr;
                entry.nack = Some(rnr.sequence);
                entry.reaction_ns = Some(packet.time - rnr.time);
                self.rnr_resumed = packet.time;
            }
            Event::ResumeByTimer | Event::ResumeUnheard => {
                entry.trigger = Trigger::Timeout;
                entry.timeout_ns = Some(waited);
                ledger.counts.timeouts += 1;
                if psn == una {
                    self.judge_timer(packet, ledger);
                }
            }
            _ => {}
        }
        if packet.opcode.class() == Class::ReadRequest
            && matches!(entry.trigger, Trigger::Fast | Trigger::Timeout)
        {
            // What is repeated of a Read is its data: the response that the new request brings.
            self.reissued = Some(Reissued { psn, time: packet.time, entry: ledger.retransmissions.len() });
            if entry.nack.is_none() {
                entry.nack = Some(packet.sequence);
                entry.retransmission = None;
            }
        }
        ledger.retransmissions.push(entry);
        let una_relative = ledger.relative(una);
        let waited = self.window.waited_at_most(packet.time);
        self.step(event, packet, ledger, || match event {
            Event::ResumeTooSoon => {
                format!("repeats from PSN {relative} {waited} after it could start its timer, with no NAK")
            }
            _ => format!("repeats from PSN {relative}, and {una_relative} is the oldest unacknowledged one"),
        });
    }

    /// What a return to an earlier PSN is.
    fn classify_return(&self, packet: &Packet, ledger: &Ledger<'_>) -> Event {
        let psn = packet.psn;
        let is = |pending: Option<Pending>| pending.is_some_and(|pending| pending.psn == psn);
        if is(self.nak) {
            return Event::ResumeAtNak;
        }
        if is(self.gap) {
            return Event::ResumeAtGap;
        }
        if is(self.rnr) {
            return Event::ResumeAfterRnr;
        }
        let una = self.window.una();
        if psn == una {
            return if self.timer_may_have_expired(packet.time, ledger) {
                Event::ResumeByTimer
            } else {
                Event::ResumeTooSoon
            };
        }
        if psn.is_after(una) {
            return Event::ResumeLate;
        }
        match self.window.left_behind(psn) {
            // The acknowledgement may still be on its way.
            Some(when) if packet.time - when <= ACK_IN_FLIGHT => Event::ResumeByTimer,
            Some(_) => Event::ResumeUnheard,
            None => Event::ResumeEarly,
        }
    }

    /// Whether the ACK timer can have expired at `now`: it is enabled, and the shortest time-out has passed
    /// since it can first have been started. An expiry before the configured T is judged by its own rule.
    fn timer_may_have_expired(&self, now: Nanos, ledger: &Ledger<'_>) -> bool {
        ledger.known.timeout != Some(Timeout::Disabled) && self.window.waited_at_most(now) >= SHORTEST_TIMEOUT
    }

    /// Judges an expiry against T and 4T, where the configuration says what T is.
    fn judge_timer(&self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let Some(Timeout::Enabled(minimum)) = ledger.known.timeout else { return };
        let longest = self.window.waited_at_most(packet.time);
        let shortest = (packet.time - self.last_sent.max(self.window.last_progress()).max(self.rnr_resumed))
            .min(longest);
        let (rule, waited, limit) = if longest < minimum {
            (Rule::RtoBelowMinimum, longest, minimum)
        } else if shortest > minimum.times(LATEST_EXPIRY) {
            (Rule::RtoAboveMaximum, shortest, minimum.times(LATEST_EXPIRY))
        } else {
            return;
        };
        let relative = ledger.relative(packet.psn);
        let what = format!("times out on PSN {relative} after {waited}, where {limit} is the limit");
        let evidence =
            Evidence::packets([packet.sequence]).with_time("waited", waited).with_time("limit", limit);
        ledger.broken(rule, self.state.name(), what, evidence);
    }

    /// An ACK or NAK is delivered. Returns whether the window moved.
    #[inline]
    pub(super) fn hears(&mut self, packet: &Packet, answer: Answer, ledger: &mut Ledger<'_>) -> bool {
        // Nothing beyond what was sent can be acknowledged; the responder's machine has seen to that.
        if packet.psn.since(self.window.next()) >= 0 {
            return false;
        }
        let before = self.window.una();
        let acknowledged = match answer {
            Answer::Ack => packet.psn.add(1),
            Answer::SequenceNak | Answer::Rnr | Answer::Fatal => packet.psn,
        };
        self.acknowledge(acknowledged, packet, ledger);
        let pending = Some(Pending { psn: packet.psn, sequence: packet.sequence, time: packet.time });
        let stale = packet.psn.is_before(before);
        match answer {
            Answer::Ack => {}
            Answer::SequenceNak => {
                ledger.counts.sequence_naks_heard += 1;
                if !stale {
                    self.nak = pending;
                    self.step(Event::HearNak, packet, ledger, String::new);
                }
            }
            Answer::Rnr => {
                ledger.counts.rnr_naks_heard += 1;
                if !stale {
                    self.rnr = pending;
                    self.step(Event::HearRnr, packet, ledger, String::new);
                }
            }
            Answer::Fatal => self.step(Event::HearFatal, packet, ledger, String::new),
        }
        self.window.una() != before
    }

    /// A Read response or atomic acknowledgement is delivered. Returns whether the window moved.
    #[inline]
    pub(super) fn hears_response(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) -> bool {
        let before = self.window.una();
        if packet.psn == before {
            self.moved_to(packet.psn.add(1), packet.time);
        } else if packet.psn.is_after(before) && packet.psn.since(self.window.next()) < 0 {
            self.acknowledge(packet.psn, packet, ledger);
            if self.window.una() == packet.psn {
                self.moved_to(packet.psn.add(1), packet.time);
            }
        }
        self.window.una() != before
    }

    /// Everything before `end` is acknowledged, but for Reads and atomics that have not been answered: those
    /// are an implied NAK.
    #[inline]
    fn acknowledge(&mut self, end: Psn, packet: &Packet, ledger: &mut Ledger<'_>) {
        match self.window.unanswered_before(end) {
            None => self.moved_to(end, packet.time),
            Some(missing) => {
                self.moved_to(missing, packet.time);
                let pending = Pending { psn: missing, sequence: packet.sequence, time: packet.time };
                if self.gap.is_none_or(|gap| gap.psn != missing)
                    && self.reissued.is_none_or(|reissued| reissued.psn != missing)
                {
                    ledger.counts.implied_naks += 1;
                }
                if self.gap.is_none_or(|gap| gap.psn != missing) {
                    self.gap = Some(pending);
                    self.step(Event::HearGap, packet, ledger, String::new);
                }
            }
        }
    }

    #[inline]
    fn moved_to(&mut self, una: Psn, now: Nanos) {
        if !una.is_after(self.window.una()) {
            return;
        }
        self.window.acknowledge(una, now);
        for pending in [&mut self.nak, &mut self.gap, &mut self.rnr] {
            if pending.is_some_and(|pending| pending.psn.is_before(una)) {
                *pending = None;
            }
        }
    }

    /// A Read response enters the switch: it may be the data that a re-issued Read asked for.
    #[inline]
    pub(super) fn response_sent(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let Some(reissued) = self.reissued.filter(|reissued| reissued.psn == packet.psn) else { return };
        self.reissued = None;
        let entry = &mut ledger.retransmissions[reissued.entry];
        if entry.retransmission.is_none() {
            entry.retransmission = Some(packet.sequence);
            entry.reaction_ns = Some(packet.time - reissued.time);
        }
    }

    /// The responder has sent a sequence NAK.
    pub(super) fn nak_sent(&mut self, cause: NakCause) {
        self.nak_cause = Some(cause);
    }

    #[inline]
    fn step(
        &mut self,
        event: Event,
        packet: &Packet,
        ledger: &mut Ledger<'_>,
        what: impl FnOnce() -> String,
    ) {
        let next = self.state.on(event);
        if let Some(rule) = next.broken() {
            let nak = self.nak.map(|nak| nak.sequence);
            let evidence = Evidence::packets([packet.sequence].into_iter().chain(nak));
            ledger.broken(rule, self.state.name(), what(), evidence);
        }
        self.state = next.state(self.state);
    }
}

/// Takes the lost packets that a return to `psn` repeats.
fn take_from(lost: &mut VecDeque<Lost>, psn: Psn) -> Vec<u32> {
    let taken = lost.iter().filter(|lost| !lost.psn.is_before(psn)).map(|lost| lost.sequence).collect();
    lost.retain(|lost| lost.psn.is_before(psn));
    taken
}
