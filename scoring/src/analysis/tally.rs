//! Occurrences of each cause of a counter, as the trackers of connections and the CNP analyzer counted them.

use std::collections::BTreeMap;

use dumper::Trace;

use crate::cnp::CnpCounts;
use crate::go_back_n::ConnectionTracker;
use crate::retransmission::Retransmission;
use crate::see::facts::HostFacts;
use crate::see::sides::Sides;

/// Adds the counts of the trackers to those of [`packets`](crate::see::facts::packets).
pub(crate) fn of_transport(
    mut facts: [HostFacts; 2],
    trace: &Trace,
    sides: &Sides,
    trackers: &[ConnectionTracker],
    cnps: &[CnpCounts],
    retransmissions: &[Retransmission],
) -> [HostFacts; 2] {
    for (flow, count) in trace.flows().iter().zip(cnps) {
        if let Some(sender) = sides.at(flow.source) {
            facts[sender.index()].cnps_sent += count.cnps;
            facts[sender.other().index()].marked_delivered += count.marked;
        }
    }
    let mut repeated: BTreeMap<usize, u64> = BTreeMap::new();
    for entry in retransmissions {
        *repeated.entry(entry.connection).or_default() += 1;
    }
    for tracker in trackers {
        let Some(asks) = sides.at(tracker.pair().connection.requester.ip) else { continue };
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
