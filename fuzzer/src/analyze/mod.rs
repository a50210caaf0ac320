//! Captures, result folders and findings as what is judged, and the two forms of the verdict.

mod input;
pub mod json;
mod limited;
pub(crate) mod packets;
pub mod text;
mod verdict;

pub use input::{Input, LoadError};

use corpus::TestConfig;
use dumper::integrity::Integrity;
use scoring::score::Unjudged;

use crate::judge::{Invalid, Judged, Verdict};

/// A verdict, as it is printed.
pub struct Report<'a> {
    /// The integrity check.
    pub integrity: &'a Integrity,
    /// The verdict; none of an invalid trace, whose missing packets would look like a NIC's faults.
    pub judged: Option<&'a Judged>,
    /// Kinds and connections that were not judged, each with the reason.
    pub unjudged: Vec<Unjudged>,
}

impl<'a> Report<'a> {
    /// That of a test that ran; `None` of one that did not.
    #[must_use]
    pub fn of(config: Option<&TestConfig>, verdict: &'a Verdict) -> Option<Self> {
        match verdict {
            Verdict::Judged(judged) => Some(Self {
                integrity: &judged.integrity,
                judged: Some(judged),
                unjudged: judged.unjudged(config),
            }),
            Verdict::Invalid(Invalid::Incomplete(seen)) => {
                Some(Self { integrity: &seen.1, judged: None, unjudged: Vec::new() })
            }
            Verdict::Invalid(Invalid::NotRun(_) | Invalid::Fault(_)) => None,
        }
    }
}
