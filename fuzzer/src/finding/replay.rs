//! A finding's test, run again.

use executor::{NicProfile, sim::Sim};

use super::read::profile_of;
use super::{Kept, ReadError};
use crate::campaign::InMemory;
use crate::judge::{JudgeError, Verdict, judge};

/// What came of running a finding's test again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayed {
    /// The same signature.
    Reproduced,
    /// Others, or none.
    NotReproduced {
        /// Signatures that the test showed instead.
        seen: Vec<String>,
    },
    /// The test could not be judged.
    Invalid {
        /// Why not.
        reason: String,
    },
}

/// What takes the place of what a finding keeps.
#[derive(Debug, Clone, Default)]
pub struct Instead {
    /// Profiles of the requester's NIC and the responder's, with the name or path that the user gave.
    pub nics: [Option<(String, NicProfile)>; 2],
    /// Seed of the test.
    pub seed: Option<u64>,
}

/// Why a finding's test could not be run again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// What the finding keeps.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The testbed.
    #[error(transparent)]
    Judge(#[from] JudgeError),
}

impl Kept {
    /// A simulated testbed with the NICs that the finding keeps, or others in their place.
    ///
    /// # Errors
    /// A copy that is used cannot be read, or was changed since.
    pub fn testbed(&self, instead: &Instead) -> Result<Sim, ReadError> {
        let copies = [&self.document.requester_nic, &self.document.responder_nic];
        let mut sim = Sim::new(&self.folder);
        for (copy, other) in copies.into_iter().zip(&instead.nics) {
            let profile = match other {
                Some((_, profile)) => profile.clone(),
                None => profile_of(&self.folder, copy)?,
            };
            sim = sim.with_profile(&copy.file, profile);
        }
        Ok(sim)
    }

    /// With another seed of its test, if one is given.
    #[must_use]
    pub fn with_seed(mut self, seed: Option<u64>) -> Self {
        self.reproducer.traffic.seed = seed.unwrap_or(self.reproducer.traffic.seed);
        self
    }
}

/// Runs a finding's test again.
///
/// # Errors
/// What the finding keeps is not as it was, or the testbed fails.
pub fn replay(kept: &Kept, instead: &Instead) -> Result<Replayed, ReplayError> {
    let mut testbed = kept.testbed(instead)?;
    let config = kept.clone().with_seed(instead.seed).reproducer;
    Ok(match judge(&mut testbed, &config, &InMemory::default())? {
        Verdict::Invalid { reason } => Replayed::Invalid { reason },
        Verdict::Judged(judged) => {
            let seen = judged.signatures();
            if seen.contains(&kept.document.signature) {
                Replayed::Reproduced
            } else {
                Replayed::NotReproduced { seen }
            }
        }
    })
}
