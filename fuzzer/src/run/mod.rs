//! One test on a testbed: what is run, what was overridden, and the folder that keeps it all.

mod keep;

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use corpus::{Loaded, Role, TestConfig};
use dumper::{Nanos, Observation};
use executor::profile::{self, ProfileError};
use executor::{NicProfile, TestbedError, sim};
use serde::Serialize;

use crate::analyze::json::duration;

pub use keep::{CONFIG, KeepError, VERDICTS, keep, prepare};

/// Where a test is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TestbedName {
    /// On simulated NICs.
    Sim,
}

impl FromStr for TestbedName {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "sim" => Ok(Self::Sim),
            "vm" => Err("the VM testbed is not built yet; there is sim"),
            _ => Err("testbeds of real NICs, named by a file, are not built yet; there is sim"),
        }
    }
}

impl fmt::Display for TestbedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sim => f.write_str("the simulated testbed"),
        }
    }
}

/// What takes the place of what a test's file says. Paths are relative to the current folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Profiles of the requester and the responder, by name or path, each with the flag that named it.
    pub nics: [Option<(&'static str, String)>; 2],
    /// Seed.
    pub seed: Option<u64>,
}

/// An override that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Overridden {
    /// The flag.
    pub flag: &'static str,
    /// The field of the test.
    pub field: &'static str,
    /// What the file says.
    pub from: String,
    /// What was run.
    pub to: String,
}

/// A host whose NIC profile cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[error("the NIC of the {} has no usable profile: {}", role.name(), profile.0)]
pub struct NoProfile {
    /// The host.
    pub role: Role,
    /// Why not.
    pub profile: ProfileError,
}

/// A test with everything that it names.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Its file.
    pub file: PathBuf,
    /// The test as the file says and the overrides change it.
    pub config: TestConfig,
    /// Profiles of the requester's NIC and the responder's.
    pub profiles: [NicProfile; 2],
    /// Where it is run.
    pub testbed: TestbedName,
    /// What the overrides changed.
    pub overridden: Vec<Overridden>,
}

impl Test {
    /// A test from its file. Profiles that the file names by path are relative to the file's folder.
    ///
    /// # Errors
    /// A NIC profile cannot be loaded.
    pub fn new(
        file: &Path,
        loaded: Loaded,
        overrides: &Overrides,
        testbed: TestbedName,
    ) -> Result<Self, NoProfile> {
        let mut config = loaded.config;
        let mut overridden = Vec::new();
        let beside = file.parent().unwrap_or(Path::new(""));
        let mut load = |role: Role| {
            let host = config.host_mut(role);
            let folder = match &overrides.nics[role as usize] {
                Some((flag, nic)) => {
                    let from = std::mem::replace(&mut host.nic, nic.clone());
                    let field = ["requester.nic", "responder.nic"][role as usize];
                    overridden.push(Overridden { flag, field, from, to: nic.clone() });
                    Path::new("")
                }
                None => beside,
            };
            profile::load(&host.nic, folder).map_err(|profile| NoProfile { role, profile })
        };
        let profiles = [load(Role::Requester)?, load(Role::Responder)?];
        if let Some(seed) = overrides.seed {
            let from = std::mem::replace(&mut config.traffic.seed, seed).to_string();
            overridden.push(Overridden { flag: "--seed", field: "traffic.seed", from, to: seed.to_string() });
        }
        Ok(Self { file: file.to_owned(), config, profiles, testbed, overridden })
    }

    /// Runs the test on its testbed.
    ///
    /// # Errors
    /// Those of the testbed.
    pub fn run(&self) -> Result<Observation, TestbedError> {
        match self.testbed {
            TestbedName::Sim => sim::run(&self.config, self.profiles.clone()),
        }
    }

    /// What was run, for people.
    pub fn header(&self, observation: &Observation) -> String {
        let mut text =
            format!("Test {} on {}, seed {}\n", self.file.display(), self.testbed, self.config.traffic.seed);
        for (role, profile) in Role::ALL.into_iter().zip(&self.profiles) {
            let nic = &self.config.host(role).nic;
            let called = if *nic == profile.name { String::new() } else { format!(" ({})", profile.name) };
            let _ = writeln!(text, "  {:<11}{nic}{called}", role.name());
        }
        for one in &self.overridden {
            let _ = writeln!(text, "  {one}");
        }
        let trace = &observation.trace;
        let _ = writeln!(text, "{} packets in {}", trace.records().len(), duration(trace));
        text
    }

    /// What was run, for programs.
    pub fn subject(&self, observation: &Observation) -> TestSubject<'_> {
        let [requester_nic, responder_nic] = Role::ALL.map(|role| self.config.host(role).nic.as_str());
        TestSubject {
            test: TestDocument {
                file: self.file.display().to_string(),
                testbed: self.testbed,
                requester_nic,
                responder_nic,
                seed: self.config.traffic.seed,
                overridden: &self.overridden,
                packets: observation.trace.records().len(),
                duration_ns: duration(&observation.trace),
            },
        }
    }
}

impl fmt::Display for Overridden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} overrides {} = {}", self.flag, self.to, self.field, self.from)
    }
}

/// A test as what was judged.
#[derive(Serialize)]
pub struct TestSubject<'a> {
    test: TestDocument<'a>,
}

#[derive(Serialize)]
struct TestDocument<'a> {
    file: String,
    testbed: TestbedName,
    requester_nic: &'a str,
    responder_nic: &'a str,
    seed: u64,
    overridden: &'a [Overridden],
    packets: usize,
    duration_ns: Nanos,
}
