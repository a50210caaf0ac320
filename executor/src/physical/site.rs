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
use super::{PhysicalError, connect};
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
    /// Connects to all machines. The hosts have to be as they were first, but for their boot; for machines that are not there and links
    /// that are down it waits so long.
    pub(super) fn start(
        file: &TestbedFile,
        keys: Option<&Keys>,
        first: &[HostFacts; 2],
        patience: Duration,
    ) -> Result<Self, PhysicalError> {
        let runtime = connect::runtime()?;
        let (remote, hosts) = runtime.block_on(async {
            let host = async |role: Role| {
                let (client, facts) = connect::agent(file, keys, role).await?;
                is_ready(file, role, &first[role as usize], &facts)?;
                Ok::<_, PhysicalError>((client, facts))
            };
            let (requester, responder) =
                present(patience.max(LINK), || both(host(Role::Requester), host(Role::Responder))).await?;
            let switch = present(patience, || connect::switch(file, keys)).await?;
            let remote = Remote { agents: [requester.0, responder.0], switch, patience: PATIENCE };
            Ok::<_, PhysicalError>((remote, [requester.1, responder.1]))
        })?;
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
                    && source.is_loss()
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
        let asked = || connect::agent(&self.file, self.keys.as_ref(), role);
        let (_, now) = self.runtime.block_on(present(self.file.restart(), asked)).ok()?;
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

/// Both at the same time; the first error of either.
async fn both<T>(
    first: impl Future<Output = Result<T, PhysicalError>>,
    second: impl Future<Output = Result<T, PhysicalError>>,
) -> Result<(T, T), PhysicalError> {
    tokio::try_join!(first, second)
}

/// What is asked for, once the machines that it needs are there, for which it waits so long.
async fn present<T, F: Future<Output = Result<T, PhysicalError>>>(
    patience: Duration,
    ask: impl Fn() -> F,
) -> Result<T, PhysicalError> {
    let begun = Instant::now();
    loop {
        match ask().await {
            Err(error) if error.may_pass() && begun.elapsed() < patience => sleep(LOOK).await,
            ended => return ended,
        }
    }
}

/// Checks that a host is the one that it was first, and that its port is active.
fn is_ready(file: &TestbedFile, role: Role, first: &HostFacts, now: &HostFacts) -> Result<(), PhysicalError> {
    let agent = file.host(role).agent.to_string();
    if let Some(why) = first.change(now) {
        let mend = "a campaign is of one NIC, firmware and kernel: begin another one".to_owned();
        return Err(PhysicalError::Host { role, agent, why, mend });
    }
    if now.active { Ok(()) } else { Err(PhysicalError::down(role, agent, now)) }
}
