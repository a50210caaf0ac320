//! The hosts' report on a connection.

use dumper::observation::CompletionStatus;

/// Hosts' report on a connection's messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Report {
    /// They report nothing of any connection.
    None,
    /// No request is reported to have failed.
    NoFailure,
    /// The first request that failed did so like this.
    Failed(CompletionStatus),
}
