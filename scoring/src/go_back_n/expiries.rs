//! Expiries of ACK timers, put together by the times that a connection got stuck.

use std::collections::BTreeMap;

use dumper::Nanos;
use serde::Serialize;

use super::ConnectionTracker;
use crate::anomaly::{Anomalies, Evidence};
use crate::known::{Known, Timeout};
use crate::retransmission::{Retransmission, Trigger};
use crate::rules::Rule;

/// ACK timer expiries of one connection that got stuck, until it made progress or failed (Lumina §6.3).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Expiries {
    /// Connection, from 1.
    pub connection: usize,
    /// The connection's how manieth time, from 1.
    pub time: u32,
    /// From the latest moment at which the timer can have been started to each retransmission.
    pub waits_ns: Vec<Nanos>,
    /// True if the connection then failed.
    pub failed: bool,
}

/// Names of the waits in evidence. A schedule that goes on after so many has long shown itself.
const WAITS: [&str; 16] = [
    "wait-01", "wait-02", "wait-03", "wait-04", "wait-05", "wait-06", "wait-07", "wait-08", "wait-09",
    "wait-10", "wait-11", "wait-12", "wait-13", "wait-14", "wait-15", "wait-16",
];

/// The times that connections got stuck, and to which of them each retransmission belongs.
#[derive(Debug, Default)]
pub struct Stuck {
    times: Vec<Expiries>,
    /// Index of the time, by the packets of its retransmissions.
    of_packet: BTreeMap<u32, usize>,
}

impl Stuck {
    /// Groups the retransmissions from one PSN. `failed` is true for a tracker whose connection failed.
    pub fn of(
        retransmissions: &[Retransmission],
        trackers: &[ConnectionTracker],
        failed: impl Fn(&ConnectionTracker) -> bool,
    ) -> Self {
        let mut stuck = Self::default();
        // Of each connection: how many times so far, the last one's place, and the PSN that it repeats from.
        let mut last: BTreeMap<usize, (u32, usize, u32)> = BTreeMap::new();
        for entry in retransmissions.iter().filter(|entry| entry.trigger == Trigger::Timeout) {
            // An expiry for what was answered has none.
            let (connection, Some(wait)) = (entry.connection, entry.timeout_ns) else { continue };
            let (time, at, psn) = last.entry(connection).or_insert((0, 0, 0));
            if *time == 0 || *psn != entry.from_psn {
                (*time, *at, *psn) = (*time + 1, stuck.times.len(), entry.from_psn);
                stuck.times.push(Expiries { connection, time: *time, waits_ns: Vec::new(), failed: false });
            }
            stuck.times[*at].waits_ns.push(wait);
            let packets = [entry.nack, entry.retransmission].into_iter().flatten();
            stuck.of_packet.extend(packets.map(|packet| (packet, *at)));
        }
        for tracker in trackers {
            if let Some((_, at, psn)) = last.get(&tracker.number()) {
                stuck.times[*at].failed = tracker.oldest() == Some(*psn) && failed(tracker);
            }
        }
        stuck
    }

    /// Adds to a broken rule of timers or retries all expiries of the NIC that time, and the configuration.
    pub(crate) fn complete(&self, anomalies: &mut Anomalies, known: &Known) {
        let of_timers = [
            Rule::RtoBelowMinimum,
            Rule::RtoAboveMaximum,
            Rule::RetriesBeyondBudget,
            Rule::RetriesBelowBudget,
        ];
        for anomaly in anomalies.kept_mut().iter_mut().filter(|anomaly| of_timers.contains(&anomaly.rule)) {
            let packet = anomaly.evidence.packets.first();
            if let Some(at) = packet.and_then(|packet| self.of_packet.get(packet)) {
                add(&self.times[*at].waits_ns, known, &mut anomaly.evidence);
            }
        }
    }

    /// All times, in order.
    pub fn into_times(self) -> Vec<Expiries> {
        self.times
    }
}

fn add(waits: &[Nanos], known: &Known, evidence: &mut Evidence) {
    evidence.times_ns.extend(WAITS.into_iter().zip(waits.iter().copied()));
    if let Some(Timeout::Enabled(minimum)) = known.timeout {
        evidence.times_ns.insert("t", minimum);
    }
    if let Some(most) = known.retries {
        evidence.numbers.insert("retry-cnt", u64::from(most));
    }
    // Sequence NAKs and implied NAKs may have made some besides.
    let retries = evidence.numbers.entry("retries").or_default();
    *retries = (*retries).max(waits.len() as u64);
}
