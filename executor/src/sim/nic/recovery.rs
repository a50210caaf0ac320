//! What a requester does about losses: ACK timer, retry budgets, NAKs, implied NAKs, RNR waits.

use corpus::Verb;
use dumper::Nanos;
use dumper::observation::CompletionStatus;

use super::context::{Context, Job};
use super::requester::{Requester, rnr_wait};
use super::stats::Stat;
use crate::sim::random;

/// Unit of the ACK timeout: T = 4.096 µs x 2^timeout (IBA vol. 1, 9.7.6.1.3). In nanoseconds.
const TIMEOUT_UNIT_NS: u64 = 4_096;

/// An RNR retry budget that is never spent (IBA vol. 1, 9.7.5.2.8).
const UNLIMITED: u8 = 7;

/// Timers and budgets of a requester.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// When the ACK timer expires, while it runs.
    deadline: Option<Nanos>,
    /// The earliest look at the timer that the agenda holds.
    look_at: Option<Nanos>,
    /// Expiries since the last progress.
    expiries: u32,
    /// Retries spent since the last progress.
    retries: u32,
    /// RNR retries spent since the last progress.
    rnr_retries: u32,
    /// Where a pending answer to a NACK will go back to.
    pending: Option<u32>,
    /// The missing response that an implied NAK was found for.
    implied: Option<u32>,
    /// Offset after the last packet that the other end, or of answers this one, threw away behind a missing one.
    thrown_away: u32,
    /// The offset that an RNR NAK refused, and when the wait that it asked for is over.
    refused: Option<(u32, Nanos)>,
}

impl Recovery {
    /// Whether an RNR NAK forbids to send.
    #[inline]
    pub(super) const fn waits_for_receiver(&self) -> bool {
        self.refused.is_some()
    }

    /// A packet was sent: the timer starts unless it runs.
    #[inline]
    pub(super) fn sent(&mut self, cx: &mut Context<'_>) {
        if self.deadline.is_none() {
            self.start_timer(cx);
        }
    }

    /// The oldest unacknowledged offset has moved: budgets are refilled, the timer starts again if something is
    /// outstanding.
    pub(super) fn progress(&mut self, oldest: u32, outstanding: bool, cx: &mut Context<'_>) {
        (self.retries, self.rnr_retries, self.expiries) = (0, 0, 0);
        if self.implied.is_some_and(|missing| missing < oldest) {
            self.implied = None;
        }
        if !outstanding {
            self.deadline = None;
        } else if !cx.profile.quirks.timer_ignores_progress {
            self.start_timer(cx);
        }
    }

    /// The QP has failed.
    pub(super) const fn stop(&mut self) {
        self.deadline = None;
        self.pending = None;
        self.refused = None;
    }

    fn start_timer(&mut self, cx: &mut Context<'_>) {
        if cx.attributes.timeout == 0 {
            return;
        }
        let timeout = &cx.profile.timeout;
        let span = if self.expiries == 0 { timeout.first } else { timeout.further };
        let t = TIMEOUT_UNIT_NS << cx.attributes.timeout;
        let wait = t as f64 * random::draw_factor(span, cx.rng);
        let deadline = cx.now + Nanos(wait as u64);
        self.deadline = Some(deadline);
        // One look in the agenda serves until it comes, however often the timer starts again before.
        if self.look_at.is_none_or(|look| deadline < look) {
            self.look_at = Some(deadline);
            cx.agenda.note(deadline, Job::AckTimer(cx.qp));
        }
    }

    /// Whether the timer has expired, at a look at it.
    pub(super) fn timer_expired(&mut self, cx: &mut Context<'_>) -> bool {
        if self.look_at != Some(cx.now) {
            return false;
        }
        self.look_at = None;
        match self.deadline {
            Some(deadline) if deadline <= cx.now => {
                self.deadline = None;
                true
            }
            Some(deadline) => {
                self.look_at = Some(deadline);
                cx.agenda.note(deadline, Job::AckTimer(cx.qp));
                false
            }
            None => false,
        }
    }
}

impl Requester {
    /// Spends a retry; false if the budget was spent, and the QP has failed.
    fn spend_retry(&mut self, cx: &mut Context<'_>) -> bool {
        let budget = i32::from(cx.attributes.retry_cnt) + cx.profile.quirks.retry_offset;
        if self.recovery.retries as i32 >= budget {
            cx.count(Stat::RetriesExhausted);
            self.fail(CompletionStatus::RetryExceeded, cx);
            return false;
        }
        self.recovery.retries += 1;
        true
    }

