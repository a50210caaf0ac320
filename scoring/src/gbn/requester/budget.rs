//! Retry budgets: retries that a requester spends between two moments of progress, as far as the switch can
//! tell.

use dumper::Nanos;

use crate::known::{Known, RnrRetries};

/// Retries spent of one budget.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    /// Retries that were certainly made.
    certain: u32,
    /// All that can have been, but for one that ends the QP and sends nothing.
    possible: u32,
}

/// Retries spent of both budgets.
#[derive(Clone, Copy, Debug, Default)]
struct Retries {
    transport: Spent,
    rnr: Spent,
}

impl Retries {
    /// The larger of the possible numbers of each.
    fn at_most(self, other: Self) -> [u32; 2] {
        [self.transport.possible.max(other.transport.possible), self.rnr.possible.max(other.rnr.possible)]
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
    /// The most that was spent at one of the moments of progress since it last sent: the requester may have
    /// ended before it received them.
    before: Retries,
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
            now: Retries::default(),
            before: Retries::default(),
            progressed: now,
            paid_before: false,
            exhausted: known.retries == Some(0),
        }
    }

    /// Returns true if either budget was, or may have been, exhausted at some time.
    pub(super) const fn exhausted(&self) -> bool {
        self.exhausted
    }

    /// A transport retry may have been spent.
    pub(super) fn may_spend(&mut self) {
        self.now.transport.possible += 1;
        self.exhausted |= self.transport.is_some_and(|most| self.now.transport.possible >= most);
    }

    /// An RNR NAK was delivered.
    pub(super) fn refused(&mut self) {
        self.now.rnr.possible += 1;
        let limit = self.rnr.and_then(RnrRetries::limit);
        self.exhausted |= limit.is_some_and(|most| self.now.rnr.possible > most);
    }

    /// The requester has retransmitted for a NAK, an implied NAK or a time-out that has been there since a
    /// moment: the retry for one from before the last progress was spent then, whatever else was. Returns the
    /// budget, if this is the first retry beyond it.
    pub(super) fn retried(&mut self, since: Nanos) -> Option<u32> {
        let paid_before = std::mem::take(&mut self.paid_before) || since < self.progressed;
        if paid_before {
            return None;
        }
        self.now.transport.certain += 1;
        self.transport.filter(|most| self.now.transport.certain == most + 1)
    }

    /// The requester has retransmitted for an RNR NAK. Returns the budget, if this is the first retry beyond
    /// it.
    pub(super) fn retried_after_rnr(&mut self) -> Option<u32> {
        self.now.rnr.certain += 1;
        self.rnr.and_then(RnrRetries::limit).filter(|most| self.now.rnr.certain == most + 1)
    }

    /// The window has moved, and the last packet was sent at `last_sent`; `paid_before` if a cause of a
    /// retransmission may be there whose retry was spent before, `may_have_ended` if the requester may have had a reason to
    /// end before it received the progress.
    pub(super) fn progress(&mut self, now: Nanos, last_sent: Nanos, paid_before: bool, may_have_ended: bool) {
        if self.lived_on(last_sent) {
            self.before = Retries::default();
        }
        if may_have_ended {
            let [transport, rnr] = self.before.at_most(self.now);
            self.before.transport.possible = transport;
            self.before.rnr.possible = rnr;
        }
        self.now = Retries::default();
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
    /// sent its last packet at `last_sent`, if everything reached it that left the switch. `unspent` if the last NAK ended
    /// the QP, and spent no retry.
    pub(super) fn spent_at_most(&self, last_sent: Nanos, unspent: bool) -> [u32; 2] {
        let transport = self.now.transport.possible.saturating_sub(u32::from(unspent));
        if self.lived_on(last_sent) {
            [transport, self.now.rnr.possible]
        } else {
            let [_, rnr] = self.now.at_most(self.before);
            [transport.max(self.before.transport.possible), rnr]
        }
    }
}
