//! The requester's machine: its packets, judged against the packets delivered to it.

mod budget;
mod cause;
mod copied;
mod duplicates;
mod ending;
mod refusal;
mod returns;
mod shape;
mod timer;

use std::collections::VecDeque;

use dumper::wire::{Class, Opcode};
use dumper::{Nanos, Psn};

use self::budget::Budget;
use self::cause::{Cause, Unheeded};
use self::copied::CopiedNak;
use self::duplicates::DuplicateAcks;
use self::shape::Place;
use super::belief::Belief;
use super::ledger::{Ledger, Lost};
use super::packet::{Answer, Packet};
use super::tables::requester::{Event, State};
use super::window::{Sent, Window};
use crate::anomaly::Role;
use crate::known::{Known, Timeout};
use crate::thresholds::SLOWEST_NACK;

/// A NAK as it was sent: its time, and the out-of-order packet behind it. The requester receives it only if
/// it is delivered.
#[derive(Clone, Copy, Debug)]
pub(super) struct NakCause {
    pub(super) psn: Psn,
    pub(super) out_of_order: u32,
    pub(super) generation: Nanos,
}

/// A re-issued Read whose first response has not been seen.
#[derive(Clone, Copy, Debug)]
struct Reissued {
    psn: Psn,
    time: Nanos,
    /// Its entry among the retransmissions.
    entry: usize,
}

#[derive(Debug)]
pub(super) struct Requester {
    state: State,
    window: Window,
    /// PSN after the packet that was sent last.
    cursor: Psn,
    nak: Option<Cause>,
    copied: Option<CopiedNak>,
    gap: Option<Cause>,
    /// PSN of the last delivery beyond the gap.
    beyond_gap: Psn,
    rnr: Option<Cause>,
    /// Time at which a NAK that ends the QP was delivered.
    failed: Option<Nanos>,
    /// Cause of the NAK that was sent last.
    nak_cause: Option<NakCause>,
    /// Time at which anything of the window was last sent.
    last_sent: Nanos,
    /// The last packet.
    last_packet: u32,
    reissued: Option<Reissued>,
    /// The wait that the last RNR NAK names.
    rnr_wait: Nanos,
    /// It refused the oldest unacknowledged request. Behind a Read that is not answered, an RNR NAK is an
    /// implied NAK too, and the requester may take it for that alone.
    rnr_binds: bool,
    /// The latest end of a wait that an RNR NAK asked for.
    rnr_until: Nanos,
    budget: Budget,
    duplicates: DuplicateAcks,
    /// Where the next new request stands.
    place: Place,
    unheeded: Option<Unheeded>,
    /// One past the highest PSN that an acknowledgement named. Before the packets of a capture, more may have
    /// been sent.
    told: Psn,
    /// Time at which an acknowledgement of everything before the oldest unacknowledged PSN was last
    /// delivered: of several, the first ones may have been lost behind the switch.
    last_covered: Nanos,
    /// End of an RNR wait: the timer does not run during it.
    rnr_resumed: Nanos,
    /// Latest arrival of the progress before which the timer may have expired: the packets to repeat then may
    /// have become fewer before they are sent.
    expired_unseen: Option<Nanos>,
    /// A CNP was delivered to it. From then on a retransmission may wait for the rate of the QP, which no one but its reaction
    /// point knows.
    slowed: bool,
    gaps: Gaps,
}

/// Gaps in Read responses, by what made the requester issue the Read again.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    /// The gap, as far as can be told.
    acted_on: u64,
    /// The ACK timer, long after the gap.
    waited_out: u64,
}

impl Requester {
    pub(super) fn starting_at(psn: Psn, now: Nanos, fresh: bool, known: &Known) -> Self {
        Self {
            state: State::Flowing,
            window: Window::starting_at(psn, now),
            cursor: psn,
            nak: None,
            copied: None,
            gap: None,
            beyond_gap: psn,
            rnr: None,
            failed: None,
            nak_cause: None,
            last_sent: now,
            last_packet: 0,
            reissued: None,
            rnr_wait: Nanos::ZERO,
            rnr_binds: true,
            rnr_until: Nanos::ZERO,
            budget: Budget::of(known, now),
            duplicates: DuplicateAcks::default(),
            place: if fresh { Place::Between } else { Place::Unknown },
            unheeded: None,
            told: psn,
            last_covered: now,
            rnr_resumed: Nanos::ZERO,
            expired_unseen: None,
            slowed: false,
            gaps: Gaps::default(),
        }
    }

