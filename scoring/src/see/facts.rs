//! Counts of the trace for each host: occurrences of each cause of a counter.

use dumper::Fate;
use dumper::wire::Class;
use dumper::{ActionKind, Event, Trace};
use serde::Serialize;

use crate::see::sides::{Side, Sides};

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
    let side_of_flow: Vec<Option<Side>> = trace.flows().iter().map(|flow| sides.at(flow.source)).collect();
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
                // Besides copies of it the packet itself may have left with a wrong ICRC.
                if let Some(exit) = trace.exit(record).filter(|exit| exit.corrupt) {
                    facts[receiver].corrupt_received += u64::from(exit.copies.saturating_sub(copies));
                }
                if record.class() == Class::Cnp {
                    facts[receiver].cnps_delivered += u64::from(copies);
                }
            }
            Fate::Lost if record.event() != Event::Action(ActionKind::Drop) => {
                // Several events at once may be a corruption, a drop, or both: the copies tell.
                facts[receiver].corrupt_received += u64::from(trace.departure(record).1);
            }
            Fate::Lost => {}
            Fate::Unknown => facts[receiver].packets_unclear += 1,
        }
    }
    facts
}
