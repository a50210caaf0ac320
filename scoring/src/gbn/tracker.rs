//! One connection's machines, fed packet by packet.

use std::collections::VecDeque;

use dumper::timers::rnr_wait;
use dumper::trace::{Fate, Record};
use dumper::wire::{AethRepr, Class, NakCode, Opcode, Syndrome};
use dumper::{Nanos, Psn};

use super::answers::Answers;
use super::fatal;
use super::requester::Requester;
use super::responder::Responder;
use super::shared_path::SharedPath;
use super::start::{Place, Start};
use super::table::Next;
use super::window::ReadOf;
use crate::anomaly::{Anomalies, Anomaly, Evidence, Role, Who};
use crate::connections::Pair;
use crate::known::{Host, Known};
use crate::messages::Report;
use crate::retransmission::Retransmission;
use crate::rules::Rule;

/// A packet at one of its two moments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) sequence: u32,
    pub(super) time: Nanos,
    pub(super) psn: Psn,
    pub(super) opcode: Opcode,
    pub(super) ack_req: bool,
    /// Bytes of payload.
    pub(super) payload: u32,
    /// PSNs that a request takes.
    pub(super) count: u32,
    pub(super) aeth: u32,
    /// Address and length of a Read request.
    pub(super) read: ReadOf,
}

impl Packet {
    /// One past its last PSN.
    #[inline]
    pub(super) const fn end(&self) -> Psn {
        self.psn.add(self.count)
    }

    pub(super) fn aeth(&self) -> AethRepr {
        AethRepr::from(self.aeth)
    }
}

/// Kind of an acknowledgement packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    Ack,
    SequenceNak,
    /// RNR NAK with the wait that it asks for.
    Rnr(Nanos),
    Fatal,
}

impl Answer {
    /// `None` for reserved syndromes, which mean nothing (IBA vol. 1, 9.3.5).
    #[inline]
    pub(super) fn of(aeth: AethRepr) -> Option<Self> {
        match aeth.syndrome {
            Syndrome::Ack(_) => Some(Self::Ack),
            Syndrome::RnrNak(code) => Some(Self::Rnr(rnr_wait(code))),
            Syndrome::Nak(NakCode::PsnSequenceError) => Some(Self::SequenceNak),
            Syndrome::Nak(NakCode::Reserved(_)) | Syndrome::Reserved(_) => None,
            Syndrome::Nak(_) => Some(Self::Fatal),
        }
    }
}

/// Counts of the tracker, for the summary and the counters analyzer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TrackerCounts {
    /// Request packets delivered to the responder that it had already taken.
    pub duplicate_requests: u64,
    /// Sequence NAKs that the responder sent.
    pub sequence_naks_sent: u64,
    /// Sequence NAKs delivered to the requester.
    pub sequence_naks_heard: u64,
    /// Of these, those that acknowledge more than was acknowledged, with nothing repeated and no Read or atomic
    /// outstanding.
    pub sequence_naks_with_progress: u64,
    /// RNR NAKs delivered to the requester.
    pub rnr_naks_heard: u64,
    /// Implied NAKs: Reads that were re-issued because a response, or an ACK, beyond the awaited response was
    /// delivered.
    pub implied_naks: u64,
    /// Such deliveries that the requester did not act upon, or was about to repeat the Read for another reason.
    pub possible_implied_naks: u64,
    /// Retransmissions that only an expired timer explains.
    pub timeouts: u64,
    /// Moments at which a timer may have expired that nothing shows for certain.
    pub possible_timeouts: u64,
    /// Delivered requests that the responder had taken already or refused: the trace does not show which.
    pub possible_duplicates: u64,
}

/// Results of the machines.
pub(super) struct Ledger<'a> {
    pub(super) anomalies: &'a mut Anomalies,
    undecided: &'a mut Vec<Anomaly>,
    pub(super) retransmissions: &'a mut Vec<Retransmission>,
    pub(super) counts: &'a mut TrackerCounts,
    pub(super) known: &'a Known,
    /// Packets that the responder's host discarded, as far as it counts them and the trace does not show why.
    pub(super) responder_discards: Option<u64>,
    /// That these are 0 is proven by a counter of packets that reached the transport.
    pub(super) responder_proven: bool,
    /// The same of the requester's host.
    pub(super) requester_discards: Option<u64>,
    /// Path MTU in bytes.
    pub(super) mtu: u32,
    pub(super) shared_path: &'a SharedPath,
    start: &'a Start,
    pair: &'a Pair,
    connection: usize,
    muted: bool,
}

