//! A finding's test, run again.

use executor::{Nic, TestbedName, Testbeds};

use super::read::nic_of;
use super::{Kept, ReadError};
use crate::campaign::InMemory;
use crate::judge::{JudgeError, Verdict};
use crate::repeat::{self, Frequency};

/// Result of running a finding's test again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayed {
    /// The same signature, often enough.
    Reproduced {
        /// Runs that showed it, of all.
        frequency: Frequency,
    },
    /// Others, or none, or not often enough.
    NotReproduced {
        /// Other signatures that a run showed.
        seen: Vec<String>,
        /// Runs that showed it, of all.
        frequency: Frequency,
    },
    /// The test could not be judged.
    Invalid {
        /// Reason.
        reason: String,
    },
}

/// Replacements for settings that the finding keeps.
#[derive(Debug, Clone, Default)]
pub struct Instead {
    /// Testbed of the run.
    pub testbed: Option<TestbedName>,
    /// The requester's NIC and the responder's, with the name or path that the user gave.
    pub nics: [Option<(String, Nic)>; 2],
    /// Seed of the test.
    pub seed: Option<u64>,
}

/// Why a finding's test could not be run again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The finding's files.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The testbed.
    #[error(transparent)]
    Judge(#[from] JudgeError),
}

impl Kept {
    /// Testbeds with the NICs that the finding keeps, or others in their place.
    ///
    /// # Errors
    /// A copy that is used cannot be read, or was changed since; or a NIC is not of the testbed.
    pub fn testbeds(&self, instead: &Instead) -> Result<Testbeds, ReadError> {
        let copies = [&self.document.requester_nic, &self.document.responder_nic];
        let nic = |at: usize| match &instead.nics[at] {
            Some((_, nic)) => Ok(nic.clone()),
            None => nic_of(&self.folder, copies[at]),
        };
        let (requester, responder) = (nic(0)?, nic(1)?);
        let nics = [(&*copies[0].file, &requester), (&*copies[1].file, &responder)];
        Ok(Testbeds::new(instead.testbed.unwrap_or(self.document.testbed), &self.folder, nics)?)
    }

    /// With another seed of its test, if one is given.
    #[must_use]
    pub fn with_seed(mut self, seed: Option<u64>) -> Self {
        self.reproducer.traffic.seed = seed.unwrap_or(self.reproducer.traffic.seed);
        self
    }
}

/// Runs a finding's test again; several times, where one run does not say all.
///
/// # Errors
/// The finding's files were changed or damaged, or the testbed fails.
pub fn replay(kept: &Kept, instead: &Instead) -> Result<Replayed, ReplayError> {
    let mut testbed = kept.testbeds(instead)?.testbed();
    let config = kept.clone().with_seed(instead.seed).reproducer;
    let signature = &kept.document.signature;
    let baselines = InMemory::on(&*testbed);
    let (said, frequency) = repeat::frequency(&mut *testbed, &config, signature, &baselines)?;
    Ok(match said {
        Verdict::Judged(_) if frequency.is_confirmed() => Replayed::Reproduced { frequency },
        Verdict::Judged(judged) => {
            let seen = judged.signatures().into_iter().filter(|other| other != signature).collect();
            Replayed::NotReproduced { seen, frequency }
        }
        Verdict::Invalid { reason } => Replayed::Invalid { reason },
    })
}
