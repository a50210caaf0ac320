//! Ends of a campaign.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks a campaign to stop; shared with the handler of Ctrl-C.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// A stop that is not yet requested.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Requests the stop. Running tests end, and their results are recorded.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if a stop was requested.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reason for the end of a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It ran as many tests as it should.
    Executions,
    /// Its time was over.
    Duration,
    /// It found something, and was to stop at that.
    Found,
    /// Somebody asked it to stop.
    Interrupted,
    /// The target has a single test, and that was run.
    NothingToMutate,
    /// No test of the first ones was valid.
    NothingValid {
        /// Reason why the last one was invalid.
        reason: String,
    },
    /// The disk is full, or nearly.
    DiskFull {
        /// Description of the shortage.
        reason: String,
    },
    /// Its folder is as large as it may be.
    MaxDisk,
}

impl End {
    /// Name of the reason, for scripts: the option that set the limit, where there is one.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Executions => "executions",
            Self::Duration => "duration",
            Self::Found => "stop-on-first",
            Self::Interrupted => "interrupted",
            Self::NothingToMutate => "nothing-left-to-try",
            Self::NothingValid { .. } => "no-valid-test",
            Self::DiskFull { .. } => "disk-full",
            Self::MaxDisk => "max-disk",
        }
    }

    /// Returns true if the page on the campaign is written at such an end: a full disk has no room for it.
    #[must_use]
    pub const fn leaves_page(&self) -> bool {
        !matches!(self, Self::DiskFull { .. })
    }

    /// Returns true if the campaign reached its limit, a finding that ends it, or the end of its space.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Executions | Self::Duration | Self::Found | Self::NothingToMutate)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Executions => f.write_str("all executions are done (--executions)"),
            Self::Duration => f.write_str("the time is over (--duration)"),
            Self::Found => f.write_str("something was found (--stop-on-first)"),
            Self::Interrupted => f.write_str("interrupted and saved; --resume goes on"),
            Self::NothingToMutate => {
                f.write_str("nothing left to try: the target's search space holds a single test")
            }
            Self::NothingValid { reason } => {
                write!(
                    f,
                    "none of the first tests was valid, so there is nothing to mutate; the last one: {reason}"
                )
            }
            Self::DiskFull { reason } => {
                write!(f, "the disk is full ({reason}); make room, and --resume goes on")
            }
            Self::MaxDisk => f.write_str(
                "the campaign's folder has reached --max-disk; --resume with more, or `unlimited`, goes on",
            ),
        }
    }
}
