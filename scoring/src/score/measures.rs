//! Measures of a test.

use corpus::TestConfig;
use dumper::Observation;
use dumper::timers::{ack_timeout, rnr_wait};

use super::baseline::{Baseline, discards, goodput};
use super::calibration::Measure;
use super::interop::Discards;
use super::neighbours::Neighbours;
use super::passage::Passage;
use super::phases::{phases, recoveries};
use super::sharing::Sharing;
use super::{Objective, References};
use crate::Analysis;
use crate::anomaly::Anomaly;
use crate::sides::Sides;
use crate::thresholds::Times;

/// The value of every measure.
pub(super) type Values = [f64; Measure::COUNT];

/// The ACK timeout's exponent that takes the place of one that is disabled, in the measure of silence: the
/// default of RDMA software, 67 ms.
const USUAL_TIMEOUT: u8 = 14;

/// Measures a test, and collects the anomalies of the oracles.
pub(super) fn measure(
    config: &TestConfig,
    observation: &Observation,
    analysis: &Analysis,
    references: &References,
) -> (Values, Vec<Anomaly>) {
    let trace = &observation.trace;
    let sides = Sides::of_pairs(&analysis.pairs);
    let passage = Passage::of(trace);
    let reference = references.without_events.as_ref();
    let mut found = Vec::new();
    let mut values = [0.0; Measure::COUNT];
    let mut set = |measure: Measure, value: f64| values[measure as usize] = value;

    if let Some(neighbours) = Neighbours::of(config, observation, analysis, &passage) {
        set(Measure::InnocentSlowdown, neighbours.slowdown(reference));
        set(Measure::InnocentRepeats, neighbours.repeats() as f64);
        set(Measure::AtOnce, most_at_once(observation, analysis));
        found.extend(reference.and_then(|usual| neighbours.anomaly(observation, analysis, &sides, usual)));
    }

    let limit = Times::of(observation.clock).slow_retransmission;
    let slow = phases(config, observation, analysis, &sides, &passage);
    set(Measure::SlowestPhase, slow.iter().map(|phase| phase.net().0).max().unwrap_or(0) as f64);
    found.extend(slow.iter().filter_map(|phase| phase.anomaly(trace, analysis, limit)));

    if let Some(sharing) = Sharing::of(config, observation, analysis, &sides) {
        set(Measure::Classes, sharing.weighted_classes() as f64);
        if let Some(usual) = &references.without_ets {
            set(Measure::IdleShare, sharing.idle_share(usual));
            found.extend(sharing.anomalies(trace, usual));
        }
    }
    if !references.lack(&Discards::references(analysis)) {
        found.extend(
            Discards::of(config, observation)
                .and_then(|discards| discards.anomaly(observation, analysis, &sides, references)),
        );
    }

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
    set(Measure::BrokenTimers, seen(Objective::Timeouts));
    set(Measure::BrokenRules, seen(Objective::Fsm));
    set(Measure::Retransmissions, analysis.retransmissions.len() as f64);
    set(Measure::CounterDifference, counter_difference(analysis));
    set(Measure::CountersMoved, compared.filter(|counter| counter.expected > 0).count() as f64);
    set(Measure::BrokenNotifications, seen(Objective::Cnp));
    set(Measure::Notifications, (analysis.marked + analysis.cnps) as f64);
    set(Measure::GoodputLost, reference.map_or(1.0, |usual| goodput_lost(usual, observation)));
    set(Measure::Unevenness, passage.unevenness);
    set(Measure::Silence, silence(config, &passage));
    set(Measure::Stalls, seen(Objective::Stall));
    set(Measure::Corruptions, seen(Objective::Integrity));
    (values, found)
}

/// The most connections that recovered from a loss at the same time.
fn most_at_once(observation: &Observation, analysis: &Analysis) -> f64 {
    let spans = recoveries(&observation.trace, analysis);
    // A span that begins when another one ends overlaps it.
    let mut moments: Vec<_> = spans.flat_map(|(begin, end)| [(begin, 0_u8), (end, 1)]).collect();
    moments.sort_unstable();
    let (mut now, mut most) = (0_u32, 0);
    for (_, ends) in moments {
        if ends == 0 {
            now += 1;
            most = most.max(now);
        } else {
            now -= 1;
        }
    }
    f64::from(most)
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
    let longest = timeout.max(rnr_wait(traffic.min_rnr_timer));
    passage.silence.0 as f64 / longest.0.max(1) as f64
}
