//! Results of one test: the trace, both hosts' counters, the switch's, completions (Lumina Table 1).

mod control;
mod counters;
mod coverage;
pub mod folder;
pub mod kernel;
mod log;
mod whole;

use serde::{Deserialize, Serialize};

pub use control::{ControlEvent, ControlRecord};
pub use counters::{Counters, HostCounters, SwitchCounters};
pub use coverage::Coverage;
pub use log::{LogLine, MAX_LINE_BYTES};
pub use whole::write_whole;

use crate::Nanos;
use crate::connection::Connection;
use crate::trace::Trace;

/// Status of a completed message, in the names of `ibv_wc_status`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionStatus {
    /// Completed.
    Success,
    /// Transport retries exhausted.
    RetryExceeded,
    /// RNR retries exhausted.
    RnrRetryExceeded,
    /// Flushed after an error of the QP.
    Flushed,
    /// The responder refused the request.
    RemoteError,
    /// Any other error.
    Error,
}

/// Completion of one message, by the clock of the host that posted it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Completion {
    /// Connection, from 1, in the order of [`Observation::connections`].
    pub connection: u32,
    /// Message on that connection, from 1, in posting order.
    pub message: u32,
    /// Time at which it was posted.
    pub posted_ns: Nanos,
    /// Time at which its completion was seen.
    pub completed_ns: Nanos,
    /// Length of the message in bytes.
    pub bytes: u64,
    /// Status.
    pub status: CompletionStatus,
}

/// Data found in memory by the host that receives a message: the responder of a Send or Write, the requester
/// of a Read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Delivery {
    /// Connection, from 1, in the order of [`Observation::connections`].
    pub connection: u32,
    /// Message on that connection, from 1, in posting order.
    pub message: u32,
    /// Bytes that were written to the message's memory, repeated ones counted again.
    pub bytes: u64,
    /// True if every byte that was written equals the sender's byte at that place.
    pub intact: bool,
}

/// Meaning of the times of an observation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Those of NICs and their links.
    #[default]
    Exact,
    /// Those of an emulated machine whose processor does not always run: order and counts are exact, latencies
    /// have long tails.
    Emulated,
}

/// Everything that was observed of one test. The same type from every testbed, and from files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Observation {
    /// Every packet.
    pub trace: Trace,
    /// Connections by the run-time metadata that the hosts exchanged; empty for a bare capture.
    pub connections: Vec<Connection>,
    /// Counters of the requester's host, where they were read.
    pub requester: Option<HostCounters>,
    /// Counters of the responder's host, where they were read.
    pub responder: Option<HostCounters>,
    /// Counters of the switch, where they were read.
    pub switch: Option<SwitchCounters>,
    /// Every completion, where the requester's host reports them.
    pub completions: Option<Vec<Completion>>,
    /// Data found in memory, for each message of which some arrived; `None` if the hosts have not looked.
    pub deliveries: Option<Vec<Delivery>>,
    /// Meaning of the times.
    pub clock: Clock,
    /// Time after the start of the traffic at which the hosts were no longer waited for, where messages had not completed by
    /// then; `None` where nothing was outstanding, or where this is not known.
    pub stopped_after: Option<Nanos>,
    /// Lines that the kernel of the requester's host logged during the test, where they were read.
    pub requester_log: Vec<LogLine>,
    /// Lines that the kernel of the responder's host logged during the test, where they were read.
    pub responder_log: Vec<LogLine>,
    /// What happened to the flow table of the requester's host, where it is known.
    pub requester_control: Vec<ControlRecord>,
    /// What happened to the flow table of the responder's host, where it is known.
    pub responder_control: Vec<ControlRecord>,
    /// Code that ran in the kernels of the requester's and the responder's host, where they count it. Files do not have it.
    pub coverage: [Coverage; 2],
}

impl Observation {
    /// An observation of a trace alone.
    pub fn of_trace(trace: Trace, connections: Vec<Connection>) -> Self {
        Self { trace, connections, ..Self::default() }
    }

    /// Completions that are known: none also where the hosts do not report them.
    #[must_use]
    pub fn completions(&self) -> &[Completion] {
        self.completions.as_deref().unwrap_or_default()
    }

    /// Deliveries into memory that are known; none if the hosts have not looked.
    #[must_use]
    pub fn deliveries(&self) -> &[Delivery] {
        self.deliveries.as_deref().unwrap_or_default()
    }
}
