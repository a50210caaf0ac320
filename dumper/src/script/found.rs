//! Findings of the analyzers, as the expectations of a script name them.

/// What the analyzers say of an observation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Anomalies.
    pub anomalies: Vec<FoundAnomaly>,
    /// Cause of each time-out, such as `tail-lost`.
    pub timeouts: Vec<String>,
}

/// Something that an analyzer found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAnomaly {
    /// Kind, such as `gbn-violation`.
    pub kind: String,
    /// The rule that it breaks, such as `nak-again`.
    pub rule: String,
    /// Description, in a sentence.
    pub text: String,
}
