//! The packets that leave for one that entered, and those that are lost of them.

use corpus::Action;
use dumper::{ActionKind, Event, Nanos};

use crate::{Actions, Timing};

/// The packets that leave for one that entered. `Default` is the packet as it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sent {
    /// Actions on the packet itself, and on the duplicates of it that events ask for.
    pub actions: Actions,
    /// Copies of the network, as the packet entered: a bit for each. They leave right after it, and when it leaves.
    pub copies: u8,
}

impl From<Actions> for Sent {
    fn from(actions: Actions) -> Self {
        Self { actions, copies: 0 }
    }
}

impl Sent {
    /// Number of packets that leave with the actions: 0 for a dropped one, else the packet and its duplicates.
    #[inline]
    #[must_use]
    pub const fn originals(&self) -> u8 {
        if self.actions.drop { 0 } else { 1 + self.actions.extra_copies }
    }

    /// Number of all packets that leave.
    #[inline]
    #[must_use]
    pub const fn leaving(&self) -> u8 {
        self.originals() + self.copies.count_ones() as u8
    }

    /// The same without what is lost. A packet that is lost with all its duplicates may leave with a wrong ICRC instead. Some of them,
    /// and copies of the network, do not leave: a trace has one state for the packet and its duplicates, and one for the copies.
    #[inline]
    pub(crate) fn without(self, lost: Lost, corrupts: bool) -> Self {
        let Self { actions, copies } = self;
        let copies = copies & !lost.copies;
        let actions = match self.originals().saturating_sub(lost.originals) {
            // An event has dropped it, or none of it is lost.
            _ if actions.drop || lost.originals == 0 => actions,
            // No receiver looks into it, so that a field of it need not be rewritten, which would make the ICRC right.
            0 if corrupts => Actions { corrupt: true, set_field: None, ..actions },
            // It does not leave in another form; its copies leave when it would have left.
            0 if copies > 0 => Actions { drop: true, timing: actions.timing, ..Actions::default() },
            0 => Actions { drop: true, ..Actions::default() },
            left => Actions { extra_copies: left - 1, ..actions },
        };
        // A link has lost the packet and a queue its copies: nothing is left that leaves later.
        let nothing_leaves = actions.drop && copies == 0;
        let timing = if nothing_leaves { Timing::AtOnce } else { actions.timing };
        Self { actions: Actions { timing, ..actions }, copies }
    }

    /// The packet takes a path that adds so much to a delay: all of it.
    pub(crate) fn later_by(&mut self, delay: Option<Nanos>, on_path: Nanos) -> Nanos {
        let all = delay.unwrap_or_default() + on_path;
        match self.actions.timing {
            Timing::AtOnce | Timing::Delay(_) => self.actions.timing = Timing::Delay(all),
            // Behind the packet that releases it, whose path may be the same: their order is to be seen in the trace.
            Timing::Reorder(_) => return all + Nanos(1),
            Timing::Hold(_) => {}
        }
        all
    }

    /// Event code of the mirrored packet.
    #[inline]
    #[must_use]
    pub fn event(&self) -> Event {
        let Self { actions, copies } = self;
        let present = [
            (actions.drop, ActionKind::Drop),
            (actions.ecn, ActionKind::Ecn),
            (actions.corrupt, ActionKind::Corrupt),
            (actions.extra_copies > 0 || *copies > 0, ActionKind::Duplicate),
            (actions.set_field.is_some(), ActionKind::SetField),
        ];
        let present = present.into_iter().filter_map(|(is_there, kind)| is_there.then_some(kind));
        Event::of(present.chain(actions.timing.action().map(Action::kind)))
    }
}

/// The packets that are lost of those that would leave for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lost {
    /// How many of the packet and its duplicates.
    pub originals: u8,
    /// True if these are all of them.
    pub all_originals: bool,
    /// Which of the network's copies, a bit for each.
    pub copies: u8,
}

impl Lost {
    /// All that would leave.
    pub(crate) fn all(sent: Sent) -> Self {
        Self { originals: sent.originals(), all_originals: sent.originals() > 0, copies: sent.copies }
    }

    /// Both.
    pub(crate) fn and(self, more: Self) -> Self {
        Self {
            originals: self.originals + more.originals,
            all_originals: self.all_originals || more.all_originals,
            copies: self.copies | more.copies,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test drawn at random had a delay, copies, a lossy link and a full queue.
    #[test]
    fn of_what_a_link_and_a_queue_lose_nothing_leaves_later() {
        let later = Actions { timing: Timing::Delay(Nanos(5)), ..Actions::default() };
        let sent = Sent { actions: later, copies: 0b111 };
        let on_link = sent.without(Lost { originals: 1, all_originals: true, copies: 0 }, false);
        assert_eq!(on_link, Sent { actions: Actions { drop: true, ..later }, copies: 0b111 });
        let in_queue = on_link.without(Lost { originals: 0, all_originals: false, copies: 0b111 }, false);
        assert_eq!(in_queue, Sent::from(Actions { drop: true, ..Actions::default() }));
    }
}