    /// A CNP is delivered to it.
    pub(super) const fn notified(&mut self) {
        self.slowed = true;
    }

    #[inline]
    pub(super) const fn una(&self) -> Psn {
        self.window.una()
    }

    /// Its oldest unacknowledged PSN when it sent the packet that enters now, and the transport and RNR retries that it had
    /// spent by then.
    pub(super) fn beliefs(&self, now: Nanos, ledger: &Ledger<'_>) -> (Belief<Psn>, [Belief<u32>; 2]) {
        let on_its_way = ledger.known.times.ack_in_flight + ledger.shared_path.answers_queued();
        let hears_all = ledger.requester_discards == Some(0);
        let [mut transport, rnr] = self.budget.spent(self.last_sent);
        if !hears_all {
            // Each response that it discarded may have made the next one an implied NAK.
            transport.may_reach(u32::MAX);
        }
        (self.window.oldest(hears_all.then(|| now - on_its_way)), [transport, rnr])
    }

    /// Returns true if the requester may have given up: work is left, or it had exhausted its retries at some
    /// time, so that the last expiry, after which nothing is sent, may have come.
    pub(super) fn may_have_given_up(&self) -> bool {
        self.budget.exhausted() || self.window.una() != self.window.next()
    }

    /// Whether a NAK that ends the QP was delivered.
    pub(super) const fn was_refused_for_good(&self) -> bool {
        self.failed.is_some()
    }

    /// Opcode of the unacknowledged request that a PSN belongs to.
    pub(super) fn unacknowledged(&self, psn: Psn) -> Option<Opcode> {
        self.window.covering(psn).map(|sent| sent.opcode)
    }

    /// Whether a request with this PSN was ever sent.
    pub(super) fn has_sent(&self, psn: Psn) -> bool {
        psn.is_before(self.window.next())
    }

    /// The next new PSN, if everything before it is acknowledged, nothing beyond it is, and nothing that was heard
    /// of it may still be acted on.
    pub(super) fn done_before(&self, now: Nanos) -> Option<Psn> {
        let next = self.window.next();
        let done = self.window.una() == next && !next.is_before(self.told) && !self.is_pending(now);
        done.then_some(next)
    }

    /// A request enters the switch. Returns whether it stands where it may in its message, as far as that is known.
    #[inline]
    pub(super) fn sends(
        &mut self,
        packet: &Packet,
        lost: &mut VecDeque<Lost>,
        ledger: &mut Ledger<'_>,
    ) -> bool {
        let new = !packet.psn.is_before(self.window.next());
        let ahead = packet.psn.since(self.window.next());
        if ahead == 0 && self.cursor == packet.psn {
            // By far the most packets: the next new request, with nothing left out and nothing repeated.
            if self.unheeded.is_some() || self.state == State::Failed {
                self.sends_regardless(packet, ledger);
            } else {
                self.step(Event::SendNew, packet, ledger, String::new);
            }
            self.send_new(packet, ledger);
        } else {
            self.sends_out_of_line(packet, ahead, lost, ledger);
        }
        if self.unheeded.is_some_and(|nak| !nak.psn.is_before(packet.psn) && nak.psn.is_before(packet.end()))
        {
            self.unheeded = None;
        }
        // A retransmission comes before anything else: a packet sent without one shows that nothing expired.
        if self.expired_unseen.is_some_and(|since| packet.time - since > ledger.known.times.ack_in_flight) {
            self.expired_unseen = None;
        }
        self.cursor = packet.end();
        self.last_sent = packet.time;
        self.last_packet = packet.sequence;
        if ahead > 0 {
            self.place = Place::Unknown;
        }
        !new || self.takes_place(packet, ledger)
    }

    /// The next new request, after a NAK that asks for something else.
    #[cold]
    fn sends_regardless(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        // The NAK may have been among the discarded packets.
        let heard = ledger.requester_discards == Some(0);
        let failed = self.failed.filter(|_| self.state == State::Failed);
        if heard
            && let Some(failed) =
                failed.filter(|failed| packet.time - *failed > ledger.known.times.ack_in_flight)
        {
            let (relative, after) = (ledger.relative(packet.psn), packet.time - failed);
            self.step(Event::SendAfterFatal, packet, ledger, || {
                format!("sends a new request with PSN {relative} {after} after the NAK that moved the QP to the error state")
            });
        } else if heard && let Some(nak) = self.take_ignored_nak(packet, ledger) {
            let (relative, after) = (ledger.relative(nak.psn), packet.time - nak.owed_since);
            self.step(Event::SendIgnoringNak, packet, ledger, || {
                format!(
                    "sends new requests {after} after the NAK of PSN {relative} instead of retransmitting it"
                )
            });
        } else {
            self.step(Event::SendNew, packet, ledger, String::new);
        }
    }

