//! Summary of a reference run.

use dumper::observation::{CompletionStatus, ControlEvent};
use dumper::{Completion, HostCounters, Nanos, Observation};
use serde::{Deserialize, Serialize};

use super::passage::Burst;
use super::recovery::Recovery;
use super::spacing::Gaps;
use crate::Analysis;
use crate::counters::counts_discards;
use crate::messages::MessageTime;
use crate::see::sides::Side;

/// Numbers of a reference run that the score needs: small, so that thousands can be kept.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Baseline {
    /// Messages of each connection, in the order of the hosts' log.
    pub connections: Vec<Mct>,
    /// Loss recovery of each connection, in the order of the hosts' log.
    pub recoveries: Vec<Recovery>,
    /// Retransmissions from an earlier PSN, of all connections.
    pub retransmissions: u64,
    /// Packets that the requester's and the responder's host discarded, by their counters.
    pub discards: [u64; 2],
    /// The most that left the switch at once towards each of them.
    pub bursts: [Burst; 2],
    /// The usual time from one packet to the next of the requester and the responder, in picoseconds, while
    /// they have more to send; 0 where there is too little to say.
    pub spacing_ps: [u64; 2],
    /// Packets that passed the switch.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
    /// From the first posting to the last completion, by the requester's clock.
    pub duration: Nanos,
    /// Bytes of completed messages over the duration, in bits per second.
    pub goodput_bps: f64,
    /// Operations on flow tables.
    pub operations: Operations,
}

/// Median times of a NIC's operations on its flow table, of both hosts; 0 where there were none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Operations {
    /// Creation of an entry.
    pub create: Nanos,
    /// Deletion of an entry.
    pub delete: Nanos,
}

impl Operations {
    pub(crate) fn of(observation: &Observation) -> Self {
        let of = |event| {
            let records = observation.requester_control.iter().chain(&observation.responder_control);
            let taken = records.filter(|record| record.event == event).map(|record| record.took_ns);
            median(taken.collect()).unwrap_or_default()
        };
        Self { create: of(ControlEvent::EntryCreated), delete: of(ControlEvent::EntryDeleted) }
    }
}

/// Message completion times of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Mct {
    /// Messages that completed.
    pub completed: u32,
    /// True if a message failed.
    pub failed: bool,
    /// Mean of the completed ones.
    pub mean: Nanos,
    /// Longest of the completed ones.
    pub max: Nanos,
}

impl Baseline {
    /// Sums up a reference run.
    pub fn of(observation: &Observation, analysis: &Analysis) -> Self {
        let sides = &analysis.sides;
        let records = observation.trace.records();
        let (duration, goodput_bps) = goodput(observation.completions());
        Self {
            connections: per_connection(&analysis.message_times),
            recoveries: Recovery::of(observation, analysis),
            retransmissions: analysis.retransmissions.len() as u64,
            discards: [&observation.requester, &observation.responder]
                .map(|host| host.as_ref().map_or(0, |host| discards(host).map(|(_, moved)| moved).sum())),
            bursts: [Side::Requester, Side::Responder]
                .map(|side| Burst::towards(side, &observation.trace, sides)),
            spacing_ps: Gaps::usual(observation, analysis, sides),
            packets: records.len() as u64,
            bytes: records.iter().map(|record| u64::from(record.frame_len)).sum(),
            duration,
            goodput_bps,
            operations: Operations::of(observation),
        }
    }
}

/// The median, the later of two; none of none.
pub(crate) fn median(mut times: Vec<Nanos>) -> Option<Nanos> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// From the first posting to the last completion, and the bytes of completed messages over that, in bits per second.
pub(crate) fn goodput(completions: &[Completion]) -> (Nanos, f64) {
    let start = completions.iter().map(|completion| completion.posted_ns).min().unwrap_or_default();
    let end = completions.iter().map(|completion| completion.completed_ns).max().unwrap_or_default();
    let good = completions.iter().filter(|completion| completion.status == CompletionStatus::Success);
    let bytes: u64 = good.map(|completion| completion.bytes).sum();
    let seconds = (end - start).as_secs_f64();
    (end - start, if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 })
}

/// The counters of discarded packets of a host, with the increase of each.
pub(crate) fn discards(host: &HostCounters) -> impl Iterator<Item = (&str, u64)> {
    host.names().filter(|name| counts_discards(name)).filter_map(|name| Some((name, host.moved(name)?)))
}

/// Message completion times by connection of the hosts' log.
pub(crate) fn per_connection(times: &[MessageTime]) -> Vec<Mct> {
    let mut connections: Vec<Mct> = Vec::new();
    let mut totals: Vec<u128> = Vec::new();
    for time in times {
        let Some(at) = (time.connection as usize).checked_sub(1) else { continue };
        if at >= connections.len() {
            connections.resize(at + 1, Mct::default());
            totals.resize(at + 1, 0);
        }
        let connection = &mut connections[at];
        if time.status == CompletionStatus::Success {
            connection.completed += 1;
            connection.max = connection.max.max(time.completion_time_ns);
            totals[at] += u128::from(time.completion_time_ns.0);
        } else {
            connection.failed = true;
        }
    }
    for (connection, total) in connections.iter_mut().zip(totals) {
        let mean = total.checked_div(u128::from(connection.completed)).unwrap_or(0);
        connection.mean = Nanos(u64::try_from(mean).unwrap_or(u64::MAX));
    }
    connections
}
