//! Retransmissions from an earlier PSN: their cause, and the rules that they must keep.

use std::collections::VecDeque;

use dumper::wire::Class;
use dumper::{Nanos, Psn};

use super::cause::{Cause, Unheeded, overtaken_by};
use super::refusal::longest_on_its_way;
use super::{Gaps, Reissued, Requester};
use crate::anomaly::{Evidence, Role};
use crate::go_back_n::ledger::{Ledger, Lost};
use crate::go_back_n::packet::Packet;
use crate::go_back_n::tables::requester::Event;
use crate::go_back_n::window::Past;
use crate::retransmission::{Retransmission, Trigger};
use crate::rules::Rule;
use crate::thresholds::{ANSWER_PATIENCE, GAPS_WAITED_OUT, SLOWEST_NACK};

/// A retransmission from an earlier PSN, while its cause is looked for.
struct Return<'p> {
    packet: &'p Packet,
    /// Oldest unacknowledged PSN.
    una: Psn,
    event: Event,
    /// The timer is due, started as early as it can have been.
    timer_due: bool,
    /// The timer is due, or a NIC that breaks its rules may have an expiry.
    timer_possible: bool,
    entry: Retransmission,
}

/// Retry that a return certainly spends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Spent {
    /// None, or nobody can tell.
    Nothing,
    /// A transport retry, for a cause that exists since this time.
    Transport(Nanos),
    /// An RNR retry, for an RNR NAK that was delivered at this time.
    Rnr(Nanos),
}

impl Requester {
    /// The requester repeats from an earlier PSN than the one that was next.
    pub(super) fn goes_back(&mut self, packet: &Packet, lost: &mut VecDeque<Lost>, ledger: &mut Ledger<'_>) {
        let psn = packet.psn;
        let una = self.window.una();
        let mut event = self.classify_return(packet, ledger);
        self.count_gap(event, packet, ledger);
        let timer_due = self.timer_is_due(packet.time, ledger);
        let at_the_nak = self.unheeded.is_some_and(|nak| !psn.is_after(nak.psn));
        let mut ignored = None;
        if ledger.requester_discards == Some(0) && timer_due && at_the_nak {
            ignored = self.take_ignored_nak(packet, ledger);
            if ignored.is_some() {
                event = Event::ResumeIgnoringNak;
            }
        }
        let timer_possible = self.timer_may_have_expired(packet.time, ledger)
            || self.timer_has_ignored_progress(packet.time, ledger);
        let entry = Retransmission {
            connection: ledger.connection(),
            trigger: Trigger::None,
            from_psn: ledger.relative(psn),
            lost: take_from(lost, psn),
            out_of_order: None,
            nack: None,
            retransmission: Some(packet.sequence),
            generation_ns: None,
            generation_net_ns: None,
            reaction_ns: None,
            reaction_net_ns: None,
            timeout_ns: None,
            cause: None,
        };
        let mut seen = Return { packet, una, event, timer_due, timer_possible, entry };
        let spent = match event {
            Event::ResumeAtNak => self.acts_on_nak(&mut seen, ledger),
            Event::ResumeAtGap => self.acts_on_gap(&mut seen, ledger),
            Event::ResumeAfterRnr | Event::ResumeDuringRnr => self.acts_on_rnr(&mut seen, ledger),
            Event::ResumeByTimer
            | Event::ResumeUnheard
            | Event::ResumeDiscarded
            | Event::ResumeIgnoringNak
            | Event::ResumeIgnoringGap => self.acts_on_timer(&mut seen, ledger),
            Event::ResumeAnswered => {
                // How long the timer ran nobody can tell: what was acknowledged has started it again.
                seen.entry.trigger = Trigger::Timeout;
                ledger.counts.timeouts += 1;
                self.budget.may_spend();
                Spent::Nothing
            }
            _ => {
                self.budget.may_spend();
                Spent::Nothing
            }
        };
        if psn == una {
            self.judge_budget(packet, spent, ledger);
        } else if psn.is_before(una) {
            self.budget.progress_is_on_its_way();
        }
        if !matches!(event, Event::ResumeAfterRnr | Event::ResumeDuringRnr) {
            self.consume_rnr(psn, packet.time, ledger);
        }
        self.copied = None;
        Cause::returned_to(&mut self.nak, psn);
        Cause::returned_to(&mut self.rnr, psn);
        self.reissues(packet, &mut seen.entry, ledger);
        // A retransmission for a received NAK leaves an expiry to be acted on, or to have been.
        self.expired_unseen = self.expired_unseen.filter(|_| event != Event::ResumeByTimer);
        ledger.retransmissions.push(seen.entry);
        self.step_back(packet, event, una, ignored, ledger);
    }

