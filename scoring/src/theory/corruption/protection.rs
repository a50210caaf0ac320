//! What makes losses cost no time-out.

use corpus::Repeat;

/// Copies that the switch sends, and dummies that the requester sends behind each message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Protection {
    /// Copies of NAKs, of the packets that these ask for, and of tails: numbers count the packet itself.
    pub repeat: Repeat,
    /// Requests of 0 bytes behind each message.
    pub dummies: u8,
}
