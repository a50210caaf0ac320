//! Interface of every testbed.

use corpus::{Capabilities, TestConfig};
use dumper::{Nanos, Observation};

/// Testbed of a test: simulated, virtual machines, or real NICs.
pub trait Testbed {
    /// Capabilities of the testbed. A test beyond them is refused ([`TestbedError::Config`]).
    fn capabilities(&self) -> Capabilities;

    /// Runs one test and returns its observation.
    ///
    /// # Errors
    /// See [`TestbedError`]. A test that ends in an error of a QP, or in the crash of a host, is not an error
    /// here: that is the observation, with the last lines of the host's kernel in its log.
    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError>;

    /// Runs one test of a campaign. A testbed that has lanes ([`Capabilities::lanes`]) runs it on hosts that have run the
    /// tests of its lane before it, and runs those again if need be.
    ///
    /// # Errors
    /// See [`Self::run`].
    fn run_after(
        &mut self,
        _history: &History<'_>,
        config: &TestConfig,
    ) -> Result<Observation, TestbedError> {
        self.run(config)
    }

    /// Runs one test as [`Self::run`] does, for a caller to whom a trace of more than so many packets says nothing. A testbed may stop it
    /// there ([`TestbedError::Stopped`]) or run it to its end.
    ///
    /// # Errors
    /// See [`Self::run`].
    fn run_within(&mut self, _packets: usize, config: &TestConfig) -> Result<Observation, TestbedError> {
        self.run(config)
    }
}

/// Latency that the switch with the event injector adds to the way of a packet on testbeds without a real one: under 0.4 µs (Lumina §5).
pub const SWITCH_LATENCY: Nanos = Nanos(300);

/// Place of a test in a campaign.
pub struct History<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// The test of an earlier number of its lane, of the last [`REMEMBERED`](corpus::store::REMEMBERED) executions.
    pub test_of: &'a dyn Fn(u64) -> Option<TestConfig>,
}

/// Reasons why a test could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The configuration contradicts itself, or no testbed can run it.
    #[error("the test cannot be run: {0}")]
    Config(String),
    /// A NIC profile could not be loaded.
    #[error(transparent)]
    Profile(#[from] crate::profile::ProfileError),
    /// The test left more packets than a trace may hold, and was stopped.
    #[error(
        "the test was stopped after {packets} packets: it is too long with the copies of its packets, or its QPs retransmit for ever"
    )]
    TooManyPackets {
        /// Packets in the trace by then.
        packets: usize,
    },
    /// The test was stopped after as many packets as were wanted ([`Testbed::run_within`]).
    #[error("the test was stopped after {packets} packets, as many as were wanted")]
    Stopped {
        /// Packets in the trace by then.
        packets: usize,
    },
    /// The target failed in the test's preparation or end: a host that does not come up or answer, without a
    /// report of a crash by its kernel. Running the test again may help, and tells if the target does this
    /// each time.
    #[error("the target failed: {0}")]
    Target(String),
    /// The test did not end in its time.
    #[error("the test had not ended after {seconds} s")]
    TimedOut {
        /// Time limit of the test.
        seconds: u64,
    },
    /// The testbed itself is broken: a switch that died, an agent that cannot be reached, a full disk. The test says
    /// nothing about the target; it is run again, and if that does not help nothing else is worth running.
    #[error("the testbed is broken: {0}")]
    Broken(String),
}

impl TestbedError {
    /// The first thing that a test asks for and a testbed cannot do.
    ///
    /// # Errors
    /// [`Self::Config`], if there is one.
    pub fn unless_capable(capabilities: &Capabilities, config: &TestConfig) -> Result<(), Self> {
        match capabilities.violations(config).into_iter().next() {
            Some(violation) => Err(Self::Config(violation.to_string())),
            None => Ok(()),
        }
    }
}