    fn acts_on_nak(&mut self, seen: &mut Return<'_>, ledger: &mut Ledger<'_>) -> Spent {
        let Return { packet, entry, .. } = seen;
        ledger.counts.possible_timeouts += u64::from(seen.timer_possible);
        let nak = Cause::act(&mut self.nak);
        if seen.timer_due {
            self.budget.may_spend();
        }
        entry.trigger = Trigger::Fast;
        entry.nack = Some(nak.latest_round.sequence);
        // A NAK of a PSN that is acknowledged meanwhile may not be the one that it acts on. Behind an unanswered Read it was an
        // implied NAK too, which takes as long as those take.
        let implied = self.gap.is_some_and(|gap| gap.pending > 0);
        entry.reaction_ns = (nak.psn == packet.psn && !implied).then(|| packet.time - nak.latest_round.time);
        if let Some(cause) = self.nak_cause.filter(|cause| cause.psn == packet.psn) {
            entry.out_of_order = Some(cause.out_of_order);
            entry.generation_ns = Some(cause.generation);
        }
        // In an RNR wait nothing is sent, and the requester may then go on from the PSN that the NAK names.
        let is_refused = self.rnr.is_some_and(|rnr| rnr.pending > 0 && rnr.psn == packet.psn);
        // Where Read responses were discarded behind the switch, it may act on an implied NAK of an earlier PSN.
        let may_be_implied = self.window.has_sent_reads() && ledger.requester_has_discarded();
        match nak.acted || nak.time < self.rnr_until || is_refused || may_be_implied {
            true => Spent::Nothing,
            false => Spent::Transport(nak.time),
        }
    }

    fn acts_on_gap(&mut self, seen: &mut Return<'_>, ledger: &mut Ledger<'_>) -> Spent {
        let Return { packet, entry, timer_due, .. } = seen;
        ledger.counts.possible_timeouts += u64::from(seen.timer_possible);
        if !*timer_due && self.gap.is_some_and(|gap| !gap.acted) {
            ledger.counts.implied_naks += 1;
            ledger.counts.possible_implied_naks -= 1;
        }
        let gap = Cause::act(&mut self.gap);
        // Its first delivery was paid for on arrival.
        for _ in 0..u32::from(*timer_due) + u32::from(gap.acted) {
            self.budget.may_spend();
        }
        entry.trigger = Trigger::Fast;
        entry.out_of_order = Some(gap.latest_round.sequence);
        // A Read that was issued again before may now be repeated by the timer alone.
        let by_timer = *timer_due && !self.window.was_sent_once(packet.psn);
        entry.generation_ns =
            (gap.psn == packet.psn && !by_timer).then(|| packet.time - gap.latest_round.time);
        if gap.acted { Spent::Nothing } else { Spent::Transport(gap.time) }
    }

    fn acts_on_rnr(&mut self, seen: &mut Return<'_>, ledger: &mut Ledger<'_>) -> Spent {
        let Return { packet, entry, .. } = seen;
        let rnr = self.rnr.expect("the event says that an RNR NAK was delivered");
        entry.trigger = Trigger::Rnr;
        entry.nack = Some(rnr.latest_round.sequence);
        entry.reaction_ns = Some(packet.time - rnr.latest_round.time);
        self.rnr_resumed = packet.time;
        let expired = seen.timer_due && self.may_have_expired_before_rnr(&rnr, ledger);
        if expired {
            ledger.counts.possible_timeouts += 1;
            self.budget.may_spend();
        }
        // Of several RNR NAKs on their way nobody can say which one it acts on, nor whether it acts on one at all
        // where there is something else to act on.
        let alone = rnr.pending == 1 && !self.may_not_have_heard_rnr(packet, ledger);
        if let Some(rnr) = &mut self.rnr {
            rnr.consume(packet.time, ledger.known.times.ack_in_flight);
        }
        // A requester that has waited has received the NAKs that came meanwhile.
        let arrived = packet.time - longest_on_its_way(ledger);
        Cause::settle(&mut self.nak, rnr.psn, arrived);
        Cause::settle(&mut self.gap, rnr.psn, arrived);
        if rnr.psn == packet.psn && !expired {
            // The timer starts again when the wait is over.
            self.restart_timer(packet.time.min(rnr.time + self.rnr_wait), ledger);
        }
        if !expired && alone && self.rnr_binds { Spent::Rnr(rnr.time) } else { Spent::Nothing }
    }

