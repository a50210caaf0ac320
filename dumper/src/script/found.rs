//! What an analyzer found, as the expectations of a script name it.

/// Something that an analyzer found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAnomaly {
    /// Kind, such as `gbn-violation`.
    pub kind: String,
    /// The rule that it breaks, such as `nak-again`.
    pub rule: String,
    /// What happened, in a sentence.
    pub text: String,
}
