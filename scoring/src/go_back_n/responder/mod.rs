//! The responder's machine: its acknowledgements, judged against the delivered packets.

mod lengths;
mod messages;
mod naks;
mod owed;

use std::collections::VecDeque;

use dumper::Psn;
use dumper::wire::{Class, Position};

use self::lengths::Lengths;
use self::messages::Messages;
use self::naks::Disputed;
use self::owed::{OwedAck, out_of_patience};
use super::belief::Belief;
use super::ledger::Ledger;
use super::packet::{Answer, Packet};
use super::requester::NakCause;
use super::shared_path::Moment;
use super::tables::responder::{Event, State};
use crate::anomaly::{Evidence, Role};
use crate::rules::Rule;

/// An expected PSN beyond which a packet was delivered.
#[derive(Clone, Copy, Debug)]
struct Gap {
    psn: Psn,
    /// First packet beyond it, and when it left the switch.
    out_of_order: u32,
    opened: Moment,
    /// Packets delivered beyond it. One alone may have been lost behind the switch.
    seen: u32,
    /// One past the highest of them, which the responder has discarded.
    thrown_away: Psn,
    /// True if the responder must send a NAK: not behind a request that was, or may have been, refused with
    /// an RNR NAK.
    owed: bool,
    /// No NAK or RNR NAK was outstanding: the packet that it requests may have been lost behind the switch
    /// when it was repeated.
    first: bool,
}

impl Gap {
    fn opened_by(packet: &Packet, psn: Psn, owed: bool, ledger: &Ledger<'_>) -> Self {
        Self {
            psn,
            out_of_order: packet.sequence,
            opened: ledger.shared_path.at(packet.time),
            seen: 1,
            thrown_away: packet.end(),
            owed,
            first: true,
        }
    }

    /// A further packet was delivered beyond it.
    const fn widen(&mut self, packet: &Packet) {
        self.seen = self.seen.saturating_add(1);
        if packet.end().is_after(self.thrown_away) {
            self.thrown_away = packet.end();
        }
    }
}

/// Closed gaps whose NAK may still be on its way, at most: one for every other packet of a window of 8192. Where every
/// few packets come late, each makes a gap, and the NAKs wait in their NIC behind Read responses for as long
/// as those take.
const REMEMBERED_GAPS: usize = 4096;

#[derive(Debug)]
pub(super) struct Responder {
    state: State,
    /// Its expected PSN: at least what it has acknowledged, at most what it expects if everything that left the switch has
    /// arrived.
    expects: Belief<Psn>,
    gap: Option<Gap>,
    /// Gaps that closed before their NAK was seen.
    unanswered: VecDeque<(Gap, Moment)>,
    /// A NAK was taken as that of a gap, and an earlier one was never NAKed; nothing from that NAK on was acknowledged since.
    /// It may have been the earlier one's, with a PSN that is wrong, and the next NAK that of the gap.
    passed_over: bool,
    /// It NAKed a PSN beyond the expected one: so may others of its NAKs.
    naks_ahead: bool,
    /// PSN of the last sequence NAK, and the NAK.
    naked: Option<(Psn, u32)>,
    /// PSN of the last RNR NAK, until it is acknowledged.
    refused: Option<Psn>,
    owed: Option<OwedAck>,
    /// The last request with AckReq that it took, until it is acknowledged.
    asked: Option<OwedAck>,
    /// The first Read request that it took and has answered nothing of.
    asked_read: Option<OwedAck>,
    /// Unacknowledged PSNs that were delivered again: from the first to before the second.
    repeated: Option<(Psn, Psn)>,
    /// From there on the trace does not show if the responder took the packets, even if all of them arrived: it refused
    /// one copy and may have taken the next, or refused that as well.
    uncertain: Option<Psn>,
    /// There were such PSNs: from then on it is unknown which packets are duplicates to the responder.
    was_uncertain: bool,
    /// Duplicates of unacknowledged packets, or since the last answer: should the responder refuse something,
    /// they may not have been duplicates.
    unsettled: u64,
    /// PSN that may have been NAKed before the first packet of the trace.
    unsure: Option<Psn>,
    /// One past the highest PSN delivered, in order or not.
    highest: Psn,
    /// Expected PSN if the responder had not NAKed a PSN that had left the switch: an ACK of an earlier
    /// packet shows that it has that packet after all.
    disowned: Option<Psn>,
    disputed: Option<Disputed>,
    messages: Messages,
    lengths: Lengths,
}

