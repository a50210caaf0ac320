//! `campaign.toml`: the exact settings of a campaign.

use corpus::TestConfig;
use executor::TestbedName;
use mutators::Target;
use serde::{Deserialize, Serialize};

use super::schedule::BATCH;
use crate::finding::{Copied, Origin, sha256};
use crate::minimize;
use crate::signature::kind_of;
use crate::strategy::Strategy;

/// Probability with which a test that does not score above the median is kept all the same (Lumina Algorithm 1, line
/// 12: `p`, whose value the paper does not give).
pub const KEEP_PROBABILITY: f64 = 0.1;

/// Settings of a campaign. They include the constants of the search, so that they mean the same to a later
/// version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Version of the program.
    pub version: String,
    /// SHA-256 of the other settings but the limits: a campaign whose settings were changed would be two in one.
    #[serde(default)]
    pub sha256: String,
    /// Strategy that chooses tests.
    pub strategy: Strategy,
    /// Seed of all that is random in the search.
    pub seed: u64,
    /// Testbed of the tests.
    pub testbed: TestbedName,
    /// Executions of a batch.
    pub batch: u64,
    /// Probability with which a test that does not score above the median is kept.
    pub keep_probability: f64,
    /// Most tests that are spent on minimising one finding.
    pub minimizer_budget: u64,
    /// Signatures that are known and no findings.
    pub ignore: Vec<String>,
    /// Limits of the campaign; the one setting that a resumed campaign may change.
    pub limits: Limits,
    /// Target of the campaign.
    pub target: Copied,
    /// The requester's NIC.
    pub requester_nic: Copied,
    /// The responder's NIC.
    pub responder_nic: Copied,
    /// Tests to start from, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub initial: Vec<Copied>,
}

impl Settings {
    /// Returns true if a signature is a finding of this campaign, whose target is given.
    pub(crate) fn seeks(&self, target: &Target, signature: &str) -> bool {
        let kind = kind_of(signature);
        target.oracles.iter().any(|oracle| oracle == kind) && !self.ignores(signature)
    }

    /// Returns true if a signature is known and not a finding.
    pub(super) fn ignores(&self, signature: &str) -> bool {
        self.ignore.iter().any(|ignored| ignored == signature)
    }

    /// Names of the campaign's NICs in its tests: names that come with the program, or else the copies.
    pub(super) fn nic_names(&self) -> [&str; 2] {
        Copied::names([&self.requester_nic, &self.responder_nic], Copied::name_in_tests)
    }

    /// The part that the document of a finding keeps, whose test may have the NICs in each other's places.
    pub(super) fn origin_of(&self, test: &TestConfig) -> Origin {
        let mut nics = [self.requester_nic.clone(), self.responder_nic.clone()];
        if self.is_swapped(test) {
            nics.reverse();
        }
        Origin {
            target: self.target.given.clone(),
            strategy: self.strategy,
            seed: self.seed,
            testbed: self.testbed.of_findings(),
            version: self.version.clone(),
            nics,
        }
    }

    /// Returns true if a test has the campaign's NICs in each other's places.
    pub(super) fn is_swapped(&self, test: &TestConfig) -> bool {
        !self.requester_nic.is_called(&test.requester.nic)
            && self.responder_nic.is_called(&test.requester.nic)
    }

    /// With the digest of its contents.
    pub(super) fn sealed(mut self) -> Self {
        self.sha256 = self.digest();
        self
    }

    /// Checks that the settings are as they were written, and consistent.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.digest() != self.sha256 {
            return Err("was changed since the campaign began (only `limits` may change)".into());
        }
        if self.batch == 0 {
            return Err("batch: 0 is out of range; at least 1".into());
        }
        if !(0.0..=1.0).contains(&self.keep_probability) {
            return Err(format!("keep-probability: {} is no probability; 0 to 1", self.keep_probability));
        }
        Ok(())
    }

    fn digest(&self) -> String {
        let fixed = Self { sha256: String::new(), limits: Limits::default(), ..self.clone() };
        sha256(&format!("{fixed:?}"))
    }

    /// The constants of this version, for a campaign that begins.
    pub(super) const fn constants() -> (u64, f64, u64) {
        (BATCH, KEEP_PROBABILITY, minimize::BUDGET)
    }
}

/// Limits that end a campaign, besides Ctrl-C. Without limits it runs until it is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// After so many executions, those before a resumption included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executions: Option<u64>,
    /// After so many seconds, those before a resumption included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<u64>,
    /// At the first finding, that of the lowest execution number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_on_first: Option<bool>,
    /// Size of the campaign's folder, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_disk_bytes: Option<u64>,
    /// Kept tests at which the corpus is distilled to half of them; ends nothing. Of a campaign that begins without one,
    /// [`MAX_CORPUS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_corpus: Option<u64>,
}

/// Kept tests at which the corpus is distilled, unless a user says otherwise. The memory and the disk that a campaign takes stop
/// growing there (docs/search.md).
pub const MAX_CORPUS: u64 = 10_000;

/// Limits that are lifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lifted {
    /// That of executions.
    pub executions: bool,
    /// That of time.
    pub duration: bool,
    /// That of the folder's size.
    pub max_disk: bool,
    /// That of kept tests.
    pub max_corpus: bool,
}

impl Limits {
    /// These limits, completed by the former ones.
    pub(super) fn or(self, before: Self) -> Self {
        Self {
            executions: self.executions.or(before.executions),
            duration_s: self.duration_s.or(before.duration_s),
            stop_on_first: self.stop_on_first.or(before.stop_on_first),
            max_disk_bytes: self.max_disk_bytes.or(before.max_disk_bytes),
            max_corpus: self.max_corpus.or(before.max_corpus),
        }
    }

    /// These limits without those that are lifted.
    pub(super) fn without(self, lifted: Lifted) -> Self {
        let keep = |limit: Option<u64>, is_lifted: bool| limit.filter(|_| !is_lifted);
        Self {
            executions: keep(self.executions, lifted.executions),
            duration_s: keep(self.duration_s, lifted.duration),
            stop_on_first: self.stop_on_first,
            max_disk_bytes: keep(self.max_disk_bytes, lifted.max_disk),
            max_corpus: keep(self.max_corpus, lifted.max_corpus),
        }
    }

    /// The limits of a campaign that begins without any.
    pub(super) fn first() -> Self {
        Self { max_corpus: Some(MAX_CORPUS), ..Self::default() }
    }
}
