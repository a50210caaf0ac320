//! `lumina-fuzz replay`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::nic_args::InsteadArgs;
use super::output::{bad_message, complain, print, print_json};
use super::progress::with_spinner;
use super::{Exit, Format};
use crate::finding::{self, Document, Instead, Kept, ReadError, ReplayError, Replayed};
use crate::judge::Judged;
use crate::repeat::Frequency;

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz replay night                                    every finding of a campaign
  lumina-fuzz replay night/findings/1f0c3d2a9b4e
  lumina-fuzz replay night --nic ./new-firmware.toml          does the firmware fix them?

A finding runs on its copies of the NIC profiles, unless --nic names others, and is judged as in its campaign. The output has \
one line for each finding: reproduced or not. A lost report or trace is written again. Where runs of a test differ \
(--testbed vm), the test runs five times, and three runs must show the finding.

Exit codes: 0 all are reproduced, 1 failed, 2 usage or bad input, 4 at least one is not reproduced.";

/// Arguments of `replay`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Findings (their folders or finding.json), folders of findings, or campaigns.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    instead: InsteadArgs,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// One finding, run again.
#[derive(Serialize)]
struct Line {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    reproduced: bool,
    /// In how many of how many runs.
    #[serde(flatten)]
    frequency: Option<Frequency>,
    /// Files that the folder had lost, which were written again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    restored: Vec<&'static str>,
    /// Other signatures that were seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seen: Vec<String>,
    /// Reason why it could not be run or judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) fn run(args: &Args) -> Exit {
    replay(args).unwrap_or_else(|exit| exit)
}

fn replay(args: &Args) -> Result<Exit, Exit> {
    let instead = args.instead.load(args.format)?;
    let mut folders = Vec::new();
    for path in &args.paths {
        let found = finding::find(path);
        folders.extend(found.map_err(|error| bad_message("bad finding", &error, args.format))?);
    }

    let mut exit = Exit::Done;
    let mut lines = Vec::new();
    for folder in &folders {
        let (line, outcome) = with_spinner("running the finding's test", || replay_one(folder, &instead));
        if args.format == Format::Text {
            match print(&line.text()) {
                Exit::Done => {}
                cannot => return Ok(cannot),
            }
        }
        // Bad input outdoes a finding that is not reproduced: for bad input that is unknown.
        exit = match (exit, outcome) {
            (Exit::Usage, _) | (_, Exit::Usage) => Exit::Usage,
            (Exit::Done, outcome) => outcome,
            (exit, _) => exit,
        };
        lines.push(line);
    }
    if args.format == Format::Json {
        let printed = print_json(&serde_json::json!({ "findings": lines }));
        if printed != Exit::Done {
            return Ok(printed);
        }
    }
    Ok(exit)
}

fn replay_one(folder: &Path, instead: &Instead) -> (Line, Exit) {
    let kept = match finding::read(folder) {
        Ok(kept) => kept,
        Err(error) => return (Line::unreadable(folder, &error), Exit::Usage),
    };
    let line = Line::of(&kept);
    match finding::replay(&kept, instead) {
        Ok(Replayed::Reproduced { frequency, judged }) => {
            let restored = if instead.is_nothing() { restore(&kept, &judged) } else { Vec::new() };
            (Line { reproduced: true, frequency: Some(frequency), restored, ..line }, Exit::Done)
        }
        Ok(Replayed::NotReproduced { seen, frequency }) => {
            (Line { seen, frequency: Some(frequency), ..line }, Exit::NotReproduced)
        }
        Ok(Replayed::Invalid { reason }) => (Line { error: Some(reason), ..line }, Exit::NotReproduced),
        Err(ReplayError::Read(error)) => (Line::unreadable(folder, &error), Exit::Usage),
        Err(ReplayError::Judge(error)) => {
            complain(&format!("error: {}: {error}", folder.display()));
            (Line { error: Some(error.to_string()), ..line }, Exit::Failed)
        }
    }
}

/// Writes what the finding's folder has lost. A folder that cannot be written to is no reason not to replay it.
fn restore(kept: &Kept, judged: &Judged) -> Vec<&'static str> {
    finding::restore(kept, judged).unwrap_or_else(|error| {
        complain(&format!("warning: {error}"));
        Vec::new()
    })
}

impl Line {
    fn of(kept: &Kept) -> Self {
        let Document { id, signature, title, .. } = kept.document.clone();
        Self {
            path: kept.folder.display().to_string(),
            id: Some(id),
            signature: Some(signature),
            title: Some(title),
            reproduced: false,
            frequency: None,
            restored: Vec::new(),
            seen: Vec::new(),
            error: None,
        }
    }

    fn unreadable(folder: &Path, error: &ReadError) -> Self {
        complain(&format!("error: {error}"));
        Self {
            path: folder.display().to_string(),
            id: None,
            signature: None,
            title: None,
            reproduced: false,
            frequency: None,
            restored: Vec::new(),
            seen: Vec::new(),
            error: Some(error.to_string()),
        }
    }

    fn text(&self) -> String {
        let verdict = match (self.reproduced, &self.error) {
            (true, _) => "reproduced",
            (false, None) => "not reproduced",
            (false, Some(_)) => "not run",
        };
        // A finding from another user must not write control characters on the terminal.
        let title = self.title.as_deref().unwrap_or_default().escape_debug();
        // One run of one goes without saying.
        let often = self.frequency.filter(|frequency| frequency.runs > 1).map(|often| often.to_string());
        let others =
            (!self.reproduced && !self.seen.is_empty()).then(|| format!("seen: {}", self.seen.join(", ")));
        let restored =
            (!self.restored.is_empty()).then(|| format!("written again: {}", self.restored.join(", ")));
        let more = self.error.clone().into_iter().chain(often).chain(others).chain(restored);
        let more: Vec<String> = more.collect();
        let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join("; ")) };
        format!("{verdict:<15} {}  {title}{more}\n", self.path)
    }
}
