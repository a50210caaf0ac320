//! Outstanding packets of the requester, seen from the switch.

use std::collections::VecDeque;

use dumper::wire::Opcode;
use dumper::{Nanos, Psn};

use super::belief::Belief;
use crate::thresholds::TIMER_SLACK;

/// Address and length of a Read request; zeros in every other request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ReadOf {
    /// Virtual address.
    pub(super) address: u64,
    /// Bytes.
    pub(super) length: u32,
}

/// One request packet that was sent and is not acknowledged: a Send or Write packet, a whole Read, an atomic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) first: Psn,
    /// PSNs that it takes.
    pub(super) count: u32,
    /// Earliest time at which its NIC can have scheduled its first transmission; it may wait in the transmit pipeline after.
    pub(super) scheduled: Nanos,
    pub(super) opcode: Opcode,
    pub(super) first_sent: Nanos,
    pub(super) last_sent: Nanos,
    /// True if responses of its own answer it (Read, atomic), not only an ACK.
    pub(super) answered: bool,
    /// Address and length of a Read request.
    pub(super) read: ReadOf,
}

impl Sent {
    pub(super) const fn end(&self) -> Psn {
        self.first.add(self.count)
    }

    pub(super) const fn covers(&self, psn: Psn) -> bool {
        !psn.is_before(self.first) && psn.is_before(self.end())
    }
}

/// Runs of past values of the oldest unacknowledged PSN that are remembered. A requester that repeats from an
/// older one has missed more acknowledgements than that.
const REMEMBERED_RUNS: usize = 256;

/// Consecutive PSNs each of which was once the oldest unacknowledged one.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: Psn,
    last: Psn,
    /// Time at which the last of them was acknowledged.
    left: Nanos,
}

/// Past of a PSN as the oldest unacknowledged one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Past {
    /// Until about then; not later.
    Until(Nanos),
    /// Never.
    Never,
}

/// Sent and unacknowledged requests, and how the window moved.
#[derive(Debug)]
pub(super) struct Window {
    /// The first PSN of all.
    first: Psn,
    sent: VecDeque<Sent>,
    /// Oldest PSN that no delivered acknowledgement or response covers.
    una: Psn,
    /// One past the highest PSN that was ever sent.
    next: Psn,
    /// Past values of `una`.
    past: VecDeque<Run>,
    /// Runs were dropped from `past`.
    forgot: bool,
    last_progress: Nanos,
    /// Latest time at which the timer certainly started again without progress: at an expiry, or after an RNR wait.
    restarted: Nanos,
    /// Since when something has been outstanding without a break, as far as the requester can have seen one.
    outstanding_since: Nanos,
    /// Reads and atomics among `sent`.
    answered: usize,
    /// A Read or atomic was sent.
    ever_answered: bool,
}

impl Window {
    pub(super) fn starting_at(psn: Psn, now: Nanos) -> Self {
        Self {
            first: psn,
            sent: VecDeque::new(),
            una: psn,
            next: psn,
            past: VecDeque::new(),
            forgot: false,
            last_progress: now,
            restarted: now,
            outstanding_since: now,
            answered: 0,
            ever_answered: false,
        }
    }

    #[inline]
    pub(super) const fn una(&self) -> Psn {
        self.una
    }

    #[inline]
    pub(super) const fn next(&self) -> Psn {
        self.next
    }

    pub(super) const fn last_progress(&self) -> Nanos {
        self.last_progress
    }

    /// Since when something has been outstanding without a break, as far as the requester can have seen one.
    pub(super) const fn outstanding_since(&self) -> Nanos {
        self.outstanding_since
    }

    /// Notes a new request at `next` or beyond.
    #[inline]
    pub(super) fn send_new(&mut self, sent: Sent) {
        self.answered += usize::from(sent.answered);
        self.ever_answered |= sent.answered;
        self.next = sent.end();
        // A packet sent before the last acknowledgement arrives leaves the requester no break.
        if self.sent.is_empty() && sent.first_sent - self.last_progress > TIMER_SLACK {
            self.outstanding_since = sent.first_sent;
        }
        self.sent.push_back(sent);
    }

    /// Records that the request with `psn` was sent again.
    pub(super) fn resend(&mut self, psn: Psn, now: Nanos) {
        if let Some(at) = self.index_of(psn) {
            self.sent[at].last_sent = now;
        }
    }

    /// Whether the unacknowledged request that a PSN belongs to was never repeated.
    pub(super) fn was_sent_once(&self, psn: Psn) -> bool {
        self.covering(psn).is_some_and(|sent| sent.first_sent == sent.last_sent)
    }