    /// A sequence NAK for an offset that is now the oldest one, or behind an unanswered Read.
    pub(super) fn on_nak(&mut self, offset: u32, cx: &mut Context<'_>) {
        if self.oldest < offset {
            self.imply_nak(offset, cx);
            return;
        }
        let target = offset.saturating_add_signed(cx.profile.quirks.resume_offset).min(self.sent - 1);
        // A copy of a NAK that is being answered asks for nothing more.
        let under_way = self.recovery.pending == Some(target) || self.cursor == target;
        if under_way || cx.profile.quirks.nak_ignored || !self.spend_retry(cx) {
            return;
        }
        self.recovery.thrown_away = self.sent;
        let verb = self.work.front().map_or(Verb::Write, |request| request.verb);
        let latency = cx.draw(*cx.profile.retransmission.nack_reaction_ns.of(verb));
        self.recover(target, latency, cx);
    }

    /// A response or acknowledgement, at an offset, beyond the next response of an unanswered Read: the Read is asked for
    /// again from there, once for each missing response.
    pub(super) fn imply_nak(&mut self, offset: u32, cx: &mut Context<'_>) {
        self.recovery.thrown_away = self.recovery.thrown_away.max(offset + 1);
        if self.recovery.implied == Some(self.oldest) {
            return;
        }
        self.recovery.implied = Some(self.oldest);
        cx.count(Stat::ImpliedNaks);
        if self.spend_retry(cx) {
            let latency = cx.nack_generation(Verb::Read);
            self.recover(self.oldest, latency, cx);
        }
    }

    fn recover(&mut self, offset: u32, latency: Nanos, cx: &mut Context<'_>) {
        if self.recovery.pending.replace(offset).is_none() {
            cx.agenda.note(cx.now + latency, Job::Recover(cx.qp));
        }
    }

    /// The answer to a NACK is due.
    pub(super) fn on_recover(&mut self, cx: &mut Context<'_>) {
        let Some(offset) = self.recovery.pending.take() else { return };
        // What was missing may have come meanwhile, but not what was thrown away behind it.
        let missing = self.oldest.saturating_add_signed(cx.profile.quirks.resume_offset.min(0));
        if offset < missing && self.recovery.thrown_away <= self.oldest {
            return;
        }
        self.go_back(offset.max(missing));
        if cx.profile.timeout.restart_on_nak {
            // It starts with the repeated packet.
            self.recovery.deadline = None;
        }
    }

    /// An RNR NAK for an offset that is now the oldest one, or behind an unanswered Read, which is then missing first.
    pub(super) fn on_rnr_nak(&mut self, offset: u32, timer: u8, cx: &mut Context<'_>) {
        if self.oldest < offset {
            self.imply_nak(offset, cx);
            return;
        }
        if self.recovery.refused.is_some_and(|(refused, _)| refused == offset) {
            // A copy: the requester waits already.
            return;
        }
        let budget = i32::from(cx.attributes.rnr_retry) + cx.profile.quirks.rnr_retry_offset;
        if cx.attributes.rnr_retry != UNLIMITED && self.recovery.rnr_retries as i32 >= budget {
            cx.count(Stat::RnrRetriesExhausted);
            self.fail(CompletionStatus::RnrRetryExceeded, cx);
            return;
        }
        self.recovery.rnr_retries += 1;
        self.recovery.pending = None;
        self.recovery.deadline = None;
        self.go_back(self.oldest);
        let percent = 100 - u64::from(cx.profile.quirks.rnr_wait_short_percent.min(100));
        let until = cx.now + Nanos(rnr_wait(timer).0 * percent / 100);
        self.recovery.refused = Some((offset, until));
        cx.agenda.note(until, Job::RnrOver(cx.qp));
    }

    /// An RNR wait may be over.
    pub(super) fn on_rnr_over(&mut self, cx: &Context<'_>) {
        if self.recovery.refused.is_some_and(|(_, until)| until <= cx.now) {
            self.recovery.refused = None;
        }
    }

    /// The ACK timer has expired.
    pub(super) fn on_timeout(&mut self, cx: &mut Context<'_>) {
        cx.count(Stat::Timeouts);
        self.recovery.expiries += 1;
        self.recovery.pending = None;
        self.recovery.implied = None;
        if self.spend_retry(cx) {
            self.go_back(self.oldest);
        }
    }
}
