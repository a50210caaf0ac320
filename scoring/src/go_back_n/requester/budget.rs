//! Retry budgets: retries that a requester spends between two moments of progress, as far as the switch can
//! tell.

use dumper::Nanos;

use crate::go_back_n::belief::Belief;
use crate::known::{Known, RnrRetries};

/// Retries spent of both budgets: at least those that were certainly made, at most all that can have been made, but for one
/// that ends the QP and sends nothing.
#[derive(Clone, Copy, Debug)]
struct Retries {
    transport: Belief<u32>,
    rnr: Belief<u32>,
}

impl Retries {
    const NONE: Self = Self { transport: Belief::certain(0), rnr: Belief::certain(0) };

    /// As many of these may have been spent as of others.
    fn may_reach(&mut self, other: Self) {
        self.transport.may_reach(other.transport.most());
        self.rnr.may_reach(other.rnr.most());
    }
}

/// The two budgets of a requester: one for time-outs, sequence NAKs and implied NAKs, one for RNR NAKs (IBA vol. 1,
/// 9.7.6.1.3 and 9.7.5.2.8). Progress refills both.
#[derive(Debug)]
pub(super) struct Budget {
    ack_in_flight: Nanos,
    transport: Option<u32>,
    rnr: Option<RnrRetries>,
    /// Spent since the last progress.
    now: Retries,
    /// The most that was spent at one of the moments of progress that it may not have received when it last sent.
    before: Retries,
    /// The same, but for moments before which it had no reason to end.
    ended_before: Retries,
    progressed: Nanos,
    /// True if the cause of the retransmission may have been there before the last progress, and its retry
    /// was spent then.
    paid_before: bool,
    /// Either budget was, or may have been, spent at some time.
    exhausted: bool,
}

impl Budget {
    pub(super) fn of(known: &Known, now: Nanos) -> Self {
        Self {
            ack_in_flight: known.times.ack_in_flight,
            transport: known.retries,
            rnr: known.rnr_retries,
            now: Retries::NONE,
            before: Retries::NONE,
            ended_before: Retries::NONE,
            progressed: now,
            paid_before: false,
            // Expiries of a timer that is too short to be seen may have spent it.
            exhausted: known.retries == Some(0) || !known.timer_shows(),
        }
    }

    /// Returns true if either budget was, or may have been, exhausted at some time.
    pub(super) const fn exhausted(&self) -> bool {
        self.exhausted
    }

    /// A transport retry may have been spent.
    pub(super) fn may_spend(&mut self) {
        // It may be another one of before the last progress, as that is still on its way.
        for spent in [&mut self.now.transport, &mut self.before.transport] {
            spent.may_reach(spent.most() + 1);
        }
        self.exhausted |= self.transport.is_some_and(|most| self.now.transport.most() >= most);
    }

    /// The requester has retransmitted from before the last progress, which it had not received: with the retries of before
    /// spent, the next expiry ends the QP, and sends nothing.
    pub(super) fn progress_is_on_its_way(&mut self) {
        self.ended_before.may_reach(self.before);
    }

    /// An RNR NAK was delivered.
    pub(super) fn refused(&mut self) {
        for spent in [&mut self.now.rnr, &mut self.before.rnr] {
            spent.may_reach(spent.most() + 1);
        }
        let limit = self.rnr.and_then(RnrRetries::limit);
        self.exhausted |= limit.is_some_and(|most| self.now.rnr.most() > most);
    }

    /// The requester has retransmitted for a NAK, an implied NAK or a time-out that has been there since a
    /// moment: the retry for one from before the last progress was spent then, whatever else was. Returns the
    /// budget, if this is the first retry beyond it.
    pub(super) fn retried(&mut self, since: Nanos) -> Option<u32> {
        let paid_before = std::mem::take(&mut self.paid_before) || since < self.progressed;
        if paid_before {
            return None;
        }
        self.now.transport.is_at_least(self.now.transport.least() + 1);
        self.transport.filter(|most| self.now.transport.least() == most + 1)
    }

    /// The requester has retransmitted for an RNR NAK that was delivered at a moment: the retry for one from before the last
    /// progress was spent then. Returns the budget, if this is the first retry beyond it.
    pub(super) fn retried_after_rnr(&mut self, since: Nanos) -> Option<u32> {
        if since < self.progressed {
            return None;
        }
        self.now.rnr.is_at_least(self.now.rnr.least() + 1);
        self.rnr.and_then(RnrRetries::limit).filter(|most| self.now.rnr.least() == most + 1)
    }

    /// The window has moved, and the last packet was sent at `last_sent`; `paid_before` if a cause of a
    /// retransmission may be there whose retry was spent before, `may_have_ended` if the requester may have had a reason to
    /// end before it received the progress.
    pub(super) fn progress(&mut self, now: Nanos, last_sent: Nanos, paid_before: bool, may_have_ended: bool) {
        if self.lived_on(last_sent) {
            (self.before, self.ended_before) = (Retries::NONE, Retries::NONE);
        }
        self.before.may_reach(self.now);
        // One more retry than the budget has ends the QP, and sends nothing.
        let overspent = self.transport.is_some_and(|most| self.now.transport.most() > most);
        if may_have_ended || overspent {
            self.ended_before.may_reach(self.now);
        }
        self.now = Retries::NONE;
        self.progressed = now;
        self.paid_before = paid_before;
    }

    /// Returns true if a requester that last sent at `last_sent` had not ended before it received the last
    /// progress. A requester that has ended is silent, and its responder may still answer packets on their
    /// way.
    fn lived_on(&self, last_sent: Nanos) -> bool {
        last_sent > self.progressed + self.ack_in_flight
    }

    /// The most that can have been spent of the transport and of the RNR budget when the requester gave up, having
    /// sent its last packet at `last_sent`, if everything reached it that left the switch. So many of the NAKs since the last
    /// progress have spent no transport retry: the last one, if it ended the QP, or copies.
    pub(super) fn spent_at_most(&self, last_sent: Nanos, unspent: u32) -> [u32; 2] {
        let mut since_progress = self.now;
        since_progress.transport.is_at_most(self.now.transport.most().saturating_sub(unspent));
        self.or(since_progress, self.ended_before, last_sent).map(|spent| spent.most())
    }

    /// Transport and RNR retries spent when the requester sent its last packet, at `last_sent`.
    pub(super) fn spent(&self, last_sent: Nanos) -> [Belief<u32>; 2] {
        self.or(self.now, self.before, last_sent)
    }

    /// Retries since the last progress, or those before it, which a requester that last sent at `last_sent` may not have
    /// received by then.
    fn or(&self, mut spent: Retries, before: Retries, last_sent: Nanos) -> [Belief<u32>; 2] {
        if !self.lived_on(last_sent) {
            spent.may_reach(before);
        }
        [spent.transport, spent.rnr]
    }
}