    /// The sequence NAK that was not acted on for so long that it is ignored: the requester's NIC was not busy with other
    /// connections all that time.
    fn take_ignored_nak(&mut self, packet: &Packet, ledger: &Ledger<'_>) -> Option<Unheeded> {
        let patience = ledger.known.times.answer_patience;
        let is_ignored = |nak: &Unheeded| {
            packet.time - nak.owed_since > patience
                && !self.may_have_waited_in_its_nic(nak.owed_since + patience, ledger)
        };
        let ignored = self.unheeded.filter(is_ignored)?;
        self.unheeded = None;
        // It is not acted on any more.
        if let Some(nak) = self.nak.as_mut().filter(|nak| nak.psn == ignored.psn) {
            nak.pending = 0;
        }
        Some(ignored)
    }

    /// It repeats a packet from before the tracked ones.
    pub(super) fn repeats_earlier(&mut self, packet: &Packet) {
        self.cursor = packet.end();
        self.last_sent = packet.time;
        self.last_packet = packet.sequence;
    }

    #[inline]
    fn send_new(&mut self, packet: &Packet, ledger: &Ledger<'_>) {
        self.window.send_new(Sent {
            first: packet.psn,
            count: packet.count,
            scheduled: ledger.shared_path.scheduled().min(packet.time),
            opcode: packet.opcode,
            first_sent: packet.time,
            last_sent: packet.time,
            answered: !packet.opcode.class().is_data(),
            read: packet.read,
        });
    }

    #[cold]
    fn sends_out_of_line(
        &mut self,
        packet: &Packet,
        ahead: i32,
        lost: &mut VecDeque<Lost>,
        ledger: &mut Ledger<'_>,
    ) {
        let psn = packet.psn;
        if ahead >= 0 {
            let skipped = if ahead > 0 { self.window.next() } else { self.cursor };
            let event = match ahead {
                1.. => Event::SendBeyond,
                _ if self.window.una() == self.window.next() => Event::SkipAcknowledged,
                _ => Event::ResumeLate,
            };
            let (from, to) = (ledger.relative(skipped), ledger.relative(psn));
            self.step(event, packet, ledger, || format!("sends PSN {to} and leaves out PSN {from}"));
            self.send_new(packet, ledger);
            return;
        }
        if psn == self.cursor {
            self.step(Event::SendNext, packet, ledger, String::new);
        } else if psn.is_after(self.cursor) {
            let event =
                if psn.is_after(self.window.una()) { Event::ResumeLate } else { Event::SkipAcknowledged };
            let (from, to) = (ledger.relative(self.cursor), ledger.relative(psn));
            self.step(event, packet, ledger, || {
                format!("retransmits PSN {to} and leaves out unacknowledged PSN {from}")
            });
        } else {
            self.judge_duplicate_acks(packet, ledger);
            self.goes_back(packet, lost, ledger);
        }
        self.judge_repetition(packet, ledger);
        self.window.resend(psn, packet.time);
    }