    pub(super) fn covering(&self, psn: Psn) -> Option<&Sent> {
        self.index_of(psn).map(|at| &self.sent[at])
    }

    fn index_of(&self, psn: Psn) -> Option<usize> {
        let oldest = self.sent.front()?;
        // Most lookups are for the oldest unacknowledged PSN.
        if oldest.covers(psn) {
            return Some(0);
        }
        let origin = oldest.first;
        let at = self.sent.partition_point(|sent| sent.end().since(origin) <= psn.since(origin));
        self.sent.get(at).filter(|sent| sent.covers(psn)).map(|_| at)
    }

    /// Whether a Read or atomic was ever sent.
    pub(super) const fn has_sent_reads(&self) -> bool {
        self.ever_answered
    }

    /// Whether a Read or atomic is outstanding.
    #[inline]
    pub(super) const fn awaits_responses(&self) -> bool {
        self.answered > 0
    }

    /// First Read or atomic with a PSN at or after `una` and before `end`: the PSN that is still missing.
    #[inline]
    pub(super) fn unanswered_before(&self, end: Psn) -> Option<Psn> {
        if self.answered == 0 {
            return None;
        }
        self.sent
            .iter()
            .take_while(|sent| sent.first.is_before(end))
            .find(|sent| sent.answered && sent.end().is_after(self.una))
            .map(|sent| if sent.first.is_before(self.una) { self.una } else { sent.first })
    }

    /// Moves the window up to `una`, where that is ahead.
    #[inline]
    pub(super) fn acknowledge(&mut self, una: Psn, now: Nanos) {
        if !una.is_after(self.una) {
            return;
        }
        match self.past.back_mut() {
            // Read responses move it one by one: that is one run, however many they are.
            Some(run) if run.last.add(1) == self.una => {
                run.last = self.una;
                run.left = now;
            }
            _ => self.may_have_been(self.una, now),
        }
        self.una = una;
        self.last_progress = now;
        while let Some(sent) = self.sent.front().filter(|sent| !sent.end().is_after(una)) {
            self.answered -= usize::from(sent.answered);
            self.sent.pop_front();
        }
    }

    /// Notes that `psn` was, or may have been to the requester, the oldest unacknowledged PSN until now.
    pub(super) fn may_have_been(&mut self, psn: Psn, now: Nanos) {
        if self.past.len() == REMEMBERED_RUNS {
            self.past.pop_front();
            self.forgot = true;
        }
        self.past.push_back(Run { first: psn, last: psn, left: now });
    }

    /// The oldest unacknowledged PSN as the requester knows it, if it has received everything that was delivered by `arrived`.
    pub(super) fn oldest(&self, arrived: Option<Nanos>) -> Belief<Psn> {
        let mut oldest = Belief::certain(self.una);
        let may_be_on_its_way = |run: &&Run| arrived.is_none_or(|arrived| run.left > arrived);
        let runs = self.past.iter().filter(may_be_on_its_way);
        let all = runs.clone().count() == self.past.len();
        runs.for_each(|run| oldest.may_be(run.first));
        if self.forgot && all {
            oldest.may_be(self.first);
        }
        oldest
    }

    /// Past of `psn` as the oldest unacknowledged PSN.
    pub(super) fn past(&self, psn: Psn) -> Past {
        let of = |run: &&Run| !psn.is_before(run.first) && !psn.is_after(run.last);
        match self.past.iter().rev().find(of) {
            Some(run) => Past::Until(run.left),
            // It may be among those that are forgotten, which were acknowledged before the first that is not.
            None => match self.past.front().filter(|run| self.forgot && psn.is_before(run.first)) {
                Some(run) => Past::Until(run.left),
                None => Past::Never,
            },
        }
    }

    /// Notes that the timer expired, or was stopped, and that it started again at `when`, which may be a little before now.
    pub(super) fn restart_timer(&mut self, when: Nanos) {
        self.restarted = self.restarted.max(when);
    }

    /// Time since the timer for the oldest unacknowledged packet can first have been started: the latest of
    /// the scheduling of its first transmission, the last progress and the last certain restart.
    pub(super) fn waited_at_most(&self, now: Nanos) -> Nanos {
        let sent = self.covering(self.una).map_or(Nanos::ZERO, |sent| sent.scheduled);
        now - sent.max(self.last_progress).max(self.restarted)
    }

    /// Time since the timer was last (re)started, for an implementation that restarts it on a retransmission.
    pub(super) fn waited_at_least(&self, now: Nanos) -> Nanos {
        let sent = self.covering(self.una).map_or(Nanos::ZERO, |sent| sent.last_sent);
        now - sent.max(self.last_progress)
    }
}
