//! Analyzers: the trace, counters and completions of an observation, judged against the specification.
//!
//! Everything here is a pure function of a [`dumper::Observation`] (and of the [`corpus::TestConfig`] that was
//! run, where it is known). Nothing sees a profile or a testbed, or more of NICs' names than whether two are
//! the same: an unknown NIC is judged the same way. Start at [`analyze`].

mod accepted;
mod analysis;
mod analyzers;
mod anomaly;
mod bare_retries;
mod cause;
mod cnp;
mod completions;
mod connections;
mod counters;
mod deliveries;
mod events;
mod facts;
pub mod gbn;
mod host_log;
mod known;
mod messages;
mod prompt;
mod retransmission;
mod retries;
mod rewritten;
mod rules;
pub mod score;
mod sides;
mod slowest;
mod tally;
pub mod thresholds;

pub use analysis::{Analysis, ConnectionSummary, Options, analyze, beliefs};
pub use analyzers::{About, Analyzer};
pub use anomaly::{Anomalies, Anomaly, CounterEvidence, Evidence, MAX_KEPT_PER_SIGNATURE, Role, Who};
pub use cause::Cause;
pub use cnp::{CnpCounts, CnpLimiter};
pub use connections::{Certainty, Pair};
pub use counters::{CounterReport, names as counters_moved_by};
pub use events::InjectedEvent;
pub use facts::{Doubts, HostFacts};
pub use gbn::Expiries;
pub use known::{AckTimer, CnpScope, Known, RnrRetries, Timeout};
pub use messages::{MessageTime, QpMessages, Report};
pub use retransmission::{Retransmission, Trigger};
pub use rules::{CLAUSES, Clause, Consequence, Document, Kind, Rule};

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
