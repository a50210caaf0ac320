//! The request of the user: a campaign that begins or is resumed.

use std::path::PathBuf;

use executor::TestbedName;

use super::settings::{Lifted, Limits};
use crate::strategy::Strategy;

/// Request of the user. An absent field has its default in a new campaign, and stays as it was in a resumed
/// one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// The target, by name or path.
    pub target: Option<String>,
    /// The requester's and the responder's NIC, by name or path.
    pub nics: [Option<String>; 2],
    /// Seed of the search.
    pub seed: Option<u64>,
    /// Strategy that chooses tests.
    pub strategy: Option<Strategy>,
    /// Testbed of the tests.
    pub testbed: Option<TestbedName>,
    /// Limits of the campaign.
    pub limits: Limits,
    /// Limits that are lifted.
    pub lifted: Lifted,
    /// A folder of tests to start from.
    pub initial: Option<PathBuf>,
    /// Signatures that are known and no findings.
    pub ignore: Vec<String>,
    /// Most tests that are spent on minimising one finding.
    pub minimizer_budget: Option<u64>,
}
