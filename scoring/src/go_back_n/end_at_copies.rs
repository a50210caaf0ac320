//! End of a requester at copies of a NAK.

use dumper::Nanos;

/// A requester that failed with retries exceeded when copies of a NAK came, though the retry for the NAK itself was left, and before it
/// had retransmitted for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndAtCopies {
    /// Connection, from 1.
    pub connection: usize,
    /// The NAK.
    pub nak: u32,
    /// Copies of it that left the switch.
    pub copies: u32,
    /// The most retries that it had spent, that for the NAK included and none for the copies.
    pub spent: u32,
    /// Retries that it has.
    pub retries: u32,
    /// From the NAK's exit to the earliest expiry of the ACK timer: a requester that reacts to NAKs so late may have ended for that.
    pub to_expiry: Nanos,
}
