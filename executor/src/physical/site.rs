//! The connections of a testbed of real NICs, and what is done when one breaks.

use std::time::{Duration, Instant};

use corpus::{Role, TestConfig};
use dumper::observation::kernel::{AGENT_RESTARTED, REBOOTED};
use dumper::serve::tls::Keys;
use dumper::{Clock, LogLine, Observation};
use tokio::runtime::Runtime;
use tokio::time::sleep;

use super::file::{SwitchKind, TestbedFile};
use super::host::{HostFacts, with_hosts};
use super::lab::runtime;
use super::{PhysicalError, connect};
use crate::agent::AgentError;
use crate::remote::{self, Failed, Outcome, Patience, Remote, RemoteError, log_of};

/// A NIC's timer expires 4 times its setting after the last ACK at the latest (IBA vol. 1, 9.7.6.1.3).
const PATIENCE: Patience = Patience {
    base: Duration::from_millis(1_500),
    latest: 4,
    silence: Duration::from_millis(5),
    silences: 200,
};

/// Wait for a port that is down: links train for seconds.
const LINK: Duration = Duration::from_secs(30);

/// Interval of looks at a host that is gone, or at a port that is down.
const LOOK: Duration = Duration::from_secs(1);

/// Connections to all machines.
#[derive(Debug)]
pub(super) struct Site {
    remote: Remote,
    runtime: Runtime,
    file: TestbedFile,
    keys: Option<Keys>,
    hosts: [HostFacts; 2],
}

impl Site {
    /// Connects to all machines. The hosts have to be as they were first, but for their boot; one that is restarting and a link that
    /// is down are waited for.
    pub(super) fn start(
        file: &TestbedFile,
        keys: Option<&Keys>,
        first: &[HostFacts; 2],
    ) -> Result<Self, PhysicalError> {
        let runtime = runtime()?;
        let connected = runtime.block_on(async {
            let host = |role: Role| ready(file, keys, role, &first[role as usize]);
            let (requester, responder) = tokio::try_join!(host(Role::Requester), host(Role::Responder))?;
            let switch = connect::switch(file, keys).await?;
            let agents = [requester.0, responder.0];
            Ok::<_, PhysicalError>((
                Remote { agents, switch, patience: PATIENCE },
                [requester.1, responder.1],
            ))
        });
        let (remote, hosts) = connected?;
        Ok(Self { remote, runtime, file: file.clone(), keys: keys.cloned(), hosts })
    }

    /// Runs a test on the hosts' own addresses.
    pub(super) fn run(&mut self, config: &TestConfig) -> Outcome {
        let config = with_hosts(config, &self.hosts);
        match self.runtime.block_on(remote::run(&mut self.remote, &config)) {
            Ok(observed) => Outcome::Ran(Box::new(self.with_clock(observed))),
            Err(Failed { error, observed }) => {
                let mut observed = Box::new(self.with_clock(*observed));
                if let RemoteError::Agent { role, source } = &error
                    && is_loss(source)
                {
                    log_of(&mut observed, *role).extend(self.line_of_loss(*role));
                }
                Outcome::Failed(Failed { error, observed })
            }
        }
    }

    /// The times of packets are those of the switch: a Tofino's are exact.
    fn with_clock(&self, mut observed: Observation) -> Observation {
        observed.clock = match self.file.switch.kind {
            SwitchKind::Tofino => Clock::Exact,
            SwitchKind::Software | SwitchKind::Bmv2 => Clock::Emulated,
        };
        observed
    }

    /// Waits for a host that was lost; a line about its restart, or that of its agent.
    fn line_of_loss(&self, role: Role) -> Option<LogLine> {
        let returned = returned(&self.file, self.keys.as_ref(), role);
        let now = self.runtime.block_on(returned).ok()?;
        let before = &self.hosts[role as usize];
        let text = if now.boot_id != before.boot_id {
            format!("{REBOOTED}the host has another boot id than before the test")
        } else if now.instance != before.instance {
            format!("{AGENT_RESTARTED}another process answers than before the test")
        } else {
            return None;
        };
        Some(LogLine::new(0, &text))
    }
}

/// Returns true if the host may be gone.
const fn is_loss(error: &AgentError) -> bool {
    matches!(error, AgentError::Lost { .. } | AgentError::TimedOut { .. })
}

/// Waits until a host answers.
async fn returned(file: &TestbedFile, keys: Option<&Keys>, role: Role) -> Result<HostFacts, PhysicalError> {
    let begun = Instant::now();
    loop {
        match connect::agent(file, keys, role).await {
            Ok((_, facts)) => return Ok(facts),
            Err(PhysicalError::Agent { source, .. })
                if is_loss(&source) && begun.elapsed() < file.restart() =>
            {
                sleep(LOOK).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Connects to a host's agent, once its port is active.
async fn ready(
    file: &TestbedFile,
    keys: Option<&Keys>,
    role: Role,
    first: &HostFacts,
) -> Result<(crate::agent::AgentClient, HostFacts), PhysicalError> {
    let begun = Instant::now();
    let agent = file.host(role).agent.to_string();
    loop {
        let (client, facts) = connect::agent(file, keys, role).await?;
        if let Some(why) = first.change(&facts) {
            let mend = "a campaign is of one NIC, firmware and kernel: begin another one".to_owned();
            return Err(PhysicalError::Host { role, agent, why, mend });
        }
        if facts.active {
            return Ok((client, facts));
        }
        if begun.elapsed() > LINK {
            let why = format!("port {} of {} ({}) is down", facts.port, facts.device, facts.netdev);
            let mend =
                format!("`ip link set {} up` there, and look at the cable and at the switch", facts.netdev);
            return Err(PhysicalError::Host { role, agent, why, mend });
        }
        sleep(LOOK).await;
    }
}
