//! Ways to break a rule, one a field. All off in a conforming NIC. Each may be there always, or under
//! [conditions](super::conditions) only.

use serde::{Deserialize, Serialize};

use super::field::{Field, MAX_COUNT, counters, every, fault, int, offset};

/// Declares the quirks: the meaning, the field and its key, its type, and its bounds.
macro_rules! quirks {
    ($($meaning:literal $quirk:ident $key:literal: $type:ty = $form:ident($($bound:expr),*) $(.$more:ident($($with:expr),*))*;)*) => {
        /// Rules that a NIC breaks. Numbers that say "every n-th" count per QP, and 0 is never.
        #[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        pub struct Quirks {
            $(#[doc = $meaning] pub $quirk: $type,)*
        }

        /// The fields of the quirks, in the order of a printed profile.
        pub(super) const QUIRKS: &[Field] = &[
            $($form(concat!("quirks.", $key), $($bound,)* $meaning)$(.$more($($with),*))*,)*
        ];

        /// The same of quirks under conditions.
        pub(super) const CONDITIONAL: &[Field] = &[
            $($form(concat!("quirk.", $key), $($bound,)* $meaning)$(.$more($($with),*))*,)*
        ];

        impl Quirks {
            /// Takes over what `other` has.
            pub(crate) fn join(&mut self, other: &Self) {
                let none = Self::default();
                $(if other.$quirk != none.$quirk {
                    self.$quirk = other.$quirk.clone();
                })*
            }
        }
    };
}

quirks! {
    "Responder: further sequence NAKs for the same expected PSN, one for each further out-of-order packet, at most so many."
    nak_repeats "nak-repeats": u32 = int(0, MAX_COUNT, "").why("beyond the packets of any usable test").conforming(0, 0);
    "Responder: a further sequence NAK for the same expected PSN after every n-th further out-of-order packet."
    nak_again_every "nak-again-every": u32 = every();
    "Responder: added to the PSN of a sequence NAK."
    nak_psn_offset "nak-psn-offset": i32 = offset();
    "Responder: no sequence NAKs at all."
    nak_suppressed "nak-suppressed": bool = fault();
    "Responder: probability that a due sequence NAK is not sent; the missing packet has no other one."
    nak_missing_percent "nak-missing-percent": u32 = int(0, 100, "%").why("a probability").conforming(0, 0);
    "Responder: the syndrome of a sequence NAK is a reserved one."
    nak_syndrome_reserved "nak-syndrome-reserved": bool = fault();
    "Responder: a sequence NAK for the expected PSN after every n-th packet that arrived in order."
    nak_unprovoked_every "nak-unprovoked-every": u32 = every();
    "Responder: added to the PSN of ACKs that end a message."
    ack_psn_offset "ack-psn-offset": i32 = offset();
    "Responder: duplicates are acknowledged with their own PSN, not with the latest."
    reack_own_psn "reack-own-psn": bool = fault();
    "Responder: duplicates are not acknowledged again."
    reack_missing "reack-missing": bool = fault();
    "Responder: duplicate Reads are not answered."
    reread_missing "reread-missing": bool = fault();
    "Responder: every n-th due ACK is not sent."
    ack_missing_every "ack-missing-every": u32 = every();
    "Responder: ACKs overtake Read responses that wait."
    ack_passes_read "ack-passes-read": bool = fault();
    "Responder: added to the MSN of every ACK and response."
    msn_offset "msn-offset": i32 = offset();
    "Responder: duplicate Writes are executed again and counted as messages."
    duplicate_write_executed "duplicate-write-executed": bool = fault();
    "Responder: every n-th packet of its Read responses is left out."
    response_gap_every "response-gap-every": u32 = every();
    "Responder: one packet more than was asked for in every n-th Read response."
    response_surplus_every "response-surplus-every": u32 = every();
    "Responder: the last packet of a Read response has the opcode MIDDLE."
    response_never_ends "response-never-ends": bool = fault();
    "Requester: added to the PSN that a NAK asks to resume from."
    resume_offset "resume-offset": i32 = offset();
    "Requester: sequence NAKs are not answered."
    nak_ignored "nak-ignored": bool = fault();
    "Requester: a NAK of a packet that is about to be sent again, such as a copy of a NAK, spends a retry."
    nak_copy_spends_retry "nak-copy-spends-retry": bool = fault();
    "Requester: a gap in Read responses is noticed only when the ACK timer expires."
    implied_nak_ignored "implied-nak-ignored": bool = fault();
    "Requester: retransmits from the oldest unacknowledged packet after every n-th packet that it sends."
    retransmits_unprovoked_every "retransmits-unprovoked-every": u32 = every();
    "Requester: one PSN is left out after every n-th message."
    psn_skipped_every "psn-skipped-every": u32 = every();
    "Requester: the opcode of every n-th packet in the middle of a message is that of a first one."
    first_in_the_middle_every "first-in-the-middle-every": u32 = every();
    "Requester: a repeated Read request has the address of the whole Read."
    read_address_not_advanced "read-address-not-advanced": bool = fault();
    "Requester: added to the retry budget."
    retry_offset "retry-offset": i32 = offset();
    "Requester: added to the RNR retry budget."
    rnr_retry_offset "rnr-retry-offset": i32 = offset();
    "Requester: waits this part less than what an RNR NAK asks for; 0 waits all of it."
    rnr_wait_short_percent "rnr-wait-short-percent": u32 = int(0, 100, "%").why("a part of the whole").conforming(0, 0);
    "Requester: progress does not start the ACK timer again."
    timer_ignores_progress "timer-ignores-progress": bool = fault();
    "Requester: requests go on after a NAK that ends the QP."
    fatal_nak_ignored "fatal-nak-ignored": bool = fault();
    "Receiver: every n-th packet is lost before the transport, and no counter says so."
    silent_discard_every "silent-discard-every": u32 = every();
    "Notification point: no CNPs, though they are enabled."
    cnp_suppressed "cnp-suppressed": bool = fault();
    "Notification point: a CNP for every n-th packet that is not marked."
    cnp_unprovoked_every "cnp-unprovoked-every": u32 = every();
    "Notification point: the interval is not kept."
    cnp_interval_ignored "cnp-interval-ignored": bool = fault();
    "Counters that never move, by name."
    stuck_counters "stuck-counters": Vec<String> = counters();
    "Counters that count each event twice, by name."
    doubled_counters "doubled-counters": Vec<String> = counters();
}

impl Quirks {
    /// Returns true if there are none, so that the NIC conforms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
