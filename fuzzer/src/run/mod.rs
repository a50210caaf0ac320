//! One test on a testbed: the test, its overrides, and the folder that keeps it all.

mod again;
mod keep;
mod script;

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use corpus::lumina::Lab;
use corpus::{RoceParameters, Role, TestConfig};
use dumper::trace::Digest;
use dumper::{Nanos, Observation};
use executor::profile::ProfileError;
use executor::{Nic, TestbedError, TestbedName, Testbeds};
use serde::Serialize;

use crate::analyze::Report;
use crate::analyze::json::duration;
use crate::judge::{InMemory, JudgeError, Verdict, judge, judge_alone};

pub use again::{Shown, again, expected};
pub use keep::{CONFIG, KeepError, VERDICTS, keep, prepare, prepare_script, testbeds_of};
pub use script::{Checked, PacketScript, is_script, recorded, write_script};

use script::ScriptDocument;

/// Replacements for values of a test's file. Paths are relative to the current folder.
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
    /// Value in the file.
    pub from: String,
    /// Value of the run.
    pub to: String,
}

/// A host whose NIC profile cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[error("the NIC of the {} has no usable profile: {}", role.name(), profile.0)]
pub struct NoProfile {
    /// The host.
    pub role: Role,
    /// Reason.
    pub profile: ProfileError,
}

/// A test with everything that it names.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Its file.
    pub file: PathBuf,
    /// The test as the file says and the overrides change it.
    pub config: TestConfig,
    /// The script that it comes from.
    pub script: Option<PacketScript>,
    /// The laboratory of its file, if it is Lumina's.
    pub lab: Lab,
    /// The requester's NIC and the responder's.
    pub nics: [Nic; 2],
    /// Their files, where they did not come with the program.
    pub nic_files: [Option<PathBuf>; 2],
    /// Testbed that it is run on.
    pub testbed: TestbedName,
    /// Changes by the overrides.
    pub overridden: Vec<Overridden>,
}

impl Test {
    /// A test from its file. Profiles that the file names by path are relative to the file's folder.
    ///
    /// # Errors
    /// A NIC profile cannot be loaded.
    pub fn new(
        file: &Path,
        (mut config, script, lab): (TestConfig, Option<PacketScript>, Lab),
        overrides: &Overrides,
        testbed: TestbedName,
    ) -> Result<Self, NoProfile> {
        let mut overridden = Vec::new();
        let elsewhere = match &testbed {
            TestbedName::Sim => None,
            // A file that cannot be read any more is told of when the test begins.
            other => other.default_nics().ok(),
        };
        // A script's paths have become those of the current folder.
        let beside = file.parent().filter(|_| script.is_none()).unwrap_or(Path::new(""));
        let mut load = |role: Role| {
            let host = config.host_mut(role);
            let elsewhere = elsewhere.as_ref().filter(|_| !testbed.may_have(&host.nic));
            let elsewhere = elsewhere.map(|nics| ("--testbed", nics[role as usize].clone()));
            let folder = match overrides.nics[role as usize].as_ref().or(elsewhere.as_ref()) {
                Some((flag, nic)) => {
                    let from = std::mem::replace(&mut host.nic, nic.clone());
                    let field = ["requester.nic", "responder.nic"][role as usize];
                    overridden.push(Overridden { flag, field, from, to: nic.clone() });
                    Path::new("")
                }
                None => beside,
            };
            let file = (!Nic::is_shipped(&host.nic)).then(|| folder.join(&host.nic));
            let nic = Nic::load(&host.nic, folder).map_err(|profile| NoProfile { role, profile })?;
            Ok((nic, file))
        };
        let (requester, requester_file) = load(Role::Requester)?;
        let (responder, responder_file) = load(Role::Responder)?;
        if testbed.has_guests() {
            let fixed = testbed.capabilities().fixed;
            for (role, field) in
                Role::ALL.into_iter().zip(["requester.roce-parameters", "responder.roce-parameters"])
            {
                // A test that says nothing of it does not ask for DCQCN; one that does is refused.
                let roce = &mut config.host_mut(role).roce;
                if *roce == RoceParameters::default() {
                    *roce = fixed;
                    let (from, to) = ("its defaults".to_owned(), "what rdma_rxe has".to_owned());
                    overridden.push(Overridden { flag: "--testbed", field, from, to });
                }
            }
        }
        if let Some(seed) = overrides.seed {
            let from = std::mem::replace(&mut config.traffic.seed, seed).to_string();
            overridden.push(Overridden { flag: "--seed", field: "traffic.seed", from, to: seed.to_string() });
        }
        Ok(Self {
            file: file.to_owned(),
            config,
            script,
            lab,
            nics: [requester, responder],
            nic_files: [requester_file, responder_file],
            testbed,
            overridden,
        })
    }

