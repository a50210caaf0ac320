//! Answers that a responder must send: NAKs, ACKs, and answers to duplicates that never came.

use dumper::wire::Class;
use dumper::{Nanos, Psn};

use super::{Gap, Responder};
use crate::anomaly::{Evidence, Role};
use crate::go_back_n::ledger::Ledger;
use crate::go_back_n::packet::Packet;
use crate::go_back_n::shared_path::Moment;
use crate::go_back_n::tables::responder::State;
use crate::rules::Rule;

/// A request with AckReq, or for a Read, that was delivered and not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwedAck {
    pub(super) psn: Psn,
    pub(super) sequence: u32,
    pub(super) since: Moment,
    pub(super) is_read: bool,
    /// Duplicates that asked and were not answered in time.
    pub(super) unanswered: u32,
}

impl OwedAck {
    /// Answer due to a request from now on, if the request needs one.
    pub(super) fn to(packet: &Packet, ledger: &Ledger<'_>) -> Option<Self> {
        let class = packet.opcode.class();
        let is_read = class == Class::ReadRequest;
        (is_read || (packet.ack_req && class.is_data())).then(|| Self {
            psn: packet.psn,
            sequence: packet.sequence,
            since: ledger.shared_path.at(packet.time),
            is_read,
            unanswered: 0,
        })
    }
}

/// Returns true if an answer due since `since` is missing at `now`: an answer that waits behind others is not
/// missing.
pub(super) fn out_of_patience(since: Moment, now: Moment, ledger: &Ledger<'_>) -> bool {
    now.idle_since(since) >= ledger.known.times.answer_patience + ledger.shared_path.requests_queued()
}

impl Responder {
    /// A duplicate shows that the requester has waited in vain for the ACK that it asked for at first.
    pub(super) fn judge_first_ack(
        &mut self,
        packet: &Packet,
        read: impl FnOnce(Psn) -> bool,
        ledger: &mut Ledger<'_>,
    ) {
        let unacknowledged =
            |asked: &OwedAck| !self.expects.exceeds(asked.psn) && !packet.psn.is_after(asked.psn);
        let Some(asked) = self.asked.filter(unacknowledged) else { return };
        // It, or a packet before it, may have been lost behind the switch, unless the host counts no
        // discards.
        let clear = ledger.responder_discards == Some(0)
            && !matches!(self.state, State::Failed | State::NotReady)
            && self.uncertain.is_none()
            && !read(asked.psn);
        if !clear || !out_of_patience(asked.since, ledger.shared_path.at(packet.time), ledger) {
            return;
        }
        let relative = ledger.relative(asked.psn);
        let waited = packet.time - asked.since.time;
        let what = format!("sends no ACK for {waited} although PSN {relative} has AckReq set");
        let evidence = Evidence::packets([asked.sequence, packet.sequence]).with_time("waited", waited);
        self.judge_absence(Rule::AckMissing, what, evidence, ledger);
        self.asked = None;
    }

    /// A duplicate shows that the requester has waited in vain for any response to a Read.
    pub(super) fn judge_first_response(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let Some(asked) = self.asked_read.filter(|asked| !packet.psn.is_after(asked.psn)) else { return };
        let clear = ledger.responder_discards == Some(0)
            && !matches!(self.state, State::Failed | State::NotReady)
            && self.uncertain.is_none();
        if !clear || !out_of_patience(asked.since, ledger.shared_path.at(packet.time), ledger) {
            return;
        }
        let relative = ledger.relative(asked.psn);
        let waited = packet.time - asked.since.time;
        let what = format!("sends no response to the Read of PSN {relative} for {waited}");
        let evidence = Evidence::packets([asked.sequence, packet.sequence]).with_time("waited", waited);
        self.judge_absence(Rule::ResponseGap, what, evidence, ledger);
        self.asked_read = None;
    }

    /// Judges a gap that was not NAKed until `until`.
    pub(super) fn judge_missing_nak(&self, gap: &Gap, until: Moment, ledger: &mut Ledger<'_>) {
        let certain = ledger.responder_discards == Some(0) || (gap.seen > 1 && gap.first);
        if !(gap.owed && certain && out_of_patience(gap.opened, until, ledger)) {
            return;
        }
        let relative = ledger.relative(gap.psn);
        let waited = until.time - gap.opened.time;
        let what =
            format!("sends no NAK of missing PSN {relative} for {waited}, with later packets delivered");
        let evidence = Evidence::packets([gap.out_of_order]).with_time("waited", waited);
        self.judge_absence(Rule::NakMissing, what, evidence, ledger);
    }

    /// Judges a duplicate that was not answered, if it is certain that the responder got one. Returns whether
    /// it is.
    pub(super) fn judge_reack(&self, owed: OwedAck, shown_by: u32, ledger: &mut Ledger<'_>) -> bool {
        // A single duplicate may have been lost behind the switch, unless the host counts that none was.
        let certain = ledger.responder_discards == Some(0) || owed.unanswered > 1;
        if certain {
            let relative = ledger.relative(owed.psn);
            let (rule, what) = if owed.is_read {
                (Rule::RereadMissing, format!("does not answer the duplicate Read request of PSN {relative}"))
            } else {
                let what = format!("does not acknowledge the duplicate of PSN {relative} with AckReq");
                (Rule::ReackMissing, what)
            };
            let evidence = Evidence::packets([owed.sequence, shown_by]);
            self.judge_absence(rule, what, evidence, ledger);
        }
        certain
    }

    /// An answer that was never sent: not the fault of a host that counts discarded packets.
    fn judge_absence(&self, rule: Rule, what: String, evidence: Evidence, ledger: &mut Ledger<'_>) {
        if ledger.responder_discards.is_none_or(|discards| discards == 0) {
            ledger.broken(Role::Responder, rule, self.state.name(), what, evidence);
        }
    }

    /// The trace ends at `now`.
    pub(in crate::go_back_n) fn ends(&mut self, now: Nanos, ledger: &mut Ledger<'_>) {
        self.settle(false, ledger);
        let now = ledger.shared_path.at(now);
        if let Some(owed) = self.owed.filter(|owed| out_of_patience(owed.since, now, ledger)) {
            let unanswered = owed.unanswered + 1;
            self.judge_reack(OwedAck { unanswered, ..owed }, owed.sequence, ledger);
        }
        if let Some(gap) = self.gap.filter(|_| self.state == State::GapOpen) {
            self.judge_missing_nak(&gap, now, ledger);
        }
    }
}