impl Ledger<'_> {
    /// Relative PSN, as users write it.
    pub(super) fn relative(&self, psn: Psn) -> u32 {
        psn.relative_to(self.pair.initial_psn)
    }

    /// Path MTU in bytes, where the test and its packets agree on it.
    #[inline]
    pub(super) fn sure_mtu(&self) -> Option<u32> {
        self.known.mtu.filter(|mtu| *mtu == self.mtu)
    }

    pub(super) fn connection(&self) -> usize {
        self.connection
    }

    /// Records the rule that a machine's step from `state` broke, if any, with `packets` as evidence.
    #[inline]
    pub(super) fn judge<S: Copy>(
        &mut self,
        role: Role,
        next: Next<S>,
        state: &'static str,
        packets: impl IntoIterator<Item = u32>,
        what: impl FnOnce() -> String,
    ) {
        if let Some(rule) = next.broken() {
            self.broken(role, rule, state, what(), Evidence::packets(packets));
        }
    }

    /// Notes that `rule` was broken by the requester or the responder.
    pub(super) fn broken(
        &mut self,
        role: Role,
        rule: Rule,
        state: &'static str,
        what: String,
        evidence: Evidence,
    ) {
        if let Some(anomaly) = self.anomaly(role, rule, state, what, evidence) {
            self.anomalies.push(anomaly);
        }
    }

    /// The same, of a responder's rule of which the packets do not show if it was broken.
    pub(super) fn undecided(&mut self, rule: Rule, state: &'static str, what: String, evidence: Evidence) {
        let anomaly = self.anomaly(Role::Responder, rule, state, what, evidence);
        self.undecided.extend(anomaly);
    }

    fn anomaly(
        &self,
        role: Role,
        rule: Rule,
        state: &'static str,
        what: String,
        evidence: Evidence,
    ) -> Option<Anomaly> {
        if self.muted || !self.start.judges(rule) {
            return None;
        }
        let address = match role {
            Role::Requester => self.pair.connection.requester.ip,
            _ => self.pair.connection.responder.ip,
        };
        let who = Who { role, address: Some(address), connection: Some(self.connection) };
        Some(Anomaly { rule, who, state: state.into(), what, evidence })
    }
}

/// The machines of one connection.
pub struct ConnectionTracker {
    pair: Pair,
    /// Connection, from 1.
    connection: usize,
    /// Path MTU in bytes.
    mtu: u32,
    responder_discards: Option<u64>,
    responder_proven: bool,
    requester_discards: Option<u64>,
    start: Start,
    /// `None` until the first request shows where the PSNs start.
    ends: Option<Ends>,
    counts: TrackerCounts,
    /// A packet's fate is unknown, or the trace has no answers, so that it is unknown which packets either
    /// end has received.
    muted: bool,
    lost: VecDeque<Lost>,
}

struct Ends {
    requester: Requester,
    responder: Responder,
    answers: Answers,
}

impl Ends {
    fn starting_with(packet: &Packet, fresh: bool, findings: &Findings<'_>) -> Self {
        // The first request may have been scheduled, and its timer started, before it passed.
        let since = findings.shared_path.scheduled().min(packet.time);
        Self {
            requester: Requester::starting_at(packet.psn, since, fresh, findings.known),
            responder: Responder::starting_at(packet.psn, fresh),
            answers: Answers::none(),
        }
    }
}

/// A packet that was lost at the switch and is not made up for yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub(super) sequence: u32,
    pub(super) psn: Psn,
}

/// Everything that outlives the packets, lent to the tracker while it takes one.
pub struct Findings<'a> {
    /// Anomalies found so far.
    pub anomalies: &'a mut Anomalies,
    /// Sequence NAKs of packets that left the switch intact, of which the packets do not show if they arrived.
    pub undecided: &'a mut Vec<Anomaly>,
    /// Retransmissions in the order of their first repeated request.
    pub retransmissions: &'a mut Vec<Retransmission>,
    /// Knowledge of the test besides the trace.
    pub known: &'a Known,
    /// Path that all connections share.
    pub shared_path: SharedPath,
}

