//! Summaries for people: a line for each setting.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use scoring::ExpiryCause;

use super::{Plan, Summary};
use crate::measure::digits;
use crate::statistics::Signs;

/// The tables.
#[must_use]
pub fn text(plan: &Plan, summaries: &[Summary]) -> String {
    let names: Vec<String> = plan.points.iter().map(|(point, _)| point.in_short()).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default().max(8);
    let mut text = String::new();
    // Writing to a String cannot fail.
    if let Some((_, test)) = plan.points.first() {
        let (first, runs) = (test.config.traffic.seed, plan.runs);
        let last = first + u64::from(runs.saturating_sub(1));
        let _ = writeln!(
            text,
            "{} on {}, seeds {first} to {last} with each setting\n",
            test.file.display(),
            test.testbed
        );
    }
    let _ = writeln!(
        text,
        "{:<width$}  {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>9} {:>7}",
        "setting", "mean", "median", "p99", "p99.9", "longest", "goodput", "bytes", "failed"
    );
    let bytes = summaries.first().map_or(1, |first| first.wire_bytes).max(1);
    for (name, one) in names.iter().zip(summaries) {
        let times = [one.mean_ns, one.median_ns, one.p99_ns, one.p999_ns, one.max_ns];
        let times: String = times.iter().map(|time| format!(" {:>10}", time.to_string())).collect();
        let _ = writeln!(
            text,
            "{name:<width$} {times} {:>10} {:>8.1}% {:>7}",
            format!("{} Gb/s", digits(one.goodput_bps / 1e9)),
            100.0 * one.wire_bytes as f64 / bytes as f64,
            one.failed,
        );
    }
    let causes: BTreeSet<_> = summaries.iter().flat_map(|one| one.timeouts.keys().copied()).collect();
    let in_column = |cause: &ExpiryCause, text: &str| format!(" {text:>0$}", cause.name().len().max(9));
    let headers: String = causes.iter().map(|cause| in_column(cause, cause.name())).collect();
    let _ = writeln!(
        text,
        "\n{:<width$}  {:>9}{headers}   runs with fewer, more; by chance",
        "setting", "time-outs"
    );
    for (name, one) in names.iter().zip(summaries) {
        let of = |cause| one.timeouts.get(cause).copied().unwrap_or_default();
        let numbers: String = causes.iter().map(|cause| in_column(cause, &of(cause).to_string())).collect();
        let all: usize = one.timeouts.values().sum();
        let beside = one
            .timeouts_beside_first
            .map(|Signs { less, more, p }| format!("   {less}, {more}; {}", digits(p)));
        let _ = writeln!(text, "{name:<width$}  {all:>9}{numbers}{}", beside.unwrap_or_default());
    }
    for (name, one) in names.iter().zip(summaries) {
        for (signature, runs) in &one.anomalies {
            let _ = writeln!(text, "\n{name}: {signature} in {runs} of {} runs", one.runs);
        }
    }
    text
}
