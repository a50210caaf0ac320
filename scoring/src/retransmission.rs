//! Retransmissions, taken apart as 001 §4 and Figure 5 do.

use dumper::Nanos;
use serde::Serialize;

/// What made the requester (for a Read: the responder's data) go back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// A NAK, or for a Read the re-issued request.
    Fast,
    /// An expiry of the ACK timer.
    Timeout,
    /// An RNR NAK.
    Rnr,
    /// Nothing that the trace shows.
    None,
}

/// One retransmission: everything from the loss to the first repeated packet.
///
/// Latencies are Lumina's: *generation* from the next delivered packet after the loss to the NACK, *reaction*
/// from the NACK to the retransmission; for a Read the NACK is the re-issued request. All times are those of
/// the switch, so that each phase is off by half a round trip (001 §4).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Retransmission {
    /// Connection, from 1.
    pub connection: usize,
    /// What made it.
    pub trigger: Trigger,
    /// Relative PSN from which packets were repeated.
    pub from_psn: u32,
    /// Lost packets that it repeats or makes up for, by mirror sequence number. Empty where the trace shows
    /// no loss.
    pub lost: Vec<u32>,
    /// First packet that arrived beyond the loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_order: Option<u32>,
    /// The NAK, or the re-issued Read request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nack: Option<u32>,
    /// First repeated packet: a request, or the Read response that a re-issued Read brought. `None` while a
    /// re-issued Read is unanswered at the end of the trace.
    pub retransmission: Option<u32>,
    /// From the out-of-order packet to the NACK.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation_ns: Option<Nanos>,
    /// From the NACK to the retransmission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction_ns: Option<Nanos>,
    /// Of a time-out: from the latest moment at which the timer can have been started (last transmission of
    /// the oldest unacknowledged packet, or last progress) to the retransmission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<Nanos>,
}

impl Retransmission {
    /// Generation and reaction together.
    pub fn total(&self) -> Option<Nanos> {
        Some(self.generation_ns? + self.reaction_ns?)
    }
}