/// Lends the tracker's own fields and the findings to its machines.
macro_rules! ledger {
    ($tracker:ident, $findings:ident) => {
        Ledger {
            anomalies: $findings.anomalies,
            undecided: $findings.undecided,
            retransmissions: $findings.retransmissions,
            counts: &mut $tracker.counts,
            known: $findings.known,
            responder_discards: $tracker.responder_discards,
            responder_proven: $tracker.responder_proven,
            requester_discards: $tracker.requester_discards,
            mtu: $tracker.mtu,
            shared_path: &$findings.shared_path,
            start: &$tracker.start,
            pair: &$tracker.pair,
            connection: $tracker.connection,
            muted: $tracker.muted,
        }
    };
}

impl ConnectionTracker {
    /// A tracker for a connection with its number, from 1, its path MTU in bytes, and the requester's and the responder's
    /// host, as far as they are known.
    pub fn new(pair: Pair, connection: usize, mtu: u32, hosts: [Host; 2]) -> Self {
        let [requester, responder] = hosts;
        Self {
            pair,
            connection,
            mtu,
            responder_discards: responder.discards,
            responder_proven: responder.received_all,
            requester_discards: requester.discards,
            start: Start::at(pair.initial_psn, false),
            ends: None,
            counts: TrackerCounts::default(),
            muted: pair.answers_unknown(),
            lost: VecDeque::new(),
        }
    }

    /// Number of the connection, from 1.
    pub const fn number(&self) -> usize {
        self.connection
    }

    /// Returns true if the requester may have given up.
    pub fn may_have_given_up(&self) -> bool {
        self.ends.as_ref().is_some_and(|ends| ends.requester.may_have_given_up())
    }

    /// Packets of requests that are acknowledged, by everything that was delivered; `None` where the connection was not
    /// seen from its first request on.
    pub fn acknowledged(&self) -> Option<u32> {
        let ends = self.ends.as_ref().filter(|_| self.start.is_sure())?;
        Some(ends.requester.una().relative_to(self.pair.initial_psn) - 1)
    }

    /// Whether a NAK that ends the QP was delivered.
    pub fn was_refused_for_good(&self) -> bool {
        self.ends.as_ref().is_some_and(|ends| ends.requester.was_refused_for_good())
    }

    /// Path MTU in bytes.
    pub const fn mtu(&self) -> u32 {
        self.mtu
    }

    /// The connection.
    pub const fn pair(&self) -> &Pair {
        &self.pair
    }

    /// Relative PSN of the oldest request that is not acknowledged, or of the next one.
    pub fn oldest(&self) -> Option<u32> {
        self.ends.as_ref().map(|ends| ends.requester.una().relative_to(self.pair.initial_psn))
    }

    /// Counts so far.
    pub const fn counts(&self) -> TrackerCounts {
        self.counts
    }

    /// Returns true if judging was given up because a packet's fate is unknown.
    pub const fn gave_up(&self) -> bool {
        self.muted
    }

