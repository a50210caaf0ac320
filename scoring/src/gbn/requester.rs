//! The requester's machine: what it sends, judged against what it has heard.

use std::collections::VecDeque;

use dumper::wire::Class;
use dumper::{Nanos, Psn};

use super::tables::requester::{Event, State};
use super::tracker::{Answer, Ledger, Lost, Packet};
use super::window::{Past, Window};
use crate::anomaly::{Evidence, Role};
use crate::known::{Known, Timeout};
use crate::retransmission::{Retransmission, Trigger};
use crate::rules::Rule;
use crate::thresholds::{ACK_IN_FLIGHT, LATEST_EXPIRY, SHORTEST_TIMEOUT, TIMER_SLACK};

/// A NACK that was delivered to the requester (or, for a Read, a reason to make one).
#[derive(Clone, Copy, Debug)]
struct Cause {
    psn: Psn,
    /// The NAK, or the response beyond the gap: the first that was not acted on.
    sequence: u32,
    time: Nanos,
    /// Deliveries that were not acted on. Each of several may be: they may arrive after the requester has
    /// acted on the first.
    pending: u32,
    /// At least one was acted on.
    acted: bool,
}

impl Cause {
    /// Notes that `packet` asks for going back to `psn`. Returns whether that is news.
    fn heard(cause: &mut Option<Self>, psn: Psn, packet: &Packet) -> bool {
        match cause {
            Some(known) if known.psn == psn => {
                if known.pending == 0 {
                    (known.sequence, known.time) = (packet.sequence, packet.time);
                }
                known.pending = known.pending.saturating_add(1);
                false
            }
            _ => {
                let (sequence, time) = (packet.sequence, packet.time);
                // What was not acted on may be acted on still, from where it is then needed.
                let overtaken =
                    cause.filter(|old| time - old.time <= ACK_IN_FLIGHT).map_or(0, |old| old.pending);
                *cause =
                    Some(Self { psn, sequence, time, pending: overtaken.saturating_add(1), acted: false });
                true
            }
        }
    }

    /// Takes one delivery as acted upon.
    fn act(cause: &mut Option<Self>) -> Self {
        let cause = cause.as_mut().expect("the event says that the cause was heard");
        cause.pending = cause.pending.saturating_sub(1);
        cause.acted = true;
        *cause
    }
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
    nak: Option<Cause>,
    gap: Option<Cause>,
    rnr: Option<Cause>,
    /// When a NAK that ends the QP was delivered.
    failed: Option<Nanos>,
    /// Cause of the NAK that was sent last.
    nak_cause: Option<NakCause>,
    /// When anything of the window was last sent.
    last_sent: Nanos,
    reissued: Option<Reissued>,
    /// The wait that the last RNR NAK names.
    rnr_wait: Nanos,
    /// Retries since the last progress, and whether they ever were all that the requester has.
    retries: u32,
    spent_retries: bool,
    /// The timer is so short that its expiries cannot be told from answers.
    hidden_expiries: bool,
    /// When an acknowledgement of everything before the oldest unacknowledged PSN was last delivered: of several,
    /// the first ones may have been lost behind the switch.
    last_covered: Nanos,
    /// End of an RNR wait: the timer does not run during it.
    rnr_resumed: Nanos,
}

impl Requester {
    pub(super) fn starting_at(psn: Psn, now: Nanos, known: &Known) -> Self {
        Self {
            state: State::Flowing,
            window: Window::starting_at(psn, now),
            cursor: psn,
            nak: None,
            gap: None,
            rnr: None,
            failed: None,
            nak_cause: None,
            last_sent: now,
            reissued: None,
            rnr_wait: Nanos::ZERO,
            retries: 0,
            spent_retries: known.retries == Some(0),
            hidden_expiries: !known.timer_shows(),
            last_covered: now,
            rnr_resumed: Nanos::ZERO,
        }
    }

    #[inline]
    pub(super) const fn una(&self) -> Psn {
        self.window.una()
    }

    /// Whether the requester may have given up: work is left, or it had used up its retries at some time, so
    /// that the expiry which ends them all, and which sends nothing, may have come.
    pub(super) fn may_have_given_up(&self) -> bool {
        self.spent_retries || self.hidden_expiries || self.window.una() != self.window.next()
    }

    /// The next new PSN, if everything before it is acknowledged.
    pub(super) fn done_before(&self) -> Option<Psn> {
        let next = self.window.next();
        (self.window.una() == next).then_some(next)
    }

