//! Pairs of guests: one is started when a test first needs it, kept between tests, and restarted when a part of it went
//! wrong.

use std::sync::{Arc, Mutex};

use corpus::{Capabilities, TestConfig};
use dumper::Observation;

use super::{GuestError, Kernel};
use crate::lock::locked;
use crate::remote::{Outcome, attempts};
use crate::{Testbed, TestbedError};

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
        let start = || S::start(&self.shared.kernels).map_err(|error| broken::<S>(&error));
        attempts(&mut self.site, start, |site| site.run(config))
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
