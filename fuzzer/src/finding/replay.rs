//! A finding's test, run again.

use corpus::{Role, TestConfig};
use executor::{NicProfile, Testbed, sim::Sim};

use super::Kept;
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
    /// Profiles of the requester's NIC and the responder's.
    pub profiles: [Option<NicProfile>; 2],
    /// Seed of the test.
    pub seed: Option<u64>,
}

impl Kept {
    /// A simulated testbed with the NICs that the finding keeps, or others in their place.
    #[must_use]
    pub fn testbed(&self, instead: &Instead) -> Sim {
        let names = Role::ALL.map(|role| self.reproducer.host(role).nic.as_str());
        names
            .into_iter()
            .zip(&self.profiles)
            .zip(&instead.profiles)
            .fold(Sim::new(&self.folder), |sim, ((name, kept), other)| {
                sim.with_profile(name, other.as_ref().unwrap_or(kept).clone())
            })
    }
}

/// Runs a finding's test again.
///
/// # Errors
/// The testbed fails.
pub fn replay(kept: &Kept, instead: &Instead) -> Result<Replayed, JudgeError> {
    let mut testbed = kept.testbed(instead);
    let mut config: TestConfig = kept.reproducer.clone();
    config.traffic.seed = instead.seed.unwrap_or(config.traffic.seed);
    let testbed: &mut dyn Testbed = &mut testbed;
    Ok(match judge(testbed, &config, &InMemory::default())? {
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
