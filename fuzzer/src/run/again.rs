//! A test without a finding, run again: a test of the user's, or the one that `run --out` kept with its findings.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use corpus::TestConfig;
use executor::Testbeds;
use scoring::Role;
use serde::Deserialize;

use super::VERDICTS;
use crate::judge::{InMemory, Invalid, JudgeError, Verdict};
use crate::repeat::{self, Frequency};
use crate::report;

/// A signature that a test shows, or is expected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The signature.
    pub signature: String,
    /// The anomaly in a sentence.
    pub title: String,
    /// Runs that showed it, of all.
    pub frequency: Frequency,
}

/// Signatures that a test shows, those of most runs first. Where runs of a test differ, it runs several times.
///
/// # Errors
/// The testbed fails. A test that cannot be judged in any run is the inner error.
pub fn again(testbeds: &Testbeds, config: &TestConfig) -> Result<Result<Vec<Shown>, Invalid>, JudgeError> {
    let mut testbed = testbeds.testbed();
    let baselines = InMemory::on(&*testbed);
    let mut shown: BTreeMap<String, Shown> = BTreeMap::new();
    let mut invalid = None;
    let mut judged_once = false;
    let runs = repeat::each_run(&mut *testbed, config, &baselines, |verdict| match verdict {
        Verdict::Invalid(reason) => invalid = Some(reason),
        Verdict::Judged(judged) => {
            judged_once = true;
            for anomaly in judged.assessment.findings() {
                let signature = anomaly.signature();
                let one = shown.entry(signature.clone()).or_insert_with(|| Shown {
                    signature,
                    title: report::title(anomaly, config),
                    frequency: Frequency { seen: 0, runs: 0 },
                });
                one.frequency.seen += 1;
            }
        }
    })?;
    if let (false, Some(reason)) = (judged_once, invalid) {
        return Ok(Err(reason));
    }
    shown.values_mut().for_each(|one| one.frequency.runs = runs);
    let mut shown: Vec<Shown> = shown.into_values().collect();
    shown.sort_by_key(|one| std::cmp::Reverse(one.frequency.seen));
    Ok(Ok(shown))
}

/// The part of [`VERDICTS`] that is compared.
#[derive(Deserialize)]
struct Verdicts {
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    signature: String,
    role: Role,
    what: String,
}

/// Signatures, each with its title, of the findings that `run --out` kept with a test; none where the folder has no
/// verdicts.
///
/// # Errors
/// They are there and cannot be read, in a sentence.
pub fn expected(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let path = folder.join(VERDICTS);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = corpus::open_regular(&path).and_then(io::read_to_string).map_err(|error| wrong(&error))?;
    let verdicts: Verdicts = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    let of = |Finding { signature, role, what }| (signature, report::capitalised(&format!("{role} {what}")));
    Ok(verdicts.findings.into_iter().map(of).collect())
}
