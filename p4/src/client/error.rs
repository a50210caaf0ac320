//! Failed requests to a switch.

use std::time::Duration;

use prost::Message;
use tonic::{Code, Status};

use crate::entries::Intent;
use crate::entries::program::Unsupported;
use crate::proto::rpc;
use crate::proto::runtime::Error;
use dumper::serve::{Address, chain};

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
        intent: Intent,
        /// Kind of refusal, in gRPC's terms.
        code: Code,
        /// Message of the switch.
        message: String,
    },
    /// A batch of entries was not written, and the switch did not say which entry is at fault.
    #[error("entries from that of {} to that of {}: {why}", .ends[0], .ends[1])]
    Batch {
        /// Parts of the test that its first and its last entry are of.
        ends: Box<[Intent; 2]>,
        /// The reason.
        why: Box<Why>,
    },
    /// Another client has become the primary: its election identifier, in decimal.
    #[error(
        "another controller has become its primary (election id {0}): a switch is one campaign's at a time"
    )]
    Deposed(String),
    /// The test has what the switch cannot do.
    #[error(transparent)]
    Unsupported(Unsupported),
    /// The program that the switch has is not the one that it was given.
    #[error("the P4Info of its program is another one than it was given: {0}")]
    OtherProgram(String),
    /// The switch did not answer.
    #[error("it did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The switch sent an answer that cannot be understood.
    #[error("its answer makes no sense: {0}; does it run what belongs to this version?")]
    Protocol(String),
}

impl Why {
    /// True if it is not known what the switch has.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Lost(_) | Self::TimedOut(_) | Self::Protocol(_) | Self::OtherProgram(_) => true,
            Self::Batch { why, .. } => why.is_lost(),
            Self::Refused { .. } | Self::Entry { .. } | Self::Deposed(_) | Self::Unsupported(_) => false,
        }
    }
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

/// The failure of a Write: the first entry that was refused, where the status has the result of each update (P4Runtime 1.3, 12.3), else
/// the batch.
pub(super) fn of_write(status: &Status, why: Why, intents: &[Intent]) -> Why {
    let details = rpc::Status::decode(status.details()).unwrap_or_default().details;
    let errors = details.iter().map(|detail| Error::decode(detail.value.as_slice()).unwrap_or_default());
    let mut failed =
        intents.iter().zip(errors).filter(|(_, error)| error.canonical_code != i32::from(Code::Ok));
    // That of the batch being aborted says nothing, if another says why.
    let first = failed.clone().find(|(_, error)| error.canonical_code != i32::from(Code::Aborted));
    match first.or_else(|| failed.next()) {
        Some((intent, error)) => {
            Why::Entry { intent: *intent, code: Code::from(error.canonical_code), message: error.message }
        }
        None => of_batch(why, intents),
    }
}

/// The failure of a batch.
pub(super) fn of_batch(why: Why, intents: &[Intent]) -> Why {
    match (intents.first(), intents.last()) {
        (Some(first), Some(last)) => Why::Batch { ends: Box::new([*first, *last]), why: Box::new(why) },
        _ => why,
    }
}