impl Responder {
    pub(super) fn starting_at(psn: Psn, fresh: bool) -> Self {
        Self {
            state: State::InOrder,
            expects: Belief::certain(psn),
            gap: None,
            unanswered: VecDeque::new(),
            passed_over: false,
            naks_ahead: false,
            naked: None,
            refused: None,
            owed: None,
            asked: None,
            asked_read: None,
            repeated: None,
            uncertain: None,
            was_uncertain: false,
            unsettled: 0,
            unsure: (!fresh).then_some(psn),
            highest: psn,
            disowned: None,
            disputed: None,
            messages: Messages::starting_at(fresh),
            lengths: Lengths::default(),
        }
    }

    /// Its expected PSN when it sent the packet that enters now.
    pub(super) const fn expects(&self) -> Belief<Psn> {
        self.expects
    }

    /// Whether it has sent a NAK that ends the QP.
    pub(super) fn has_failed(&self) -> bool {
        self.state == State::Failed
    }

    /// The state in signatures.
    pub(super) const fn state_name(&self) -> &'static str {
        self.state.name()
    }

    /// A request is delivered. Returns whether it is new to the responder, or `None` where it is out of order. `read`
    /// tells whether a Read or atomic before a PSN is unanswered, behind which ACKs have to wait.
    #[inline]
    pub(super) fn takes(
        &mut self,
        packet: &Packet,
        ends_message: bool,
        read: impl FnOnce(Psn) -> bool,
        ledger: &mut Ledger<'_>,
    ) -> Option<bool> {
        let ahead = packet.psn.since(self.expects.most());
        if packet.end().is_after(self.highest) {
            self.highest = packet.end();
        }
        if self.disowned == Some(packet.psn) {
            self.disowned = Some(packet.end());
        }
        if ahead == 0 {
            self.expects.may_reach(packet.end());
            self.lengths.take(packet, ledger.sure_mtu());
            // It takes this only if it has taken the packets before it: while it is unknown if it takes
            // anything, no answer is due.
            if self.uncertain.is_none()
                && let Some(owed) = OwedAck::to(packet, ledger)
            {
                if owed.is_read {
                    self.asked_read.get_or_insert(owed);
                } else {
                    self.asked = Some(owed);
                }
            }
            if ends_message {
                self.messages.completed(packet.end().sub(1));
            }
            if self.state != State::InOrder {
                self.close_gap(ledger.shared_path.at(packet.time));
            }
            self.step(Event::TakeExpected, packet, ledger, String::new);
            Some(true)
        } else if ahead > 0 {
            self.take_beyond(packet, ledger);
            None
        } else {
            self.judge_first_ack(packet, read, ledger);
            self.judge_first_response(packet, ledger);
            self.take_duplicate(packet, ledger);
            Some(false)
        }
    }

    fn take_beyond(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let naked = self.naked.is_some_and(|(psn, _)| psn == self.expects.most());
        match &mut self.gap {
            Some(open) if open.psn == self.expects.most() => open.widen(packet),
            _ if naked => {}
            _ => {
                let owed = !matches!(self.state, State::NotReady | State::Failed)
                    && self.unsure != Some(self.expects.most())
                    && self.uncertain.is_none();
                let first = self.naked.is_none() && self.refused.is_none();
                self.gap = Some(Gap { first, ..Gap::opened_by(packet, self.expects.most(), owed, ledger) });
            }
        }
        self.step(Event::TakeBeyond, packet, ledger, String::new);
    }

    fn take_duplicate(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        if self.state == State::Failed {
            // It takes nothing any more.
        } else if self.was_uncertain {
            ledger.counts.possible_duplicates += 1;
        } else {
            ledger.counts.duplicate_requests += 1;
            self.unsettled += 1;
        }
        if packet.end().is_after(self.expects.least()) {
            let (from, to) = self.repeated.unwrap_or((packet.psn, packet.end()));
            let from = if packet.psn.is_before(from) { packet.psn } else { from };
            let to = if packet.end().is_after(to) { packet.end() } else { to };
            self.repeated = Some((from, to));
        }
        self.step(Event::TakeDuplicate, packet, ledger, String::new);
        // Only a packet that it has acknowledged, or answered, is certainly a duplicate to the responder; the
        // rest may have been lost behind the switch.
        let is_duplicate = !packet.end().is_after(self.expects.least());
        if !is_duplicate || self.state == State::Failed {
            return;
        }
        let Some(owed) = OwedAck::to(packet, ledger) else { return };
        match self.owed {
            Some(earlier) if out_of_patience(earlier.since, owed.since, ledger) => {
                let unanswered = earlier.unanswered + 1;
                if self.judge_reack(OwedAck { unanswered, ..earlier }, packet.sequence, ledger) {
                    self.owed = None;
                } else {
                    self.owed = Some(OwedAck { unanswered, ..owed });
                }
            }
            Some(_) => {}
            None => self.owed = Some(owed),
        }
    }

    fn close_gap(&mut self, now: Moment) {
        if let Some(gap) = self.gap.take() {
            self.remember(gap, now);
        }
    }

    /// A NAK for `gap` may still come.
    fn remember(&mut self, gap: Gap, closed: Moment) {
        if self.unanswered.len() == REMEMBERED_GAPS {
            self.unanswered.pop_front();
        }
        self.unanswered.push_back((gap, closed));
    }

    /// An ACK or NAK enters the switch. `passed` is the first PSN of a Read or atomic that it leaves
    /// unanswered. Returns the cause of a sequence NAK, and true if the responder has not taken delivered
    /// packets, as its answer shows.
    #[inline]
    pub(super) fn acknowledges(
        &mut self,
        packet: &Packet,
        answer: Answer,
        passed: Option<Psn>,
        ledger: &mut Ledger<'_>,
    ) -> (Option<NakCause>, bool) {
        let psn = packet.psn;
        let before = self.expects.most();
        // A NAK of a PSN that is not missing any more, or that may be of one missing before, was made at an
        // unknown time.
        let only = || self.unanswered.is_empty() && self.gap.is_some_and(|gap| gap.psn == psn);
        let dated = answer != Answer::SequenceNak || only();
        if answer != Answer::SequenceNak && self.owed.is_some_and(|owed| !psn.is_before(owed.psn)) {
            self.owed = None;
        }
        let cause = match answer {
            Answer::Ack => {
                self.passed_over &= self.naked.is_some_and(|(naked, _)| packet.psn.is_before(naked));
                self.judge_accepted_length(packet, ledger);
                self.ack(packet, passed, ledger);
                None
            }
            Answer::SequenceNak => self.sequence_nak(packet, ledger),
            Answer::Rnr(_) => {
                self.rnr(packet, ledger);
                None
            }
            Answer::Fatal => {
                self.asked = None;
                // It did not look at the packets after the request that it refuses.
                self.unsettled = ledger.counts.duplicate_requests;
                self.doubt_duplicates(ledger);
                self.step(Event::Fatal, packet, ledger, String::new);
                None
            }
        };
        // An ACK covers its PSN; a NAK covers everything before.
        let covered = if answer == Answer::Ack { psn } else { psn.sub(1) };
        if self.repeated.is_none() {
            self.unsettled = 0;
        }
        if self.expects.may_exceed(covered) {
            // An ACK that regresses is judged for that alone.
            let goes_back = self.expects.exceeds(covered.add(1));
            if dated
                && !goes_back
                && let Some((expected, said)) = self.messages.check(covered, packet.aeth().msn)
            {
                let relative = ledger.relative(psn);
                let what = format!("acknowledges PSN {relative} with MSN {said} instead of {expected}");
                let evidence = Evidence::packets([packet.sequence]);
                ledger.broken(Role::Responder, Rule::MsnWrong, self.state.name(), what, evidence);
            }
            self.has_everything_before(covered.add(1), ledger);
        }
        (cause, self.expects.most() != before)
    }

    /// An acknowledgement that means nothing.
    #[cold]
    pub(super) fn judge_reserved_syndrome(&self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let (relative, syndrome) = (ledger.relative(packet.psn), u8::from(packet.aeth().syndrome));
        let what =
            format!("sends an acknowledgement of PSN {relative} with the reserved syndrome {syndrome:#04x}");
        let evidence = Evidence::packets([packet.sequence]).with_number("syndrome", u64::from(syndrome));
        ledger.broken(Role::Responder, Rule::SyndromeReserved, self.state.name(), what, evidence);
    }

    fn ack(&mut self, packet: &Packet, passed: Option<Psn>, ledger: &mut Ledger<'_>) {
        let psn = packet.psn;
        self.settle_by(psn, ledger);
        if let Some(end) =
            self.disowned.filter(|end| psn.is_before(*end) && !psn.is_before(self.expects.most()))
        {
            self.catch_up_to(end, ledger);
        }
        let event = if !self.expects.may_exceed(psn) {
            Event::AckBeyond
        } else if passed.is_some() {
            Event::AckPastRead
        } else if self.expects.exceeds(psn.add(1)) {
            Event::AckBack
        } else {
            Event::Ack
        };
        if event == Event::Ack {
            self.step(event, packet, ledger, String::new);
            return;
        }
        let relative = ledger.relative(psn);
        let (expected, acknowledged) =
            (ledger.relative(self.expects.most()), ledger.relative(self.expects.least()));
        let read = passed.map_or(0, |read| ledger.relative(read));
        self.step(event, packet, ledger, || match event {
            Event::AckBeyond => {
                format!("acknowledges PSN {relative} although PSN {expected} was never delivered")
            }
            Event::AckPastRead if relative == read => {
                format!("ACKs PSN {relative}, a Read or atomic, before it sends the response")
            }
            Event::AckPastRead => {
                format!("ACKs PSN {relative} before it answers the Read or atomic of PSN {read}")
            }
            _ => format!("acknowledges PSN {relative} after it acknowledged every PSN before {acknowledged}"),
        });
        if event == Event::AckBeyond && psn.is_before(self.highest) {
            // One fault, one remark: from here on it is taken to have all that was delivered.
            self.catch_up_to(self.highest, ledger);
        }
    }

    /// Requests before `end` do not show where their messages end: the MSN there is unknown.
    pub(super) fn cannot_count_before(&mut self, end: Psn) {
        self.messages.learn_anew(end);
    }

    /// The responder has everything before `end`, whatever was thought of it.
    fn catch_up_to(&mut self, end: Psn, ledger: &mut Ledger<'_>) {
        self.expects.may_reach(end);
        self.gap = None;
        self.disowned = None;
        self.lengths.forget();
        self.messages.learn_anew(end);
        self.state = self.state.step(Event::HasAll, ledger.transitions).state(self.state);
    }

    /// Of the duplicates that are not settled it is unknown if the responder counted them.
    fn doubt_duplicates(&mut self, ledger: &mut Ledger<'_>) {
        ledger.counts.duplicate_requests -= self.unsettled;
        ledger.counts.possible_duplicates += self.unsettled;
        self.unsettled = 0;
    }

    /// A packet with this PSN was delivered in order, and is not acknowledged.
    fn is_outstanding(&self, psn: Psn) -> bool {
        self.expects.may_exceed(psn) && !self.expects.exceeds(psn)
    }

    fn rnr(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let psn = packet.psn;
        self.doubt_duplicates(ledger);
        let delivered = self.is_outstanding(psn);
        let event = if delivered { Event::Rnr } else { Event::RnrOther };
        let relative = ledger.relative(psn);
        self.step(event, packet, ledger, || {
            format!("sends an RNR NAK of PSN {relative} with no such request outstanding")
        });
        if delivered {
            self.refused = Some(psn);
            // The one that it had NAKed has arrived: once refused it may be NAKed again.
            self.naked = self.naked.filter(|(naked, _)| *naked != psn);
            let more_followed = psn.add(1).is_before(self.expects.most()) || self.gap.is_some();
            self.rewind(psn);
            // A packet delivered behind the refused request is out of order to the responder: it may NAK it,
            // and need not.
            if let Some(gap) = &mut self.gap {
                gap.owed = false;
            }
            if more_followed {
                let gap = Gap::opened_by(packet, psn, false, ledger);
                self.remember(gap, gap.opened);
            }
        }
    }

    /// The responder expects `psn`, as its answer shows: packets delivered from there on did not count,
    /// unless they were delivered again since and taken, before the answer.
    fn rewind(&mut self, psn: Psn) {
        self.lengths.forget();
        let repeated = self.repeated.is_some_and(|(from, to)| !from.is_after(psn) && to.is_after(psn));
        self.asked = self.asked.filter(|asked| asked.psn.is_before(psn));
        self.asked_read = self.asked_read.filter(|asked| asked.psn.is_before(psn));
        if repeated {
            self.uncertain = Some(psn);
            self.was_uncertain = true;
        } else {
            self.gap = None;
            self.repeated = None;
            self.uncertain = None;
            self.expects.is_at_most(psn);
            self.messages.rewind(psn);
        }
    }

    /// A Read response or atomic acknowledgement enters the switch: it acknowledges its PSN and all before.
    #[inline]
    pub(super) fn responds(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let end = packet.psn.add(1);
        self.settle_by(packet.psn, ledger);
        // Reads are answered in order: until the last packet of an earlier one a later one waits, however
        // slowly they come.
        let asked_read = self.asked_read.filter(|asked| packet.psn.is_before(asked.psn));
        let waits = |asked| OwedAck { since: ledger.shared_path.at(packet.time), ..asked };
        self.asked_read = asked_read.map(waits);
        if self.expects.allows(end) && end != self.expects.least() {
            self.judge_response_msn(packet, ledger);
            self.has_everything_before(end, ledger);
        }
        if self.owed.is_some_and(|owed| !packet.psn.is_before(owed.psn)) {
            self.owed = None;
        }
    }

    /// Holds the MSN of a response that is given for the first time to the messages that can be complete by then.
    #[inline]
    fn judge_response_msn(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let ends = match packet.opcode.class() {
            Class::ReadResponse(Position::Middle) => return,
            Class::ReadResponse(position) => position.ends(),
            _ => true,
        };
        if self.was_uncertain || self.disowned.is_some() || self.refused.is_some() {
            return;
        }
        if let Some(said) = self.messages.check_response(packet.psn, ends, packet.aeth().msn) {
            let relative = ledger.relative(packet.psn);
            let what = format!(
                "sends MSN {said} in the response with PSN {relative}, which is not the number of completed messages"
            );
            let evidence = Evidence::packets([packet.sequence]);
            ledger.broken(Role::Responder, Rule::ResponseMsn, self.state.name(), what, evidence);
        }
    }

    /// The responder has shown that it has everything before `end`.
    #[inline]
    fn has_everything_before(&mut self, end: Psn, ledger: &mut Ledger<'_>) {
        if end.is_after(self.expects.least()) {
            self.expects.is_at_least(end);
            self.messages.forget_before(end);
            self.repeated = self.repeated.filter(|(_, to)| to.is_after(end)).map(|(from, to)| {
                let from = if from.is_before(end) { end } else { from };
                (from, to)
            });
            self.uncertain = self.uncertain.filter(|_| self.expects.may_exceed(end));
            self.refused = self.refused.filter(|psn| !psn.is_before(end));
            self.naked = self.naked.filter(|(psn, _)| !psn.is_before(end));
        }
        while let Some((gap, closed)) =
            self.unanswered.front().copied().filter(|(gap, _)| gap.psn.is_before(end))
        {
            self.unanswered.pop_front();
            self.judge_missing_nak(&gap, closed, ledger);
        }
    }

    #[inline]
    fn step(
        &mut self,
        event: Event,
        packet: &Packet,
        ledger: &mut Ledger<'_>,
        what: impl FnOnce() -> String,
    ) {
        self.step_with(event, packet, None, ledger, what);
    }

    #[inline]
    fn step_with(
        &mut self,
        event: Event,
        packet: &Packet,
        earlier: Option<u32>,
        ledger: &mut Ledger<'_>,
        what: impl FnOnce() -> String,
    ) {
        let next = self.state.step(event, ledger.transitions);
        let packets = [packet.sequence].into_iter().chain(earlier);
        ledger.judge(Role::Responder, next, self.state.name(), packets, what);
        self.state = next.state(self.state);
    }
}
