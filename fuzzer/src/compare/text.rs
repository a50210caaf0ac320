//! A comparison as text.

use std::fmt::Write as _;

use super::Evaluation;
use super::evaluate::Comparison;

/// The tables of a comparison.
#[must_use]
pub fn text(evaluation: &Evaluation) -> String {
    let Evaluation { target, executions, seeds, rows, overall } = evaluation;
    let mut text = format!(
        "{target}: executions to the anomaly, {seeds} seeds of at most {executions} executions\n\n\
         {:<28} {:<44} {:<24} {:>7} {:>9} {:>8} {:>8} {:>8} {:>8}\n",
        "NIC", "anomaly", "strategy", "found", "mean", "25 %", "50 %", "75 %", "seconds"
    );
    for row in rows {
        for sample in &row.samples {
            let [q1, q2, q3] =
                sample.quartiles.map(|at| at.map_or_else(|| "-".to_owned(), |at| format!("{at:.0}")));
            let found = format!("{}/{}", sample.found, sample.runs);
            let _ = writeln!(
                text,
                "{:<28} {:<44} {:<24} {found:>7} {:>9.0} {q1:>8} {q2:>8} {q3:>8} {:>8.2}",
                row.nic,
                row.anomaly,
                sample.strategy.to_string(),
                sample.restricted_mean,
                sample.mean_s
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
    let first = rows.first().and_then(|row| row.samples.first()).map(|one| one.strategy.to_string());
    for one in overall {
        let _ = writeln!(
            text,
            "\n{} / {}, over all: mean {:.2}, log-rank p {} (rows as strata); {} of {} rows better (Holm's p below 0.01), {} worse (A12's interval below 0.5)",
            first.as_deref().unwrap_or_default(),
            one.against,
            one.ratio,
            Short(one.p),
            one.better,
            rows.len(),
            one.worse
        );
    }
    text
}

/// A probability in two digits.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 < 0.001 { write!(f, "{:.0e}", self.0) } else { write!(f, "{:.3}", self.0) }
    }
}
