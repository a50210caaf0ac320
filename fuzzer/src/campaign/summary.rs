//! `summary.json`: progress and findings of a campaign.

use std::fs;
use std::path::Path;

use corpus::store::Progress;
use corpus::{FindingRecord, Minimized};
use executor::TestbedName;
use executor::uml::KernelShares;
use serde::{Deserialize, Serialize};

use super::folder::SUMMARY;
use super::settings::Settings;
use crate::finding::{FINDINGS, is_reproduced};
use crate::strategy::Strategy;

/// The document. Two runs of the same campaign differ in nothing but the fields whose names end in `_s` or `_at`.
#[derive(Debug, Serialize)]
pub struct Summary<'a> {
    target: &'a str,
    strategy: Strategy,
    seed: u64,
    testbed: TestbedName,
    requester_nic: &'a str,
    responder_nic: &'a str,
    executions: u64,
    reference_executions: u64,
    minimizer_executions: u64,
    invalid: u64,
    corpus_size: u64,
    elapsed_s: f64,
    executions_per_s: f64,
    tests_per_s: f64,
    /// Reason for its end, by [`End::name`](super::End::name); none of one that runs, or was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    /// How much of the hosts' kernels the tests have run, where they count it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    coverage: Vec<KernelShares>,
    findings: Vec<FindingSummary<'a>>,
}

#[derive(Debug, Serialize)]
struct FindingSummary<'a> {
    id: &'a str,
    kind: &'a str,
    signature: &'a str,
    title: &'a str,
    first_seen_execution: u64,
    sightings: u64,
    minimized: Minimized,
    /// None of one that was not seen again: it has no folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

impl<'a> Summary<'a> {
    /// The summary of a campaign; findings are in the order in which they were seen first.
    pub fn new(
        settings: &'a Settings,
        progress: Progress,
        corpus_size: u64,
        findings: impl IntoIterator<Item = &'a FindingRecord>,
        Rest { ended, coverage }: Rest,
    ) -> Self {
        let mut findings: Vec<_> = findings.into_iter().collect();
        findings.sort_by_key(|finding| (finding.first_seen_execution, &finding.signature));
        Self {
            target: &settings.target.given,
            strategy: settings.strategy,
            seed: settings.seed,
            testbed: settings.testbed.clone(),
            requester_nic: &settings.requester_nic.given,
            responder_nic: &settings.responder_nic.given,
            executions: progress.executions,
            reference_executions: progress.reference_executions,
            minimizer_executions: progress.minimizer_executions,
            invalid: progress.invalid,
            corpus_size,
            elapsed_s: progress.elapsed_s(),
            executions_per_s: progress.per_second(progress.executions),
            tests_per_s: progress.per_second(progress.runs),
            ended,
            coverage,
            findings: findings.into_iter().map(FindingSummary::of).collect(),
        }
    }
}

/// What a summary has that is neither in the settings nor in the store.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Rest {
    /// Reason for the end of the campaign, by [`End::name`](super::End::name).
    pub ended: Option<String>,
    /// How much of the hosts' kernels the tests have run.
    pub coverage: Vec<KernelShares>,
}

impl Rest {
    /// That of the summary in a campaign's folder; none if there is none that can be read: the campaign writes it again.
    pub fn read(folder: &Path) -> Self {
        let text = fs::read(folder.join(SUMMARY)).ok();
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }
}

impl<'a> FindingSummary<'a> {
    fn of(finding: &'a FindingRecord) -> Self {
        Self {
            id: &finding.id,
            kind: &finding.kind,
            signature: &finding.signature,
            title: &finding.title,
            first_seen_execution: finding.first_seen_execution,
            sightings: finding.sightings,
            minimized: finding.minimized,
            path: is_reproduced(finding).then(|| format!("{}/{}", FINDINGS, finding.id)),
        }
    }
}
