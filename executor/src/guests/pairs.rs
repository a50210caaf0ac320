//! Pairs of guests: one is started when a test first needs it, kept between tests, and restarted when a part of it went
//! wrong.

use std::sync::{Arc, Mutex};

use corpus::{Capabilities, Role, TestConfig};
use dumper::observation::kernel::{Kind, SILENT, troubles};
use dumper::{LogLine, Observation};
use p4::client::{SwitchError, Why};

use super::{GuestError, Kernel};
use crate::agent::AgentError;
use crate::lock::locked;
use crate::remote::{Failed, RemoteError, log_of};
use crate::{Testbed, TestbedError};

/// Attempts at a test before its testbed is called broken: a guest, the switch or an agent may have been
/// killed by another cause on this machine.
const TRIES: usize = 3;

/// Two guests, and whatever is between them. It all ends when this is dropped, and with this process.
pub trait Site: Sized {
    /// What a user calls the testbed, in `testbed NAME check`.
    const NAME: &'static str;

    /// Capabilities of all sites of this kind.
    fn capabilities() -> Capabilities;

    /// Starts guests with the kernels of the requester and of the responder.
    ///
    /// # Errors
    /// See [`GuestError`].
    fn start(kernels: &[Kernel; 2]) -> Result<Self, GuestError>;

    /// Runs a test.
    fn run(&mut self, config: &TestConfig) -> Outcome;
}

/// Outcome of a test.
pub enum Outcome {
    /// It ran to its end.
    Ran(Box<Observation>),
    /// A host's kernel went wrong, with the observation until then.
    KernelTrouble(Box<Observation>),
    /// It did not run to its end, and no kernel says why.
    Failed(Failed),
}

/// Pairs of guests with the same kernels, one for each job that runs tests at the same time.
#[derive(Debug)]
pub struct Pairs<S> {
    shared: Arc<Shared<S>>,
}

#[derive(Debug)]
struct Shared<S> {
    /// Of the requester's and the responder's guest.
    kernels: [Kernel; 2],
    /// Those that no job has.
    idle: Mutex<Vec<S>>,
}

/// A job's pair, which is returned to the others on drop.
#[derive(Debug)]
struct Leased<S> {
    site: Option<S>,
    shared: Arc<Shared<S>>,
}

impl<S> Clone for Pairs<S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<S> Pairs<S> {
    /// Pairs with the kernels of the requester's and the responder's guest. Nothing is started yet.
    #[must_use]
    pub fn new(kernels: [Kernel; 2]) -> Self {
        Self { shared: Arc::new(Shared { kernels, idle: Mutex::new(Vec::new()) }) }
    }
}

impl<S: Site + 'static> Pairs<S> {
    /// A pair for the caller alone; one is started when its first test is run, if none is idle.
    #[must_use]
    pub fn lease(&self) -> Box<dyn Testbed> {
        let site = locked(&self.shared.idle).pop();
        Box::new(Leased { site, shared: Arc::clone(&self.shared) })
    }
}

impl<S> Drop for Leased<S> {
    fn drop(&mut self) {
        if let Some(site) = self.site.take() {
            locked(&self.shared.idle).push(site);
        }
    }
}

impl<S: Site> Testbed for Leased<S> {
    fn capabilities(&self) -> Capabilities {
        S::capabilities()
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        TestbedError::unless_capable(&S::capabilities(), config)?;
        let mut failures = Vec::new();
        for _ in 0..TRIES {
            let is_new = self.site.is_none();
            // Taken out, so that it is only kept if all is well with it.
            let mut site = match self.site.take() {
                Some(site) => site,
                None => S::start(&self.shared.kernels).map_err(|error| broken::<S>(&error))?,
            };
            match site.run(config) {
                Outcome::Ran(observed) => {
                    self.site = Some(site);
                    return Ok(*observed);
                }
                Outcome::KernelTrouble(observed) => return Ok(*observed),
                // A host that has run tests may have been left without a resource of this one.
                Outcome::Failed(Failed { error, .. })
                    if is_beyond_switch(&error) || is_new && is_refusal(&error) =>
                {
                    self.site = Some(site);
                    return Err(TestbedError::Config(error.to_string()));
                }
                Outcome::Failed(Failed { error: RemoteError::TooManyPackets(packets), .. }) => {
                    return Err(TestbedError::TooManyPackets { packets });
                }
                Outcome::Failed(failed) => failures.push(failed),
            }
        }
        after_all(failures)
    }
}

