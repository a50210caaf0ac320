//! The oracles, which judge a test as a whole, some of them by reference runs: those that run on every test.

mod at_work;
pub(crate) mod baseline;
pub(crate) mod interoperability;
mod latency;
mod measure;
pub(crate) mod mitigation;
pub(crate) mod noisy_neighbor;
mod numbers;
pub(crate) mod offload;
pub(crate) mod passage;
mod recovery;
mod reference;
pub(crate) mod reordering;
pub(crate) mod sharing;
mod slower;
mod spacing;

use corpus::TestConfig;
use dumper::{Observation, Trace};

use self::interoperability::Discards;
use self::latency::{phases, recoveries};
use self::mitigation::Mitigation;
use self::noisy_neighbor::Neighbours;
use self::offload::Offloaded;
use self::passage::Passage;
use self::reordering::Reordered;
use self::sharing::Sharing;
use crate::Analysis;
use crate::analyzers::Analyzer;
use crate::anomaly::Anomaly;

pub use baseline::{Baseline, Mct, Operations};
pub(crate) use measure::Measure;
pub use passage::Burst;
pub use recovery::Recovery;
pub use reference::{Reference, References};

/// The value of every measure.
pub(crate) type Values = [f64; Measure::COUNT];

/// A test that was run and analysed.
pub(crate) struct Test<'a> {
    pub(crate) config: &'a TestConfig,
    pub(crate) observation: &'a Observation,
    pub(crate) analysis: &'a Analysis,
    pub(crate) passage: Passage,
}

impl<'a> Test<'a> {
    pub(crate) fn new(config: &'a TestConfig, observation: &'a Observation, analysis: &'a Analysis) -> Self {
        Self { config, observation, analysis, passage: Passage::of(&observation.trace) }
    }

    const fn trace(&self) -> &'a Trace {
        &self.observation.trace
    }

    fn neighbours(&self) -> Option<Neighbours> {
        Neighbours::of(self.config, self.observation, self.analysis, &self.passage)
    }

    fn mitigation(&self) -> Option<Mitigation<'a>> {
        Mitigation::of(self.config, self.observation, self.analysis, &self.passage)
    }

    fn reordered(&self) -> Option<Reordered<'a>> {
        Reordered::of(self.config, self.observation, self.analysis)
    }

    pub(crate) fn offloaded(&self) -> Option<Offloaded<'a>> {
        Offloaded::of(self.config, self.observation, self.analysis)
    }

    fn sharing(&self) -> Option<Sharing<'a>> {
        Sharing::of(self.config, self.observation, self.analysis, &self.analysis.sides)
    }
}

