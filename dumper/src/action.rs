//! Actions of the injector, one row each: their names in tests and scripts, their codes in mirrored packets, their
//! operands, and the way that a packet leaves after them. Every room takes them from here.

/// Operand of an action, as packet scripts write it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// None.
    Alone,
    /// None, or the copies of the packet that it is of: `all`, `copy 2`.
    Copies,
    /// A time: `20us`.
    Time,
    /// A number from 1 up to this one.
    Number(u16),
    /// A header field and its value: `mig-req 1`.
    Field,
}

/// The way in which a packet leaves after an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaves {
    /// At once, and its receiver takes it as if nothing had been done.
    Marked,
    /// Not, or so that its receiver discards it.
    Lost,
    /// At once, with other contents: its [`Exit`](crate::Exit) says which. Where a trace has none, its receiver is taken
    /// to have got it.
    Rewritten,
    /// As its [`Exit`](crate::Exit) says; where a trace has none, nobody knows.
    Otherwise,
}

macro_rules! actions {
    ($($kind:ident = $code:literal $name:literal $word:literal $form:expr, $leaves:ident, $what:literal;)*) => {
        /// An action of the injector on a packet, without its operand.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum ActionKind {
            $(#[doc = concat!("The packet ", $what, ".")] $kind,)*
        }

        impl ActionKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind),*];
            /// Names in test files (`type`) and traces.
            pub const NAMES: &[(&str, Self)] = &[$(($name, Self::$kind)),*];
            /// Names in packet scripts, which the operand follows.
            pub const WORDS: &[(&str, Self)] = &[$(($word, Self::$kind)),*];
            const CODES: &[u8] = &[$($code),*];
            const FORMS: &[Form] = &[$($form),*];
            const LEAVES: &[Leaves] = &[$(Leaves::$leaves),*];
            const WHAT: &[&str] = &[$($what),*];
        }
    };
}

// Codes 1 to 3 are the published switch's; 0 is none, and 8 is more than one.
actions! {
    Drop = 1 "drop" "drop" Form::Copies, Lost, "is lost";
    Ecn = 2 "ecn" "ecn" Form::Alone, Marked, "is marked Congestion Experienced";
    Corrupt = 3 "corrupt" "corrupt" Form::Alone, Lost,
        "leaves with inverted bits, so that its ICRC is wrong (Lumina's `bit-error`)";
    Delay = 4 "delay" "delay" Form::Time, Otherwise, "is held for a time; packets behind it do not wait";
    Reorder = 5 "reorder" "reorder" Form::Number(u16::MAX), Otherwise,
        "is held until so many later packets of its connection and direction have left, at most 10 s";
    Duplicate = 6 "duplicate" "duplicate" Form::Number(u8::MAX as u16), Otherwise,
        "is followed by so many copies";
    SetField = 7 "set-field" "set" Form::Field, Rewritten, "leaves with a header field changed, and the ICRC recomputed";
    Hold = 9 "hold" "hold" Form::Time, Otherwise,
        "is held for a time, and packets of its connection and direction behind it leave after it, in their order";
}

impl ActionKind {
    /// Name in test files (`type`) and traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Name in packet scripts.
    #[must_use]
    pub const fn word(self) -> &'static str {
        Self::WORDS[self as usize].0
    }

    /// Its code in mirrored packets.
    #[must_use]
    pub const fn code(self) -> u8 {
        Self::CODES[self as usize]
    }

    /// The action with a code.
    #[inline]
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        // Asked for every packet of a trace.
        const BY_CODE: [Option<ActionKind>; 256] = {
            let mut by_code = [None; 256];
            let mut at = 0;
            while at < ActionKind::ALL.len() {
                by_code[ActionKind::CODES[at] as usize] = Some(ActionKind::ALL[at]);
                at += 1;
            }
            by_code
        };
        BY_CODE[code as usize]
    }

    /// What happens to the packet; its subject is "the packet".
    #[must_use]
    pub const fn what(self) -> &'static str {
        Self::WHAT[self as usize]
    }

    /// Its operand.
    #[must_use]
    pub const fn form(self) -> Form {
        Self::FORMS[self as usize]
    }

    /// The way in which a packet leaves after it.
    #[must_use]
    pub const fn leaves(self) -> Leaves {
        Self::LEAVES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_has_a_code_of_its_own() {
        let mut codes: Vec<u8> = ActionKind::ALL.iter().map(|kind| kind.code()).collect();
        assert!(!codes.contains(&0) && !codes.contains(&8), "codes of no action and of several");
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ActionKind::ALL.len());
        for kind in ActionKind::ALL {
            assert_eq!(ActionKind::from_code(kind.code()), Some(*kind));
        }
    }
}
