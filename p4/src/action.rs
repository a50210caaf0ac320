//! Actions on one packet: those of all events that match it, combined.

use corpus::config::fields;
use corpus::{Action, Copies, SetField};
use dumper::{ActionKind, Nanos};

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
    /// Copies of the network that do not leave, a bit for each.
    pub drop_copies: u8,
}

impl Actions {
    /// Returns true if the packet leaves otherwise than it came, if it does.
    #[inline]
    #[must_use]
    pub const fn change_packet(&self) -> bool {
        self.ecn || self.corrupt || self.set_field.is_some()
    }
}

/// A bit for each copy that the network can make of a packet.
pub(crate) const ALL_COPIES: u8 = (1 << fields::COPY.max) - 1;

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
            Action::Drop(Copies::Original) => actions.drop = true,
            Action::Drop(Copies::All) => (actions.drop, actions.drop_copies) = (true, ALL_COPIES),
            Action::Drop(Copies::One(copy)) => {
                let bit = copy.checked_sub(1).and_then(|bit| 1u8.checked_shl(bit.into()));
                actions.drop_copies = bit.unwrap_or(0);
            }
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
        self.drop_copies |= more.drop_copies;
    }
}
