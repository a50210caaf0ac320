//! One test over the agents of two hosts and a switch: the steps that the VM testbed and the physical one share.

mod attempts;
mod deadline;
mod remarks;
mod switch;

use std::process::ExitStatus;
use std::time::Duration;

use corpus::{Pattern, Role, TestConfig};
use dumper::observation::SwitchCounters;
use dumper::pool::PoolError;
use dumper::{Connection, HostCounters, LogLine, Nanos, Observation};
use p4::client::{Captured, PortLosses, SwitchError};
use p4::{Tables, TranslateError};
use tokio::time::sleep;

pub use self::attempts::Outcome;
pub(crate) use self::attempts::attempts;
pub use self::deadline::Patience;
pub use self::switch::{ProgramSwitch, Switch};
use crate::agent::{
    AgentClient, AgentError, Finished, Link, Prepare, PreparedHost, RunningTest, Settled, Stream,
};

/// Two hosts, each with its agent, and the switch between them.
pub trait Hosts {
    /// Way to the agent of a host.
    type Link: Link;

    /// A new test at a host.
    fn test(&mut self, host: Role) -> RunningTest<Self::Link>;

    /// Time limits for the hosts.
    fn patience(&self) -> Patience;

    /// Gives the switch the tables of a test, which begins with that.
    fn program(&mut self, tables: &Tables) -> impl Future<Output = Result<(), RemoteError>>;

    /// Lets time pass.
    fn pass(&mut self, time: Duration) -> impl Future<Output = ()>;

    /// Counters of the switch.
    fn counters(&mut self) -> impl Future<Output = Result<SwitchCounters, RemoteError>>;

    /// Ends the capture of the switch and takes it.
    fn collect(&mut self) -> impl Future<Output = Result<Captured, RemoteError>>;
}

/// The agents of both hosts (the requester's first) and the switch between them, over gRPC.
#[derive(Debug)]
pub struct Remote {
    /// The hosts.
    pub agents: [AgentClient; 2],
    /// The switch, of which this is the primary client.
    pub switch: Switch,
    /// Time limits for the hosts.
    pub patience: Patience,
}

impl Hosts for Remote {
    type Link = Stream;

    fn test(&mut self, host: Role) -> RunningTest {
        self.agents[host as usize].test()
    }

    fn patience(&self) -> Patience {
        self.patience
    }

    async fn program(&mut self, tables: &Tables) -> Result<(), RemoteError> {
        self.switch.program(tables).await
    }

    async fn pass(&mut self, time: Duration) {
        sleep(time).await;
    }

    async fn counters(&mut self) -> Result<SwitchCounters, RemoteError> {
        Ok(self.switch.counters().await?)
    }

    async fn collect(&mut self) -> Result<Captured, RemoteError> {
        self.switch.collect().await
    }
}

/// Reasons why a test did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// A host.
    #[error("the {} host: {source}", role.name())]
    Agent {
        /// The host.
        role: Role,
        /// Failure of its agent.
        source: AgentError,
    },
    /// The switch.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// A dumper.
    #[error(transparent)]
    Dumper(#[from] PoolError),
    /// The process of the switch is gone.
    #[error("the switch ended in the middle of a test ({0})")]
    SwitchEnded(ExitStatus),
    /// The hosts, which are started for the test, do not start.
    #[error("{0}")]
    NotStarted(String),
    /// The QPs of the test retransmit for ever, or nearly.
    #[error("the test was stopped after {0} packets")]
    TooManyPackets(usize),
    /// The capture of a switch in this process.
    #[error("the capture: {0}")]
    Capture(String),
    /// The events have no entries.
    #[error(transparent)]
    Translate(#[from] TranslateError),
    /// The switch lost packets that it should not have lost.
    #[error("the switch lost what it should not have: {0}")]
    Losses(String),
}

/// A test that did not run to its end, with its observation by then.
#[derive(Debug)]
pub struct Failed {
    /// Reason.
    pub error: RemoteError,
    /// Whatever could still be collected.
    pub observed: Box<Observation>,
}

/// Runs a test. Its hosts' addresses are those that the hosts have.
///
/// # Errors
/// See [`Failed`].
pub async fn run(hosts: &mut impl Hosts, config: &TestConfig) -> Result<Observation, Failed> {
    let mut observed = Observation::default();
    match steps(hosts, config, &mut observed).await {
        Ok(()) => Ok(observed),
        Err(error) => {
            // Observation of the hosts until one of them was lost; none if the switch was lost.
            if !observed.connections.is_empty()
                && observed.switch.is_none()
                && let Ok(captured) = hosts.collect().await
            {
                put_capture(captured, &mut observed);
            }
            Err(Failed { error, observed: Box::new(observed) })
        }
    }
}

async fn steps(
    hosts: &mut impl Hosts,
    config: &TestConfig,
    observed: &mut Observation,
) -> Result<(), RemoteError> {
    let [mut requester, mut responder] = Role::ALL.map(|host| hosts.test(host));
    let (requester_end, responder_end) = both(
        prepare(&mut requester, config, Role::Requester),
        prepare(&mut responder, config, Role::Responder),
    )
    .await?;
    observed.connections = requester_end
        .endpoints
        .iter()
        .zip(&responder_end.endpoints)
        .zip(1..)
        .map(|((first, second), qpn)| match config.traffic.end_at(Role::Requester, qpn) {
            Role::Requester => Connection { requester: *first, responder: *second },
            Role::Responder => Connection { requester: *second, responder: *first },
        })
        .collect();

    // No packet before the injector has its entries.
    let tables = p4::translate(config, &observed.connections)?;
    hosts.program(&tables).await?;
    both(
        of(Role::Requester, requester.connect(&responder_end)),
        of(Role::Responder, responder.connect(&requester_end)),
    )
    .await?;
    let deadline = deadline::of(config, &tables, hosts.patience());
    of(Role::Responder, responder.start(deadline)).await?;
    of(Role::Requester, requester.start(deadline)).await?;
    let at_requester = of(Role::Requester, requester.settled());
    let settled = match config.traffic.pattern {
        Pattern::OneWay => [at_requester.await?, Settled::default()],
        Pattern::PingPong => both(at_requester, of(Role::Responder, responder.settled())).await?.into(),
    };
    if settled.iter().any(Settled::is_incomplete) {
        observed.stopped_after = Some(Nanos(u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX)));
    }
    hosts.pass(Duration::from_nanos(config.longest_hold_ns())).await;
    drain(hosts).await?;

    let (at_requester, at_responder) =
        both(of(Role::Requester, requester.finish()), of(Role::Responder, responder.finish())).await?;
    put_hosts(settled, [(requester_end, at_requester), (responder_end, at_responder)], observed);
    let captured = hosts.collect().await?;
    let losses = losses_of(&captured);
    put_capture(captured, observed);
    losses.map_or(Ok(()), |losses| Err(RemoteError::Losses(losses)))
}

