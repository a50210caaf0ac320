//! Causes of a retransmission: NAKs, RNR NAKs and implied NAKs that the requester received and has not acted on.

use dumper::{Nanos, Psn};

use crate::go_back_n::packet::Packet;
use crate::thresholds::SLOWEST_NACK;

/// A delivery that asks for a retransmission: a NAK, or a response beyond the missing one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Delivery {
    pub(super) sequence: u32,
    pub(super) time: Nanos,
}

/// A NACK that was delivered to the requester (or, for a Read, a reason to make one).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cause {
    pub(super) psn: Psn,
    /// Time of the earliest delivery that may still be acted on.
    pub(super) time: Nanos,
    /// The same, those for other PSNs included: a slow NIC may act on one from where it is then needed.
    pub(super) oldest: Nanos,
    /// The first delivery since the requester last returned to this PSN, whatever made it; before any return, the first.
    pub(super) latest_round: Delivery,
    /// Time of the last delivery.
    pub(super) last: Nanos,
    /// The requester has returned to this PSN since the last delivery.
    returned: bool,
    /// Deliveries that were not acted on. Each of several may be: they may arrive after the requester has
    /// acted on the first.
    pub(super) pending: u32,
    /// At least one was acted on.
    pub(super) acted: bool,
}

impl Cause {
    /// Notes that `packet` asks for a retransmission from `psn`. Returns true if no earlier delivery asked for it.
    pub(super) fn heard(cause: &mut Option<Self>, psn: Psn, packet: &Packet) -> bool {
        let delivery = Delivery { sequence: packet.sequence, time: packet.time };
        match cause {
            Some(known) if known.psn == psn => {
                if known.pending == 0 {
                    (known.time, known.oldest) = (packet.time, packet.time);
                }
                if known.pending == 0 || std::mem::take(&mut known.returned) {
                    known.latest_round = delivery;
                }
                known.last = packet.time;
                known.pending = known.pending.saturating_add(1);
                false
            }
            _ => {
                // A delivery for another PSN that was not acted on may be acted on still, from where it is then needed.
                let overtaken = cause.filter(|old| old.pending > 0 && packet.time - old.time <= SLOWEST_NACK);
                *cause = Some(Self {
                    psn,
                    time: packet.time,
                    oldest: overtaken.map_or(packet.time, |old| old.oldest),
                    latest_round: delivery,
                    last: packet.time,
                    returned: false,
                    pending: overtaken.map_or(0, |old| old.pending).saturating_add(1),
                    acted: false,
                });
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

    /// Takes every delivery as acted upon, but for a further one that may still be on its way.
    pub(super) fn consume(&mut self, now: Nanos, in_flight: Nanos) {
        self.pending = u32::from(self.pending > 1 && now - self.last <= in_flight);
        (self.time, self.oldest) = (self.last, self.last);
        self.acted = self.pending > 0;
    }

    /// Takes every delivery as acted upon that has certainly arrived: the last one is older than what may be on its way.
    pub(super) fn settle(cause: &mut Option<Self>, psn: Psn, arrived: Nanos) {
        if let Some(cause) = cause.as_mut().filter(|cause| cause.psn == psn && cause.last <= arrived) {
            cause.pending = 0;
        }
    }

    /// The requester returns to `psn`, whatever made it: deliveries from now on belong to a later loss or refusal.
    pub(super) fn returned_to(cause: &mut Option<Self>, psn: Psn) {
        if let Some(cause) = cause.as_mut().filter(|cause| !psn.is_after(cause.psn)) {
            cause.returned = true;
        }
    }
}

/// Returns true if the retransmission of `packet` may be for a cause that names an earlier PSN and was
/// delivered no longer than `within` ago: that PSN was acknowledged when the requester was about to repeat
/// it, and the packets that passed the switch since may not have arrived, or the requester is slow.
pub(super) fn overtaken_by(cause: Option<Cause>, packet: &Packet, within: Nanos) -> bool {
    cause.is_some_and(|cause| {
        cause.pending > 0 && cause.psn.is_before(packet.psn) && packet.time - cause.time <= within
    })
}

/// A sequence NAK that was delivered, for a request that was sent once: the requester must return to its PSN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unheeded {
    pub(super) psn: Psn,
    pub(super) sequence: u32,
    /// When it was delivered, or when the wait that an earlier RNR NAK asked for is over.
    pub(super) owed_since: Nanos,
}