    /// An ACK or NAK is delivered. Returns whether the window moved.
    #[inline]
    pub(super) fn hears(&mut self, packet: &Packet, answer: Answer, ledger: &mut Ledger<'_>) -> bool {
        if !packet.psn.is_before(self.told) {
            self.told = packet.psn.add(1);
        }
        // No packet beyond the sent ones can be acknowledged; the responder's machine has seen to that.
        if packet.psn.since(self.window.next()) >= 0 {
            return false;
        }
        let before = self.window.una();
        let acknowledged = match answer {
            Answer::Ack => packet.psn.add(1),
            Answer::SequenceNak | Answer::Rnr(_) | Answer::Fatal => packet.psn,
        };
        if acknowledged.is_before(before) {
            // Of several acknowledgements the requester may have got only the ones that went slower.
            self.window.may_have_been(acknowledged, packet.time);
        }
        if answer == Answer::SequenceNak && self.is_plain_progress(packet.psn) {
            ledger.counts.sequence_naks_with_progress += 1;
        }
        if answer != Answer::Ack {
            self.duplicates.naked(packet);
        } else if self.is_duplicate_ack(acknowledged) {
            self.duplicates.heard(packet);
        }
        self.acknowledge(acknowledged, packet, ledger);
        if acknowledged == self.window.una() {
            self.last_covered = packet.time;
        }
        let stale = packet.psn.is_before(before);
        match answer {
            Answer::Ack => self.step(Event::HearAck, packet, ledger, String::new),
            Answer::SequenceNak => {
                ledger.counts.sequence_naks_heard += 1;
                if !stale {
                    self.budget.may_spend();
                    CopiedNak::leaves(&mut self.copied, packet);
                    // Behind a Read that is not answered it is an implied NAK, and one that names the Read
                    // stands; so does one of what was acknowledged meanwhile, as long as it may be acted on.
                    let una = self.window.una();
                    let stands = self.nak.is_some_and(|nak| {
                        nak.pending > 0
                            && (nak.psn == una
                                || nak.psn.is_before(una) && packet.time - nak.time <= SLOWEST_NACK)
                    });
                    if packet.psn == una || !stands {
                        Cause::heard(&mut self.nak, packet.psn, packet);
                    }
                    self.owe_going_back(packet, before);
                    self.step(Event::HearNak, packet, ledger, String::new);
                }
            }
            Answer::Rnr(wait) => {
                ledger.counts.rnr_naks_heard += 1;
                if !stale {
                    self.budget.refused();
                    // Of several it may have got any.
                    let pending = self.rnr.is_some_and(|rnr| rnr.pending > 0);
                    self.rnr_wait = if pending { wait.min(self.rnr_wait) } else { wait };
                    self.rnr_binds = packet.psn == self.window.una();
                    self.rnr_until = self.rnr_until.max(packet.time + wait);
                    self.unheeded = None;
                    Cause::heard(&mut self.rnr, packet.psn, packet);
                    self.step(Event::HearRnr, packet, ledger, String::new);
                }
            }
            Answer::Fatal => {
                self.failed.get_or_insert(packet.time);
                self.unheeded = None;
                self.step(Event::HearFatal, packet, ledger, String::new);
            }
        }
        self.window.una() != before
    }

    /// Whether a NAK of `psn` acknowledges more Sends and Writes, none of which was sent twice, the last of them in part.
    fn is_plain_progress(&self, psn: Psn) -> bool {
        let una = self.window.una();
        let once = self.window.was_sent_once(una);
        let within = self.window.covering(psn.sub(1)).is_some_and(|sent| !ends_message(sent.opcode));
        psn.is_after(una)
            && within
            && once
            && self.cursor == self.window.next()
            && !self.window.awaits_responses()
    }

    /// A sequence NAK is delivered: going back to its PSN is owed, unless that was repeated before, or was refused with
    /// an RNR NAK. One that acknowledges more than the PSN `before` is of the last round in which it was sent. While another request's
    /// RNR NAK makes the requester wait, nothing is owed.
    fn owe_going_back(&mut self, packet: &Packet, before: Psn) {
        let psn = packet.psn;
        let is_of_last_round = self.window.was_sent_once(psn) || psn.is_after(before);
        let refused = self.rnr.is_some_and(|rnr| rnr.psn == psn);
        if psn == self.window.una() && is_of_last_round && !refused && self.failed.is_none() {
            let (sequence, owed_since) = (packet.sequence, packet.time.max(self.rnr_until));
            self.unheeded.get_or_insert(Unheeded { psn, sequence, owed_since });
        }
    }

    /// A Read response or atomic acknowledgement is delivered. Returns whether the window moved.
    #[inline]
    pub(super) fn hears_response(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) -> bool {
        let before = self.window.una();
        if packet.psn == before {
            self.moved_to(packet.psn.add(1), packet.time, ledger);
        } else if packet.psn.is_after(before) && packet.psn.since(self.window.next()) < 0 {
            self.acknowledge(packet.psn, packet, ledger);
            if self.window.una() == packet.psn {
                self.moved_to(packet.psn.add(1), packet.time, ledger);
            }
        }
        if packet.psn.add(1) == self.window.una() {
            self.last_covered = packet.time;
        }
        self.window.una() != before
    }

