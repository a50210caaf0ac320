//! Analyzers: the trace, counters and completions of an observation, judged against the specification.
//!
//! Everything here is a pure function of a [`dumper::Observation`] (and of the [`corpus::TestConfig`] that was
//! run, where it is known). Nothing sees a profile or a testbed, or more of NICs' names than whether two are
//! the same: an unknown NIC is judged the same way. Start at [`analyze`].

#![allow(clippy::too_many_lines, reason = "`analysis::judge` is not divided yet")]

mod accepted;
mod analysis;
pub mod analyzers;
mod anomaly;
mod bare_retries;
mod cnp;
mod completions;
mod connections;
mod counters;
mod deliveries;
mod events;
mod facts;
pub mod gbn;
mod host_log;
mod kind;
mod known;
mod messages;
mod pass;
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

pub use analysis::{Analysis, ConnectionSummary, Options, analyze};
pub use anomaly::{Anomalies, Anomaly, CounterEvidence, Evidence, MAX_KEPT_PER_SIGNATURE, Role, Who};
pub use cnp::{CnpCounts, CnpLimiter};
pub use connections::{Certainty, Pair};
pub use counters::CounterReport;
pub use events::InjectedEvent;
pub use facts::{Doubts, HostFacts};
pub use gbn::Expiries;
pub use kind::Kind;
pub use known::{AckTimer, CnpScope, Known, RnrRetries, Timeout};
pub use messages::{MessageTime, QpMessages, Report};
pub use retransmission::{Retransmission, Trigger};
pub use rules::Rule;
