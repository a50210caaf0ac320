//! One connection's machines, fed packet by packet.

use std::collections::VecDeque;

use dumper::Fate;
use dumper::trace::Record;
use dumper::wire::Class;
use dumper::{Nanos, Psn};

use super::answers::Answers;
use super::belief::Belief;
use super::end_at_copies::EndAtCopies;
use super::fatal;
use super::ledger::{Ledger, Lost, TrackerCounts};
use super::packet::{Answer, Packet};
use super::requester::Requester;
use super::responder::Responder;
use super::shared_path::SharedPath;
use super::start::{Place, Start};
use super::window::ReadOf;
use crate::anomaly::{Anomalies, Anomaly};
use crate::causes::{self, Watch};
use crate::known::{Host, Known};
use crate::machines::Transitions;
use crate::retransmission::{Retransmission, Trigger};
use crate::see::connections::Pair;
use crate::see::psns::psns_of;
use crate::see::report::Report;

/// State of the ends of a connection, as far as the switch can tell: each when it sent its last packet that has entered
/// the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beliefs {
    /// PSN that the responder expects.
    pub expected: Belief<Psn>,
    /// Oldest unacknowledged PSN, as the requester knows it.
    pub oldest: Belief<Psn>,
    /// Retries that the requester has spent since the last progress, as it knows it, after time-outs and NAKs.
    pub transport_retries: Belief<u32>,
    /// The same, after RNR NAKs.
    pub rnr_retries: Belief<u32>,
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
    /// Causes of expiries.
    causes: Watch,
}

impl Ends {
    fn starting_with(packet: &Packet, fresh: bool, findings: &Findings) -> Self {
        // The first request may have been scheduled, and its timer started, before it passed.
        let since = findings.shared_path.scheduled().min(packet.time);
        Self {
            requester: Requester::starting_at(packet.psn, since, fresh, &findings.known),
            responder: Responder::starting_at(packet.psn, fresh),
            answers: Answers::none(),
            causes: Watch::starting_at(packet.psn),
        }
    }
}

/// Everything that outlives the packets, lent to the tracker while it takes one.
pub struct Findings {
    /// Anomalies found so far.
    pub anomalies: Anomalies,
    /// Sequence NAKs of packets that left the switch intact, of which the packets do not show if they arrived.
    pub undecided: Vec<Anomaly>,
    /// Retransmissions in the order of their first repeated request.
    pub retransmissions: Vec<Retransmission>,
    /// Requesters that gave up when copies of a NAK came.
    pub ends_at_copies: Vec<EndAtCopies>,
    /// Transitions of the machines.
    pub transitions: Transitions,
    /// Knowledge of the test besides the trace.
    pub known: Known,
    /// Path that all connections share.
    pub shared_path: SharedPath,
}

