//! An agent as its client sees it: its time limits, and the meaning of its silence and its refusals.

use std::time::Duration;

use dumper::serve::chain;
use tokio::time::timeout;
use tonic::{Code, Status};

use super::proto::event::Event as Said;

/// Time limits for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To answer a step of a test, or a question. Of traffic, beyond its deadline.
    pub answer: Duration,
}

impl Default for Timeouts {
    /// Generous: an emulated guest makes a QP in a millisecond, and a test can have thousands.
    fn default() -> Self {
        Self { answer: Duration::from_secs(30) }
    }
}

/// Failure of an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// It is not there, or not any more: the connection ended.
    #[error("the agent at {agent} is lost: {reason}")]
    Lost {
        /// Its address.
        agent: String,
        /// Reason.
        reason: String,
    },
    /// It refuses the request.
    #[error("the agent at {agent} refuses: {reason}")]
    Refused {
        /// Its address.
        agent: String,
        /// Its words.
        reason: String,
    },
    /// It failed at a request that it should be able to carry out.
    #[error("the agent at {agent} failed: {reason}")]
    Failed {
        /// Its address.
        agent: String,
        /// Its words.
        reason: String,
    },
    /// It did not answer in time.
    #[error("the agent at {agent} did not answer to {asked} within {after:?}")]
    TimedOut {
        /// Its address.
        agent: String,
        /// The request.
        asked: &'static str,
        /// Time until the caller gave up.
        after: Duration,
    },
    /// Its answer makes no sense at this moment: it is of another version, or no agent.
    #[error("the agent at {agent} answered to {asked} with {what}; is it of another version?")]
    Unexpected {
        /// Its address.
        agent: String,
        /// The request.
        asked: &'static str,
        /// Reason that the agent gave.
        what: String,
    },
}

impl AgentError {
    /// Returns true if the host may be gone.
    #[must_use]
    pub const fn is_loss(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::TimedOut { .. })
    }
}

/// Whom a message of an error is about, and how long it may take.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: String,
    pub(crate) timeouts: Timeouts,
}

impl Peer {
    /// An answer, within the time for it.
    pub(super) async fn within<T>(
        &self,
        asked: &'static str,
        answer: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, AgentError> {
        let after = self.timeouts.answer;
        match timeout(after, answer).await {
            Ok(answer) => answer.map_err(|status| self.error(&status)),
            Err(_) => Err(self.timed_out(asked, after)),
        }
    }

    pub(super) fn timed_out(&self, asked: &'static str, after: Duration) -> AgentError {
        AgentError::TimedOut { agent: self.address.clone(), asked, after }
    }

    pub(super) fn lost(&self, reason: String) -> AgentError {
        AgentError::Lost { agent: self.address.clone(), reason }
    }

    pub(super) fn unexpected(&self, asked: &'static str, said: &Said) -> AgentError {
        let mut what = format!("{said:?}");
        what.truncate(what.floor_char_boundary(200));
        self.nonsense(asked, what)
    }

    pub(super) fn nonsense(&self, asked: &'static str, what: String) -> AgentError {
        AgentError::Unexpected { agent: self.address.clone(), asked, what }
    }

    /// Error behind a status. A status that was made on this side, of a broken connection, has a source; one
    /// that the agent sent has none.
    pub(super) fn error(&self, status: &Status) -> AgentError {
        let (agent, reason) = (self.address.clone(), status.message().to_owned());
        if let Some(source) = std::error::Error::source(status) {
            return AgentError::Lost { agent, reason: chain(source) };
        }
        match status.code() {
            Code::InvalidArgument | Code::FailedPrecondition | Code::ResourceExhausted => {
                AgentError::Refused { agent, reason }
            }
            Code::Unavailable | Code::Cancelled | Code::Unknown => AgentError::Lost { agent, reason },
            Code::Unimplemented => AgentError::Unexpected { agent, asked: "a call", what: reason },
            _ => AgentError::Failed { agent, reason },
        }
    }
}
