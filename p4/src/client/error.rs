//! Failed requests to a switch.

use std::time::Duration;

use tonic::{Code, Status};

use crate::Address;
use crate::entries::program::Unsupported;

/// A failed request to a switch.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("switch at {address}: {doing}: {why}")]
pub struct SwitchError {
    /// Its address.
    pub address: Address,
    /// Operation that failed.
    pub doing: &'static str,
    /// Reason.
    pub why: Why,
}

/// Reasons for the failure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Why {
    /// The switch cannot be reached, or is no longer there.
    #[error("it is not there: {0}")]
    Lost(String),
    /// The switch refused.
    #[error("it refused ({code:?}): {message}")]
    Refused {
        /// Kind of refusal, in gRPC's terms.
        code: Code,
        /// Message of the switch.
        message: String,
    },
    /// The switch refused an entry.
    #[error("it refused the entry of {intent} ({code:?}): {message}")]
    Entry {
        /// Part of the test that the entry is of.
        intent: String,
        /// Kind of refusal, in gRPC's terms.
        code: Code,
        /// Message of the switch.
        message: String,
    },
    /// The test has what the switch cannot do.
    #[error(transparent)]
    Unsupported(Unsupported),
    /// The switch did not answer.
    #[error("it did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The switch sent an answer that cannot be understood.
    #[error("it does not speak as lumina-switch does: {0}; are both of the same version?")]
    Protocol(String),
}

impl From<Status> for Why {
    fn from(status: Status) -> Self {
        match status.code() {
            // The transport's status of a connection that broke. A switch refuses with other codes.
            Code::Unavailable | Code::Cancelled => Self::Lost(chain(&status)),
            // A Write of which updates failed is Unknown as well, and then has details.
            Code::Unknown | Code::Internal if status.details().is_empty() => Self::Lost(chain(&status)),
            code => Self::Refused { code, message: status.message().to_owned() },
        }
    }
}

/// An error with its causes in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