    /// Its testbeds.
    ///
    /// # Errors
    /// A NIC is not of the testbed.
    pub fn testbeds(&self) -> Result<Testbeds, TestbedError> {
        let names = Role::ALL.map(|role| self.config.host(role).nic.as_str());
        let [first, second] = &self.nics;
        let nics = [(names[0], first), (names[1], second)];
        Testbeds::new(&self.testbed, Path::new(""), nics)
            .map_err(|wrong| TestbedError::Config(wrong.to_string()))
    }

    /// Runs the test on its testbed and judges it, with the reference runs that it needs. What takes one is not judged for
    /// the reason that there is to go `without_references`.
    ///
    /// # Errors
    /// Those of the testbed.
    pub fn judge(&self, without_references: Option<&str>) -> Result<Verdict, JudgeError> {
        let mut testbed = self.testbeds()?.testbed();
        let baselines = InMemory::on(&*testbed);
        match without_references {
            Some(reason) => judge_alone(&mut *testbed, &self.config, reason),
            None => judge(&mut *testbed, &self.config, &baselines),
        }
    }

    /// Compares an observation with the script that the test comes from.
    pub fn check(&self, observation: &Observation, report: &Report<'_>) -> Option<Checked> {
        self.script.as_ref().map(|script| script.check(&self.config, observation, report))
    }

    /// Description of the run, for people; `digest` is that of the trace.
    pub fn header(&self, observation: &Observation, digest: Digest) -> String {
        let mut text =
            format!("Test {} on {}, seed {}\n", self.file.display(), self.testbed, self.config.traffic.seed);
        for (role, nic) in Role::ALL.into_iter().zip(&self.nics) {
            let (nic, name) = (&self.config.host(role).nic, nic.name());
            let called = if *nic == name { String::new() } else { format!(" ({name})") };
            let _ = writeln!(text, "  {:<11}{nic}{called}", role.name());
        }
        for one in &self.overridden {
            let _ = writeln!(text, "  {one}");
        }
        let trace = &observation.trace;
        let _ =
            writeln!(text, "{} packets in {}, sha256 {digest:.16}", trace.records().len(), duration(trace));
        text
    }

    /// Description of the run, for programs; `digest` is that of the trace.
    pub fn subject<'a>(
        &'a self,
        observation: &Observation,
        digest: Digest,
        checked: Option<&'a Checked>,
    ) -> TestSubject<'a> {
        let [requester_nic, responder_nic] = Role::ALL.map(|role| self.config.host(role).nic.as_str());
        TestSubject {
            test: TestDocument {
                file: self.file.display().to_string(),
                testbed: self.testbed.clone(),
                requester_nic,
                responder_nic,
                seed: self.config.traffic.seed,
                overridden: &self.overridden,
                packets: observation.trace.records().len(),
                duration_ns: duration(&observation.trace),
                trace_sha256: digest,
            },
            script: checked.map(Checked::document),
        }
    }
}

impl fmt::Display for Overridden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} overrides {} = {}", self.flag, self.to, self.field, self.from)
    }
}

/// A test as the input.
#[derive(Serialize)]
pub struct TestSubject<'a> {
    test: TestDocument<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<ScriptDocument<'a>>,
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
    trace_sha256: Digest,
}