    fn acts_on_timer(&mut self, seen: &mut Return<'_>, ledger: &mut Ledger<'_>) -> Spent {
        let Return { packet, una, event, entry, .. } = seen;
        let (psn, una) = (packet.psn, *una);
        // Without a timer to explain it the retransmission has no known cause: an answer that was discarded
        // behind the switch may have been one.
        let by_timer =
            matches!(event, Event::ResumeByTimer | Event::ResumeIgnoringNak | Event::ResumeIgnoringGap);
        // A timer that progress does not restart is on whenever something is outstanding: with several messages at a time nearly always.
        let may_ignore_progress = || self.timer_has_ignored_progress(packet.time, ledger);
        if (by_timer && psn == una) || seen.timer_due || (self.was_silent(ledger) && may_ignore_progress()) {
            entry.trigger = Trigger::Timeout;
            entry.timeout_ns = Some(self.window.waited_at_least(packet.time));
        }
        self.budget.may_spend();
        // No timer explains it: a response may have been missing that the trace shows.
        if !seen.timer_possible && packet.opcode.class() == Class::ReadRequest {
            ledger.counts.possible_implied_naks += 1;
        }
        // A NAK may have been acted on late, or again.
        let pending = |cause: Option<Cause>| {
            cause.is_some_and(|cause| {
                cause.pending > 0
                    && (cause.psn == psn || packet.time - cause.time <= ledger.known.times.ack_in_flight)
            })
        };
        if pending(self.gap) {
            // After the expiry, a response still on its way beyond the gap is an implied NAK once more.
            self.budget.may_spend();
        }
        let waits = self.is_to_wait(packet);
        let other_cause = pending(self.nak) || pending(self.gap);
        if psn != una || waits || other_cause {
            ledger.counts.possible_timeouts += 1;
        } else {
            ledger.counts.timeouts += 1;
        }
        let judged = psn == una || *event == Event::ResumeDiscarded;
        let broken = if judged && !waits { self.judge_timer(packet, ledger) } else { None };
        let expired =
            (seen.timer_due || broken == Some(Rule::RtoBelowMinimum)) && by_timer && self.was_silent(ledger);
        if expired && psn == una && !waits && !other_cause {
            // It expired no later than its host began to send again.
            self.restart_timer(packet.time.min(ledger.shared_path.requests_flow_since), ledger);
        }
        if expired { Spent::Transport(packet.time) } else { Spent::Nothing }
    }

    /// Judges a retry against the configured budget.
    fn judge_budget(&mut self, packet: &Packet, spent: Spent, ledger: &mut Ledger<'_>) {
        let (rule, name, most) = match spent {
            Spent::Nothing => return,
            Spent::Transport(since) => (Rule::RetriesBeyondBudget, "retry-cnt", self.budget.retried(since)),
            Spent::Rnr(since) => {
                (Rule::RnrRetriesBeyondBudget, "rnr-retry", self.budget.retried_after_rnr(since))
            }
        };
        let Some(most) = most else { return };
        let relative = ledger.relative(packet.psn);
        let what = format!("retransmits from PSN {relative} more than {most} times without progress");
        let evidence = Evidence::packets([packet.sequence])
            .with_number(name, u64::from(most))
            .with_number("retries", u64::from(most) + 1);
        ledger.broken(Role::Requester, rule, self.state.name(), what, evidence);
    }

    /// Notes a Read that is issued again: the response that the new request brings is its retransmission.
    fn reissues(&mut self, packet: &Packet, entry: &mut Retransmission, ledger: &Ledger<'_>) {
        // Answers now come for this request, not for an earlier one.
        self.reissued = None;
        if packet.opcode.class() == Class::ReadRequest
            && matches!(entry.trigger, Trigger::Fast | Trigger::Timeout)
        {
            let (psn, time) = (packet.psn, packet.time);
            self.reissued = Some(Reissued { psn, time, entry: ledger.retransmissions.len() });
            if entry.nack.is_none() {
                entry.nack = Some(packet.sequence);
                entry.retransmission = None;
            }
        }
    }

    /// The step of the machine, and the words for what it breaks.
    fn step_back(
        &mut self,
        packet: &Packet,
        event: Event,
        una: Psn,
        ignored: Option<Unheeded>,
        ledger: &mut Ledger<'_>,
    ) {
        let relative = ledger.relative(packet.psn);
        let rnr_wait = self.rnr_wait;
        // What acknowledged the NAKed PSN was on its way when the requester left it out.
        let left_out = self.nak.filter(|_| event == Event::ResumeLate && packet.psn.is_before(una));
        let oldest = ledger.relative(left_out.map_or(una, |nak| nak.psn));
        let waited = self.window.waited_at_most(packet.time);
        let has_failed = self.failed.is_some();
        self.step(event, packet, ledger, || match event {
            Event::ResumeUnheard => {
                format!("retransmits from PSN {relative} although the ACK of that PSN left the switch intact")
            }
            Event::ResumeTooSoon => {
                format!("retransmits from PSN {relative} without a NAK {waited} after the ACK timer could start")
            }
            Event::ResumeIgnoringNak => {
                let nak = ignored.map_or(0, |nak| nak.sequence);
                format!("retransmits from PSN {relative} when the ACK timer expires, not after the NAK in packet {nak}")
            }
            Event::ResumeIgnoringGap => format!(
                "ignores the gap at PSN {relative} of a Read response until the ACK timer expires"
            ),
            Event::ResumeDuringRnr => {
                format!("retransmits from PSN {relative} before the {rnr_wait} of the RNR NAK are over")
            }
            _ if has_failed => format!("retransmits from PSN {relative} after a NAK that ends the QP"),
            _ => format!("retransmits from PSN {relative} instead of PSN {oldest}, the oldest unacknowledged"),
        });
    }

