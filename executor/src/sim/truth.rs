//! The true state of a QP when it sends a packet, for tests of those who judge from the switch.

use corpus::Role;
use dumper::Psn;

/// State of the QP that sends a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Truth {
    /// Connection, from 0.
    pub connection: u32,
    /// Host of the QP.
    pub host: Role,
    /// True if the packet is a CNP, which may pass others.
    pub is_cnp: bool,
    /// PSN that its responder expects.
    pub expected: Psn,
    /// Oldest unacknowledged PSN of its requester.
    pub oldest: Psn,
    /// Retries that its requester has spent since the last progress, after time-outs and NAKs.
    pub retries: u32,
    /// The same, after RNR NAKs.
    pub rnr_retries: u32,
}