    /// A retry is spent.
    fn retry(&mut self, ledger: &Ledger<'_>) {
        self.retries += 1;
        self.spent_retries |= ledger.known.retries.is_some_and(|most| self.retries >= most);
    }

    /// A request enters the switch.
    #[inline]
    pub(super) fn sends(&mut self, packet: &Packet, lost: &mut VecDeque<Lost>, ledger: &mut Ledger<'_>) {
        let ahead = packet.psn.since(self.window.next());
        if ahead == 0 && self.cursor == packet.psn {
            // By far the most packets: the next new request, with nothing left out and nothing repeated.
            self.step(Event::SendNew, packet, ledger, String::new);
            self.send_new(packet);
        } else {
            self.sends_out_of_line(packet, ahead, lost, ledger);
        }
        self.cursor = packet.end();
        self.last_sent = packet.time;
    }

    /// It repeats something from before what is followed here.
    pub(super) fn repeats_earlier(&mut self, packet: &Packet) {
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
        let timer_possible = self.timer_may_have_expired(packet.time, ledger);
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
                ledger.counts.possible_timeouts += u64::from(timer_possible);
                let nak = Cause::act(&mut self.nak);
                entry.trigger = Trigger::Fast;
                entry.nack = Some(nak.sequence);
                entry.reaction_ns = Some(packet.time - nak.time);
                if let Some(cause) = self.nak_cause.filter(|cause| cause.psn == psn) {
                    entry.out_of_order = Some(cause.out_of_order);
                    entry.generation_ns = Some(cause.generation);
                }
            }
            Event::ResumeAtGap => {
                ledger.counts.possible_timeouts += u64::from(timer_possible);
                if !timer_possible && self.gap.is_some_and(|gap| !gap.acted) {
                    ledger.counts.implied_naks += 1;
                    ledger.counts.possible_implied_naks -= 1;
                }
                let gap = Cause::act(&mut self.gap);
                entry.trigger = Trigger::Fast;
                entry.out_of_order = Some(gap.sequence);
                entry.generation_ns = Some(packet.time - gap.time);
            }
            Event::ResumeAfterRnr => {
                let rnr = Cause::act(&mut self.rnr);
                entry.trigger = Trigger::Rnr;
                entry.nack = Some(rnr.sequence);
                entry.reaction_ns = Some(packet.time - rnr.time);
                self.rnr_resumed = packet.time;
            }
            Event::ResumeByTimer | Event::ResumeUnheard | Event::ResumeDiscarded => {
                entry.trigger = Trigger::Timeout;
                entry.timeout_ns = Some(waited);
                self.retry(ledger);
                // A NAK may have been acted on late, or again.
                let pending = |cause: Option<Cause>| {
                    cause.is_some_and(|cause| {
                        cause.pending > 0 && (cause.psn == psn || packet.time - cause.time <= ACK_IN_FLIGHT)
                    })
                };
                if psn != una || pending(self.nak) || pending(self.gap) {
                    ledger.counts.possible_timeouts += 1;
                } else {
                    ledger.counts.timeouts += 1;
                }
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
            Event::ResumeUnheard => {
                format!("repeats from PSN {relative}, whose acknowledgement left the switch intact")
            }
            Event::ResumeTooSoon => {
                format!("repeats from PSN {relative} {waited} after it could start its timer, with no NAK")
            }
            _ => format!("repeats from PSN {relative}, and {una_relative} is the oldest unacknowledged one"),
        });
    }

    /// What a return to an earlier PSN is.
    fn classify_return(&self, packet: &Packet, ledger: &Ledger<'_>) -> Event {
        let psn = packet.psn;
        let crossing = self.failed.is_some_and(|failed| packet.time - failed <= ACK_IN_FLIGHT);
        let is = |cause: Option<Cause>| {
            cause.is_some_and(|cause| {
                cause.psn == psn
                    && cause.pending > 0
                    // Acknowledged since; but the acknowledgement may be behind it on the way.
                    && (!psn.is_before(self.window.una()) || packet.time - cause.time <= ACK_IN_FLIGHT)
                    && !(cause.acted && self.timer_is_likelier(&cause, packet.time, ledger))
            })
        };
        let heard = if is(self.nak) {
            Some(Event::ResumeAtNak)
        } else if is(self.gap) {
            Some(Event::ResumeAtGap)
        } else if self.rnr_explains(packet, ledger) {
            Some(Event::ResumeAfterRnr)
        } else {
            None
        };
        if let Some(heard) = heard {
            return if crossing { Event::ResumeCrossing } else { heard };
        }
        if self.failed.is_some()
            && !crossing
            && ledger.requester_discards != Some(0)
            && self.timer_is_due(packet.time, ledger)
        {
            // The NAK that ends the QP may be among what was thrown away.
            return if ledger.requester_discards.is_none() {
                Event::ResumeUnheard
            } else {
                Event::ResumeDiscarded
            };
        }
        let una = self.window.una();
        if psn == una {
            let event = if self.timer_may_have_expired(packet.time, ledger) {
                Event::ResumeByTimer
            } else {
                Event::ResumeTooSoon
            };
            // It may go back for an earlier PSN that is acknowledged when it is about to repeat it.
            let overtaken = |cause: Option<Cause>| {
                cause.is_some_and(|cause| {
                    cause.pending > 0 && cause.psn.is_before(psn) && packet.time - cause.time <= ACK_IN_FLIGHT
                })
            };
            let event = match event {
                _ if self.timer_is_due(packet.time, ledger) => event,
                _ if overtaken(self.nak) => Event::ResumeAtNak,
                _ if overtaken(self.gap) => Event::ResumeAtGap,
                other => other,
            };
            return if crossing && event != Event::ResumeTooSoon { Event::ResumeCrossing } else { event };
        }
        if psn.is_after(una) {
            return Event::ResumeLate;
        }
        match self.window.past(psn) {
            // The acknowledgement may still be on its way.
            Past::Until(when) if packet.time - when <= ACK_IN_FLIGHT => {
                if crossing {
                    Event::ResumeCrossing
                } else {
                    Event::ResumeByTimer
                }
            }
            Past::Until(_) | Past::Forgotten => match ledger.requester_discards {
                None => Event::ResumeUnheard,
                Some(0) => Event::ResumeEarly,
                Some(_) => Event::ResumeDiscarded,
            },
            Past::Never => Event::ResumeEarly,
        }
    }

    /// Whether going back is what an RNR NAK asks for: at its PSN, after the wait that it names. Before that only
    /// if no timer explains it.
    fn rnr_explains(&self, packet: &Packet, ledger: &Ledger<'_>) -> bool {
        self.rnr.is_some_and(|rnr| {
            let waited = packet.time - rnr.time + TIMER_SLACK >= self.rnr_wait;
            rnr.psn == packet.psn
                && rnr.pending > 0
                && (waited || !self.timer_may_have_expired(packet.time, ledger))
        })
    }

    /// Whether an expired timer explains going back better than yet another delivery of a cause that was acted
    /// on before: most requesters act on a cause once.
    fn timer_is_likelier(&self, cause: &Cause, now: Nanos, ledger: &Ledger<'_>) -> bool {
        match ledger.known.timeout {
            Some(_) => self.timer_is_due(now, ledger),
            None => now - cause.time > ACK_IN_FLIGHT,
        }
    }

    /// Whether the ACK timer can have expired at `now`: it is enabled, and the shortest time-out has passed
    /// since it can first have been started. An expiry before the configured T is judged by its own rule.
    fn timer_may_have_expired(&self, now: Nanos, ledger: &Ledger<'_>) -> bool {
        let waited = self.window.waited_at_most(now);
        match ledger.known.timeout {
            Some(Timeout::Disabled) => false,
            Some(Timeout::Enabled(minimum)) if waited + TIMER_SLACK >= minimum => true,
            Some(Timeout::Enabled(_)) | None => waited >= SHORTEST_TIMEOUT,
        }
    }

    /// Whether a timer that was started as early as it can have been is due.
    fn timer_is_due(&self, now: Nanos, ledger: &Ledger<'_>) -> bool {
        match ledger.known.timeout {
            Some(Timeout::Enabled(minimum)) => self.window.waited_at_most(now) + TIMER_SLACK >= minimum,
            Some(Timeout::Disabled) | None => self.timer_may_have_expired(now, ledger),
        }
    }

    /// Judges an expiry against T and 4T, where the configuration says what T is.
    fn judge_timer(&self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let Some(Timeout::Enabled(minimum)) = ledger.known.timeout else { return };
        let longest = self.window.waited_at_most(packet.time);
        let shortest = (packet.time
            - self.last_sent.max(self.window.last_progress()).max(self.rnr_resumed).max(self.last_covered))
        .min(longest);
        let maximum = minimum.times(LATEST_EXPIRY);
        let (rule, waited, limit) = if longest + TIMER_SLACK < minimum {
            (Rule::RtoBelowMinimum, longest, minimum)
        } else if shortest > maximum + TIMER_SLACK {
            (Rule::RtoAboveMaximum, shortest, maximum)
        } else {
            return;
        };
        let relative = ledger.relative(packet.psn);
        let what = format!("times out on PSN {relative} after {waited}, where {limit} is the limit");
        let evidence =
            Evidence::packets([packet.sequence]).with_time("waited", waited).with_time("limit", limit);
        ledger.broken(Role::Requester, rule, self.state.name(), what, evidence);
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
            Answer::SequenceNak | Answer::Rnr(_) | Answer::Fatal => packet.psn,
        };
        if acknowledged.is_before(before) {
            // Of several acknowledgements the requester may have got only the ones that went slower.
            self.window.may_have_been(acknowledged, packet.time);
        }
        self.acknowledge(acknowledged, packet, ledger);
        if acknowledged == self.window.una() {
            self.last_covered = packet.time;
        }
        let stale = packet.psn.is_before(before);
        match answer {
            Answer::Ack => self.step(Event::HearAck, packet, ledger, String::new),
            Answer::SequenceNak => {
                ledger.counts.sequence_naks_heard += 1;
                if !stale {
                    self.retry(ledger);
                    Cause::heard(&mut self.nak, packet.psn, packet);
                    self.step(Event::HearNak, packet, ledger, String::new);
                }
            }
            Answer::Rnr(wait) => {
                ledger.counts.rnr_naks_heard += 1;
                if !stale {
                    self.rnr_wait = wait;
                    Cause::heard(&mut self.rnr, packet.psn, packet);
                    self.step(Event::HearRnr, packet, ledger, String::new);
                }
            }
            Answer::Fatal => {
                self.failed.get_or_insert(packet.time);
                self.step(Event::HearFatal, packet, ledger, String::new);
            }
        }
        self.window.una() != before
    }

    /// A Read response or atomic acknowledgement is delivered. Returns whether the window moved.
    #[inline]
    pub(super) fn hears_response(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) -> bool {
        let before = self.window.una();
        if packet.psn == before {
            self.moved_to(packet.psn.add(1), packet.time, ledger);
        } else if packet.psn.is_after(before) && packet.psn.since(self.window.next()) < 0 {
            self.acknowledge(packet.psn, packet, ledger);
            if self.window.una() == packet.psn {
                self.moved_to(packet.psn.add(1), packet.time, ledger);
            }
        }
        self.window.una() != before
    }

    /// Everything before `end` is acknowledged, but for Reads and atomics that have not been answered: those
    /// are an implied NAK.
    #[inline]
    fn acknowledge(&mut self, end: Psn, packet: &Packet, ledger: &mut Ledger<'_>) {
        match self.window.unanswered_before(end) {
            None => self.moved_to(end, packet.time, ledger),
            Some(missing) => {
                self.moved_to(missing, packet.time, ledger);
                if Cause::heard(&mut self.gap, missing, packet) {
                    self.retry(ledger);
                    ledger.counts.possible_implied_naks += 1;
                    self.step(Event::HearGap, packet, ledger, String::new);
                }
            }
        }
    }

    #[inline]
    fn moved_to(&mut self, una: Psn, now: Nanos, ledger: &mut Ledger<'_>) {
        if !una.is_after(self.window.una()) {
            return;
        }
        if let Some(Timeout::Enabled(minimum)) = ledger.known.timeout
            && self.window.waited_at_most(now) + TIMER_SLACK >= minimum
        {
            // It may have expired before this arrives, and what it would have repeated is acknowledged.
            ledger.counts.possible_timeouts += 1;
        }
        self.window.acknowledge(una, now);
        self.retries = 0;
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
        let next = self.state.step(event);
        let nak = self.nak.into_iter().filter(|nak| nak.pending > 0).map(|nak| nak.sequence);
        let packets = [packet.sequence].into_iter().chain(nak);
        ledger.judge(Role::Requester, next, self.state.name(), packets, what);
        self.state = next.state(self.state);
    }
}

/// Takes the lost packets that a return to `psn` repeats.
fn take_from(lost: &mut VecDeque<Lost>, psn: Psn) -> Vec<u32> {
    let taken = lost.iter().filter(|lost| !lost.psn.is_before(psn)).map(|lost| lost.sequence).collect();
    lost.retain(|lost| lost.psn.is_before(psn));
    taken
}
