//! The true state of a QP when it sends a packet, for tests of those who judge from the switch.

use dumper::Psn;
use dumper::wire::Class;

use super::host::Sent;
use super::nic::Nic;

/// State of the QP that sends a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Truth {
    /// Connection, from 0.
    pub connection: u32,
    /// True if the QP is the connection's requester.
    pub requests: bool,
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

impl Truth {
    /// State of the QP of a host's NIC that has just sent a packet.
    pub(super) fn of(nic: &Nic, requests: bool, sent: Sent) -> Self {
        let end = &nic.qps()[sent.qp as usize];
        let (retries, rnr_retries) = end.requester.retries();
        Self {
            connection: sent.qp,
            requests,
            is_cnp: sent.opcode.class() == Class::Cnp,
            expected: end.responder.expected_psn(),
            oldest: end.requester.oldest_psn(),
            retries,
            rnr_retries,
        }
    }
}
