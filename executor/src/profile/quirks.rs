//! Ways to break a rule, one a field. All off in a conforming NIC.

use serde::{Deserialize, Serialize};

/// Rules that a NIC breaks. Numbers that say "every n-th" count per QP, and 0 is never.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quirks {
    /// Responder: further sequence NAKs for the same expected PSN, one for each further out-of-order packet, at most
    /// so many.
    pub nak_repeats: u32,
    /// Responder: added to the PSN of a sequence NAK.
    pub nak_psn_offset: i32,
    /// Responder: no sequence NAKs at all.
    pub nak_suppressed: bool,
    /// Responder: a sequence NAK for the expected PSN after every n-th packet that arrived in order.
    pub nak_unprovoked_every: u32,
    /// Responder: added to the PSN of ACKs that end a message.
    pub ack_psn_offset: i32,
    /// Responder: duplicates are acknowledged with their own PSN, not with the latest.
    pub reack_own_psn: bool,
    /// Responder: duplicates are not acknowledged again.
    pub reack_missing: bool,
    /// Responder: duplicate Reads are not answered.
    pub reread_missing: bool,
    /// Responder: every n-th required ACK is not sent.
    pub ack_missing_every: u32,
    /// Responder: ACKs overtake Read responses that wait.
    pub ack_passes_read: bool,
    /// Responder: added to the MSN of every ACK and response.
    pub msn_offset: i32,
    /// Responder: duplicate Writes are executed again and counted as messages.
    pub duplicate_write_executed: bool,
    /// Responder: every n-th packet of its Read responses is left out.
    pub response_gap_every: u32,
    /// Responder: one packet more than was asked for in every n-th Read response.
    pub response_surplus_every: u32,
    /// Responder: the last packet of a Read response has the opcode MIDDLE.
    pub response_never_ends: bool,
    /// Requester: added to the PSN that a NAK asks to resume from.
    pub resume_offset: i32,
    /// Requester: sequence NAKs are not answered.
    pub nak_ignored: bool,
    /// Requester: a gap in Read responses is no implied NAK.
    pub implied_nak_ignored: bool,
    /// Requester: retransmits from the oldest unacknowledged packet after every n-th one that it sends.
    pub retransmits_unprovoked_every: u32,
    /// Requester: one PSN is left out after every n-th message.
    pub psn_skipped_every: u32,
    /// Requester: the opcode of every n-th packet in the middle of a message is that of a first one.
    pub first_in_the_middle_every: u32,
    /// Requester: a repeated Read request has the address of the whole Read.
    pub read_address_not_advanced: bool,
    /// Requester: added to the retry budget.
    pub retry_offset: i32,
    /// Requester: added to the RNR retry budget.
    pub rnr_retry_offset: i32,
    /// Requester: waits this part less than an RNR NAK asks for, in percent; 0 waits all of it.
    pub rnr_wait_short_percent: u32,
    /// Requester: progress does not start the ACK timer again.
    pub timer_ignores_progress: bool,
    /// Requester: requests go on after a NAK that ends the QP.
    pub fatal_nak_ignored: bool,
    /// Receiver: every n-th packet is lost before the transport, and no counter says so.
    pub silent_discard_every: u32,
    /// Notification point: no CNPs, though they are enabled.
    pub cnp_suppressed: bool,
    /// Notification point: a CNP for every n-th packet that is not marked.
    pub cnp_unprovoked_every: u32,
    /// Notification point: the interval is not kept.
    pub cnp_interval_ignored: bool,
    /// Counters that never move, by name.
    pub stuck_counters: Vec<String>,
    /// Counters that count each event twice, by name.
    pub doubled_counters: Vec<String>,
}

impl Quirks {
    /// Returns true if there are none, so that the NIC conforms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
