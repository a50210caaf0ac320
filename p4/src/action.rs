//! Actions on one packet: those of all events that match it, combined.

use corpus::{Action, SetField};
use dumper::{ActionKind, Event, Nanos};

/// The actions on one packet. `Default` forwards it as it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Actions {
    /// It does not leave.
    pub drop: bool,
    /// It leaves with ECN at Congestion Experienced.
    pub ecn: bool,
    /// It leaves with covered bits inverted, so that its ICRC is wrong.
    pub corrupt: bool,
    /// It leaves with this field rewritten and a recomputed ICRC.
    pub set_field: Option<SetField>,
    /// Copies that leave right after it. They are the switch's own and are not mirrored.
    pub extra_copies: u8,
    /// Time of its exit.
    pub timing: Timing,
}

/// Time of a packet's exit from the injector.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Timing {
    /// At once.
    #[default]
    AtOnce,
    /// So much later; packets behind it do not wait.
    Delay(Nanos),
    /// When so many later packets of its flow have left, and after [`MAX_HOLD`](crate::MAX_HOLD) at the latest.
    Reorder(u16),
    /// So much later, as do packets of its flow behind it until then.
    Hold(Nanos),
}

impl Timing {
    /// The actions that say when a packet leaves, in the order of their codes in the tables of the switch, from 1.
    pub(crate) const ACTIONS: &[ActionKind] = &[ActionKind::Delay, ActionKind::Reorder, ActionKind::Hold];
    /// The codes, as the description of the tables gives them.
    pub(crate) const CODES: &str = "0 at once, 1 later by amount ns, 2 after amount later packets of its flow, \
        3 later by amount ns with its flow behind it";

    /// The action that says so, if one does.
    #[must_use]
    pub const fn action(self) -> Option<Action> {
        match self {
            Self::AtOnce => None,
            Self::Delay(delay) => Some(Action::Delay { ns: delay.0 }),
            Self::Reorder(by) => Some(Action::Reorder { by }),
            Self::Hold(time) => Some(Action::Hold { ns: time.0 }),
        }
    }
}

impl From<Action> for Actions {
    fn from(action: Action) -> Self {
        let mut actions = Self::default();
        match action {
            Action::Drop => actions.drop = true,
            Action::Ecn => actions.ecn = true,
            Action::Corrupt => actions.corrupt = true,
            Action::Delay { ns } => actions.timing = Timing::Delay(Nanos(ns)),
            Action::Reorder { by } => actions.timing = Timing::Reorder(by),
            Action::Hold { ns } => actions.timing = Timing::Hold(Nanos(ns)),
            Action::Duplicate { copies } => actions.extra_copies = copies,
            Action::SetField(set) => actions.set_field = Some(set),
        }
        actions
    }
}

impl Actions {
    /// Adds those of one more event. They must not contradict each other ([`Action::conflict`]), which
    /// [`translate`](crate::translate()) has made sure of.
    pub(crate) fn add(&mut self, more: impl Into<Self>) {
        let more = more.into();
        self.drop |= more.drop;
        self.ecn |= more.ecn;
        self.corrupt |= more.corrupt;
        self.set_field = more.set_field.or(self.set_field);
        self.extra_copies = self.extra_copies.max(more.extra_copies);
        if more.timing != Timing::AtOnce {
            self.timing = more.timing;
        }
    }

    /// Number of packets that leave: 0 for a dropped one, else the packet and its copies.
    #[must_use]
    pub const fn leaving(&self) -> u8 {
        if self.drop { 0 } else { 1 + self.extra_copies }
    }

    /// The same where so many of the packets that would leave are lost, or leave with a wrong ICRC. A trace has one state for all
    /// that leave, so that damaged ones among others count as lost.
    pub(crate) fn without(self, lost: u8, corrupts: bool) -> Self {
        match self.leaving().saturating_sub(lost) {
            // No receiver looks into it, so that a field of it need not be rewritten, which would make the ICRC right.
            0 if corrupts => Self { corrupt: true, set_field: None, ..self },
            // It neither leaves later nor in another form.
            0 => Self { drop: true, ..Self::default() },
            left => Self { extra_copies: left - 1, ..self },
        }
    }

    /// Event code of the mirrored packet for these actions.
    #[must_use]
    pub fn event(&self) -> Event {
        let present = [
            self.drop.then_some(ActionKind::Drop),
            self.ecn.then_some(ActionKind::Ecn),
            self.corrupt.then_some(ActionKind::Corrupt),
            self.timing.action().map(Action::kind),
            (self.extra_copies > 0).then_some(ActionKind::Duplicate),
            self.set_field.map(|_| ActionKind::SetField),
        ];
        Event::of(present.into_iter().flatten())
    }
}
