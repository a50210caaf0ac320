//! A field of a profile with a value that limits the throughput, and one that does not.

use std::fmt;

use serde::Serialize;

/// A field that is too small, or else in the way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Short {
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub is: FieldValue,
    /// The nearest value that is enough.
    pub needs: FieldValue,
    /// Consequence of the value that it has.
    pub otherwise: &'static str,
}

/// Value of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// A number.
    Number(u64),
    /// A word of a choice.
    Word(&'static str),
}

impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => write!(f, "\"{word}\""),
        }
    }
}
