//! Reactions of a requester to losses: NAKs, implied NAKs, RNR NAKs, time-outs.

use corpus::Verb;
use dumper::Nanos;
use dumper::observation::CompletionStatus;
use dumper::timers::rnr_wait;

use super::requester::Requester;
use crate::sim::nic::context::{Context, Job};
use crate::sim::nic::stats::Stat;

/// An RNR retry budget that is never spent (IBA vol. 1, 9.7.5.2.8).
const UNLIMITED: u8 = 7;

impl Requester {
    /// Spends a retry; false if the budget was spent, and the QP has failed.
    fn spend_retry(&mut self, cx: &mut Context<'_>) -> bool {
        let extra = self.timers.extra_retries(cx) as i32;
        let budget = i32::from(cx.attributes.retry_cnt) + extra + cx.quirks.retry_offset;
        if self.timers.retries as i32 >= budget {
            cx.count(Stat::RetriesExhausted);
            self.fail(CompletionStatus::RetryExceeded, cx);
            return false;
        }
        self.timers.retries += 1;
        true
    }

    /// A sequence NAK for an offset that is now the oldest one, or behind an unanswered Read.
    pub(super) fn on_nak(&mut self, offset: u32, cx: &mut Context<'_>) {
        if self.selective().is_some() {
            return self.on_nak_selective(offset, cx);
        }
        if self.recovery.oldest() < offset {
            self.imply_nak(offset, cx);
            return;
        }
        let target = offset.saturating_add_signed(cx.quirks.resume_offset).min(self.recovery.sent() - 1);
        // A copy of a NAK that is being answered asks for nothing more.
        let pending = self.losses.pending == Some(target);
        let under_way = pending || self.recovery.cursor() == target;
        if under_way && cx.quirks.nak_copy_spends_retry {
            self.spend_retry(cx);
        }
        if under_way || cx.quirks.nak_ignored || !self.spend_retry(cx) {
            return;
        }
        self.losses.discarded = self.recovery.sent();
        let verb = self.work.front().map_or(Verb::Write, |request| request.verb);
        let latency = cx.draw(*cx.profile.retransmission.nack_reaction_ns.of(verb));
        self.recover(target, latency, cx);
    }

    /// A response or acknowledgement, at an offset, beyond the next response of an unanswered Read: the Read
    /// is asked for again from there, once for each missing response.
    pub(super) fn imply_nak(&mut self, offset: u32, cx: &mut Context<'_>) {
        self.losses.discarded = self.losses.discarded.max(offset + 1);
        if cx.quirks.implied_nak_ignored || self.losses.implied == Some(self.recovery.oldest()) {
            return;
        }
        self.losses.implied = Some(self.recovery.oldest());
        cx.count(Stat::ImpliedNaks);
        if self.spend_retry(cx) {
            let latency = cx.nack_generation(Verb::Read);
            self.recover(self.recovery.oldest(), latency, cx);
        }
    }

    /// Retransmits after a latency, or when a pending answer is due, if that is earlier: a NAK does not wait
    /// for a Read that is slow to be requested again.
    fn recover(&mut self, offset: u32, latency: Nanos, cx: &mut Context<'_>) {
        self.losses.pending = Some(offset);
        let due = cx.now + latency;
        if cx.agenda.expiry(self.losses.recover).is_none_or(|sooner| due < sooner) {
            cx.agenda.set(&mut self.losses.recover, due, Job::Recover(cx.qp));
        }
    }

    /// The answer to a NACK is due.
    pub(in crate::sim::nic) fn on_recover(&mut self, cx: &mut Context<'_>) {
        let sends_again =
            if self.selective().is_some() { self.on_repeats_due(cx) } else { self.go_back_for_nack(cx) };
        if sends_again && cx.profile.timeout.restart_on_nak {
            // It starts with the repeated packet.
            self.timers.stop(cx);
        }
    }

    /// Goes back to the packet that a NACK has asked for; false if there is no need any more.
    fn go_back_for_nack(&mut self, cx: &Context<'_>) -> bool {
        let offset = self.losses.pending.take().expect("its timer is stopped when nothing is pending");
        // The missing packet may have come meanwhile, but not those discarded behind it.
        let missing = self.recovery.oldest().saturating_add_signed(cx.quirks.resume_offset.min(0));
        if offset < missing && self.losses.discarded <= self.recovery.oldest() {
            return false;
        }
        self.send_again(offset.max(missing));
        true
    }

    /// An RNR NAK for an offset that is now the oldest one, or behind an unanswered Read, which is then missing first.
    pub(super) fn on_rnr_nak(&mut self, offset: u32, timer: u8, cx: &mut Context<'_>) {
        if self.recovery.oldest() < offset && self.selective().is_none() {
            self.imply_nak(offset, cx);
            return;
        }
        if self.losses.refused == Some(offset) {
            // A copy: the requester waits already.
            return;
        }
        let budget = i32::from(cx.attributes.rnr_retry) + cx.quirks.rnr_retry_offset;
        if cx.attributes.rnr_retry != UNLIMITED && self.timers.rnr_retries as i32 >= budget {
            cx.count(Stat::RnrRetriesExhausted);
            self.fail(CompletionStatus::RnrRetryExceeded, cx);
            return;
        }
        self.timers.rnr_retries += 1;
        self.forget_nacks(cx);
        self.timers.stop(cx);
        self.send_again(offset);
        let percent = 100 - u64::from(cx.quirks.rnr_wait_short_percent.min(100));
        let until = cx.now + Nanos(rnr_wait(timer).0 * percent / 100);
        self.losses.refused = Some(offset);
        cx.agenda.set(&mut self.losses.rnr, until, Job::RnrOver(cx.qp));
    }

    /// An RNR wait is over.
    pub(in crate::sim::nic) const fn on_rnr_over(&mut self) {
        self.losses.refused = None;
    }

    /// The ACK timer has expired.
    pub(super) fn on_timeout(&mut self, cx: &mut Context<'_>) {
        cx.count(Stat::Timeouts);
        self.timers.expiries += 1;
        self.forget_nacks(cx);
        self.losses.implied = None;
        if self.spend_retry(cx) {
            self.send_again(self.recovery.oldest());
        }
    }

    /// Everything is sent again from the oldest packet on: what NACKs have asked for need not be repeated too. With selective repeat only that
    /// packet is, and the others stay to be repeated.
    fn forget_nacks(&mut self, cx: &mut Context<'_>) {
        if self.selective().is_none() {
            self.losses.stop_recovery(cx);
        }
    }
}