/// An oracle.
pub(crate) struct Oracle {
    pub(crate) analyzer: Analyzer,
    /// Reference runs that it needs: none unless the test looks suspicious by itself.
    pub(crate) references: fn(&Test<'_>) -> Vec<Reference>,
    /// Measures the test, and returns its anomalies.
    pub(crate) judge: fn(&Test<'_>, &References, &mut Values) -> Vec<Anomaly>,
}

/// Every oracle, in the order in which they run.
pub(crate) const ORACLES: &[Oracle] = &[
    Oracle {
        analyzer: Analyzer::NoisyNeighbor,
        references: |test| match test.neighbours() {
            Some(neighbours) if neighbours.are_suspicious() => vec![Reference::WithoutEvents],
            _ => Vec::new(),
        },
        judge: judge_neighbours,
    },
    Oracle { analyzer: Analyzer::Latency, references: |_| Vec::new(), judge: judge_latency },
    Oracle {
        analyzer: Analyzer::Sharing,
        references: |test| match test.sharing() {
            Some(sharing) if sharing.can_be_compared() => vec![Reference::WithoutEts],
            _ => Vec::new(),
        },
        judge: judge_sharing,
    },
    Oracle {
        analyzer: Analyzer::Interoperability,
        references: |test| {
            let discards = Discards::of(test.config, test.observation);
            discards.map(|_| Discards::references(test.analysis)).unwrap_or_default()
        },
        judge: judge_discards,
    },
    Oracle {
        analyzer: Analyzer::Mitigation,
        references: |test| match test.mitigation() {
            Some(mitigation) if mitigation.is_suspicious() => vec![Reference::WithoutMitigation],
            _ => Vec::new(),
        },
        judge: |test, references, _| {
            let usual = references.without_mitigation.as_ref();
            usual
                .zip(test.mitigation())
                .map(|(usual, mitigation)| mitigation.anomalies(usual))
                .unwrap_or_default()
        },
    },
    Oracle {
        analyzer: Analyzer::ReorderCollapse,
        references: |test| match test.reordered() {
            Some(reordered) if reordered.is_suspicious() => vec![Reference::OnePath],
            _ => Vec::new(),
        },
        judge: |test, references, _| {
            let one_path = references.one_path.as_ref();
            let anomaly = |one_path| test.reordered().and_then(|reordered| reordered.anomaly(one_path));
            one_path.and_then(anomaly).into_iter().collect()
        },
    },
    Oracle {
        analyzer: Analyzer::OffloadCost,
        references: |test| {
            let offloaded = test.offloaded();
            offloaded.iter().flat_map(Offloaded::references).map(|(_, reference)| reference).collect()
        },
        judge: judge_offload,
    },
];

fn judge_offload(test: &Test<'_>, references: &References, values: &mut Values) -> Vec<Anomaly> {
    let Some(offloaded) = test.offloaded() else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(slow) = offloaded.slowest() {
        let (_, slowest, others) = slow;
        values[Measure::SlowestFlow as usize] = slowest.0 as f64 / others.0.max(1) as f64;
        found.extend(offloaded.slow_flow(slow));
    }
    if let Some(fewer) = references.fewer_flows.as_ref().filter(|_| offloaded.has_many_flows()) {
        found.extend(offloaded.cliff(fewer));
    }
    if let Some(fresh) = references.without_removal.as_ref().filter(|_| offloaded.removes_flows()) {
        found.extend(offloaded.no_recovery(fresh));
    }
    let small = references.fewest_flows.as_ref();
    if let Some(slow) = small.and_then(|small| offloaded.slowest_operation(small)) {
        values[Measure::OperationSlowdown as usize] = slow.0;
        found.extend(offloaded.slow_control(slow));
    }
    found
}

fn judge_neighbours(test: &Test<'_>, references: &References, values: &mut Values) -> Vec<Anomaly> {
    let Some(neighbours) = test.neighbours() else { return Vec::new() };
    let reference = references.without_events.as_ref();
    values[Measure::InnocentSlowdown as usize] = neighbours.slowdown(reference);
    values[Measure::InnocentRepeats as usize] = neighbours.repeats() as f64;
    values[Measure::AtOnce as usize] = most_at_once(test.trace(), test.analysis);
    let anomaly = |usual| neighbours.anomaly(test.observation, test.analysis, &test.analysis.sides, usual);
    reference.and_then(anomaly).into_iter().collect()
}

/// The most connections that recovered from a loss at the same time.
fn most_at_once(trace: &Trace, analysis: &Analysis) -> f64 {
    let spans = recoveries(trace, analysis);
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

fn judge_latency(test: &Test<'_>, _: &References, values: &mut Values) -> Vec<Anomaly> {
    let limit = test.analysis.times.slow_retransmission;
    let slow = phases(test.config, test.observation, test.analysis, &test.analysis.sides, &test.passage);
    let slowest = slow.iter().map(|phase| phase.net().0).max().unwrap_or(0);
    values[Measure::SlowestPhase as usize] = slowest as f64;
    slow.iter().filter_map(|phase| phase.anomaly(test.trace(), test.analysis, limit)).collect()
}

fn judge_sharing(test: &Test<'_>, references: &References, values: &mut Values) -> Vec<Anomaly> {
    let Some(sharing) = test.sharing() else { return Vec::new() };
    values[Measure::Classes as usize] = sharing.weighted_classes() as f64;
    let Some(usual) = &references.without_ets else { return Vec::new() };
    values[Measure::IdleShare as usize] = sharing.idle_share(usual);
    sharing.anomalies(test.trace(), usual)
}

fn judge_discards(test: &Test<'_>, references: &References, _: &mut Values) -> Vec<Anomaly> {
    let discards = Discards::of(test.config, test.observation);
    let discards = discards.filter(|_| !references.lack(&Discards::references(test.analysis)));
    let anomaly = |discards: Discards<'_>| {
        discards.anomaly(test.observation, test.analysis, &test.analysis.sides, references)
    };
    discards.and_then(anomaly).into_iter().collect()
}
