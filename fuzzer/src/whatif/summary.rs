//! What the runs of a setting have shown.

use std::collections::BTreeMap;

use dumper::Nanos;
use dumper::observation::CompletionStatus;
use scoring::{ExpiryCause, Ranks};
use serde::Serialize;

use super::{Plan, Point};
use crate::judge::Judged;
use crate::statistics::{Signs, signs};

/// What one run has shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    causes: BTreeMap<ExpiryCause, usize>,
    /// Completion times of messages that succeeded.
    times: Ranks,
    failed: u64,
    /// Bytes of frames that entered the switch.
    wire_bytes: u64,
    /// Bytes of completed messages, and the time that they took.
    payload_bytes: u64,
    span: Nanos,
    signatures: Vec<String>,
}

impl Outcome {
    pub(super) fn of(judged: &Judged) -> Self {
        let Judged { observation, analysis, .. } = judged;
        let is_success = |status| status == CompletionStatus::Success;
        let completions = observation.completions();
        let times = analysis.message_times.iter().filter(|one| is_success(one.status));
        let first = completions.iter().map(|one| one.posted_ns).min().unwrap_or_default();
        let last = completions.iter().map(|one| one.completed_ns).max().unwrap_or_default();
        Self {
            causes: analysis.timeout_causes(),
            times: times.map(|one| one.completion_time_ns).collect(),
            failed: completions.iter().filter(|one| !is_success(one.status)).count() as u64,
            wire_bytes: observation.trace.records().iter().map(|record| u64::from(record.frame_len)).sum(),
            payload_bytes: completions.iter().filter(|one| is_success(one.status)).map(|one| one.bytes).sum(),
            span: last - first,
            signatures: judged.signatures(),
        }
    }

    fn time_outs(&self) -> usize {
        self.causes.values().sum()
    }
}

/// What the runs of a setting have shown, beside those of the first one.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// The settings.
    pub settings: BTreeMap<String, toml::Value>,
    /// Runs.
    pub runs: usize,
    /// Time-outs by cause, of all runs.
    pub timeouts: BTreeMap<ExpiryCause, usize>,
    /// Runs with fewer and with more time-outs than the first setting with the same seed.
    pub timeouts_beside_first: Option<Signs>,
    /// Runs whose messages take less and more time in the mean than with the first setting.
    pub mean_beside_first: Option<Signs>,
    /// Messages that completed with success.
    pub completed: usize,
    /// Messages that failed or were flushed.
    pub failed: u64,
    /// Mean completion time of messages; the further ones are nearest ranks.
    pub mean_ns: Nanos,
    /// Half of the messages take no longer.
    pub median_ns: Nanos,
    /// All but one of a hundred take no longer.
    pub p99_ns: Nanos,
    /// All but one of a thousand take no longer.
    pub p999_ns: Nanos,
    /// The longest one.
    pub max_ns: Nanos,
    /// Bytes of completed messages over time, in bits per second.
    pub goodput_bps: f64,
    /// Bytes of frames that entered the switch, in the mean of the runs.
    pub wire_bytes: u64,
    /// Signatures of anomalies, each with the number of runs that show it.
    pub anomalies: BTreeMap<String, usize>,
}

/// A summary of each setting.
#[must_use]
pub fn summarise(plan: &Plan, outcomes: &[Vec<Outcome>]) -> Vec<Summary> {
    let first = outcomes.first().map(Vec::as_slice).unwrap_or_default();
    let of = |((point, _), runs): (&(Point, _), &Vec<Outcome>)| Summary::of(point, runs, first);
    plan.points.iter().zip(outcomes).map(of).collect()
}

impl Summary {
    fn of(point: &Point, runs: &[Outcome], first: &[Outcome]) -> Self {
        let times: Ranks = runs.iter().flat_map(|run| run.times.iter()).collect();
        let mut timeouts = BTreeMap::new();
        let mut anomalies = BTreeMap::new();
        for run in runs {
            run.causes.iter().for_each(|(cause, number)| *timeouts.entry(*cause).or_default() += number);
            run.signatures.iter().for_each(|one| *anomalies.entry(one.clone()).or_default() += 1);
        }
        let is_first = std::ptr::eq(runs, first);
        let pairs = || first.iter().zip(runs);
        let (bytes, span) = (
            runs.iter().map(|run| run.payload_bytes).sum::<u64>() as f64,
            runs.iter().map(|run| run.span.as_secs_f64()).sum::<f64>(),
        );
        Self {
            settings: point.0.iter().cloned().collect(),
            runs: runs.len(),
            timeouts,
            timeouts_beside_first: (!is_first)
                .then(|| signs(pairs().map(|(one, other)| (one.time_outs(), other.time_outs())))),
            mean_beside_first: (!is_first)
                .then(|| signs(pairs().map(|(one, other)| (one.times.mean(), other.times.mean())))),
            completed: times.len(),
            failed: runs.iter().map(|run| run.failed).sum(),
            mean_ns: times.mean(),
            median_ns: times.of_thousand(500),
            p99_ns: times.of_thousand(990),
            p999_ns: times.of_thousand(999),
            max_ns: times.longest(),
            goodput_bps: if span > 0.0 { bytes * 8.0 / span } else { 0.0 },
            wire_bytes: runs.iter().map(|run| run.wire_bytes).sum::<u64>() / runs.len().max(1) as u64,
            anomalies,
        }
    }
}
