//! The injected event of a packet, and the packet as it left the switch where it differs from the one
//! that entered.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Nanos;
use crate::action::{ActionKind, Leaves};

/// Injected event of a packet, by its mirror code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Event {
    /// Forwarded as it came.
    #[default]
    None,
    /// One action.
    Action(ActionKind),
    /// More than one action; the packet's [`Exit`] says which.
    Several,
    /// A code that no injector known here writes.
    Unknown(u8),
}

/// Name and code of no event and of more than one; those of actions are in their rows.
const NONE: (&str, u8) = ("none", 0);
const SEVERAL: (&str, u8) = ("several", 8);

impl Event {
    /// The event of a mirror code.
    #[inline]
    pub fn from_code(code: u8) -> Self {
        match code {
            code if code == NONE.1 => Self::None,
            code if code == SEVERAL.1 => Self::Several,
            code => ActionKind::from_code(code).map_or(Self::Unknown(code), Self::Action),
        }
    }

    /// The mirror code of the event.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::None => NONE.1,
            Self::Action(kind) => kind.code(),
            Self::Several => SEVERAL.1,
            Self::Unknown(code) => code,
        }
    }

    /// The event with this name, as packet comments write it.
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(code) = name.strip_prefix("code-") {
            return code.parse().ok().map(Self::from_code);
        }
        let kind =
            ActionKind::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| Self::Action(*kind));
        kind.or(match name {
            name if name == NONE.0 => Some(Self::None),
            name if name == SEVERAL.0 => Some(Self::Several),
            _ => None,
        })
    }

    /// The event of several actions on one packet.
    #[inline]
    pub fn of(actions: impl IntoIterator<Item = ActionKind>) -> Self {
        actions.into_iter().fold(Self::None, |before, action| match before {
            Self::None => Self::Action(action),
            _ => Self::Several,
        })
    }

    /// The way in which the packet leaves; `None` if it leaves as it came.
    #[inline]
    pub const fn leaves(self) -> Option<Leaves> {
        match self {
            Self::None => None,
            Self::Action(kind) => Some(kind.leaves()),
            Self::Several | Self::Unknown(_) => Some(Leaves::Otherwise),
        }
    }

    /// Returns true if an injector notes how the packet leaves.
    pub const fn has_exit(self) -> bool {
        matches!(self.leaves(), Some(Leaves::Rewritten | Leaves::Otherwise))
            && !matches!(self, Self::Unknown(_))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad(NONE.0),
            Self::Action(kind) => f.pad(kind.name()),
            Self::Several => f.pad(SEVERAL.0),
            Self::Unknown(code) => write!(f, "code-{code}"),
        }
    }
}

/// Exit of a packet from the switch, kept only where the packet left otherwise than it entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Exit {
    /// Time at which it left.
    pub time: Nanos,
    /// Copies that left: 0 for a dropped packet, 2 and more for a duplicated one.
    pub copies: u8,
    /// Those of them that left as the packet entered, whatever was done to it: copies of the network, which leave last.
    pub plain: u8,
    /// True if the packet left with a wrong ICRC.
    pub corrupt: bool,
    /// True if the packet left marked Congestion Experienced.
    pub ce: bool,
    /// The MigReq bit as it left, where the injector set it.
    pub mig_req: Option<bool>,
    /// True if another field was rewritten: the receiver sees another packet than the one that entered.
    pub rewritten: bool,
}

/// Fate of a packet after the switch, as far as the trace shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// `copies` intact packets left towards the receiver at `left`.
    Delivered {
        /// Departure time.
        left: Nanos,
        /// Intact copies, at least 1.
        copies: u8,
    },
    /// Nothing intact left: dropped, or corrupted so that the receiver discards it.
    Lost,
    /// The trace names an event but not how the packet left, or another packet left than entered.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_round_trip() {
        for code in 0..=255 {
            let event = Event::from_code(code);
            assert_eq!(event.code(), code);
            assert_eq!(Event::from_name(&event.to_string()), Some(event));
        }
        assert_eq!(Event::from_name("explode"), None);
    }
}
