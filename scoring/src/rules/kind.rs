//! Kinds of anomaly.

use std::fmt;

use serde::Serialize;

/// Kinds of anomaly, as findings name them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Go-back-N not followed: NAK, ACK, or retransmission that the specification does not allow.
    GbnViolation,
    /// Another rule of the reliable connection broken.
    ProtocolViolation,
    /// A retransmission time-out outside of T to 4T.
    UnexpectedTimeout,
    /// More or fewer retries than configured.
    RetryCount,
    /// Nothing happens any more where an answer or a retransmission is due.
    Stall,
    /// Data that did not arrive in memory once and as it was sent.
    DataCorruption,
    /// CNPs that do not fit the ECN marks, or come too early.
    CnpGeneration,
    /// A counter that differs from the trace.
    CounterMismatch,
    /// Packets lost after the switch, by a receiver that counts no reason.
    UnexplainedDiscard,
    /// Connections without events that suffer from those of others.
    NoisyNeighbor,
    /// A NACK that is made, or acted on, slowly.
    SlowRetransmission,
    /// Packets of another kind of NIC that a NIC discards, where neither discards those of its own kind.
    InteropDiscard,
    /// Bandwidth that a traffic class leaves and no other one gets.
    NonWorkConserving,
    /// Copies of packets and dummies that make a test worse.
    MitigationHarm,
    /// Goodput that collapses because packets overtake each other.
    ReorderCollapse,
    /// A connection that is slower than others like it, with a flow table.
    SlowFlow,
    /// Goodput or latency that falls off with some more flows in a table.
    PerformanceCliff,
    /// Flows that cost after they were removed.
    NoRecovery,
    /// Entries of a flow table that are deleted while they are used.
    OffloadInstability,
    /// Entries of a flow table that do not come as they were asked for.
    OffloadInconsistent,
    /// Operations on a flow table that take longer the more entries it has.
    SlowControl,
    /// A link that goes down.
    LinkDown,
    /// A host whose kernel crashed or warned.
    Crash,
}

/// What an anomaly of a kind costs those who use the NIC. The worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Severity {
    /// Data or hosts are lost.
    Critical,
    /// Connections fail, stall or lose packets, or the peers disagree on the state of the transport.
    Major,
    /// Messages take longer, or counters and notifications mislead.
    Minor,
}

impl Severity {
    /// All of them, the worst first.
    pub const ALL: [Self; 3] = [Self::Critical, Self::Major, Self::Minor];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Major => "major",
            Self::Minor => "minor",
        }
    }
}

