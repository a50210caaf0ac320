//! Retransmissions from an earlier PSN: their cause, and the rules that they must keep.

use std::collections::VecDeque;

use dumper::wire::Class;
use dumper::{Nanos, Psn};

use super::cause::Cause;
use super::{Reissued, Requester};
use crate::anomaly::{Evidence, Role};
use crate::gbn::tables::requester::Event;
use crate::gbn::tracker::{Ledger, Lost, Packet};
use crate::gbn::window::Past;
use crate::known::Timeout;
use crate::retransmission::{Retransmission, Trigger};
use crate::rules::Rule;
use crate::thresholds::{LATEST_EXPIRY, RNR_WAIT_PERCENT, SHORTEST_TIMEOUT, SLOWEST_NACK};

impl Requester {
    /// The requester repeats from an earlier PSN than the one that was next.
    pub(super) fn goes_back(&mut self, packet: &Packet, lost: &mut VecDeque<Lost>, ledger: &mut Ledger<'_>) {
        let psn = packet.psn;
        let una = self.window.una();
        let mut event = self.classify_return(packet, ledger);
        let timer_possible = self.timer_may_have_expired(packet.time, ledger)
            || self.timer_has_ignored_progress(packet.time, ledger);
        let timer_due = self.timer_is_due(packet.time, ledger);
        let heard = ledger.requester_discards == Some(0);
        let at_the_nak = self.unheeded.is_some_and(|nak| !psn.is_after(nak.psn));
        let mut ignored = None;
        if heard && timer_due && at_the_nak {
            ignored = self.take_ignored_nak(packet, ledger);
            if ignored.is_some() {
                event = Event::ResumeIgnoringNak;
            }
        }
        // Since when there has been what it certainly spends a retry on.
        let mut certain = None;
        let mut beyond = None;
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
            generation_net_ns: None,
            reaction_ns: None,
            reaction_net_ns: None,
            timeout_ns: None,
        };
        match event {
            Event::ResumeAtNak => {
                ledger.counts.possible_timeouts += u64::from(timer_possible);
                let nak = Cause::act(&mut self.nak);
                if timer_due {
                    self.budget.may_spend();
                }
                // In an RNR wait nothing is sent, and from where it then goes on may be what the NAK names.
                certain = (!nak.acted && nak.time >= self.rnr_until).then_some(nak.time);
                entry.trigger = Trigger::Fast;
                entry.nack = Some(nak.sequence);
                // A NAK of what is acknowledged meanwhile may not be what it acts on.
                entry.reaction_ns = (nak.psn == psn).then_some(packet.time - nak.time);
                if let Some(cause) = self.nak_cause.filter(|cause| cause.psn == psn) {
                    entry.out_of_order = Some(cause.out_of_order);
                    entry.generation_ns = Some(cause.generation);
                }
            }
            Event::ResumeAtGap => {
                ledger.counts.possible_timeouts += u64::from(timer_possible);
                if !timer_due && self.gap.is_some_and(|gap| !gap.acted) {
                    ledger.counts.implied_naks += 1;
                    ledger.counts.possible_implied_naks -= 1;
                }
                let gap = Cause::act(&mut self.gap);
                // Its first delivery was paid for when it was heard.
                for _ in 0..u32::from(timer_due) + u32::from(gap.acted) {
                    self.budget.may_spend();
                }
                certain = (!gap.acted).then_some(gap.time);
                entry.trigger = Trigger::Fast;
                entry.out_of_order = Some(gap.sequence);
                entry.generation_ns = (gap.psn == psn).then_some(packet.time - gap.time);
            }
            Event::ResumeAfterRnr | Event::ResumeDuringRnr => {
                let rnr = Cause::act(&mut self.rnr);
                entry.trigger = Trigger::Rnr;
                entry.nack = Some(rnr.sequence);
                entry.reaction_ns = Some(packet.time - rnr.time);
                self.rnr_resumed = packet.time;
                if timer_due {
                    // A copy of an RNR NAK that was acted on before, and an expiry of the timer.
                    ledger.counts.possible_timeouts += 1;
                    self.budget.may_spend();
                }
                // Of several RNR NAKs on their way nobody can say which one it acts on, nor whether it acts on one at all
                // where there is something else to act on.
                let alone = rnr.pending == 1 && !self.may_not_have_heard_rnr(packet, ledger);
                if !timer_due && psn == una && alone && self.rnr_binds {
                    let most = self.budget.retried_after_rnr();
                    beyond = most.map(|most| (Rule::RnrRetriesBeyondBudget, most));
                }
            }
            Event::ResumeByTimer
            | Event::ResumeUnheard
            | Event::ResumeDiscarded
            | Event::ResumeIgnoringNak => {
                entry.trigger = Trigger::Timeout;
                entry.timeout_ns = Some(waited);
                self.budget.may_spend();
                // A NAK may have been acted on late, or again.
                let pending = |cause: Option<Cause>| {
                    cause.is_some_and(|cause| {
                        cause.pending > 0
                            && (cause.psn == psn
                                || packet.time - cause.time <= ledger.known.times.ack_in_flight)
                    })
                };
                if pending(self.gap) {
                    // After the expiry, what is still on its way beyond the gap is an implied NAK once more.
                    self.budget.may_spend();
                }
                let waits = self.is_to_wait(packet);
                if psn != una || waits || pending(self.nak) || pending(self.gap) {
                    ledger.counts.possible_timeouts += 1;
                } else {
                    ledger.counts.timeouts += 1;
                }
                let too_soon =
                    psn == una && !waits && self.judge_timer(packet, ledger) == Some(Rule::RtoBelowMinimum);
                let expired = (timer_due || too_soon)
                    && matches!(event, Event::ResumeByTimer | Event::ResumeIgnoringNak)
                    && self.was_silent(ledger);
                certain = expired.then_some(packet.time);
            }
            _ => self.budget.may_spend(),
        }
        if let Some(since) = certain.filter(|_| psn == una) {
            beyond = self.budget.retried(since).map(|most| (Rule::RetriesBeyondBudget, most));
        }
        if let Some((rule, most)) = beyond {
            let what = format!("retransmits from PSN {relative} more than {most} times without progress");
            let budget = if rule == Rule::RetriesBeyondBudget { "retry-cnt" } else { "rnr-retry" };
            let evidence = Evidence::packets([packet.sequence])
                .with_number(budget, u64::from(most))
                .with_number("retries", u64::from(most) + 1);
            ledger.broken(Role::Requester, rule, self.state.name(), what, evidence);
        }
        // Another one is what answers come for.
        self.reissued = None;
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
        // Going back for something that was heard leaves an expiry to be acted on, or to have been.
        self.expired_unseen = self.expired_unseen.filter(|_| event != Event::ResumeByTimer);
        ledger.retransmissions.push(entry);
        let rnr_wait = self.rnr_wait;
        let una_relative = ledger.relative(una);
        let waited = self.window.waited_at_most(packet.time);
        self.step(event, packet, ledger, || match event {
            Event::ResumeUnheard => {
                format!("retransmits from PSN {relative} although its acknowledgement left the switch intact")
            }
            Event::ResumeTooSoon => {
                format!("retransmits from PSN {relative} without a NAK {waited} after the ACK timer could start")
            }
            Event::ResumeIgnoringNak => {
                let nak = ignored.map_or(0, |nak| nak.sequence);
                format!("retransmits from PSN {relative} when the ACK timer expires, not after the NAK in packet {nak}")
            }
            Event::ResumeDuringRnr => {
                format!("retransmits from PSN {relative} before the {rnr_wait} of the RNR NAK are over")
            }
            _ => format!("retransmits from PSN {relative} where PSN {una_relative} is the oldest unacknowledged"),
        });
    }

    /// Event of a retransmission from an earlier PSN.
    fn classify_return(&self, packet: &Packet, ledger: &Ledger<'_>) -> Event {
        let psn = packet.psn;
        let crossing =
            self.failed.is_some_and(|failed| packet.time - failed <= ledger.known.times.ack_in_flight);
        let is = |cause: Option<Cause>| {
            cause.is_some_and(|cause| {
                cause.psn == psn
                    && cause.pending > 0
                    // Acknowledged since; but the acknowledgement may be behind it on the way.
                    && (!psn.is_before(self.window.una()) || packet.time - cause.time <= ledger.known.times.ack_in_flight)
                    && !(cause.acted && self.timer_is_likelier(&cause, packet.time, ledger))
            })
        };
        let heard = if is(self.nak) {
            Some(Event::ResumeAtNak)
        } else if is(self.gap) {
            Some(Event::ResumeAtGap)
        } else {
            self.rnr_explains(packet, ledger)
        };
        if let Some(heard) = heard {
            return if crossing { Event::ResumeCrossing } else { heard };
        }
        if self.failed.is_some()
            && !crossing
            && ledger.requester_discards != Some(0)
            && self.timer_is_due(packet.time, ledger)
        {
            // The NAK that ends the QP may be among the discarded packets.
            return if ledger.requester_discards.is_none() {
                Event::ResumeUnheard
            } else {
                Event::ResumeDiscarded
            };
        }
        let una = self.window.una();
        if psn == una {
            let expired = self.expired_unseen.is_some() || self.timer_may_have_expired(packet.time, ledger);
            let event = match ledger.requester_discards {
                _ if expired => Event::ResumeByTimer,
                // The packet that showed it a loss may be among the discarded ones.
                Some(1..) => Event::ResumeDiscarded,
                Some(0) | None if self.timer_has_ignored_progress(packet.time, ledger) => {
                    Event::ResumeByTimer
                }
                Some(0) | None => Event::ResumeTooSoon,
            };
            let event = match event {
                _ if self.timer_is_due(packet.time, ledger) => event,
                _ if overtaken_by(self.nak, packet, SLOWEST_NACK) => Event::ResumeAtNak,
                _ if overtaken_by(self.gap, packet, SLOWEST_NACK) => Event::ResumeAtGap,
                other => other,
            };
            return if crossing && event != Event::ResumeTooSoon { Event::ResumeCrossing } else { event };
        }
        if psn.is_after(una) {
            return Event::ResumeLate;
        }
        match self.window.past(psn) {
            // The acknowledgement may still be on its way.
            Past::Until(when) if packet.time - when <= ledger.known.times.ack_in_flight => {
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

    /// Event of a retransmission after an RNR NAK: the one that it requests, from its PSN, after its wait, or
    /// the same too soon. Too soon only if no timer explains it.
    fn rnr_explains(&self, packet: &Packet, ledger: &Ledger<'_>) -> Option<Event> {
        let rnr = self.rnr.filter(|rnr| rnr.pending > 0)?;
        let waited = packet.time - rnr.time;
        if rnr.psn != packet.psn {
            // Acknowledgements that were late or lost: what was refused has arrived after all, and what came behind it was
            // thrown away in silence; or the wait ends with what was missing before.
            let over = waited + ledger.known.times.timer_slack >= self.rnr_wait;
            let overtaken = (over || rnr.psn.is_before(packet.psn))
                && packet.psn == self.window.una()
                && waited <= self.rnr_wait + ledger.known.times.ack_in_flight
                && (over || !self.timer_is_due(packet.time, ledger));
            return overtaken.then_some(Event::ResumeAfterRnr);
        }
        if waited + ledger.known.times.timer_slack >= self.rnr_wait {
            return Some(Event::ResumeAfterRnr);
        }
        let too_soon = waited.times(100) < self.rnr_wait.times(RNR_WAIT_PERCENT);
        if too_soon
            && self.rnr_binds
            && packet.psn == self.window.una()
            && !self.timer_is_due(packet.time, ledger)
        {
            return (!self.may_not_have_heard_rnr(packet, ledger)).then_some(Event::ResumeDuringRnr);
        }
        (!self.timer_is_due(packet.time, ledger)).then_some(Event::ResumeAfterRnr)
    }

    /// Returns true if an RNR NAK may still be on its way while the requester retransmits for another reason.
    fn may_not_have_heard_rnr(&self, packet: &Packet, ledger: &Ledger<'_>) -> bool {
        self.may_have_expired_before(packet.time, ledger)
            || [self.nak, self.gap]
                .into_iter()
                .any(|cause| overtaken_by(cause, packet, ledger.known.times.ack_in_flight))
    }

    /// Returns true if the wait of an RNR NAK of the sent packet is not over: if the timer ran meanwhile and
    /// expired, the trace could not distinguish that from too short a wait.
    fn is_to_wait(&self, packet: &Packet) -> bool {
        self.rnr.is_some_and(|rnr| {
            rnr.pending > 0 && rnr.psn == packet.psn && packet.time - rnr.time < self.rnr_wait
        })
    }

    /// Returns true if the repeated packet may have waited in its NIC since before `then`: its requester has
    /// sent nothing since, and other connections have without a break.
    fn may_have_waited_in_its_nic(&self, then: Nanos, ledger: &Ledger<'_>) -> bool {
        self.last_sent <= then
            && ledger.shared_path.requests_flow_since <= then
            && ledger.shared_path.request_before > then
    }

    /// Returns true if an expired timer explains the retransmission better than yet another delivery of a
    /// cause that was acted on before: most requesters act on a cause once.
    fn timer_is_likelier(&self, cause: &Cause, now: Nanos, ledger: &Ledger<'_>) -> bool {
        match ledger.known.timeout {
            Some(_) => self.timer_is_due(now, ledger),
            None => now - cause.time > ledger.known.times.ack_in_flight,
        }
    }

    /// Returns true if the ACK timer can have expired at `now`: it is enabled, and the shortest time-out has
    /// passed since its earliest start. An expiry before the configured T is judged by its own rule.
    fn timer_may_have_expired(&self, now: Nanos, ledger: &Ledger<'_>) -> bool {
        let waited = self.window.waited_at_most(now);
        match ledger.known.timeout {
            Some(Timeout::Disabled) => false,
            Some(Timeout::Enabled(minimum)) if waited + ledger.known.times.timer_slack >= minimum => true,
            Some(Timeout::Enabled(_)) | None => waited >= SHORTEST_TIMEOUT,
        }
    }

    /// Returns true if a timer with the earliest possible start is due.
    pub(super) fn timer_is_due(&self, now: Nanos, ledger: &Ledger<'_>) -> bool {
        match ledger.known.timeout {
            Some(Timeout::Enabled(minimum)) => {
                self.window.waited_at_most(now) + ledger.known.times.timer_slack >= minimum
            }
            Some(Timeout::Disabled) | None => self.timer_may_have_expired(now, ledger),
        }
    }

    /// Returns true if a timer that progress does not restart would have expired by `now`.
    fn timer_has_ignored_progress(&self, now: Nanos, ledger: &Ledger<'_>) -> bool {
        let outstanding = now - self.window.outstanding_since();
        matches!(ledger.known.timeout, Some(Timeout::Enabled(minimum)) if outstanding + ledger.known.times.timer_slack >= minimum)
    }

    /// Returns true if no request of any connection has entered the switch for a while since this
    /// connection's last one. That points to an expired timer; a requester that repeats without a cause does
    /// so in its turn to send.
    fn was_silent(&self, ledger: &Ledger<'_>) -> bool {
        ledger.shared_path.requests_flow_since > self.last_sent
    }

    /// Judges an expiry against T and 4T, where the configuration says what T is. Returns the rule that it breaks.
    fn judge_timer(&self, packet: &Packet, ledger: &mut Ledger<'_>) -> Option<Rule> {
        let Some(Timeout::Enabled(minimum)) = ledger.known.timeout else { return None };
        let longest = self.window.waited_at_most(packet.time);
        let shortest = (packet.time
            - self.last_sent.max(self.window.last_progress()).max(self.rnr_resumed).max(self.last_covered))
        .min(longest);
        let maximum = minimum.times(LATEST_EXPIRY);
        let (rule, waited, limit) = if longest + ledger.known.times.timer_slack < minimum {
            (Rule::RtoBelowMinimum, longest, minimum)
        } else if shortest > maximum + ledger.known.times.timer_slack + ledger.shared_path.answers_queued() {
            (Rule::RtoAboveMaximum, shortest, maximum)
        } else {
            return None;
        };
        // The timer expired in time, before the progress that this seems to be too early after, or what it repeats waited
        // behind other connections' packets since before the latest expiry.
        let in_time = match rule {
            // Of what the requester threw away, something may have shown it a loss.
            Rule::RtoBelowMinimum => {
                self.expired_unseen.is_some()
                    || ledger.requester_discards.is_some_and(|discards| discards > 0)
            }
            _ => self.may_have_waited_in_its_nic(packet.time - shortest + maximum, ledger),
        };
        if in_time {
            return None;
        }
        let relative = ledger.relative(packet.psn);
        let [after, earliest_or_latest] = waited.apart(limit);
        let bound = if rule == Rule::RtoBelowMinimum { "sooner than T" } else { "later than 4T" };
        let what = format!("times out on PSN {relative} after {after}, {bound} ({earliest_or_latest})");
        let evidence =
            Evidence::packets([packet.sequence]).with_time("waited", waited).with_time("limit", limit);
        ledger.broken(Role::Requester, rule, self.state.name(), what, evidence);
        Some(rule)
    }
}

/// Returns true if the retransmission of `packet` may be for a cause that names an earlier PSN and was
/// delivered no longer than `within` ago: that PSN was acknowledged when the requester was about to repeat
/// it, and the packets that passed the switch since may not have arrived, or the requester is slow.
fn overtaken_by(cause: Option<Cause>, packet: &Packet, within: Nanos) -> bool {
    cause.is_some_and(|cause| {
        cause.pending > 0 && cause.psn.is_before(packet.psn) && packet.time - cause.time <= within
    })
}

/// Takes the lost packets that a return to `psn` repeats.
fn take_from(lost: &mut VecDeque<Lost>, psn: Psn) -> Vec<u32> {
    let taken = lost.iter().filter(|lost| !lost.psn.is_before(psn)).map(|lost| lost.sequence).collect();
    lost.retain(|lost| lost.psn.is_before(psn));
    taken
}
