//! Lumina's own YAML files, in and out.
//!
//! Two dialects exist, distinguished by the key that gives the number of connections:
//!
//! | | the paper's listings | the published tool |
//! |---|---|---|
//! | key | `num-connections` | `num-qps` |
//! | qpn, psn | from 1 | from 0 |
//! | psn | over the connection | in a message; the event repeats in every message |
//! | ITER | never back to 1 | back to 1 with each message |
//! | tx-depth > 1 | any event | only `ecn` |

mod events;
mod export;
mod fold;
mod host;
mod import;
mod importer;
mod lab;
mod nics;
mod refusal;
mod traffic;

pub use export::switch_ports;
pub use import::{Imported, from_yaml};
pub use lab::Lab;
pub use refusal::{Refusal, Refusals};

use std::fmt;

use serde::Serialize;

use crate::error::Location;

/// Lumina's two ways of counting, of which a file uses one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Listings 1 and 2 of the paper.
    Paper,
    /// The published tool.
    Published,
}

/// Note on a part of the file that our configuration does not hold as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportNote {
    /// Place; `None` if the file does not have the field.
    pub location: Option<Location>,
    /// Path of the field in the file (`traffic.listen-port`).
    pub field: String,
    /// Kind of change that the import made.
    pub kind: NoteKind,
    /// Reason.
    pub text: String,
}

/// Kinds of [`ImportNote`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NoteKind {
    /// The field was read past.
    Ignored,
    /// The field is absent and a default stands in.
    Defaulted,
    /// The value was replaced by one that means the same.
    Changed,
}

impl fmt::Display for ImportNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.location {
            write!(f, "{}:{}: ", at.line, at.column)?;
        }
        let kind = match self.kind {
            NoteKind::Ignored => "ignored",
            NoteKind::Defaulted => "default used",
            NoteKind::Changed => "changed",
        };
        write!(f, "{}: {kind}: {}", self.field, self.text)
    }
}