    /// Packets that were lost at the switch and that nothing made up for.
    pub fn unrecovered(&self) -> impl Iterator<Item = u32> + '_ {
        let una = self.ends.as_ref().map(|ends| ends.requester.una());
        self.lost
            .iter()
            .filter(move |lost| una.is_none_or(|una| !lost.psn.is_before(una)))
            .map(|lost| lost.sequence)
    }

    /// Judges no further packets: packets of other connections may come to it.
    pub const fn give_up(&mut self) {
        self.muted = true;
    }

    /// A packet enters the switch: its sender is judged, and its loss noted.
    #[inline]
    pub fn enters(&mut self, record: &Record, fate: Fate, findings: &mut Findings<'_>) {
        let class = record.class();
        let packet = self.packet(record, record.time, class);
        self.muted |= fate == Fate::Unknown;
        if self.ends.is_none() && class.is_request() {
            let fresh = starts_fresh(&self.pair, packet.psn);
            let fresh = fresh || findings.known.from_the_start;
            self.start = Start::at(packet.psn, fresh);
            self.ends = Some(Ends::starting_with(&packet, fresh, findings));
        }
        if self.ends.is_some() {
            match self.place(&packet, class) {
                Place::After => {}
                Place::Before => {
                    if let Some(ends) = &mut self.ends
                        && class.is_request()
                    {
                        ends.requester.repeats_earlier(&packet);
                    }
                    return;
                }
                Place::Anew => {
                    self.ends = Some(Ends::starting_with(&packet, false, findings));
                    self.lost.clear();
                }
            }
        }
        let Some(ends) = &mut self.ends else { return };
        let mut ledger = ledger!(self, findings);
        match class {
            Class::Request(..) | Class::ReadRequest | Class::AtomicRequest => {
                if !ends.requester.sends(&packet, &mut self.lost, &mut ledger) {
                    ends.responder.cannot_count_before(packet.end());
                }
            }
            Class::Acknowledge => {
                if let Some(answer) = Answer::of(packet.aeth()) {
                    if answer == Answer::Fatal {
                        fatal::judge(&ends.requester, &ends.responder, &packet, &mut ledger);
                    }
                    let passed = ends.answers.unanswered_up_to(packet.psn);
                    let (cause, rewound) = ends.responder.acknowledges(&packet, answer, passed, &mut ledger);
                    if let Some(cause) = cause {
                        ends.requester.nak_sent(cause);
                    }
                    if rewound {
                        ends.answers.forget_from(packet.psn);
                    }
                }
            }
            Class::ReadResponse(_) | Class::AtomicAcknowledge => {
                ends.answers.responds(&packet, &mut ledger);
                ends.responder.responds(&packet, &mut ledger);
                ends.requester.response_sent(&packet, &mut ledger);
            }
            Class::Cnp | Class::Datagram | Class::Unknown => return,
        }
        if fate == Fate::Lost {
            self.lost.push_back(Lost { sequence: packet.sequence, psn: packet.psn });
        }
    }

    /// A packet has left the switch towards its receiver.
    #[inline]
    pub fn leaves(&mut self, record: &Record, left: Nanos, findings: &mut Findings<'_>) {
        let class = record.class();
        let packet = self.packet(record, left, class);
        if self.start.is_before(packet.psn) {
            return;
        }
        let Some(ends) = &mut self.ends else { return };
        let mut ledger = ledger!(self, findings);
        let moved = match class {
            Class::Request(_, position) => {
                let read = |psn| ends.answers.holds_back(psn);
                ends.responder.takes(&packet, position.ends(), read, &mut ledger);
                false
            }
            Class::ReadRequest | Class::AtomicRequest => {
                if let Some(taken) = ends.responder.takes(&packet, true, |_| true, &mut ledger) {
                    ends.answers.asked(&packet, taken);
                }
                false
            }
            Class::Acknowledge => match Answer::of(packet.aeth()) {
                Some(answer) => ends.requester.hears(&packet, answer, &mut ledger),
                None => false,
            },
            Class::ReadResponse(_) | Class::AtomicAcknowledge => {
                ends.requester.hears_response(&packet, &mut ledger)
            }
            Class::Cnp | Class::Datagram | Class::Unknown => false,
        };
        if moved {
            let una = ends.requester.una();
            // From the front only, so that many losses cost no more than their number.
            while self.lost.front().is_some_and(|lost| lost.psn.is_before(una)) {
                self.lost.pop_front();
            }
        }
    }

    /// The trace ends at `now`: judges obligations whose patience has run out, and the hosts' reports.
    pub fn ends(&mut self, now: Nanos, report: Report, findings: &mut Findings<'_>) {
        if let Some(ends) = &mut self.ends {
            ends.requester.ends(now, report, &mut ledger!(self, findings));
            ends.responder.ends(now, &mut ledger!(self, findings));
        }
    }

    /// Place of a packet with respect to the connection's start.
    #[inline]
    fn place(&mut self, packet: &Packet, class: Class) -> Place {
        if class.is_request() {
            let done = self.ends.as_ref().and_then(|ends| ends.requester.done_before(packet.time));
            self.start.request(packet.psn, done)
        } else {
            self.start.place(packet.psn)
        }
    }

    #[inline]
    fn packet(&self, record: &Record, time: Nanos, class: Class) -> Packet {
        let count = match class {
            Class::ReadRequest => record.dma_length.div_ceil(self.mtu).clamp(1, Psn::SPACE / 2),
            _ => 1,
        };
        Packet {
            sequence: record.sequence,
            time,
            psn: record.psn,
            opcode: record.opcode(),
            ack_req: record.ack_req(),
            payload: record.payload_len.into(),
            count,
            aeth: record.aeth,
            read: ReadOf { address: record.virtual_address, length: record.dma_length },
        }
    }
}

/// Returns true if a connection is seen from its very first request, so that its MSN starts at 0 (IBA vol. 1,
/// 9.7.7).
fn starts_fresh(pair: &Pair, first: Psn) -> bool {
    pair.connection.requester.initial_psn == Some(first)
}
