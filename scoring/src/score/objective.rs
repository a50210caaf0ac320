//! Objectives of the search: how odd a test was, in several senses, each from 0 (as it should be) to 1.

/// One sense of oddness.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Objective {
    /// Connections without events that suffer from those of others (Lumina §6.2.2).
    NoisyNeighbor,
    /// Packets that a host discarded, by its counters.
    Discards,
    /// Slow NACK generation or reaction (Lumina §6.1).
    Latency,
    /// Expiries of the ACK timer, and time-outs and retries that are not as configured.
    Timeouts,
    /// Rules of go-back-N and of the reliable connection that were broken.
    Fsm,
    /// Counters that differ from the trace.
    Counters,
    /// Congestion notification that does not fit the marks.
    Cnp,
    /// Goodput that was lost.
    Goodput,
    /// Bandwidth that was there and was not used.
    Sharing,
    /// Silence while an answer or a retransmission was due.
    Stall,
    /// Data that did not arrive exactly once and as it was sent.
    Integrity,
    /// Messages that take much longer than others of the same size: what a time-out does to a flow.
    Tail,
    /// Goodput that reordering costs.
    Reorder,
    /// Flow tables whose entries, limits and operations make packets slow.
    Offload,
}

impl Objective {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::NoisyNeighbor,
        Self::Discards,
        Self::Latency,
        Self::Timeouts,
        Self::Fsm,
        Self::Counters,
        Self::Cnp,
        Self::Goodput,
        Self::Sharing,
        Self::Stall,
        Self::Integrity,
        Self::Tail,
        Self::Reorder,
        Self::Offload,
    ];

    /// Name in targets, the corpus and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoisyNeighbor => "noisy-neighbor",
            Self::Discards => "discards",
            Self::Latency => "latency",
            Self::Timeouts => "timeouts",
            Self::Fsm => "fsm",
            Self::Counters => "counters",
            Self::Cnp => "cnp",
            Self::Goodput => "goodput",
            Self::Sharing => "sharing",
            Self::Stall => "stall",
            Self::Integrity => "integrity",
            Self::Tail => "tail",
            Self::Reorder => "reorder",
            Self::Offload => "offload",
        }
    }
}
