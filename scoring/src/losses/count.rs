//! Losses of a run.

use std::collections::BTreeMap;

use corpus::{Action, LossEffect, Pattern, TestConfig};
use dumper::observation::CompletionStatus;
use dumper::{Fate, FlowId, Observation};

use super::Losses;
use super::connection::{Connection, Expiry, Seen};
use crate::analysis::Analysis;
use crate::causes::ExpiryCause;
use crate::retransmission::Trigger;
use crate::see::connections::Pair;
use crate::see::psns::psns_of;

/// Counts what came of the losses of a run. Only packets that the switch drops count as losses, and only where it does nothing else to any: a
/// test with paths, with flow control or with other events has none, nor has one in which a host discarded packets that somebody waited
/// for, or whose hosts post in turn: what they say of a NIC that sends more NAKs than one does not hold where a host posts alone.
#[must_use]
pub fn of(config: &TestConfig, observation: &Observation, analysis: &Analysis) -> Losses {
    let mut losses = Losses::default();
    let causes = || analysis.retransmissions.iter().filter_map(|entry| entry.cause);
    if !loses_only(config) || causes().any(|cause| cause == ExpiryCause::Discarded) {
        return losses;
    }
    let trace = &observation.trace;
    let shape = config.traffic.shape();
    let expiries = expiries(analysis);
    let timeout = config.traffic.min_retransmit_timeout;
    let mut connections: Vec<_> =
        analysis.pairs.iter().map(|pair| Connection::starting_at(pair.initial_psn, timeout)).collect();
    let of_flow = flows(&analysis.pairs, trace.flows().len());
    for record in trace.records() {
        let Some(at) = of_flow[record.flow.index()] else { continue };
        let copies = match trace.fate(record) {
            Fate::Delivered { copies, .. } => copies.into(),
            Fate::Lost => 0,
            Fate::Unknown => return Losses::default(),
        };
        let class = record.class();
        let count = psns_of(record, class, config.traffic.mtu.bytes());
        let behind = record.psn.add(count).relative_to(analysis.pairs[at].initial_psn);
        // The packets of a message come first, and its dummies behind them.
        let is_dummy = |psn: u32| shape.locate(psn).is_some_and(|place| place.packet >= shape.own_packets());
        let before_dummy = class.is_request() && is_dummy(behind);
        let expiry = expiries.get(&record.sequence).copied();
        connections[at].sees(Seen { record, copies, count, before_dummy }, expiry, &mut losses);
    }
    let completed = analysis.message_times.iter().filter(|time| time.status == CompletionStatus::Success);
    completed.for_each(|time| losses.messages.count(time.completion_time_ns));
    losses
}

/// Returns true if the switch can drop packets and does nothing else to them, but copy some.
fn loses_only(config: &TestConfig) -> bool {
    let network = &config.network;
    (network.loses() || !config.events.is_empty())
        && config.traffic.pattern == Pattern::OneWay
        && network.paths.is_empty()
        && !network.pfc
        && network.loss_effect == LossEffect::Drop
        && config.events.iter().all(|event| matches!(event.action, Action::Drop(_)))
}

/// Expiries by the first packet behind them.
fn expiries(analysis: &Analysis) -> BTreeMap<u32, Expiry> {
    let time_outs = analysis.retransmissions.iter().filter(|entry| entry.trigger == Trigger::Timeout);
    let first = time_outs.filter_map(|entry| {
        let packet = entry.nack.into_iter().chain(entry.retransmission).min()?;
        let expiry = match entry.cause {
            None | Some(ExpiryCause::Unexplained | ExpiryCause::Discarded) => Expiry::Unclear,
            Some(_) => Expiry::Explained,
        };
        Some((packet, expiry))
    });
    first.collect()
}

/// The connection of each flow.
fn flows(pairs: &[Pair], count: usize) -> Vec<Option<usize>> {
    let mut of_flow = vec![None; count];
    for (at, pair) in pairs.iter().enumerate() {
        let flows = [Some(pair.requests), pair.answers].into_iter().flatten();
        flows.map(FlowId::index).for_each(|flow| of_flow[flow] = Some(at));
    }
    of_flow
}
