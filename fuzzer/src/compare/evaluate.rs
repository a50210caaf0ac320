//! Statistics over the runs of a comparison.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Plan, Ran, Until};
use crate::statistics::{LogRank, Time, holm, log_rank, quantile, restricted_mean, vargha_delaney};
use crate::strategy::Strategy;

/// Name of the row of any finding.
const ANY: &str = "any finding";

/// A comparison of strategies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// The target.
    pub target: String,
    /// Most executions of a run.
    pub executions: u64,
    /// Seeds of each strategy on each NIC.
    pub seeds: u64,
    /// The strategies, the one in question first.
    pub strategies: Vec<Strategy>,
    /// Each anomaly of each NIC.
    pub rows: Vec<Row>,
    /// The first strategy against each of the others, over all rows with runs of both; without those that have no such row.
    pub overall: Vec<Overall>,
}

/// An anomaly of a NIC.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The NIC.
    pub nic: String,
    /// The anomaly: the beginning of its signature, or `any finding`.
    pub anomaly: String,
    /// Each strategy, in the order of the request.
    pub samples: Vec<Sample>,
    /// The first strategy against each of the others, if both have runs.
    pub comparisons: Vec<Comparison>,
}

/// Executions that a strategy needed. Without a run there is none of the numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// The strategy.
    pub strategy: Strategy,
    /// Runs that have ended.
    pub runs: usize,
    /// Runs that found it; the others are censored at the last execution.
    pub found: Option<usize>,
    /// Mean executions, those of runs that did not find it up to the limit.
    pub restricted_mean: Option<f64>,
    /// Executions by which a quarter of the runs found it, half, three quarters; none where so many did not.
    pub quartiles: [Option<f64>; 3],
    /// Mean seconds, those of runs that did not find it up to their end.
    pub mean_s: Option<f64>,
    /// Executions of each run to the anomaly.
    #[serde(skip)]
    pub times: Vec<Time>,
}

/// The first strategy against another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The other one.
    pub against: Strategy,
    /// Restricted mean of the first one over that of the other: below 1 if it is faster.
    pub ratio: f64,
    /// Log-rank test of the survival curves.
    pub p: f64,
    /// The same with Holm's correction over all rows with runs of both.
    pub p_holm: f64,
    /// Probability that the first one is earlier (Vargha and Delaney's A12), with its 95 % interval.
    pub a12: [f64; 3],
}

/// The first strategy against another one, over all rows with runs of both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overall {
    /// The other one.
    pub against: Strategy,
    /// Those rows.
    pub rows: usize,
    /// Sum of the restricted means of the first one over that of the other's.
    pub ratio: f64,
    /// Log-rank test with the rows as strata.
    pub p: f64,
    /// Rows with a corrected p below 0.01 in favour of the first one.
    pub better: usize,
    /// Rows where the whole interval of A12 is below 0.5.
    pub worse: usize,
}

/// Evaluates the runs of a plan.
#[must_use]
pub fn evaluate(plan: &Plan, runs: &[Ran]) -> Evaluation {
    let mut rows: Vec<Row> = Vec::new();
    for nic in &plan.nics {
        for anomaly in anomalies(plan, nic, runs) {
            let samples: Vec<Sample> =
                plan.strategies.iter().map(|strategy| sample(plan, *strategy, nic, &anomaly, runs)).collect();
            rows.push(Row { nic: nic.clone(), anomaly, samples, comparisons: Vec::new() });
        }
    }
    let others = plan.strategies.iter().enumerate().skip(1);
    let overall: Vec<Overall> = others.filter_map(|(at, against)| compare(&mut rows, *against, at)).collect();
    Evaluation {
        target: plan.target.clone(),
        executions: plan.executions,
        seeds: plan.seeds.end - plan.seeds.start,
        strategies: plan.strategies.clone(),
        rows,
        overall,
    }
}

/// Executions of the first strategy and of another one to an anomaly.
struct Pair<'a> {
    first: &'a [Time],
    other: &'a [Time],
    means: [f64; 2],
    comparisons: &'a mut Vec<Comparison>,
}

