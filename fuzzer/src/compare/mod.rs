//! Search strategies side by side: the executions that each needs to find the anomalies of NICs, over many seeds.

mod evaluate;
mod kept;
mod plot;
mod runs;
#[cfg(test)]
mod tests;
mod text;

use std::path::PathBuf;

use executor::TestbedName;

pub use evaluate::{Comparison, Evaluation, Overall, Row, Sample, evaluate};
pub use kept::{Found, Ran};
pub use plot::svg;
pub use runs::run;
pub use text::text;

use crate::strategy::Strategy;

/// File of the runs so far, one JSON document a line.
pub const RUNS: &str = "runs.jsonl";

/// A comparison: each strategy on each NIC with each seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The target, by name or path.
    pub target: String,
    /// The testbed.
    pub testbed: TestbedName,
    /// The NICs of both hosts, by name or path.
    pub nics: Vec<String>,
    /// The first one is compared with each of the others.
    pub strategies: Vec<Strategy>,
    /// Seeds of the searches.
    pub seeds: std::ops::Range<u64>,
    /// Most executions of a run.
    pub executions: u64,
    /// End of a run.
    pub until: Until,
    /// Runs at a time.
    pub jobs: usize,
    /// Folder of the runs and of what they leave.
    pub folder: PathBuf,
}

/// The anomalies that are counted, and the end of a run before its last execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Until {
    /// Any finding: a run ends with its first one.
    First,
    /// Findings whose signatures begin so: a run ends with the last of them.
    All(Vec<String>),
    /// Every signature that any run finds: a run makes all its executions.
    Each,
}

impl Until {
    /// Returns true if a signature is one of an anomaly that is counted.
    fn counts(&self, anomaly: &str, signature: &str) -> bool {
        match self {
            Self::First => true,
            Self::All(_) => signature.starts_with(anomaly),
            Self::Each => signature == anomaly,
        }
    }

    /// Returns true if a run that has found these signatures ends.
    fn is_reached(&self, found: &[Found]) -> bool {
        match self {
            Self::First => !found.is_empty(),
            Self::All(asked) => {
                asked.iter().all(|asked| found.iter().any(|one| one.signature.starts_with(asked.as_str())))
            }
            Self::Each => false,
        }
    }
}
