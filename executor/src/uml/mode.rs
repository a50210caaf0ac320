//! Modes of the testbed.

use dumper::Nanos;

/// How exactly the guests and the network meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// A frame leaves a guest at the time at which its driver announces it, and interrupts the one that it reaches at
    /// once.
    #[default]
    Exact,
    /// Frames leave a guest when it sleeps, and one interrupt is for all that come within 5 us of a first one: fewer
    /// changes between processes, and several times the tests.
    Fast,
}

/// Time in which frames wait for others before a guest is interrupted, in fast mode.
pub(super) const MODERATION: Nanos = Nanos(5_000);

impl Mode {
    /// Longest time that a guest runs without a word: as much later may be what is sent to it from outside, and in fast mode
    /// what it sends.
    pub(super) const fn slice(self) -> Nanos {
        match self {
            Self::Exact => Nanos(20_000),
            Self::Fast => Nanos(2_000),
        }
    }
}
