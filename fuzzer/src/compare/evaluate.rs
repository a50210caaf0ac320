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
    /// Each anomaly of each NIC.
    pub rows: Vec<Row>,
    /// The first strategy against each of the others, over all rows.
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
    /// The first strategy against each of the others.
    pub comparisons: Vec<Comparison>,
}

/// Executions that a strategy needed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// The strategy.
    pub strategy: Strategy,
    /// Runs that have ended.
    pub runs: usize,
    /// Runs that found it; the others are censored at the last execution.
    pub found: usize,
    /// Mean executions, those of runs that did not find it up to the limit.
    pub restricted_mean: f64,
    /// Executions by which a quarter of the runs found it, half, three quarters; none where so many did not.
    pub quartiles: [Option<f64>; 3],
    /// Mean seconds, those of runs that did not find it up to their end.
    pub mean_s: f64,
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
    /// The same with Holm's correction over all rows.
    pub p_holm: f64,
    /// Probability that the first one is earlier (Vargha and Delaney's A12), with its 95 % interval.
    pub a12: [f64; 3],
}

/// The first strategy against another one, over all rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overall {
    /// The other one.
    pub against: Strategy,
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
    let limit = plan.executions as f64;
    let mut rows: Vec<Row> = Vec::new();
    for nic in &plan.nics {
        for anomaly in anomalies(plan, nic, runs) {
            let samples: Vec<Sample> = plan
                .strategies
                .iter()
                .map(|strategy| sample(*strategy, nic, &anomaly, runs, limit))
                .collect();
            rows.push(Row { nic: nic.clone(), anomaly, samples, comparisons: Vec::new() });
        }
    }
    let mut overall = Vec::new();
    for (at, against) in plan.strategies.iter().enumerate().skip(1) {
        let pair = |row: &'_ Row| -> (Vec<Time>, Vec<Time>) {
            (row.samples[0].times.clone(), row.samples[at].times.clone())
        };
        let pairs: Vec<_> = rows.iter().map(pair).collect();
        let tests: Vec<LogRank> = pairs.iter().map(|(first, other)| log_rank(&[(first, other)])).collect();
        let corrected = holm(&tests.iter().map(|test| test.p).collect::<Vec<_>>());
        let (mut better, mut worse) = (0, 0);
        for (((row, (first, other)), test), p_holm) in rows.iter_mut().zip(&pairs).zip(&tests).zip(corrected)
        {
            let a12 = vargha_delaney(first, other);
            better += usize::from(p_holm < 0.01 && test.excess > 0.0);
            worse += usize::from(a12.high < 0.5);
            row.comparisons.push(Comparison {
                against: *against,
                ratio: row.samples[0].restricted_mean / row.samples[at].restricted_mean,
                p: test.p,
                p_holm,
                a12: [a12.low, a12.estimate, a12.high],
            });
        }
        let strata: Vec<(&[Time], &[Time])> =
            pairs.iter().map(|(first, other)| (first.as_slice(), other.as_slice())).collect();
        let sum = |at: usize| rows.iter().map(|row| row.samples[at].restricted_mean).sum::<f64>();
        overall.push(Overall {
            against: *against,
            ratio: sum(0) / sum(at),
            p: log_rank(&strata).p,
            better,
            worse,
        });
    }
    Evaluation {
        target: plan.target.clone(),
        executions: plan.executions,
        seeds: plan.seeds.end - plan.seeds.start,
        rows,
        overall,
    }
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

fn sample(strategy: Strategy, nic: &str, anomaly: &str, runs: &[Ran], limit: f64) -> Sample {
    let of_strategy = || runs.iter().filter(|ran| ran.nic == nic && ran.strategy == strategy);
    let first = |ran: &Ran| {
        let is_it = |signature: &str| anomaly == ANY || signature.starts_with(anomaly);
        let found = ran.found.iter().filter(|found| is_it(&found.signature));
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
    Sample {
        strategy,
        runs: times.len(),
        found: times.iter().filter(|time| time.reached).count(),
        restricted_mean: restricted_mean(&times, limit),
        quartiles: [0.25, 0.5, 0.75].map(|part| quantile(&times, part)),
        mean_s: seconds.iter().sum::<f64>() / times.len().max(1) as f64,
        times,
    }
}