    /// Everything before `end` is acknowledged, but for Reads and atomics that have not been answered: those
    /// are an implied NAK.
    #[inline]
    fn acknowledge(&mut self, end: Psn, packet: &Packet, ledger: &mut Ledger<'_>) {
        match self.window.unanswered_before(end) {
            None => self.moved_to(end, packet.time, ledger),
            Some(missing) => {
                self.moved_to(missing, packet.time, ledger);
                let news = Cause::heard(&mut self.gap, missing, packet);
                // A response that is not beyond the last one belongs to another stream, and is another
                // implied NAK.
                if news || !packet.psn.is_after(self.beyond_gap) {
                    self.budget.may_spend();
                }
                self.beyond_gap = packet.psn;
                if news {
                    ledger.counts.possible_implied_naks += 1;
                    self.step(Event::HearGap, packet, ledger, String::new);
                }
            }
        }
    }

    #[inline]
    fn moved_to(&mut self, una: Psn, now: Nanos, ledger: &mut Ledger<'_>) {
        if !una.is_after(self.window.una()) {
            return;
        }
        let mut paid_before = self.is_pending(now);
        let arrives_by = ledger.shared_path.answer_arrives_by(now);
        if matches!(ledger.known.timeout, Some(Timeout::Enabled(_))) && self.timer_is_due(arrives_by, ledger)
        {
            // It may have expired before this arrives, and the packets that it would have repeated are
            // acknowledged.
            ledger.counts.possible_timeouts += 1;
            self.budget.may_spend();
            self.expired_unseen = Some(arrives_by);
        }
        // If it was not acted on since, it is the cause of the retransmission, however often the window moves
        // before.
        paid_before |= self.may_have_expired_before(now, ledger);
        let may_have_ended = paid_before || !self.has_only_naks(ledger);
        self.window.acknowledge(una, now);
        self.unheeded = self.unheeded.filter(|nak| !nak.psn.is_before(una));
        self.budget.progress(now, self.last_sent, paid_before, may_have_ended);
    }

    /// Returns true if sequence NAKs are the only retries of the requester that it may have made before its timer: it has
    /// sent no Reads or atomics, of which responses are implied NAKs, and was never refused with an RNR NAK.
    fn has_only_naks(&self, ledger: &Ledger<'_>) -> bool {
        !self.window.has_sent_reads()
            && ledger.counts.rnr_naks_heard == 0
            && ledger.known.timer_outlasts_naks()
    }

    /// Returns true if a NAK or implied NAK was delivered and the requester may still act on it.
    fn is_pending(&self, now: Nanos) -> bool {
        let pending = |cause: &Cause| cause.pending > 0 && now - cause.time <= SLOWEST_NACK;
        [&self.nak, &self.gap].into_iter().flatten().any(pending)
    }

    /// Returns true if the timer may have expired a moment before the last progress, with no retransmission
    /// since.
    fn may_have_expired_before(&self, now: Nanos, ledger: &Ledger<'_>) -> bool {
        self.expired_unseen.is_some_and(|since| now - since <= ledger.known.times.ack_in_flight)
    }

    /// A Read response enters the switch: it may be the data that a re-issued Read asked for.
    #[inline]
    pub(super) fn response_sent(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        // Deliveries beyond it belong to this copy from now on, should it be lost.
        Cause::returned_to(&mut self.gap, packet.psn);
        let Some(reissued) = self.reissued.filter(|reissued| reissued.psn == packet.psn) else { return };
        self.reissued = None;
        let entry = &mut ledger.retransmissions[reissued.entry];
        if entry.retransmission.is_none() {
            entry.retransmission = Some(packet.sequence);
            entry.reaction_ns = Some(packet.time - reissued.time);
        }
    }

    /// The responder has sent a sequence NAK.
    pub(super) fn nak_sent(&mut self, cause: NakCause) {
        self.nak_cause = Some(cause);
    }

    #[inline]
    fn step(
        &mut self,
        event: Event,
        packet: &Packet,
        ledger: &mut Ledger<'_>,
        what: impl FnOnce() -> String,
    ) {
        let next = self.state.step(event, ledger.transitions);
        let nak = self.nak.into_iter().filter(|nak| nak.pending > 0).map(|nak| nak.latest_round.sequence);
        let packets = [packet.sequence].into_iter().chain(nak);
        ledger.judge(Role::Requester, next, self.state.name(), packets, what);
        self.state = next.state(self.state);
    }
}

/// Whether a message ends with a packet of that operation.
fn ends_message(opcode: Opcode) -> bool {
    match opcode.class() {
        Class::Request(_, position) => position.ends(),
        _ => true,
    }
}
