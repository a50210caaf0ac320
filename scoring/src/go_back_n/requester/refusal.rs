//! RNR NAKs: the wait that they ask for, and the retransmissions that they make (IBA vol. 1, 9.7.5.2.8).

use dumper::{Nanos, Psn};

use super::Requester;
use super::cause::{Cause, overtaken_by};
use crate::go_back_n::ledger::Ledger;
use crate::go_back_n::packet::Packet;
use crate::go_back_n::tables::requester::Event;
use crate::thresholds::RNR_WAIT_PERCENT;

impl Requester {
    /// Event of a retransmission after an RNR NAK: the one that it requests, from its PSN, after its wait, or
    /// the same too soon. Too soon only if no timer explains it.
    pub(super) fn rnr_explains(&self, packet: &Packet, ledger: &Ledger<'_>) -> Option<Event> {
        let rnr = self.rnr.filter(|rnr| rnr.pending > 0)?;
        let waited = packet.time - rnr.time;
        let expired =
            self.timer_is_due(packet.time, ledger) && self.may_have_expired_before_rnr(&rnr, ledger);
        if rnr.psn != packet.psn {
            // Acknowledgements were late or lost: the refused request has arrived after all, and the packets behind it were
            // discarded without a NAK; or the wait ends with an older request missing.
            // That of an earlier RNR NAK may go on when a later one arrives.
            let over = packet.time - rnr.oldest + ledger.known.times.timer_slack >= self.rnr_wait;
            let overtaken = (over || rnr.psn.is_before(packet.psn))
                && packet.psn == self.window.una()
                && waited <= self.rnr_wait + ledger.known.times.ack_in_flight
                && (over || !self.timer_is_due(packet.time, ledger));
            return overtaken.then_some(Event::ResumeAfterRnr);
        }
        if waited + ledger.known.times.timer_slack >= self.rnr_wait {
            return Some(Event::ResumeAfterRnr);
        }
        let too_soon = self.is_short(waited);
        if too_soon && self.rnr_binds && packet.psn == self.window.una() && !expired {
            return (!self.may_not_have_heard_rnr(packet, ledger)).then_some(Event::ResumeDuringRnr);
        }
        (!expired).then_some(Event::ResumeAfterRnr)
    }

    /// Returns true if a wait is shorter than the RNR NAK asks for.
    fn is_short(&self, waited: Nanos) -> bool {
        waited.times(100) < self.rnr_wait.times(RNR_WAIT_PERCENT)
    }

    /// Returns true if the requester has waited as long as an RNR NAK of this PSN asks for, and `causes` were delivered
    /// after that RNR NAK: a requester that discards nothing and acts on one of them has received the RNR NAK before.
    pub(super) fn has_waited_for_receiver(
        &self,
        packet: &Packet,
        causes: [Option<Cause>; 2],
        ledger: &Ledger<'_>,
    ) -> bool {
        let none_discarded = ledger.requester_discards == Some(0);
        none_discarded
            && self.rnr.is_some_and(|rnr| {
                let is_older = |cause: &Cause| cause.pending > 0 && cause.latest_round.time < rnr.time;
                rnr.pending > 0
                    && rnr.psn == packet.psn
                    && !self.is_short(packet.time - rnr.time)
                    && !causes.iter().flatten().any(is_older)
            })
    }

    /// Takes an RNR NAK as acted upon by a return to `psn` for another cause, if that comes after its wait, and so late
    /// that the RNR NAK has certainly arrived.
    pub(super) fn consume_rnr(&mut self, psn: Psn, now: Nanos, ledger: &Ledger<'_>) {
        let in_flight = ledger.known.times.ack_in_flight;
        let wait = self.rnr_wait.max(in_flight);
        if let Some(rnr) = &mut self.rnr
            && !psn.is_after(rnr.psn)
            && rnr.pending > 0
            && now - rnr.time >= wait
        {
            rnr.consume(now, in_flight);
        }
    }

    /// Returns true if the ACK timer may have expired before an RNR NAK arrived: from then on it does not run until the
    /// wait is over. The copy of an RNR NAK that was acted on before does not stop it, nor does one that the host may have
    /// discarded, or one behind an unanswered Read, which is an implied NAK.
    pub(super) fn may_have_expired_before_rnr(&self, rnr: &Cause, ledger: &Ledger<'_>) -> bool {
        let arrived = rnr.time + longest_on_its_way(ledger);
        !self.rnr_binds
            || ledger.requester_discards != Some(0)
            || rnr.acted
            || self.timer_is_due(arrived, ledger)
    }

    /// Returns true if an RNR NAK may still be on its way while the requester retransmits for another reason, or was
    /// among the packets that its host counts as discarded.
    pub(super) fn may_not_have_heard_rnr(&self, packet: &Packet, ledger: &Ledger<'_>) -> bool {
        ledger.requester_has_discarded()
            || self.may_have_expired_before(packet.time, ledger)
            || [self.nak, self.gap]
                .into_iter()
                .any(|cause| overtaken_by(cause, packet, ledger.known.times.ack_in_flight))
    }

    /// Returns true if the wait of an RNR NAK of the sent packet is not over: if the timer ran meanwhile and
    /// expired, the trace could not distinguish that from too short a wait.
    pub(super) fn is_to_wait(&self, packet: &Packet) -> bool {
        self.rnr.is_some_and(|rnr| {
            rnr.pending > 0 && rnr.psn == packet.psn && packet.time - rnr.time < self.rnr_wait
        })
    }

    /// Returns true if the last packet that the requester sent was refused with an RNR NAK, before its timer can have
    /// expired, and no NAK or implied NAK is left to act on: no transport retry can be spent then, as the ACK timer
    /// does not run during an RNR wait.
    pub(super) fn ends_in_rnr_wait(&self, ledger: &Ledger<'_>) -> bool {
        let in_flight = ledger.known.times.ack_in_flight;
        ledger.known.timer_shows()
            && self.rnr.is_some_and(|rnr| {
                let is_answered = |cause: &Cause| {
                    cause.pending == 0 || cause.latest_round.time + in_flight < self.last_sent
                };
                rnr.pending > 0
                    && rnr.psn == self.window.una()
                    && rnr.time > self.last_sent
                    && self.expired_unseen.is_none()
                    && !self.may_have_expired_before_rnr(&rnr, ledger)
                    && [self.nak, self.gap].iter().flatten().all(is_answered)
            })
    }
}

/// The longest that an answer is on its way from the switch to the requester's transport.
pub(super) fn longest_on_its_way(ledger: &Ledger<'_>) -> Nanos {
    ledger.known.times.timer_slack + ledger.shared_path.answers_queued()
}
