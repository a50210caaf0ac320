//! The runs that the folder of a comparison keeps: a JSON document a line.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Plan, RUNS};
use crate::campaign::{CampaignError, LOCK, io_error};
use crate::strategy::Strategy;
use crate::version::{VERSION, revision, with_revision};

/// Beginning of each line.
const FIRST: &str = "{\"nic\":\"";

/// A signature that a run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The signature.
    pub signature: String,
    /// Execution that showed it first.
    pub execution: u64,
    /// Seconds of the run by then.
    pub at_s: f64,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// NIC of both hosts, as it was named.
    pub nic: String,
    /// Its strategy.
    pub strategy: Strategy,
    /// Its seed.
    pub seed: u64,
    /// Version and revision of the program that made it; empty of programs that did not note it.
    #[serde(default)]
    pub program: String,
    /// Digest of its target, NIC, testbed and limits.
    pub basis: String,
    /// Executions that it made.
    pub executions: u64,
    /// Seconds that it took.
    pub elapsed_s: f64,
    /// Its findings.
    pub found: Vec<Found>,
}

/// NIC, strategy and seed of a run.
pub(super) type Key = (String, Strategy, u64);

/// Digest of all that the runs on each NIC rest on, by the name of the NIC.
pub(super) type Bases = BTreeMap<String, String>;

impl Ran {
    pub(super) fn key(&self) -> Key {
        (self.nic.clone(), self.strategy, self.seed)
    }

    /// Refuses a run that is none of the plan.
    fn check(&self, plan: &Plan, bases: &Bases) -> Result<(), String> {
        let Self { nic, strategy, seed, .. } = self;
        let Some(basis) = bases.get(nic) else { return Ok(()) };
        let program = program();
        if self.program != program {
            let other = if self.program.is_empty() { "an earlier version" } else { self.program.as_str() };
            return Err(format!(
                "{nic} with {strategy} and seed {seed} was run by another version or revision of the program, {other}, and \
                 this one is {program}; --out names another folder"
            ));
        }
        if *basis != self.basis {
            return Err(format!(
                "{nic} with {strategy} and seed {seed} was run on another target or NIC, or with other limits; --out names \
                 another folder"
            ));
        }
        let last = self.found.iter().map(|found| found.execution).fold(self.executions, u64::max);
        if last > plan.executions {
            return Err(format!(
                "execution {last} is above the limit of {}; remove the line, or name another folder with --out",
                plan.executions
            ));
        }
        Ok(())
    }
}

/// Version and revision of this program.
pub(super) fn program() -> String {
    with_revision(VERSION, revision())
}

/// Refuses a folder that is not empty and holds no comparison.
pub(super) fn check(folder: &Path) -> Result<(), CampaignError> {
    if folder.join(RUNS).is_file() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(io_error(folder, "cannot be read"))? {
        if entry.map_err(io_error(folder, "cannot be read"))?.file_name() != LOCK {
            return Err(CampaignError::Usage(format!(
                "{}: is not empty, and has no {RUNS}; name a new folder",
                folder.display()
            )));
        }
    }
    Ok(())
}

/// The runs that a plan's folder has. A last line that was not written whole is none, and is cut off if the folder `may_mend`.
pub(super) fn read(plan: &Plan, bases: &Bases, may_mend: bool) -> Result<BTreeMap<Key, Ran>, CampaignError> {
    let path = plan.folder.join(RUNS);
    let text = match corpus::open_regular(&path).and_then(io::read_to_string) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(io_error(&path, "cannot be read")(error)),
    };
    let (whole, rest) = text.split_at(text.rfind('\n').map_or(0, |end| end + 1));
    let wrong =
        |at: usize, what: &str| CampaignError::Usage(format!("{}:{}: {what}", path.display(), at + 1));
    let no_run = |at: usize, error: &serde_json::Error| {
        wrong(at, &format!("is no run: {error}; remove the line, or name another folder with --out"))
    };
    let mut runs = BTreeMap::new();
    for (at, line) in whole.lines().enumerate() {
        let ran: Ran = serde_json::from_str(line).map_err(|error| no_run(at, &error))?;
        ran.check(plan, bases).map_err(|what| wrong(at, &what))?;
        runs.insert(ran.key(), ran);
    }
    if let Err(error) = serde_json::from_str::<Ran>(rest)
        && !(error.is_eof() && (rest.starts_with(FIRST) || FIRST.starts_with(rest)))
    {
        return Err(no_run(whole.lines().count(), &error));
    }
    if may_mend && !rest.is_empty() {
        let file = fs::OpenOptions::new().write(true).open(&path);
        let cut = file.and_then(|file| file.set_len(whole.len() as u64));
        cut.map_err(io_error(&path, "cannot be mended"))?;
    }
    Ok(runs)
}

/// Marks a folder as one of a comparison.
pub(super) fn begin(folder: &Path) -> Result<(), CampaignError> {
    write(folder, "")
}

/// Adds a run.
pub(super) fn append(folder: &Path, ran: &Ran) -> Result<(), CampaignError> {
    let mut line = serde_json::to_string(ran).expect("a run has strings as keys and finite numbers");
    line.push('\n');
    write(folder, &line)
}

/// Writes a text at the end of the file of runs, which is made if it is not there.
fn write(folder: &Path, text: &str) -> Result<(), CampaignError> {
    let path = folder.join(RUNS);
    let file = fs::OpenOptions::new().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(io_error(&path, "cannot be written"))
}
