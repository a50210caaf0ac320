//! Everything has arrived: is there an ACK of it, and does each request have its own?

use std::collections::VecDeque;

use dumper::Psn;

use super::{LossKind, Losses};

/// Requests of a connection that have arrived in their order and ask for an ACK.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// The last one, if it asks and nothing came behind it: one past its PSN, and whether an ACK of it was lost.
    due: Option<(Psn, bool)>,
    /// Those right behind which a dummy is to come, and whether it has.
    before_dummies: VecDeque<(Psn, bool)>,
}

impl Unanswered {
    /// A packet arrives in its turn; `before_dummy` if a dummy comes next.
    pub(super) fn arrives(&mut self, psn: Psn, end: Psn, asks: bool, before_dummy: bool) {
        self.due = asks.then_some((end, false));
        if let Some((last, is_followed)) = self.before_dummies.back_mut() {
            *is_followed |= last.add(1) == psn;
        }
        if asks && before_dummy {
            self.before_dummies.push_back((psn, false));
        }
    }

    /// A packet enters the switch: what is behind others is not the last one any more.
    pub(super) fn sent(&mut self, psn: Psn) {
        self.due = self.due.filter(|(due, _)| psn.is_before(*due));
    }

    /// A packet is lost: it may have been the dummy behind one of them.
    pub(super) fn lost(&mut self, psn: Psn) {
        if self.before_dummies.back().is_some_and(|(last, is_followed)| last.add(1) == psn && !is_followed) {
            self.before_dummies.pop_back();
        }
    }

    /// An ACK or NAK of everything before a PSN enters the switch.
    pub(super) fn answered(&mut self, end: Psn, is_lost: bool, losses: &mut Losses) {
        while let Some((psn, _)) = self.before_dummies.front().copied().filter(|(psn, _)| psn.is_before(end))
        {
            losses.own_acks.count(psn.add(1) == end);
            self.before_dummies.pop_front();
        }
        let Some((due, was_lost)) = self.due.filter(|(due, _)| !due.is_after(end)) else { return };
        if !was_lost {
            losses.acks.count(true);
        }
        if is_lost {
            self.due = Some((due, true));
        } else {
            if was_lost {
                losses.kinds.entry(LossKind::AckLost).or_default().count(false);
            }
            self.due = None;
        }
    }

    /// The timer expires with nothing missing.
    pub(super) fn expired(&mut self, losses: &mut Losses) {
        match self.due.take() {
            Some((_, true)) => losses.kinds.entry(LossKind::AckLost).or_default().count(true),
            Some((_, false)) => losses.acks.count(false),
            None => {}
        }
        self.abandon();
    }

    /// What becomes of them is not to be counted.
    pub(super) fn abandon(&mut self) {
        self.due = None;
        self.before_dummies.clear();
    }
}
