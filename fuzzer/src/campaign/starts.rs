//! The starts of a campaign: when, by which command, on which machine. Reports say so; the search does not depend on it.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::error::CampaignError;
use super::folder::io_error;
use crate::version::{VERSION, revision};

/// File of the starts, in the campaign's folder: a JSON document a line.
const STARTS: &str = "starts.jsonl";

/// Longest file that is read.
const MAX_BYTES: u64 = 4 << 20;

/// A start of a campaign, or its resumption.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Time, in UTC.
    pub started_at: String,
    /// The command and its arguments.
    pub command_line: Vec<String>,
    /// Version of the program.
    pub version: String,
    /// Revision that it was built from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Name of the machine, and its operating system.
    pub machine: String,
}

impl Start {
    /// One that is now.
    fn now() -> Self {
        let machine = nix::sys::utsname::uname().map(|names| {
            let [host, system, release, machine] =
                [names.nodename(), names.sysname(), names.release(), names.machine()]
                    .map(|name| name.to_string_lossy());
            format!("{host}, {system} {release} {machine}")
        });
        Self {
            started_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            command_line: command_line(),
            version: VERSION.into(),
            revision: revision().map(str::to_owned),
            machine: machine.unwrap_or_default(),
        }
    }
}

/// The command without its path, which says nothing to others.
fn command_line() -> Vec<String> {
    let mut words: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if let Some(program) = words.first_mut()
        && let Some(name) = Path::new(program).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    words
}

/// Notes that a campaign starts, or goes on.
pub(super) fn note(folder: &Path) -> Result<(), CampaignError> {
    let path = folder.join(STARTS);
    let mut line = serde_json::to_vec(&Start::now())
        .map_err(|error| io_error(&path, "cannot be written")(error.into()))?;
    line.push(b'\n');
    let mut options = fs::OpenOptions::new();
    let file = options.append(true).create(true).open(&path);
    file.and_then(|mut file| file.write_all(&line)).map_err(io_error(&path, "cannot be written"))
}

/// The starts of a campaign, as far as they are known: a line that a killed process left unfinished is none.
pub fn read(folder: &Path) -> Vec<Start> {
    let path = folder.join(STARTS);
    let is_short = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= MAX_BYTES);
    let text = if is_short { fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