/// Returns true if the testbed refuses the test; other errors do not tell yet.
const fn is_refusal(error: &RemoteError) -> bool {
    matches!(error, RemoteError::Agent { source: AgentError::Refused { .. }, .. } | RemoteError::Translate(_))
}

/// Returns true if the test has what the switch cannot do, on whatever guests.
const fn is_beyond_switch(error: &RemoteError) -> bool {
    matches!(error, RemoteError::Switch(SwitchError { why: Why::Unsupported(_), .. }))
}

/// Loss of a host for a reason other than its kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    /// Its agent ended.
    AgentEnded(Role),
    /// It did not answer.
    Silent(Role),
}

impl Loss {
    fn of(failed: &mut Failed) -> Option<Self> {
        let RemoteError::Agent { role, source } = &failed.error else { return None };
        let log = log_of(&mut failed.observed, *role);
        match source {
            AgentError::TimedOut { .. } => Some(Self::Silent(*role)),
            _ if troubles(log).iter().any(|trouble| trouble.kind == Kind::AgentEnded) => {
                Some(Self::AgentEnded(*role))
            }
            _ => None,
        }
    }
}

/// Result of a test that did not run to its end in any attempt. Where each attempt lost a host in the same
/// way, on guests that were started again, the test is the cause: the loss is the observation.
fn after_all(mut failures: Vec<Failed>) -> Result<Observation, TestbedError> {
    let losses: Vec<_> = failures.iter_mut().map(Loss::of).collect();
    let Some(Failed { error, mut observed }) = failures.pop() else {
        return Err(TestbedError::Broken("no test was begun".into()));
    };
    match losses[0].filter(|first| losses.iter().all(|loss| *loss == Some(*first))) {
        Some(Loss::AgentEnded(_)) => Ok(*observed),
        Some(Loss::Silent(role)) => {
            let log = log_of(&mut observed, role);
            let last_us = log.last().map_or(0, |line| line.time_us);
            log.push(LogLine::new(last_us, &format!("{SILENT}{error}")));
            Ok(*observed)
        }
        None => Err(match error {
            RemoteError::Agent {
                source: AgentError::Failed { .. } | AgentError::TimedOut { .. }, ..
            } => TestbedError::Target(error.to_string()),
            _ => TestbedError::Broken(error.to_string()),
        }),
    }
}

/// Error of guests that cannot be started.
pub(crate) fn broken<S: Site>(error: &GuestError) -> TestbedError {
    let mend = error.mend().map(|mend| format!("; {mend}")).unwrap_or_default();
    TestbedError::Broken(format!(
        "{error}{mend} (`lumina-fuzz testbed {} check` looks at everything)",
        S::NAME
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lost(role: Role, log: &str) -> Failed {
        let source = AgentError::Lost { agent: "guest".into(), reason: "gone".into() };
        let log = log.lines().map(|line| LogLine::new(1, line)).collect();
        let observed = Box::new(Observation { responder_log: log, ..Observation::default() });
        Failed { error: RemoteError::Agent { role, source }, observed }
    }

    fn silent(role: Role) -> Failed {
        let source =
            AgentError::TimedOut { agent: "guest".into(), asked: "Finish", after: Duration::from_secs(30) };
        Failed { error: RemoteError::Agent { role, source }, observed: Box::default() }
    }

    const ENDED: &str = "guest: agent ended with status 139";

    #[test]
    fn what_a_host_is_lost_to_each_time_is_the_tests_doing() {
        let ends = || lost(Role::Responder, ENDED);
        let seen = after_all(vec![ends(), ends(), ends()]).unwrap();
        assert_eq!(seen.responder_log[0].text, ENDED);
        let seen = after_all(vec![silent(Role::Requester), silent(Role::Requester)]).unwrap();
        assert_eq!(
            seen.requester_log[0].text,
            "testbed: no answer: the requester host: the agent at guest did not answer to Finish within 30s"
        );
    }

    #[test]
    fn what_happens_now_and_then_is_the_testbeds() {
        let ends = || lost(Role::Responder, ENDED);
        let of = |failures| after_all(failures).unwrap_err();
        assert!(matches!(of(vec![ends(), lost(Role::Responder, ""), ends()]), TestbedError::Broken(_)));
        assert!(matches!(
            of(vec![silent(Role::Requester), silent(Role::Responder)]),
            TestbedError::Target(_)
        ));
        assert!(matches!(of(vec![ends(), silent(Role::Responder)]), TestbedError::Target(_)));
    }
}
