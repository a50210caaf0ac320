//! The VM testbed: it is started when a test first needs it, kept between tests, and started anew when something of it
//! went wrong.

use std::sync::{Arc, Mutex, PoisonError};

use corpus::{Capabilities, TestConfig};
use dumper::Observation;

use super::capabilities::capabilities;
use super::site::{Outcome, Site};
use super::{Kernel, VmError};
use crate::agent::AgentError;
use crate::remote::{Failed, RemoteError};
use crate::{Testbed, TestbedError};

/// How often a test is begun before its testbed is called broken: a guest, the switch or an agent may have been killed
/// by something else on this machine.
const TRIES: usize = 3;

/// Pairs of guests with the same kernels, one for each job that runs tests at the same time.
#[derive(Debug, Clone)]
pub struct Pairs {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Of the requester's and the responder's guest.
    kernels: [Kernel; 2],
    /// Those that no job has.
    idle: Mutex<Vec<Site>>,
}

/// A job's pair, which goes back to the others when this is dropped.
#[derive(Debug)]
struct Leased {
    site: Option<Site>,
    shared: Arc<Shared>,
}

impl Pairs {
    /// Pairs with the kernels of the requester's and the responder's guest. Nothing is started yet.
    #[must_use]
    pub fn new(kernels: [Kernel; 2]) -> Self {
        Self { shared: Arc::new(Shared { kernels, idle: Mutex::new(Vec::new()) }) }
    }

    /// A pair that nobody else has; one is started when its first test is run, if none is idle.
    #[must_use]
    pub fn lease(&self) -> Box<dyn Testbed> {
        let site = self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Box::new(Leased { site, shared: Arc::clone(&self.shared) })
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        if let Some(site) = self.site.take() {
            self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).push(site);
        }
    }
}

impl Testbed for Leased {
    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        TestbedError::unless_capable(&capabilities(), config)?;
        let mut last = None;
        for _ in 0..TRIES {
            // Taken out, so that it is only kept if all is well with it.
            let mut site = match self.site.take() {
                Some(site) => site,
                None => Site::start(self.shared.kernels).map_err(|error| broken(&error))?,
            };
            match site.run(config) {
                Outcome::Ran(observed) => {
                    self.site = Some(site);
                    return Ok(*observed);
                }
                Outcome::KernelTrouble(observed) => return Ok(*observed),
                Outcome::Failed(Failed { error, .. }) if is_refusal(&error) => {
                    self.site = Some(site);
                    return Err(TestbedError::Config(error.to_string()));
                }
                Outcome::Failed(Failed { error, .. }) => last = Some(error),
            }
        }
        Err(last
            .map_or_else(|| TestbedError::Broken("no test was begun".into()), |error| ours_or_theirs(&error)))
    }
}

/// Whether a test is none that this testbed can run; other errors say nothing of it yet.
const fn is_refusal(error: &RemoteError) -> bool {
    matches!(error, RemoteError::Agent { source: AgentError::Refused { .. }, .. } | RemoteError::Translate(_))
}

/// What it means that a test ended in the same error again and again. A host that is silent each time does so because of
/// the test: its kernel hangs.
fn ours_or_theirs(error: &RemoteError) -> TestbedError {
    match error {
        RemoteError::Agent { source: AgentError::TimedOut { .. }, .. } => {
            TestbedError::Target(error.to_string())
        }
        _ => TestbedError::Broken(error.to_string()),
    }
}

fn broken(error: &VmError) -> TestbedError {
    let mend = error.mend().map(|mend| format!("; {mend}")).unwrap_or_default();
    TestbedError::Broken(format!("{error}{mend} (`lumina-fuzz testbed vm check` looks at everything)"))
}
