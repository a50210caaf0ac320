//! Policy on a testbed: decisions that depend on whether it gives the same observation for the same test.

use corpus::Capabilities;
use executor::Testbed;

/// Runs that say how often a test shows a finding, where runs of a test differ.
const RUNS: u32 = 5;

/// Policy on a testbed, by its capabilities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The same test gives the same observation: one run says all.
    OneRun,
    /// The same, but a campaign's tests run on hosts that have run others before: what one shows there counts if it shows it
    /// on hosts as new.
    OneRunAsNew,
    /// Runs of a test differ: only several say how often it shows something.
    SeveralRuns,
}

impl Policy {
    /// The policy on testbeds with these capabilities.
    #[must_use]
    pub const fn of(capabilities: &Capabilities) -> Self {
        match (capabilities.deterministic, capabilities.lanes) {
            (true, None) => Self::OneRun,
            (true, Some(_)) => Self::OneRunAsNew,
            (false, _) => Self::SeveralRuns,
        }
    }

    /// The policy on a testbed.
    #[must_use]
    pub fn on(testbed: &dyn Testbed) -> Self {
        Self::of(&testbed.capabilities())
    }

    /// Runs of a test that say how often it shows a finding.
    #[must_use]
    pub const fn runs(self) -> u32 {
        match self {
            Self::OneRun | Self::OneRunAsNew => 1,
            Self::SeveralRuns => RUNS,
        }
    }

    /// Returns true if the test of a run brings back that run: its packets need not be kept, and a search with the same
    /// seed finds what it has found. A test that does not show a finding in one run never shows it.
    #[must_use]
    pub const fn replays_exactly(self) -> bool {
        matches!(self, Self::OneRun | Self::OneRunAsNew)
    }

    /// Returns true if a test that scores above the median is run again before it is kept.
    #[must_use]
    pub const fn repeats_candidates(self) -> bool {
        matches!(self, Self::SeveralRuns)
    }

    /// Returns true if a test or a reference that could not be judged may be judged in another run.
    #[must_use]
    pub const fn retries_unjudged(self) -> bool {
        matches!(self, Self::SeveralRuns)
    }

    /// Returns true if a reference, judged or not, need not be run again.
    #[must_use]
    pub const fn settles<T>(self, judged: &Option<T>) -> bool {
        judged.is_some() || !self.retries_unjudged()
    }

    /// Returns true if another run of a test may show anomalies that no run before it showed.
    #[must_use]
    pub const fn may_show_more(self) -> bool {
        matches!(self, Self::SeveralRuns | Self::OneRunAsNew)
    }

    /// Returns true if a finding may be missing in a run of its test: such a finding is kept as flaky, and tried again with
    /// later tests that show it.
    #[must_use]
    pub const fn may_miss(self) -> bool {
        matches!(self, Self::SeveralRuns | Self::OneRunAsNew)
    }

    /// Returns true if findings are minimised by turns, so that the search does not wait: tests take their time.
    #[must_use]
    pub const fn minimises_by_turns(self) -> bool {
        matches!(self, Self::SeveralRuns)
    }

    /// Returns true if to see whether a test shows a finding takes a millisecond, and no boot or several runs.
    #[must_use]
    pub const fn is_quick(self) -> bool {
        matches!(self, Self::OneRun)
    }

    /// Packets that a run of a minimiser may have on average over its budget. A simulated packet takes some microseconds with its
    /// analysis, and 5,000 such runs some minutes; a packet of a guest takes a tenth of a millisecond.
    #[must_use]
    pub const fn packets_of_a_run(self) -> u64 {
        match self {
            Self::OneRun => 16_384,
            Self::OneRunAsNew | Self::SeveralRuns => 1_024,
        }
    }

    /// Returns true if times of a test are compared with those of several runs before they count as slow.
    #[must_use]
    pub const fn compares_times(self) -> bool {
        matches!(self, Self::SeveralRuns)
    }
}
