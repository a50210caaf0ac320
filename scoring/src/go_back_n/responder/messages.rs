//! Completed messages and the MSN that counts them.

use std::collections::VecDeque;

use dumper::Psn;

/// Counts completed messages, to hold the MSN to (IBA vol. 1, 9.7.7).
#[derive(Debug)]
pub(super) struct Messages {
    /// Last PSN of each completed message that is not acknowledged, with the number completed by then.
    ends: VecDeque<(Psn, u32)>,
    /// Messages completed before the first of `ends`.
    before: u32,
    /// Messages completed in all.
    completed: u32,
    /// MSN when the trace began: 0 for a connection seen from its start, else learned from the first
    /// acknowledgement.
    offset: Option<u32>,
    /// Offset that would make the last MSN right, which was wrong: if the next one agrees, the responder
    /// counts on from its mistake, and the mistake was reported.
    suspect: Option<u32>,
    /// Messages that end before this PSN were not all counted.
    unknown_before: Option<Psn>,
}

impl Messages {
    pub(super) fn starting_at(fresh: bool) -> Self {
        Self {
            ends: VecDeque::new(),
            before: 0,
            completed: 0,
            offset: fresh.then_some(0),
            suspect: None,
            unknown_before: None,
        }
    }

    /// Messages before `end` were not all counted: MSNs there are not checked, and the first one after is believed.
    pub(super) fn learn_anew(&mut self, end: Psn) {
        self.offset = None;
        self.suspect = None;
        self.unknown_before = Some(end);
    }

    #[inline]
    pub(super) fn completed(&mut self, last: Psn) {
        self.completed = self.completed.wrapping_add(1);
        self.ends.push_back((last, self.completed));
    }

    fn by(&self, psn: Psn) -> u32 {
        let upto = self.ends.partition_point(|(last, _)| !last.is_after(psn));
        upto.checked_sub(1).map_or(self.before, |at| self.ends[at].1)
    }

    /// Compares an MSN with the messages completed by `psn`; returns the expected and the sent MSN, where
    /// they differ.
    pub(super) fn check(&mut self, psn: Psn, said: u32) -> Option<(u32, u32)> {
        if self.unknown_before.is_some_and(|end| psn.add(1).is_before(end)) {
            return None;
        }
        self.unknown_before = None;
        let counted = self.by(psn);
        let offset = *self.offset.get_or_insert_with(|| said.wrapping_sub(counted));
        let expected = Psn::new(counted.wrapping_add(offset)).value();
        if expected == said {
            self.suspect = None;
            return None;
        }
        let implied = Psn::new(said.wrapping_sub(counted)).value();
        if self.suspect == Some(implied) {
            self.offset = Some(implied);
            self.suspect = None;
            return None;
        }
        self.suspect = Some(implied);
        Some((expected, said))
    }

    /// Compares the MSN of a response; returns it, where it cannot be right. The message that it answers
    /// counts, at the latest with its last packet, and every message taken since may.
    pub(super) fn check_response(&mut self, psn: Psn, ends: bool, said: u32) -> Option<u32> {
        let offset = self.offset.filter(|_| self.unknown_before.is_none())?;
        let least = self.by(if ends { psn } else { psn.sub(1) });
        let most = self.completed;
        let beyond = Psn::new(said.wrapping_sub(offset)).since(Psn::new(least));
        if (0..=i64::from(most.wrapping_sub(least))).contains(&i64::from(beyond)) {
            return None;
        }
        let implied = Psn::new(said.wrapping_sub(if ends { least } else { most })).value();
        if self.suspect == Some(implied) {
            self.offset = Some(implied);
            self.suspect = None;
            return None;
        }
        self.suspect = Some(implied);
        Some(said)
    }

    pub(super) fn forget_before(&mut self, psn: Psn) {
        while let Some((_, count)) = self.ends.front().copied().filter(|(last, _)| last.is_before(psn)) {
            self.before = count;
            self.ends.pop_front();
        }
    }

    pub(super) fn rewind(&mut self, psn: Psn) {
        while self.ends.back().is_some_and(|(last, _)| !last.is_before(psn)) {
            self.ends.pop_back();
        }
        self.completed = self.ends.back().map_or(self.before, |(_, count)| *count);
    }
}
