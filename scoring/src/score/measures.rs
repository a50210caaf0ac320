//! Measures of a test.

use corpus::TestConfig;
use dumper::observation::CompletionStatus;
use dumper::timers::{ack_timeout, rnr_wait};
use dumper::{Nanos, Observation};

use super::Objective;
use crate::oracles::baseline::{Baseline, discards, goodput};
use crate::oracles::passage::Passage;
use crate::oracles::{Measure, References, Test, Values};
use crate::{Analysis, Reordering};

/// The ACK timeout's exponent that takes the place of one that is disabled, in the measure of silence: the
/// default of RDMA software, 67 ms.
const USUAL_TIMEOUT: u8 = 14;

/// Measures what no oracle measures.
pub(super) fn measure(test: &Test<'_>, references: &References, values: &mut Values) {
    let Test { config, observation, analysis, passage, .. } = test;
    let reference = references.without_events.as_ref();
    let mut set = |measure: Measure, value: f64| values[measure as usize] = value;

    let hosts = [&observation.requester, &observation.responder].into_iter().flatten();
    let discarded: u64 = hosts.flat_map(discards).map(|(_, moved)| moved).sum();
    let expiries = || analysis.expiries.iter().map(|stuck| stuck.waits_ns.len());
    let compared = analysis.counters.iter().flatten().flat_map(|host| &host.compared);
    let seen = |objective| {
        let sightings = analysis.anomalies.sightings_of(|kind| kind.objective() == objective);
        sightings as f64
    };
    set(Measure::Discards, discarded as f64 + seen(Objective::Discards));
    set(Measure::Expiries, expiries().sum::<usize>() as f64);
    let budget = f64::from(config.traffic.max_retransmit_retry.max(1));
    set(Measure::RetriesSpent, expiries().max().unwrap_or(0) as f64 / budget);
    set(Measure::UnexplainedExpiries, unexplained(analysis) as f64);
    set(Measure::BrokenTimers, seen(Objective::Timeouts));
    set(Measure::BrokenRules, seen(Objective::Fsm));
    set(Measure::Retransmissions, analysis.retransmissions.len() as f64);
    set(Measure::CounterDifference, counter_difference(analysis));
    set(Measure::CountersMoved, compared.filter(|counter| counter.expected > 0).count() as f64);
    set(Measure::BrokenNotifications, seen(Objective::Cnp));
    set(Measure::Notifications, (analysis.marked + analysis.cnps) as f64);
    set(Measure::GoodputLost, reference.map_or(1.0, |usual| goodput_lost(usual, observation)));
    set(Measure::Unevenness, passage.unevenness);
    set(Measure::Silence, silence(config, passage));
    set(Measure::Stalls, seen(Objective::Stall));
    set(Measure::Corruptions, seen(Objective::Integrity));
    let reordering = Reordering::of_all(&analysis.reordering);
    let spurious = reordering.iter().map(|one| one.spurious_retransmissions).sum::<u64>();
    set(Measure::SpuriousRetransmissions, spurious as f64);
    let one_path = references.one_path.as_ref();
    set(Measure::GoodputUnderReordering, one_path.map_or(1.0, |usual| goodput_lost(usual, observation)));
    let fewer = references.fewer_flows.as_ref();
    set(Measure::GoodputBesideFewerFlows, fewer.map_or(1.0, |usual| goodput_lost(usual, observation)));
    set(Measure::BrokenEntries, seen(Objective::Offload));
    set(Measure::TableWork, table_work(config));
    set(Measure::SlowestMessage, slowest_message(analysis));
}

/// Entries times masks of the larger table, and the flows of all operations.
fn table_work(config: &TestConfig) -> f64 {
    let sizes = config
        .tables()
        .map(|table| f64::from(table.flows) * f64::from(table.egress_masks.max(table.ingress_masks)));
    let operated: u32 = config.control.iter().map(|control| control.operation.number()).sum();
    sizes.fold(0.0, f64::max) + f64::from(operated)
}

/// Expiries that are the fault of an end, not of the network.
fn unexplained(analysis: &Analysis) -> usize {
    let causes = analysis.timeout_causes().into_iter();
    causes.filter(|(cause, _)| cause.is_fault()).map(|(_, number)| number).sum()
}

/// All messages of a test are of one size.
fn slowest_message(analysis: &Analysis) -> f64 {
    let successful = analysis.message_times.iter().filter(|one| one.status == CompletionStatus::Success);
    let mut times: Vec<Nanos> = successful.map(|one| one.completion_time_ns).collect();
    times.sort_unstable();
    match (times.get(times.len() / 2), times.last()) {
        (Some(median), Some(slowest)) => slowest.0 as f64 / median.0.max(1) as f64,
        _ => 1.0,
    }
}

/// Sum of the differences between the counters of anomalies and the trace.
fn counter_difference(analysis: &Analysis) -> f64 {
    let differing =
        analysis.anomalies.kept().iter().filter(|one| one.kind().objective() == Objective::Counters);
    let counters = differing.flat_map(|anomaly| &anomaly.evidence.counters);
    counters.map(|counter| counter.moved.abs_diff(counter.expected) as f64).sum()
}

/// Goodput of the reference over that of the test; the reference's own, in bit/s, where nothing completed.
fn goodput_lost(usual: &Baseline, observation: &Observation) -> f64 {
    let (_, goodput) = goodput(observation.completions());
    if usual.goodput_bps <= 0.0 { 1.0 } else { usual.goodput_bps / goodput.max(1.0) }
}

/// The longest silence in multiples of the longest wait that the configuration asks for.
fn silence(config: &TestConfig, passage: &Passage) -> f64 {
    let traffic = &config.traffic;
    let timeout =
        ack_timeout(traffic.min_retransmit_timeout).or(ack_timeout(USUAL_TIMEOUT)).unwrap_or_default();
    let longest = timeout.max(rnr_wait(traffic.min_rnr_timer)).max(Nanos(traffic.gap_ns));
    passage.silence.0 as f64 / longest.0.max(1) as f64
}
