//! Actions of the injector on a packet, and the packet as it left the switch where it differs from the one
//! that entered.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// Injected event of a packet, by its mirror code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Event {
    /// Forwarded as it came.
    #[default]
    None,
    /// Dropped.
    Drop,
    /// ECN bits set to congestion experienced.
    Ecn,
    /// Forwarded with a wrong ICRC, so that the receiver drops it.
    Corrupt,
    /// Forwarded later.
    Delay,
    /// Forwarded after packets that came later.
    Reorder,
    /// Forwarded more than once.
    Duplicate,
    /// Forwarded with a changed header field and a valid ICRC.
    SetField,
    /// More than one of the above; the packet's [`Exit`] says which.
    Several,
    /// A code that no injector known here writes.
    Unknown(u8),
}

impl Event {
    /// Events with their mirror code (TTL) and name. Codes 0 to 3 are the published switch's.
    const TABLE: [(Self, &'static str); 9] = [
        (Self::None, "none"),
        (Self::Drop, "drop"),
        (Self::Ecn, "ecn"),
        (Self::Corrupt, "corrupt"),
        (Self::Delay, "delay"),
        (Self::Reorder, "reorder"),
        (Self::Duplicate, "duplicate"),
        (Self::SetField, "set-field"),
        (Self::Several, "several"),
    ];

    /// The event of a mirror code.
    #[inline]
    pub fn from_code(code: u8) -> Self {
        match code {
            0 => Self::None,
            1 => Self::Drop,
            2 => Self::Ecn,
            3 => Self::Corrupt,
            4 => Self::Delay,
            5 => Self::Reorder,
            6 => Self::Duplicate,
            7 => Self::SetField,
            8 => Self::Several,
            other => Self::Unknown(other),
        }
    }

    /// The mirror code of the event.
    #[inline]
    pub fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Drop => 1,
            Self::Ecn => 2,
            Self::Corrupt => 3,
            Self::Delay => 4,
            Self::Reorder => 5,
            Self::Duplicate => 6,
            Self::SetField => 7,
            Self::Several => 8,
            Self::Unknown(code) => code,
        }
    }

    /// The event with this name, as packet comments write it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.strip_prefix("code-") {
            Some(code) => code.parse().ok().map(Self::from_code),
            None => Self::TABLE.iter().find(|(_, known)| *known == name).map(|(event, _)| *event),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(code) => write!(f, "code-{code}"),
            known => f.pad(Self::TABLE[usize::from(known.code())].1),
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
