//! Why a requester goes back: what it has heard and not acted on.

use dumper::{Nanos, Psn};

use crate::gbn::tracker::Packet;
use crate::thresholds::SLOWEST_NACK;

/// A NACK that was delivered to the requester (or, for a Read, a reason to make one).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cause {
    pub(super) psn: Psn,
    /// The NAK, or the response beyond the gap: the first that was not acted on.
    pub(super) sequence: u32,
    pub(super) time: Nanos,
    /// Deliveries that were not acted on. Each of several may be: they may arrive after the requester has
    /// acted on the first.
    pub(super) pending: u32,
    /// At least one was acted on.
    pub(super) acted: bool,
}

impl Cause {
    /// Notes that `packet` asks for going back to `psn`. Returns whether that is news.
    pub(super) fn heard(cause: &mut Option<Self>, psn: Psn, packet: &Packet) -> bool {
        match cause {
            Some(known) if known.psn == psn => {
                if known.pending == 0 {
                    (known.sequence, known.time) = (packet.sequence, packet.time);
                }
                known.pending = known.pending.saturating_add(1);
                false
            }
            _ => {
                let (sequence, time) = (packet.sequence, packet.time);
                // What was not acted on may be acted on still, from where it is then needed.
                let overtaken =
                    cause.filter(|old| time - old.time <= SLOWEST_NACK).map_or(0, |old| old.pending);
                *cause =
                    Some(Self { psn, sequence, time, pending: overtaken.saturating_add(1), acted: false });
                true
            }
        }
    }

    /// Takes one delivery as acted upon. Returns how it was before.
    pub(super) fn act(cause: &mut Option<Self>) -> Self {
        let cause = cause.as_mut().expect("the event says that the cause was heard");
        let before = *cause;
        cause.pending = cause.pending.saturating_sub(1);
        cause.acted = true;
        before
    }
}

/// A sequence NAK that was delivered, for a request that was sent once: going back is owed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unheeded {
    pub(super) psn: Psn,
    pub(super) sequence: u32,
    /// When it was delivered, or when the wait that an earlier RNR NAK asked for is over.
    pub(super) owed_since: Nanos,
}