impl<'a> Pair<'a> {
    /// The first strategy and the one at a place in a row; none if one of the two has no run.
    fn of(row: &'a mut Row, at: usize) -> Option<Self> {
        let Row { samples, comparisons, .. } = row;
        let samples: &'a [Sample] = samples;
        let (first, other) = (&samples[0], &samples[at]);
        let means = [first.restricted_mean?, other.restricted_mean?];
        Some(Self { first: &first.times, other: &other.times, means, comparisons })
    }
}

/// Compares the first strategy with the one at a place, in each row that has runs of both; none if there is no such row.
fn compare(rows: &mut [Row], against: Strategy, at: usize) -> Option<Overall> {
    let pairs: Vec<Pair<'_>> = rows.iter_mut().filter_map(|row| Pair::of(row, at)).collect();
    if pairs.is_empty() {
        return None;
    }
    let strata: Vec<(&[Time], &[Time])> = pairs.iter().map(|pair| (pair.first, pair.other)).collect();
    let tests: Vec<LogRank> = strata.iter().map(|both| log_rank(&[*both])).collect();
    let corrected = holm(&tests.iter().map(|test| test.p).collect::<Vec<_>>());
    let sum = |at: usize| pairs.iter().map(|pair| pair.means[at]).sum::<f64>();
    let mut overall = Overall {
        against,
        rows: pairs.len(),
        ratio: sum(0) / sum(1),
        p: log_rank(&strata).p,
        better: 0,
        worse: 0,
    };
    for ((pair, test), p_holm) in pairs.into_iter().zip(&tests).zip(corrected) {
        let a12 = vargha_delaney(pair.first, pair.other);
        overall.better += usize::from(p_holm < 0.01 && test.excess > 0.0);
        overall.worse += usize::from(a12.high < 0.5);
        pair.comparisons.push(Comparison {
            against,
            ratio: pair.means[0] / pair.means[1],
            p: test.p,
            p_holm,
            a12: [a12.low, a12.estimate, a12.high],
        });
    }
    Some(overall)
}

/// The anomalies of a NIC that are counted.
fn anomalies(plan: &Plan, nic: &str, runs: &[Ran]) -> Vec<String> {
    match &plan.until {
        Until::First => vec![ANY.to_owned()],
        Until::All(asked) => asked.clone(),
        Until::Each => {
            let of_nic = runs.iter().filter(|ran| ran.nic == nic).flat_map(|ran| &ran.found);
            of_nic.map(|found| found.signature.clone()).collect::<BTreeSet<_>>().into_iter().collect()
        }
    }
}

fn sample(plan: &Plan, strategy: Strategy, nic: &str, anomaly: &str, runs: &[Ran]) -> Sample {
    let limit = plan.executions as f64;
    let of_strategy = || runs.iter().filter(|ran| ran.nic == nic && ran.strategy == strategy);
    let first = |ran: &Ran| {
        let found = ran.found.iter().filter(|found| plan.until.counts(anomaly, &found.signature));
        found.min_by_key(|found| found.execution).cloned()
    };
    let times: Vec<Time> = of_strategy()
        .map(|ran| match first(ran) {
            Some(found) => Time { at: found.execution as f64, reached: true },
            None => Time { at: limit, reached: false },
        })
        .collect();
    // Runs come in the order in which they ended, or were read again; the sum must not depend on it.
    let mut seconds: Vec<f64> =
        of_strategy().map(|ran| first(ran).map_or(ran.elapsed_s, |found| found.at_s)).collect();
    seconds.sort_by(f64::total_cmp);
    let has_run = !times.is_empty();
    Sample {
        strategy,
        runs: times.len(),
        found: has_run.then(|| times.iter().filter(|time| time.reached).count()),
        restricted_mean: has_run.then(|| restricted_mean(&times, limit)),
        quartiles: [0.25, 0.5, 0.75].map(|part| quantile(&times, part)),
        mean_s: has_run.then(|| seconds.iter().sum::<f64>() / seconds.len() as f64),
        times,
    }
}
