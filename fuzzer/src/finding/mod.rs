//! A finding: its minimised test, its anomaly, and the folder that keeps it for a vendor and for `replay`.

mod copied;
mod minimise;
mod read;
mod replay;
mod reproduce;
mod write;

use corpus::{Minimized, TestConfig};
use executor::TestbedName;
use serde::{Deserialize, Serialize};

use crate::measure::Measured;
use crate::repeat::Frequency;
use crate::strategy::Strategy;

pub use copied::Copied;
pub(crate) use copied::sha256;
pub use minimise::{Answers, Budget, Course, MinimiseError, Progress, Start, Step, minimise};
pub use read::{Kept, ReadError, find, folder_of, read};
pub use replay::{Instead, ReplayError, Replayed, replay, replayed, stored};
pub use reproduce::{Reproduced, describe, is_reproduced, reproduce, reproduced};
pub(crate) use write::is_full;
pub use write::{Origin, WriteError, can_be_rewritten, count, reached, report_anew, restore, rewrite, write};

/// Folder of the findings, in that of a campaign.
pub const FINDINGS: &str = "findings";
/// The document.
pub const DOCUMENT: &str = "finding.json";
/// The smallest test that shows it.
pub const REPRODUCER: &str = "reproducer.toml";
/// The test over paths whose limits are measured, where the reproducer has delays of single packets in place of them.
pub const PATHS: &str = "paths.toml";
/// Every packet of the reproducer's run.
pub const TRACE: &str = "trace.pcapng";
/// The result folder of the reproducer's run, where running it again is not the same run.
pub const RESULT: &str = "result";
/// One page for people who look on: plain text.
pub const REPORT: &str = "report.txt";
/// The same and more, for those who get it sent: one file that needs nothing else.
pub const PAGE: &str = "report.html";
/// The same for issue trackers.
pub const MARKDOWN: &str = "report.md";

/// Digits of a finding's short name: 48 bits, so that no campaign sees two findings with one name.
const ID_DIGITS: usize = 12;

/// Short name of a signature: the first digits of its SHA-256.
pub fn id_of(signature: &str) -> String {
    sha256(signature)[..ID_DIGITS].to_owned()
}

/// `finding.json`. Fields are added over time, none changes its meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Short name.
    pub id: String,
    /// Kind of anomaly.
    pub kind: String,
    /// Signature that distinguishes it from others.
    pub signature: String,
    /// One line for people.
    pub title: String,
    /// Execution of the campaign that showed it first.
    pub first_seen_execution: u64,
    /// Executions that showed it.
    pub sightings: u64,
    /// Degree to which the reproducer is minimised.
    pub minimized: Minimized,
    /// Executions that minimising took, references included.
    pub minimizer_executions: u64,
    /// The target that was looked for.
    pub target: String,
    /// Strategy that chose tests.
    pub strategy: Strategy,
    /// Seed of the campaign.
    pub campaign_seed: u64,
    /// Testbed that it was run on.
    pub testbed: TestbedName,
    /// Version of the program.
    pub version: String,
    /// Revision that it was built from, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The requester's NIC; its copy is beside this file.
    pub requester_nic: Copied,
    /// The responder's.
    pub responder_nic: Copied,
    /// Anomaly that the reproducer shows, as `run --format json` has it.
    pub anomaly: serde_json::Value,
    /// The numbers behind it, measured with tests of their own on the same NICs; none before it is minimised.
    #[serde(default)]
    pub measured: Vec<Measured>,
    /// Executions that measuring took, references included; neither the campaign's nor the minimiser's.
    #[serde(default)]
    pub measuring_executions: u64,
    /// Frequency of the anomaly in the reproducer's runs for this folder; `None` where one run is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
}

impl Document {
    /// Gives the hosts of a test the NICs beside this document.
    fn call_nics(&self, test: &mut TestConfig) {
        call_nics(test, Copied::names([&self.requester_nic, &self.responder_nic], |copy| &copy.file));
    }
}

/// Gives the hosts of a test their NICs by name.
fn call_nics(test: &mut TestConfig, [requester, responder]: [&str; 2]) {
    requester.clone_into(&mut test.requester.nic);
    responder.clone_into(&mut test.responder.nic);
}
