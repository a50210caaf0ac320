//! A comparison as text.

use std::fmt::Write as _;

use super::Evaluation;
use super::evaluate::{Comparison, Overall};

/// The tables of a comparison.
#[must_use]
pub fn text(evaluation: &Evaluation) -> String {
    let Evaluation { target, executions, seeds, strategies, rows, overall } = evaluation;
    let mut text = format!(
        "{target}: executions to the anomaly, {seeds} seeds of at most {executions} executions\n\n\
         {:<28} {:<44} {:<24} {:>7} {:>9} {:>8} {:>8} {:>8} {:>8}\n",
        "NIC", "anomaly", "strategy", "found", "mean", "25 %", "50 %", "75 %", "seconds"
    );
    for row in rows {
        for sample in &row.samples {
            let [q1, q2, q3] = sample.quartiles.map(|at| number(at, 0));
            let found = sample.found.map_or_else(none, |found| format!("{found}/{}", sample.runs));
            let (mean, seconds) = (number(sample.restricted_mean, 0), number(sample.mean_s, 2));
            let _ = writeln!(
                text,
                "{:<28} {:<44} {:<24} {found:>7} {mean:>9} {q1:>8} {q2:>8} {q3:>8} {seconds:>8}",
                row.nic,
                row.anomaly,
                sample.strategy.to_string(),
            );
        }
        let first = row.samples.first().map(|sample| sample.strategy.to_string()).unwrap_or_default();
        for Comparison { against, ratio, p, p_holm, a12: [low, estimate, high] } in &row.comparisons {
            let _ = writeln!(
                text,
                "    {first} / {against}: mean {ratio:.2}, log-rank p {p} (Holm {p_holm}), \
                 A12 {estimate:.2} [{low:.2}, {high:.2}]",
                p = Short(*p),
                p_holm = Short(*p_holm)
            );
        }
    }
    if rows.is_empty() {
        text.push_str("\nNothing was found: there is nothing to compare.\n");
        return text;
    }
    let Some((first, others)) = strategies.split_first() else { return text };
    for other in others {
        let Some(Overall { rows, ratio, p, better, worse, .. }) =
            overall.iter().find(|overall| overall.against == *other)
        else {
            let _ = writeln!(text, "\n{first} / {other}: nothing to compare, as no row has runs of both");
            continue;
        };
        let _ = writeln!(
            text,
            "\n{first} / {other}, over all: mean {ratio:.2}, log-rank p {p} (rows as strata); {better} of {rows} rows better (Holm's p below 0.01), {worse} worse (A12's interval below 0.5)",
            p = Short(*p),
        );
    }
    text
}

/// Sign for a number that there is not.
fn none() -> String {
    "-".to_owned()
}

/// A number with so many decimals.
fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(none, |value| format!("{value:.decimals$}"))
}

/// A probability in two digits.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 < 0.001 { write!(f, "{:.0e}", self.0) } else { write!(f, "{:.3}", self.0) }
    }
}
