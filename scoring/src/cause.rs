//! Causes that move counters.

use serde::Deserialize;

/// Cause of a counter's increase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Packets that the host sent.
    PacketsSent,
    /// Packets that reached the host.
    PacketsDelivered,
    /// Requests that its responder had taken before.
    DuplicateRequests,
    /// Sequence NAKs that its responder sent.
    SequenceNaksSent,
    /// Sequence NAKs that its requester received.
    SequenceNaksHeard,
    /// Of these, those that acknowledged more.
    SequenceNaksWithProgress,
    /// RNR NAKs that its requester received.
    RnrNaksHeard,
    /// Implied NAKs that its requester acted on.
    ImpliedNaks,
    /// Expiries of its ACK timers.
    Timeouts,
    /// Retransmissions of its requester.
    Retransmissions,
    /// ECN-marked packets that reached it.
    MarkedDelivered,
    /// CNPs that it sent.
    CnpsSent,
    /// CNPs that reached it.
    CnpsDelivered,
    /// Packets with a wrong ICRC that reached it.
    CorruptReceived,
}
