//! The orchestrator's side of an agent.

use dumper::serve::tls::{Keys, Role};
use dumper::serve::{Address, dial};
use tonic::transport::Channel;

use super::link::Stream;
use super::peer::{AgentError, Peer, Timeouts};
use super::proto::{self, DescribeRequest, Description};
use super::running::RunningTest;

/// A connection to the agent of a host.
#[derive(Clone, Debug)]
pub struct AgentClient {
    agent: proto::agent_client::AgentClient<Channel>,
    peer: Peer,
}

impl AgentClient {
    /// Connects to an agent: over TLS with keys.
    ///
    /// # Errors
    /// No agent answers at this address, or what answers is none of the testbed's.
    pub async fn connect(
        address: &Address,
        keys: Option<&Keys>,
        timeouts: Timeouts,
    ) -> Result<Self, AgentError> {
        let peer = Peer { address: address.to_string(), timeouts };
        let dialled = dial(address, Role::Agent, keys).await.map_err(|error| peer.lost(error.to_string()))?;
        Ok(Self { agent: proto::agent_client::AgentClient::new(dialled.channel), peer })
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
