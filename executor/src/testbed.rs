//! What every testbed can do.

use corpus::TestConfig;
use dumper::Observation;

/// Where tests are run: simulated, virtual machines, or real NICs.
pub trait Testbed {
    /// Runs one test and hands out everything that was observed of it.
    ///
    /// # Errors
    /// See [`TestbedError`]. A test that ends in an error of a QP is no error here: that is what was observed.
    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError>;
}

/// Why a test could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The configuration contradicts itself or asks for what no testbed has.
    #[error("the test cannot be run: {0}")]
    Config(String),
    /// A NIC profile could not be loaded.
    #[error(transparent)]
    Profile(#[from] crate::profile::ProfileError),
    /// The test left more packets than a trace may hold, and was stopped.
    #[error("the test was stopped after {packets} packets: its QPs repeat themselves without end")]
    TooManyPackets {
        /// Packets in the trace by then.
        packets: usize,
    },
}
