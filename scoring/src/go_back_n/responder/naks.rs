//! Sequence NAKs: the loss that each is about, if there was one (IBA vol. 1, 9.7.5.2).

use dumper::Psn;

use super::{Gap, Responder};
use crate::anomaly::{Evidence, Role};
use crate::go_back_n::ledger::Ledger;
use crate::go_back_n::packet::Packet;
use crate::go_back_n::requester::NakCause;
use crate::go_back_n::shared_path::Moment;
use crate::go_back_n::tables::responder::{Event, State};
use crate::rules::Rule;

/// A NAK of a PSN that left the switch intact, where the host counts no discards, or does not count them. Its next answers
/// show if it has the packet, so that it sent a wrong NAK, or if the packet went missing and no counter tells.
#[derive(Debug)]
pub(super) struct Disputed {
    psn: Psn,
    /// One past the last packet that was delivered in order when it sent the NAK.
    end: Psn,
    /// The rule that the NAK breaks if it has the packet.
    rule: Rule,
    state: &'static str,
    what: String,
    nak: u32,
}

impl Responder {
    /// The responder has answered `psn`: one that it has not got again since it sent a disputed NAK it had all along.
    pub(super) fn settle_by(&mut self, psn: Psn, ledger: &mut Ledger<'_>) {
        let Some(disputed) = self.disputed.as_ref().filter(|disputed| !psn.is_before(disputed.psn)) else {
            return;
        };
        let had = !psn.is_before(self.expects.most()) && psn.is_before(disputed.end);
        self.settle(had, ledger);
    }

    /// Names the disputed NAK, as far as the packets tell.
    pub(super) fn settle(&mut self, had: bool, ledger: &mut Ledger<'_>) {
        let Some(Disputed { rule, state, what, nak, .. }) = self.disputed.take() else { return };
        let evidence = Evidence::packets([nak]);
        if had {
            ledger.broken(Role::Responder, rule, state, what, evidence);
        } else {
            ledger.undecided(rule, state, what, evidence);
        }
    }

    /// The responder has sent a sequence NAK; returns the loss that it is about.
    pub(super) fn sequence_nak(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) -> Option<NakCause> {
        let psn = packet.psn;
        ledger.counts.sequence_naks_sent += 1;
        // It acknowledges everything before its PSN, also what the responder seemed to miss.
        let had = self.disowned.filter(|end| psn.is_after(self.expects.most()) && !psn.is_after(*end));
        if let Some(end) = had {
            self.settle_by(psn.sub(1), ledger);
            self.catch_up_to(end, ledger);
        }
        // Packets beyond that were delivered before the first NAK.
        let is_missing = had == Some(psn) && psn.is_before(self.highest);
        // Nothing is known that it could be about since the responder acknowledged something last.
        let unprovoked = self.state == State::InOrder
            && self.unanswered.is_empty()
            && !self.passed_over
            && !self.naks_ahead;
        let is_earlier = |(gap, _): &(Gap, Moment)| gap.owed && gap.psn.is_before(psn);
        let passes_over = self.unanswered.front().is_some_and(is_earlier);
        let is_open_again = self.gap.is_some_and(|gap| gap.psn == psn)
            && self.unanswered.iter().any(|(gap, _)| gap.psn == psn);
        let (event, cause) = self.name_nak(psn, is_missing, unprovoked, passes_over, ledger);
        self.naks_ahead |= event == Event::NakAhead;
        let relative = ledger.relative(psn);
        let most = self.expects.most();
        let expected = ledger.relative(if psn == most { self.expects.least() } else { most });
        let earlier = self.naked.filter(|(naked, _)| *naked == psn).map(|(_, sequence)| sequence);
        let state = self.state.name();
        let intact = || format!("NAKs PSN {relative} although that packet left the switch intact");
        self.step_with(event, packet, earlier, ledger, || match event {
            Event::NakAgain => format!("NAKs PSN {relative} twice without receiving it in between"),
            Event::NakIdle => format!("NAKs PSN {relative} although no later packet was delivered"),
            Event::NakDeliveredUnlost | Event::NakUnprovoked => intact(),
            _ => format!("NAKs PSN {relative} where PSN {expected} is expected"),
        });
        if event == Event::NakDisputed {
            self.settle(false, ledger);
            self.disputed = Some(Disputed {
                psn,
                end: self.expects.most(),
                rule: if unprovoked { Rule::NakWithoutCause } else { Rule::NakWrongPsn },
                state,
                what: intact(),
                nak: packet.sequence,
            });
        }
        if matches!(
            event,
            Event::NakDiscarded | Event::NakDisputed | Event::NakDeliveredUnlost | Event::NakUnprovoked
        ) {
            self.disowned = Some(self.expects.most());
            self.rewind(psn);
        }
        // A NAK of a PSN that it cannot miss leaves the one that it may have sent as it is. It was the answer
        // to packets out of order, though, and was judged.
        if !matches!(event, Event::NakAhead | Event::NakAcknowledged) {
            self.naked = Some((psn, packet.sequence));
        } else if let Some(gap) = &mut self.gap {
            gap.owed = false;
        }
        // The NAK may have been in the making since an earlier gap, at this PSN or another: it names the PSN that is expected
        // when it is sent.
        cause.filter(|_| !passes_over && !is_open_again).map(|gap| NakCause {
            psn,
            out_of_order: gap.out_of_order,
            generation: packet.time - gap.opened.time,
        })
    }

