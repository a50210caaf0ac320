//! Parts of a configuration that Lumina cannot say.

use std::fmt;

use serde::Serialize;

/// One thing that Lumina cannot say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Path of our field (`event[3].type`).
    pub field: String,
    /// Reason why Lumina cannot express it.
    pub reason: String,
}

/// Everything in a configuration that Lumina cannot say: at least one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Refusals(pub Vec<Refusal>);

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lumina cannot say:")?;
        self.0.iter().try_for_each(|Refusal { field, reason }| write!(f, "\n{field}: {reason}"))
    }
}
