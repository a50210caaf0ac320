//! The code that the kept tests of campaigns have run: every test that runs code that none before it ran is kept.

use std::path::{Path, PathBuf};

use corpus::store::Archive;
use corpus::{Evaluation, Outcome, Role};
use dumper::observation::Coverage;
use executor::Nic;
use executor::uml::Codes;

use super::begin::{copied_nic, testbeds};
use super::engine::Kept;
use super::error::CampaignError;
use super::folder::{self, CORPUS};
use super::retention::add;

/// What ran of the hosts' kernels in campaigns.
#[derive(Debug)]
pub struct Reached {
    /// The kernels that count.
    pub codes: Codes,
    /// Of each kept test, what ran on the requester's and the responder's host.
    tests: Vec<[Coverage; 2]>,
}

impl Reached {
    /// Reads it from the folders of campaigns that do not run, all of them on the same kernels.
    ///
    /// # Errors
    /// There is no campaign, its kernels do not count, are not there any more or are others than in the first one, or its corpus
    /// cannot be read.
    pub fn read(paths: &[PathBuf]) -> Result<Self, CampaignError> {
        let mut reached: Option<(Self, [Nic; 2])> = None;
        for path in paths {
            let (nics, codes) = codes_of(path)?;
            let (reached, first) =
                reached.get_or_insert_with(|| (Self { codes, tests: Vec::new() }, nics.clone()));
            if *first != nics {
                let why =
                    format!("{}: its kernels are others than in {}", path.display(), paths[0].display());
                return Err(CampaignError::Usage(why));
            }
            let archive = Archive::read(&path.join(CORPUS))?;
            // The distilled tests together.
            if let Some(distilled) = archive.distilled()? {
                reached.tests.push(Kept::of(Some(&distilled))?.reached);
            }
            for number in archive.kept().keys() {
                if let Some(Evaluation { outcome: Outcome::Scored(scores), .. }) =
                    archive.evaluation(*number)?
                {
                    reached.tests.push(scores.coverage);
                }
            }
        }
        let none = || CampaignError::Usage("no campaign is named".to_owned());
        reached.map(|(reached, _)| reached).ok_or_else(none)
    }

    /// What all tests together ran.
    #[must_use]
    pub fn all(&self) -> [Coverage; 2] {
        let mut all: [Coverage; 2] = Default::default();
        for test in &self.tests {
            add(&mut all, test);
        }
        all
    }

    /// Each test's.
    #[must_use]
    pub fn tests(&self) -> &[[Coverage; 2]] {
        &self.tests
    }
}

/// The kernels of a campaign, which must be those that it began with, and their code.
fn codes_of(path: &Path) -> Result<([Nic; 2], Codes), CampaignError> {
    let settings = folder::read_settings(path)?;
    let usage = |why: String| CampaignError::Usage(format!("{}: {why}", path.display()));
    let copies = [&settings.requester_nic, &settings.responder_nic];
    let mut nics = Vec::new();
    for (role, copy) in Role::ALL.into_iter().zip(copies) {
        let (_, nic, is_same) = copied_nic(path, &settings, copy, role)?;
        if !is_same {
            return Err(usage(format!("{} is another kernel than in the campaign, or is gone", nic.name())));
        }
        nics.push(nic);
    }
    let nics: [Nic; 2] = nics.try_into().expect("there is one for each host");
    let codes = testbeds(&settings.testbed, path, copies, &nics)?.codes();
    if codes.is_empty() {
        return Err(usage(
            "its kernels do not count what runs; `testbed uml build --kernel 6.12 --coverage` builds one that does, and \
             `campaign --testbed uml --nic rxe-6.12-coverage` runs on it"
                .into(),
        ));
    }
    Ok((nics, codes))
}
