//! Counts of the trace for each host: occurrences of each cause of a counter.

use std::collections::BTreeMap;

use dumper::trace::Fate;
use dumper::wire::Class;
use dumper::{Event, Trace};
use serde::Serialize;

use crate::cnp::CnpCounts;
use crate::gbn::ConnectionTracker;
use crate::retransmission::Retransmission;
use crate::sides::{Side, Sides};

/// Counts of the trace for one host: occurrences of each cause of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct HostFacts {
    /// RDMA packets that it sent.
    pub packets_sent: u64,
    /// Intact RDMA packets that left the switch towards it.
    pub packets_delivered: u64,
    /// Packets that may have reached it beside these: rewritten ones, and those between addresses of no connection.
    pub packets_unclear: u64,
    /// Duplicate requests that reached it as a responder.
    pub duplicate_requests: u64,
    /// Sequence NAKs that it sent.
    pub sequence_naks_sent: u64,
    /// Sequence NAKs delivered to it.
    pub sequence_naks_heard: u64,
    /// Of these, those that acknowledge more than was acknowledged, in order, with no Read or atomic outstanding: every
    /// requester handles them as they come.
    pub sequence_naks_with_progress: u64,
    /// RNR NAKs delivered to it.
    pub rnr_naks_heard: u64,
    /// Implied NAKs that it had reason to see.
    pub implied_naks: u64,
    /// Expiries of its ACK timer.
    pub timeouts: u64,
    /// Of these, and beside them, occurrences that are not certain.
    pub doubts: Doubts,
    /// Retransmissions that it began, for any reason.
    pub retransmissions: u64,
    /// ECN-marked packets delivered to it.
    pub marked_delivered: u64,
    /// CNPs that it sent.
    pub cnps_sent: u64,
    /// CNPs delivered to it.
    pub cnps_delivered: u64,
    /// Packets with a wrong ICRC that left the switch towards it.
    pub corrupt_received: u64,
}

/// Occurrences that a host may or may not have counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Doubts {
    /// Expiries beside the certain ones: the last one before giving up sends nothing, and one that falls
    /// together with a NAK looks like its answer.
    pub timeouts: u64,
    /// Duplicates beside the certain ones: the responder had refused the first copy, or had failed.
    pub duplicate_requests: u64,
    /// Among the sequence NAKs received: the requester had given up before.
    pub sequence_naks_heard: u64,
    /// The same among the RNR NAKs.
    pub rnr_naks_heard: u64,
    /// The same among the implied NAKs.
    pub implied_naks: u64,
    /// Gaps in responses beside the certain implied NAKs: the requester was retransmitting for another
    /// reason.
    pub more_implied_naks: u64,
    /// Among the retransmissions: those of connections with RNR NAKs, which are counted by themselves, with
    /// the sequence NAKs for the packets behind them.
    pub retransmissions: u64,
}

/// Packets sent by, delivered to and corrupted on their way to each host.
pub(crate) fn packets(trace: &Trace, sides: &Sides) -> [HostFacts; 2] {
    let mut facts = [HostFacts::default(); 2];
    let side_of_flow: Vec<Option<Side>> = trace.flows().iter().map(|flow| sides.of(flow.source)).collect();
    for record in trace.records() {
        let Some(sender) = side_of_flow[record.flow.index()] else {
            facts.iter_mut().for_each(|host| host.packets_unclear += 1);
            continue;
        };
        let receiver = sender.other().index();
        facts[sender.index()].packets_sent += 1;
        match trace.fate(record) {
            Fate::Delivered { copies, .. } => {
                facts[receiver].packets_delivered += u64::from(copies);
                if record.class() == Class::Cnp {
                    facts[receiver].cnps_delivered += u64::from(copies);
                }
            }
            Fate::Lost if record.event() != Event::Drop => {
                // Several events at once may be a corruption, a drop, or both: the copies tell.
                facts[receiver].corrupt_received +=
                    trace.exit(record).map_or(1, |exit| u64::from(exit.copies));
            }
            Fate::Lost => {}
            Fate::Unknown => facts[receiver].packets_unclear += 1,
        }
    }
    facts
}

/// Adds the counts of the trackers to those of [`packets`].
pub(crate) fn of_transport(
    mut facts: [HostFacts; 2],
    trace: &Trace,
    sides: &Sides,
    trackers: &[ConnectionTracker],
    cnps: &[CnpCounts],
    retransmissions: &[Retransmission],
) -> [HostFacts; 2] {
    for (flow, count) in trace.flows().iter().zip(cnps) {
        if let Some(sender) = sides.of(flow.source) {
            facts[sender.index()].cnps_sent += count.cnps;
            facts[sender.other().index()].marked_delivered += count.marked;
        }
    }
    let mut repeated: BTreeMap<usize, u64> = BTreeMap::new();
    for entry in retransmissions {
        *repeated.entry(entry.connection).or_default() += 1;
    }
    for tracker in trackers {
        let Some(asks) = sides.of(tracker.pair().connection.requester.ip) else { continue };
        let counts = tracker.counts();
        let answers = &mut facts[asks.other().index()];
        answers.duplicate_requests += counts.duplicate_requests;
        answers.doubts.duplicate_requests += counts.possible_duplicates;
        answers.sequence_naks_sent += counts.sequence_naks_sent;
        let asks = &mut facts[asks.index()];
        asks.sequence_naks_heard += counts.sequence_naks_heard;
        asks.rnr_naks_heard += counts.rnr_naks_heard;
        asks.implied_naks += counts.implied_naks;
        asks.timeouts += counts.timeouts;
        asks.doubts.timeouts += counts.possible_timeouts;
        asks.doubts.more_implied_naks += counts.possible_implied_naks;
        if tracker.may_have_given_up() {
            asks.doubts.timeouts += 1;
            asks.doubts.sequence_naks_heard += counts.sequence_naks_heard;
            asks.doubts.rnr_naks_heard += counts.rnr_naks_heard;
            asks.doubts.implied_naks += counts.implied_naks;
        } else {
            asks.sequence_naks_with_progress += counts.sequence_naks_with_progress;
        }
        let repeated = repeated.get(&tracker.number()).copied().unwrap_or(0);
        asks.retransmissions += repeated;
        if counts.rnr_naks_heard > 0 {
            asks.doubts.retransmissions += repeated;
        }
    }
    facts
}
