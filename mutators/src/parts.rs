//! Parts of broad tests, each of which can be left out to see what it is good for.

/// The parts that broad tests have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parts([bool; Part::ALL.len()]);

macro_rules! parts {
    ($($(#[$doc:meta])* $part:ident $name:literal,)*) => {
        /// A part of broad tests.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Part {
            $($(#[$doc])* $part,)*
        }

        impl Part {
            /// Every part.
            pub const ALL: &[Self] = &[$(Self::$part),*];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$part => $name,)*
                }
            }
        }
    };
}

parts! {
    /// Of several draws of the traffic the one with the rarest combinations of levels.
    Covering "covering",
    /// Many connections, messages and traffic classes.
    Many "many",
    /// Messages of one packet, of two, of a few or many, which end at the edges of packets; a budget of packets.
    Sizes "sizes",
    /// Many events.
    Events "events",
    /// Events of different actions.
    Actions "actions",
    /// Events on all connections, or the first ones.
    Sets "sets",
    /// Events at the edges of messages, at the same place of each.
    Places "places",
    /// The same event again in the next rounds.
    Rounds "rounds",
}

impl Default for Parts {
    /// All of them.
    fn default() -> Self {
        Self([true; Part::ALL.len()])
    }
}

impl Parts {
    /// Returns true if a part is there.
    #[must_use]
    pub const fn has(self, part: Part) -> bool {
        self.0[part as usize]
    }

    /// The same without a part.
    #[must_use]
    pub const fn without(mut self, part: Part) -> Self {
        self.0[part as usize] = false;
        self
    }
}