/// Lends the tracker's own fields and the findings to its machines.
macro_rules! ledger {
    ($tracker:ident, $findings:ident) => {
        Ledger {
            anomalies: &mut $findings.anomalies,
            undecided: &mut $findings.undecided,
            retransmissions: &mut $findings.retransmissions,
            ends_at_copies: &mut $findings.ends_at_copies,
            counts: &mut $tracker.counts,
            transitions: &mut $findings.transitions,
            known: &$findings.known,
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

    /// The state of both ends when they sent the packet that enters now; `None` while the connection is not judged.
    pub(crate) fn beliefs(&mut self, now: Nanos, findings: &mut Findings) -> Option<Beliefs> {
        let ends = self.ends.as_ref().filter(|_| self.start.is_sure() && !self.muted)?;
        let (oldest, [transport_retries, rnr_retries]) =
            ends.requester.beliefs(now, &ledger!(self, findings));
        Some(Beliefs { expected: ends.responder.expects(), oldest, transport_retries, rnr_retries })
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

    /// Returns true if responses were judged to the end: not where more requests were unanswered at once than are remembered.
    pub fn judged_responses(&self) -> bool {
        self.ends.as_ref().is_none_or(|ends| !ends.answers.gave_up())
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
    pub fn enters(&mut self, record: &Record, fate: Fate, findings: &mut Findings) {
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
                let before = ledger.retransmissions.len();
                if !ends.requester.sends(&packet, &mut self.lost, &mut ledger) {
                    ends.responder.cannot_count_before(packet.end());
                }
                if let Some(entry) = ledger.retransmissions.get_mut(before)
                    && entry.trigger == Trigger::Timeout
                {
                    let discards = [ledger.requester_discards, ledger.responder_discards];
                    let discards = discards.map(|discards| discards.is_some_and(|discards| discards > 0));
                    let una = ends.requester.una();
                    entry.cause = (!ledger.muted).then(|| ends.causes.expires(packet.psn, una, discards));
                }
                let at_once = leaves_at_once(fate, packet.time);
                ends.causes.sends(packet.psn, packet.end(), class == Class::ReadRequest, at_once);
            }
            Class::Acknowledge => {
                if let Some(answer) = Answer::of(packet.aeth()) {
                    match answer {
                        Answer::SequenceNak => {
                            ends.causes.answers(packet.psn);
                            ends.causes.naks(packet.psn, causes::Answer::Lost);
                        }
                        Answer::Ack => ends.causes.answers(packet.end()),
                        Answer::Rnr(_) | Answer::Fatal => {
                            ends.causes.answers(packet.end());
                            ends.causes.refuses(packet.psn);
                        }
                    }
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
                } else {
                    ends.responder.judge_reserved_syndrome(&packet, &mut ledger);
                }
            }
            Class::ReadResponse(_) | Class::AtomicAcknowledge => {
                match class {
                    Class::ReadResponse(_) => {
                        ends.causes.responds(packet.psn, leaves_at_once(fate, packet.time));
                    }
                    _ => ends.causes.answers(packet.end()),
                }
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

    /// A CNP has left the switch towards the requester.
    pub fn notified(&mut self) {
        if let Some(ends) = &mut self.ends {
            ends.requester.notified();
        }
    }

    /// A packet has left the switch towards its receiver.
    #[inline]
    pub fn leaves(&mut self, record: &Record, left: Nanos, findings: &mut Findings) {
        let class = record.class();
        let packet = self.packet(record, left, class);
        if self.start.is_before(packet.psn) {
            return;
        }
        let Some(ends) = &mut self.ends else { return };
        let mut ledger = ledger!(self, findings);
        if class.is_request() {
            let asks = packet.ack_req || !class.is_data();
            ends.causes.delivers(packet.psn, packet.end(), asks);
        }
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
                Some(answer) => {
                    if answer == Answer::SequenceNak {
                        ends.causes.naks(packet.psn, causes::Answer::Left);
                    }
                    ends.requester.hears(&packet, answer, &mut ledger)
                }
                None => false,
            },
            Class::ReadResponse(_) | Class::AtomicAcknowledge => {
                ends.causes.response_leaves(packet.psn, ends.requester.una());
                ends.requester.hears_response(&packet, &mut ledger)
            }
            Class::Cnp | Class::Datagram | Class::Unknown => false,
        };
        if moved {
            let una = ends.requester.una();
            ends.causes.progresses(una);
            // From the front only, so that many losses cost no more than their number.
            while self.lost.front().is_some_and(|lost| lost.psn.is_before(una)) {
                self.lost.pop_front();
            }
        }
    }

    /// The trace ends at `now`: judges obligations whose patience has run out, and the hosts' reports.
    pub fn ends(&mut self, now: Nanos, report: Report, findings: &mut Findings) {
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
        Packet {
            sequence: record.sequence,
            time,
            psn: record.psn,
            opcode: record.opcode(),
            ack_req: record.ack_req(),
            payload: record.payload_len.into(),
            count: psns_of(record, class, self.mtu),
            aeth: record.aeth,
            read: ReadOf { address: record.virtual_address, length: record.dma_length },
        }
    }
}

/// Returns true if a packet leaves the switch when it enters.
#[inline]
fn leaves_at_once(fate: Fate, entered: Nanos) -> bool {
    matches!(fate, Fate::Delivered { left, .. } if left <= entered)
}

/// Returns true if a connection is seen from its very first request, so that its MSN starts at 0 (IBA vol. 1,
/// 9.7.7).
fn starts_fresh(pair: &Pair, first: Psn) -> bool {
    pair.connection.requester.initial_psn == Some(first)
}
