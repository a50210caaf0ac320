//! The orchestrator's side of an agent.

use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

use super::link::Stream;
use super::peer::{AgentError, Peer, Timeouts, all_of};
use super::proto::{self, DescribeRequest, Description};
use super::running::RunningTest;

/// Interval of keepalives on a silent connection.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Longest wait for the answer: an emulated guest on a busy machine stands still for seconds at times.
const KEEP_ALIVE_ANSWER: Duration = Duration::from_secs(30);

/// A connection to the agent of a host.
#[derive(Clone, Debug)]
pub struct AgentClient {
    agent: proto::agent_client::AgentClient<Channel>,
    peer: Peer,
}

impl AgentClient {
    /// Connects to an agent, at `HOST:PORT`.
    ///
    /// # Errors
    /// No agent answers at this address.
    pub async fn connect(address: &str, timeouts: Timeouts) -> Result<Self, AgentError> {
        let peer = Peer { address: address.to_owned(), timeouts };
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .map_err(|error| peer.lost(format!("{address:?} is no address: {error}")))?
            .connect_timeout(timeouts.connect)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_ANSWER);
        let channel = endpoint.connect().await.map_err(|error| peer.lost(all_of(&error)))?;
        Ok(Self { agent: proto::agent_client::AgentClient::new(channel), peer })
    }

    /// Devices and capabilities of the host.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub async fn describe(&mut self) -> Result<Description, AgentError> {
        let answer = self.agent.describe(DescribeRequest {});
        Ok(self.peer.within("Describe", answer).await?.into_inner())
    }

    /// A test, for which the host is asked with its first step, in one round trip.
    #[must_use]
    pub fn test(&self) -> RunningTest {
        RunningTest::over(Stream::to(self.agent.clone()), self.peer.clone())
    }
}