    /// Event of a retransmission from an earlier PSN.
    fn classify_return(&self, packet: &Packet, ledger: &Ledger<'_>) -> Event {
        let psn = packet.psn;
        let crossing = self.failed.is_some_and(|failed| packet.time - failed <= ledger.ack_in_flight());
        let is = |cause: Option<Cause>| {
            cause.is_some_and(|cause| {
                cause.psn == psn
                    && cause.pending > 0
                    // Acknowledged since; but the acknowledgement may be behind it on the way.
                    && (!psn.is_before(self.window.una()) || packet.time - cause.time <= ledger.ack_in_flight())
                    && !(cause.acted && self.timer_is_likelier(&cause, packet.time, ledger))
            })
        };
        let heard = if self.has_waited_for_receiver(packet, [self.nak, self.gap], ledger) {
            self.rnr_explains(packet, ledger)
        } else if is(self.nak) {
            Some(Event::ResumeAtNak)
        } else if let Some(gap) = self.gap.filter(|gap| is(Some(*gap))) {
            Some(self.classify_reissue(&gap, packet, ledger))
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
            Past::Until(when) if packet.time - when <= ledger.ack_in_flight() => {
                if crossing {
                    Event::ResumeCrossing
                } else {
                    Event::ResumeByTimer
                }
            }
            Past::Until(_) => match ledger.requester_discards {
                None => Event::ResumeUnheard,
                Some(0) if self.would_expire_unanswered(packet.time, ledger) => Event::ResumeAnswered,
                Some(0) => Event::ResumeEarly,
                Some(_) => Event::ResumeDiscarded,
            },
            // The NAK of a PSN before it asked for that, and what acknowledged it was on its way.
            Past::Never if overtaken_by(self.nak, packet, SLOWEST_NACK) => Event::ResumeLate,
            Past::Never => Event::ResumeEarly,
        }
    }

    /// Event of a Read that is issued again from a missing response: for the response beyond it, or by the timer alone.
    fn classify_reissue(&self, gap: &Cause, packet: &Packet, ledger: &Ledger<'_>) -> Event {
        let Gaps { acted_on, waited_out } = self.gaps;
        let is_usual = waited_out + 1 >= GAPS_WAITED_OUT && waited_out >= acted_on;
        if is_usual && self.leaves_gap(gap, packet, ledger) {
            Event::ResumeIgnoringGap
        } else if !self.waits_out_gap(gap, packet, ledger) {
            Event::ResumeAtGap
        } else if self.has_heard(gap, packet, ledger.known.times.answer_patience, ledger) {
            Event::ResumeIgnoringGap
        } else {
            Event::ResumeByTimer
        }
    }

    /// Counts a gap by what made the requester issue the Read again.
    fn count_gap(&mut self, event: Event, packet: &Packet, ledger: &Ledger<'_>) {
        let Some(gap) = self.gap.filter(|gap| gap.psn == packet.psn && gap.pending > 0) else { return };
        if self.leaves_gap(&gap, packet, ledger) {
            self.gaps.waited_out += 1;
        } else if event == Event::ResumeAtGap {
            self.gaps.acted_on += 1;
        }
    }

    /// Returns true if the requester leaves a gap to its timer, and does not act on it late.
    fn leaves_gap(&self, gap: &Cause, packet: &Packet, ledger: &Ledger<'_>) -> bool {
        self.acts_at_t(gap, packet, ledger) && self.has_heard(gap, packet, ANSWER_PATIENCE, ledger)
    }

    /// Returns true if the requester has had a response beyond a gap for so long: it was not discarded, and has not arrived just now,
    /// and the Read did not wait behind packets of other connections.
    fn has_heard(&self, gap: &Cause, packet: &Packet, patience: Nanos, ledger: &Ledger<'_>) -> bool {
        ledger.requester_discards == Some(0)
            && self.failed.is_none()
            && packet.time - gap.time >= patience
            && !self.may_have_waited_in_its_nic(gap.time + patience, ledger)
    }
}

/// Takes the lost packets that a return to `psn` repeats.
fn take_from(lost: &mut VecDeque<Lost>, psn: Psn) -> Vec<u32> {
    let taken = lost.iter().filter(|lost| !lost.psn.is_before(psn)).map(|lost| lost.sequence).collect();
    lost.retain(|lost| lost.psn.is_before(psn));
    taken
}
