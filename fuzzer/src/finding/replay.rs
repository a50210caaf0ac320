//! A finding's test, run again.

use std::path::PathBuf;

use executor::{Nic, TestbedName, Testbeds};

use super::read::nic_of;
use super::{Document, Kept, RESULT, ReadError, TRACE, call_nics};
use crate::analyze::{Input, LoadError};
use crate::judge::{InMemory, JudgeError, Judged, Verdict, judge};
use crate::policy::Policy;
use crate::repeat::{self, Frequency};

/// Result of running a finding's test again.
#[derive(Debug)]
pub enum Replayed {
    /// The same signature, often enough.
    Reproduced {
        /// Runs that showed it, of all.
        frequency: Frequency,
        /// A run that shows it.
        judged: Box<Judged>,
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

impl Instead {
    /// Returns true if nothing takes the place of anything.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.testbed.is_none() && self.seed.is_none() && self.nics.iter().all(Option::is_none)
    }
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
        let testbed = instead.testbed.as_ref().unwrap_or(&self.document.testbed);
        Ok(Testbeds::new(testbed, &self.folder, nics)?)
    }

    /// With the replacements in its test.
    #[must_use]
    pub fn with(mut self, instead: &Instead) -> Self {
        self.reproducer.traffic.seed = instead.seed.unwrap_or(self.reproducer.traffic.seed);
        let is_one = match &instead.nics {
            [None, None] => return self,
            [Some((_, requester)), Some((_, responder))] => requester == responder,
            _ => false,
        };
        let Document { requester_nic, responder_nic, .. } = &self.document;
        let responder = if is_one { requester_nic } else { responder_nic };
        call_nics(&mut self.reproducer, [&requester_nic.file, &responder.file]);
        self
    }
}

/// Runs a finding's test again; several times, where one run does not say all.
///
/// # Errors
/// The finding's files were changed or damaged, or the testbed fails.
pub fn replay(kept: &Kept, instead: &Instead) -> Result<Replayed, ReplayError> {
    let mut testbed = kept.testbeds(instead)?.testbed();
    let config = kept.clone().with(instead).reproducer;
    let signature = &kept.document.signature;
    let baselines = InMemory::on(&*testbed);
    let (said, frequency) = repeat::frequency(&mut *testbed, &config, signature, &baselines)?;
    Ok(match said {
        Verdict::Judged(judged) if frequency.is_confirmed() => Replayed::Reproduced { frequency, judged },
        Verdict::Judged(judged) => {
            let seen = judged.signatures().into_iter().filter(|other| other != signature).collect();
            Replayed::NotReproduced { seen, frequency }
        }
        Verdict::Invalid(invalid) => Replayed::Invalid { reason: invalid.to_string() },
    })
}

/// The packets that a finding's folder keeps: those of its result folder, where it has one. `None` where they are lost, or
/// there were none.
///
/// # Errors
/// They are there and cannot be read.
pub fn stored(
    kept: &Kept,
    read: impl FnOnce(&[PathBuf]) -> Result<Input, LoadError>,
) -> Result<Option<Input>, LoadError> {
    let places = [RESULT, TRACE].map(|name| kept.folder.join(name));
    let Some(place) = places.into_iter().find(|place| place.exists()) else { return Ok(None) };
    match read(&[place]) {
        Ok(input) => Ok(Some(input)),
        // Of a test that does not end no packets are kept.
        Err(LoadError::Empty { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The verdict on a finding's test run again, if that is the run whose packets are stored, or none are: it has the counters
/// and completions of that run too. `None` where the stored packets are all there is of their run.
///
/// # Errors
/// The testbed fails.
pub fn replayed(
    kept: &Kept,
    testbeds: &Testbeds,
    stored: Option<&Input>,
) -> Result<Option<Verdict>, JudgeError> {
    let mut testbed = testbeds.testbed();
    if stored.is_some() && !Policy::on(&*testbed).replays_exactly() {
        return Ok(None);
    }
    let baselines = InMemory::on(&*testbed);
    let verdict = judge(&mut *testbed, &kept.reproducer, &baselines)?;
    let is_same = |input: &Input| {
        let digest = input.observation.trace.digest();
        verdict.observation().is_some_and(|again| again.trace.digest() == digest)
    };
    Ok(if stored.is_none_or(is_same) { Some(verdict) } else { None })
}