impl Kind {
    /// What anomalies of the kind cost.
    #[must_use]
    pub const fn severity(self) -> Severity {
        match self {
            Self::Crash | Self::DataCorruption => Severity::Critical,
            Self::GbnViolation
            | Self::ProtocolViolation
            | Self::RetryCount
            | Self::Stall
            | Self::UnexplainedDiscard
            | Self::NoisyNeighbor
            | Self::InteropDiscard
            | Self::MitigationHarm
            | Self::OffloadInconsistent
            | Self::LinkDown => Severity::Major,
            Self::UnexpectedTimeout
            | Self::CnpGeneration
            | Self::CounterMismatch
            | Self::SlowRetransmission
            | Self::ReorderCollapse
            | Self::SlowFlow
            | Self::PerformanceCliff
            | Self::NoRecovery
            | Self::OffloadInstability
            | Self::SlowControl
            | Self::NonWorkConserving => Severity::Minor,
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Those that only targets which name them look for: go-back-N collapses under reordering by its nature.
    pub const NAMED_ONLY: [Self; 1] = [Self::ReorderCollapse];

    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::GbnViolation,
        Self::ProtocolViolation,
        Self::UnexpectedTimeout,
        Self::RetryCount,
        Self::Stall,
        Self::DataCorruption,
        Self::CnpGeneration,
        Self::CounterMismatch,
        Self::UnexplainedDiscard,
        Self::NoisyNeighbor,
        Self::SlowRetransmission,
        Self::InteropDiscard,
        Self::NonWorkConserving,
        Self::MitigationHarm,
        Self::ReorderCollapse,
        Self::SlowFlow,
        Self::PerformanceCliff,
        Self::NoRecovery,
        Self::OffloadInstability,
        Self::OffloadInconsistent,
        Self::SlowControl,
        Self::LinkDown,
        Self::Crash,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GbnViolation => "gbn-violation",
            Self::ProtocolViolation => "protocol-violation",
            Self::UnexpectedTimeout => "unexpected-timeout",
            Self::RetryCount => "retry-count",
            Self::Stall => "stall",
            Self::DataCorruption => "data-corruption",
            Self::CnpGeneration => "cnp-generation",
            Self::CounterMismatch => "counter-mismatch",
            Self::UnexplainedDiscard => "unexplained-discard",
            Self::NoisyNeighbor => "noisy-neighbor",
            Self::SlowRetransmission => "slow-retransmission",
            Self::InteropDiscard => "interop-discard",
            Self::NonWorkConserving => "non-work-conserving",
            Self::MitigationHarm => "mitigation-harm",
            Self::ReorderCollapse => "reorder-collapse",
            Self::SlowFlow => "slow-flow",
            Self::PerformanceCliff => "performance-cliff",
            Self::NoRecovery => "no-recovery",
            Self::OffloadInstability => "offload-instability",
            Self::OffloadInconsistent => "offload-inconsistent",
            Self::SlowControl => "slow-control",
            Self::LinkDown => "link-down",
            Self::Crash => "crash",
        }
    }
}

impl Kind {
    /// Meaning of the kind, in a few words for the reader of a summary.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::GbnViolation => "NAKs, ACKs or retransmissions against the rules of go-back-N",
            Self::ProtocolViolation => {
                "violations of other rules of the reliable connection: PSN, MSN, Read responses, RNR"
            }
            Self::UnexpectedTimeout => {
                "expiries of the ACK timer before T or after 4T, T = 4.096 µs x 2^timeout"
            }
            Self::RetryCount => "more or fewer retries than configured before the QP fails",
            Self::Stall => "requests that neither complete nor are retransmitted",
            Self::DataCorruption => {
                "message bytes not written exactly once, or not as sent; completions without a request"
            }
            Self::CnpGeneration => {
                "CNPs without ECN marks, ECN marks without CNPs, or a CNP interval or scope that is not configured"
            }
            Self::CounterMismatch => "counters that differ from the trace",
            Self::UnexplainedDiscard => "packets that a NIC loses after the switch without counting them",
            Self::NoisyNeighbor => "uninvolved connections that stall while others recover from losses",
            Self::SlowRetransmission => "slow NACKs, or slow retransmissions after NACKs",
            Self::InteropDiscard => {
                "packets of the peer that a NIC discards, where neither NIC discards packets of its own kind"
            }
            Self::NonWorkConserving => "idle bandwidth that a traffic class with packets does not get",
            Self::MitigationHarm => {
                "failures, time-outs, delays or wrong data that only come with copies of packets, or with dummies behind messages"
            }
            Self::ReorderCollapse => {
                "goodput below half of that over the slowest path alone, where packets overtook each other and none was lost"
            }
            Self::SlowFlow => "a connection three times as slow as others like it, with a flow table",
            Self::PerformanceCliff => {
                "goodput more than 13 % lower, or messages more than 27 % slower, than with nine tenths of the flows"
            }
            Self::NoRecovery => {
                "the same after flows were removed, beside a test that starts with the flows that are left"
            }
            Self::OffloadInstability => {
                "entries of a flow table that are deleted while their connections use them"
            }
            Self::OffloadInconsistent => {
                "entries that are not created when they are asked for, or not asked for, or asked for twice"
            }
            Self::SlowControl => "operations on a flow table that take three times as long as on a small one",
            Self::LinkDown => "links that go down",
            Self::Crash => "kernel crashes and kernel warnings",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
