//! Which anomalies are only symptoms of another one in the same test.

use crate::Anomaly;

/// The symptoms among anomalies, each with its cause, by index.
pub(super) fn explain(anomalies: &[Anomaly]) -> Vec<(usize, usize)> {
    let _ = anomalies;
    Vec::new()
}