/// Waits until no packets come any more: those after the hosts have read their counters would not be in these.
async fn drain(hosts: &mut impl Hosts) -> Result<(), RemoteError> {
    let Patience { silence, silences, .. } = hosts.patience();
    let mut before = hosts.counters().await?;
    for _ in 0..silences {
        hosts.pass(silence).await;
        let now = hosts.counters().await?;
        if now == before {
            break;
        }
        before = now;
    }
    Ok(())
}

/// Has a host make the QPs of a test.
async fn prepare<L: Link>(
    test: &mut RunningTest<L>,
    config: &TestConfig,
    role: Role,
) -> Result<PreparedHost, RemoteError> {
    let physical = &config.host(role).physical;
    let asked =
        Prepare { config, role, device: physical.ib_device.clone(), port: physical.ib_port, gid_index: None };
    of(role, test.prepare(&asked)).await
}

/// Says which host it was.
async fn of<T>(role: Role, step: impl Future<Output = Result<T, AgentError>>) -> Result<T, RemoteError> {
    step.await.map_err(|source| RemoteError::Agent { role, source })
}

/// Both at the same time; the first error of either.
async fn both<A, B>(
    first: impl Future<Output = Result<A, RemoteError>>,
    second: impl Future<Output = Result<B, RemoteError>>,
) -> Result<(A, B), RemoteError> {
    tokio::try_join!(first, second)
}

fn put_hosts(settled: [Settled; 2], hosts: [(PreparedHost, Finished); 2], observed: &mut Observation) {
    let (mut completions, mut deliveries) = (Vec::new(), Vec::new());
    for ((settled, (prepared, finished)), role) in settled.into_iter().zip(hosts).zip(Role::ALL) {
        let log = log_of(observed, role);
        log.extend(remarks::of_traffic(&settled, &finished));
        log.extend(remarks::of_host(&prepared.parameters, &finished.errors));
        completions.extend(settled.completions);
        let counters = Some(HostCounters { start: prepared.counters, finish: finished.counters });
        match role {
            Role::Requester => observed.requester = counters,
            Role::Responder => observed.responder = counters,
        }
        completions.extend(finished.late);
        deliveries.extend(finished.deliveries);
    }
    completions
        .sort_by_key(|completion| (completion.completed_ns, completion.connection, completion.message));
    deliveries.sort_by_key(|delivery| (delivery.connection, delivery.message));
    (observed.completions, observed.deliveries) = (Some(completions), Some(deliveries));
}

/// The log of a host.
pub(crate) const fn log_of(observed: &mut Observation, role: Role) -> &mut Vec<LogLine> {
    match role {
        Role::Requester => &mut observed.requester_log,
        Role::Responder => &mut observed.responder_log,
    }
}

fn put_capture(captured: Captured, observed: &mut Observation) {
    for (role, port) in Role::ALL.into_iter().zip(&captured.counters.host_ports) {
        let unreadable = captured.unreadable.iter().filter(|unreadable| unreadable.port == *port);
        log_of(observed, role).extend(unreadable.map(remarks::of_unreadable));
    }
    observed.trace = captured.trace;
    observed.switch = Some(captured.counters);
}

/// Losses of the switch's own, in words: a test with such losses tells nothing of its hosts.
fn losses_of(captured: &Captured) -> Option<String> {
    let Captured { losses, not_captured, .. } = captured;
    let mut lost: Vec<String> = losses
        .iter()
        .filter(|port| port.overflow + port.absent + port.refused + port.missed > 0)
        .map(|port| {
            let PortLosses { port, overflow, absent, refused, missed } = port;
            format!(
                "at port {port}, {overflow} frames to a full queue, {absent} to nobody, {refused} refused, {missed} before \
                 they were taken in"
            )
        })
        .collect();
    if *not_captured > 0 {
        lost.push(format!("{not_captured} packets are not in the capture, which was full"));
    }
    (!lost.is_empty()).then(|| lost.join("; "))
}
