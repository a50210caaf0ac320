//! What the machines of a connection share, and the place where they note their results.

use dumper::{Nanos, Psn};

use super::end_at_copies::EndAtCopies;
use super::shared_path::SharedPath;
use super::start::Start;
use crate::anomaly::{Anomalies, Anomaly, Evidence, Role, Who};
use crate::known::Known;
use crate::machines::Transitions;
use crate::machines::table::Next;
use crate::retransmission::Retransmission;
use crate::rules::Rule;
use crate::see::connections::Pair;
use crate::thresholds::Times;

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
    pub(super) undecided: &'a mut Vec<Anomaly>,
    pub(super) retransmissions: &'a mut Vec<Retransmission>,
    pub(super) ends_at_copies: &'a mut Vec<EndAtCopies>,
    pub(super) counts: &'a mut TrackerCounts,
    pub(super) transitions: &'a mut Transitions,
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
    pub(super) start: &'a Start,
    pub(super) pair: &'a Pair,
    pub(super) connection: usize,
    /// Nothing is noted of this connection.
    pub(super) muted: bool,
}

impl Ledger<'_> {
    /// Relative PSN, as users write it.
    pub(super) fn relative(&self, psn: Psn) -> u32 {
        psn.relative_to(self.pair.initial_psn)
    }

    /// Longest time of an acknowledgement from the switch to the requester: more where the answers that wait for its link take longer.
    #[inline]
    pub(super) fn ack_in_flight(&self) -> Nanos {
        let Times { ack_in_flight, timer_slack, .. } = self.known.times;
        ack_in_flight.max(self.shared_path.answers_queued() + timer_slack)
    }

    /// Path MTU in bytes, where the test and its packets agree on it.
    #[inline]
    pub(super) fn sure_mtu(&self) -> Option<u32> {
        self.known.mtu.filter(|mtu| *mtu == self.mtu)
    }

    pub(super) fn connection(&self) -> usize {
        self.connection
    }

    /// Returns true if the requester's host counts packets that it discarded: any answer may be one of them.
    pub(super) fn requester_has_discarded(&self) -> bool {
        self.requester_discards.is_some_and(|discards| discards > 0)
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

/// A packet that was lost at the switch and is not made up for yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub(super) sequence: u32,
    pub(super) psn: Psn,
}
