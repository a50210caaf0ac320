//! Refusals of a test, with their reasons.

use std::fmt::Display;

use tonic::Status;

/// Longest message of a refusal: it travels in a header, whose room is bounded.
const MAX_REASON: usize = 1024;

/// A refusal of a test, clipped.
pub(super) fn invalid(reason: impl Display) -> Status {
    Status::invalid_argument(clipped(reason))
}

/// A refusal because of the host's limits, clipped.
pub(super) fn cannot(reason: impl Display) -> Status {
    Status::failed_precondition(clipped(reason))
}

fn clipped(reason: impl Display) -> String {
    let mut reason = reason.to_string();
    reason.truncate(reason.floor_char_boundary(MAX_REASON));
    reason
}
