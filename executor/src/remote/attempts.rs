//! Attempts at a test on hosts that may be lost: what goes wrong each time is the test's doing.

use corpus::Role;
use dumper::observation::kernel::{Kind, SILENT, troubles};
use dumper::{LogLine, Observation};
use p4::client::{SwitchError, Why};

use super::{Failed, RemoteError, log_of};
use crate::TestbedError;
use crate::agent::AgentError;

/// Attempts at a test before its testbed is called broken: a host, the switch or an agent may have been lost to another cause.
const TRIES: usize = 3;

/// Outcome of a test.
pub enum Outcome {
    /// It ran to its end.
    Ran(Box<Observation>),
    /// A host's kernel went wrong, with the observation until then.
    KernelTrouble(Box<Observation>),
    /// It did not run to its end, and no kernel says why.
    Failed(Failed),
}

/// Runs a test on a site, which is started where there is none, and which is kept if all is well with it.
///
/// # Errors
/// See [`TestbedError`].
pub(crate) fn attempts<S>(
    kept: &mut Option<S>,
    mut start: impl FnMut() -> Result<S, TestbedError>,
    mut run: impl FnMut(&mut S) -> Outcome,
) -> Result<Observation, TestbedError> {
    let mut failures = Vec::new();
    for _ in 0..TRIES {
        let is_new = kept.is_none();
        // Taken out, so that it is only kept if all is well with it.
        let mut site = match kept.take() {
            Some(site) => site,
            None => start()?,
        };
        match run(&mut site) {
            Outcome::Ran(observed) => {
                *kept = Some(site);
                return Ok(*observed);
            }
            Outcome::KernelTrouble(observed) => return Ok(*observed),
            // A host that has run tests may have been left without a resource of this one.
            Outcome::Failed(Failed { error, .. })
                if is_beyond_switch(&error) || is_new && is_refusal(&error) =>
            {
                *kept = Some(site);
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
    /// It was started again.
    Rebooted(Role),
    /// It did not answer.
    Silent(Role),
}

impl Loss {
    fn of(failed: &mut Failed) -> Option<Self> {
        let RemoteError::Agent { role, source } = &failed.error else { return None };
        let log = log_of(&mut failed.observed, *role);
        let has = |kind| troubles(log).iter().any(|trouble| trouble.kind == kind);
        match source {
            _ if has(Kind::Rebooted) => Some(Self::Rebooted(*role)),
            AgentError::TimedOut { .. } => Some(Self::Silent(*role)),
            _ if has(Kind::AgentEnded) => Some(Self::AgentEnded(*role)),
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
        Some(Loss::AgentEnded(_) | Loss::Rebooted(_)) => Ok(*observed),
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