    /// The event that a sequence NAK is, and the gap that it is the NAK of.
    fn name_nak(
        &mut self,
        psn: Psn,
        is_missing: bool,
        unprovoked: bool,
        passes_over: bool,
        ledger: &Ledger<'_>,
    ) -> (Event, Option<Gap>) {
        let late = self.unanswered.iter().position(|(gap, _)| gap.psn == psn);
        // The missing packet has come, and the NAK is for the packets discarded behind it.
        let is_behind =
            |(gap, _): &(Gap, Moment)| psn == self.expects.most() && gap.thrown_away.is_after(psn);
        let behind = self.unanswered.iter().position(is_behind);
        if let Some(gap) = self.gap.filter(|gap| gap.psn == psn) {
            self.gap = None;
            self.passed_over |= passes_over;
            (Event::NakOwed, Some(gap))
        } else if let Some((gap, _)) = late.and_then(|at| self.unanswered.remove(at)) {
            self.passed_over |= passes_over;
            (Event::NakOwed, Some(gap))
        } else if let Some((gap, _)) = behind.and_then(|at| self.unanswered.remove(at)) {
            // Or it is the gap's own, with a PSN that is wrong.
            self.passed_over = true;
            (Event::NakOwed, Some(gap))
        } else if is_missing {
            (Event::NakOwed, None)
        } else if self.uncertain.is_some_and(|from| !psn.is_before(from)) && self.is_outstanding(psn) {
            self.rewind(psn);
            (Event::NakOwed, None)
        } else if self.naked.is_some_and(|(naked, _)| naked == psn) {
            (Event::NakAgain, None)
        } else {
            (self.nak_without_gap(psn, unprovoked, passes_over, ledger), None)
        }
    }

    /// The event that a sequence NAK is that is of no gap.
    fn nak_without_gap(&self, psn: Psn, unprovoked: bool, passes_over: bool, ledger: &Ledger<'_>) -> Event {
        let wrong = passes_over || self.passed_over || self.naks_ahead;
        match psn.since(self.expects.most()) {
            1.. => Event::NakAhead,
            // The PSNs of its NAKs are wrong, or may be, and so may this one's.
            0 if wrong && self.expects.least() != psn => Event::NakAhead,
            0 => Event::NakIdle,
            _ if self.expects.exceeds(psn) => Event::NakAcknowledged,
            _ => match ledger.responder_discards {
                Some(1..) => Event::NakDiscarded,
                Some(0) if ledger.responder_proven && unprovoked => Event::NakUnprovoked,
                Some(0) if ledger.responder_proven || wrong => Event::NakDeliveredUnlost,
                Some(0) | None => Event::NakDisputed,
            },
        }
    }
}
