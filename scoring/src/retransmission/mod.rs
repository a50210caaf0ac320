//! Retransmissions in the phases of Lumina §4 and Figure 5.

pub(crate) mod bare;
pub(crate) mod retries;

use dumper::Fate;
use dumper::wire::Class;
use dumper::{Nanos, Trace};
use serde::Serialize;

use crate::causes::ExpiryCause;

/// Trigger of a retransmission by the requester (for a Read: by the responder of the data).
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
/// the switch, so that each phase is off by half a round trip, the way to the host and back (Lumina §4): the *net*
/// ones are without it, where the trace shows how long it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Retransmission {
    /// Connection, from 1.
    pub connection: usize,
    /// Its trigger.
    pub trigger: Trigger,
    /// Relative PSN from which packets were repeated.
    pub from_psn: u32,
    /// Lost packets that it repeats or replaces, by mirror sequence number. Empty where the trace shows no
    /// loss.
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
    /// The same without the way to the host that makes the NACK, and back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation_net_ns: Option<Nanos>,
    /// From the NACK to the retransmission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction_ns: Option<Nanos>,
    /// The same without the way to the host that repeats packets, and back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction_net_ns: Option<Nanos>,
    /// Of a time-out: from the latest moment at which the timer can have been started (last transmission of
    /// the oldest unacknowledged packet, or last progress) to the retransmission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<Nanos>,
    /// Of a time-out: its cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<ExpiryCause>,
}

impl Retransmission {
    /// Generation and reaction together.
    pub fn total(&self) -> Option<Nanos> {
        Some(self.generation_ns? + self.reaction_ns?)
    }

    /// Leaves out of the reaction the time for which the injector held the NACK: a repeated Read request has not arrived while
    /// the switch has it.
    pub(crate) fn leave_out_hold(&mut self, trace: &Trace) {
        let find = |packet: Option<u32>| packet.and_then(|packet| trace.find(packet));
        let (Some(nack), Some(response)) = (find(self.nack), find(self.retransmission)) else { return };
        if nack.class() != Class::ReadRequest {
            return;
        }
        self.reaction_ns = match trace.fate(nack) {
            Fate::Delivered { left, .. } if left <= response.time => Some(response.time - left),
            // It answers an earlier request.
            _ => None,
        };
    }

    /// Sets the net times from what half of a round trip takes at the host that makes the NACK and at the one that
    /// repeats.
    pub(crate) fn correct(&mut self, nacks: Option<Nanos>, repeats: Option<Nanos>) {
        let net = |time: Option<Nanos>, half_rtt: Option<Nanos>| Some(time? - half_rtt?);
        self.generation_net_ns = net(self.generation_ns, nacks);
        self.reaction_net_ns = net(self.reaction_ns, repeats);
    }
}
