//! Analyzers: the trace, counters and completions of an observation, judged against the specification.
//!
//! Everything here is a pure function of a [`dumper::Observation`] (and of the [`corpus::TestConfig`] that was
//! run, where it is known). Nothing sees a profile or a testbed, or more of NICs' names than whether two are
//! the same: an unknown NIC is judged the same way. Start at [`analyze`].

mod analysis;
mod analyzers;
mod anomaly;
mod cause;
mod causes;
mod cnp;
mod counters;
mod data;
pub mod flow_table;
pub mod go_back_n;
mod host_log;
mod known;
pub mod losses;
pub mod machines;
mod messages;
mod oracles;
mod pauses;
mod reorder;
mod retransmission;
mod rewritten;
mod rules;
pub mod score;
mod see;
pub mod selective_repeat;
pub mod tables;
pub mod theory;
pub mod thresholds;

pub use analysis::{Analysis, ConnectionSummary, Options, analyze, beliefs};
pub use analyzers::{About, Analyzer};
pub use anomaly::{Anomalies, Anomaly, CounterEvidence, Evidence, MAX_KEPT_PER_SIGNATURE, Role, Who};
pub use cause::Cause;
pub use causes::ExpiryCause;
pub use cnp::{CnpCounts, CnpLimiter};
pub use counters::{CounterReport, names as counters_moved_by};
pub use go_back_n::Expiries;
pub use known::{AckTimer, CnpScope, Known, RnrRetries, Timeout};
pub use messages::iterations::PairIterations;
pub use messages::ranks::Ranks;
pub use messages::{MessageTime, QpMessages};
pub use reorder::{ConnectionReordering, Reordering};
pub use retransmission::{Retransmission, Trigger};
pub use rules::{CLAUSES, Clause, Consequence, Document, Kind, Rule, Severity};
pub use see::connections::{Certainty, Pair};
pub use see::events::InjectedEvent;
pub use see::facts::{Doubts, HostFacts};
pub use see::report::Report;

/// Bytes of completed messages from the first posting to the last completion, in bits per second.
#[must_use]
pub fn goodput_bps(completions: &[dumper::Completion]) -> f64 {
    oracles::baseline::goodput(completions).1
}

/// Every analyzer that runs, in the order in which they run: those of packets and results, and then the oracles.
pub fn analyzers() -> impl Iterator<Item = Analyzer> {
    analysis::analyzers().chain(score::oracles())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_analyzer_of_every_rule_runs() {
        for rule in Rule::ALL {
            let runs = analyzers().filter(|analyzer| *analyzer == rule.analyzer()).count();
            assert_eq!(runs, 1, "{}", rule.name());
        }
    }
}
