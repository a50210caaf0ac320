//! `lumina-fuzz replay`.

mod kernels;
mod line;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::nic_args::InsteadArgs;
use super::opened::open;
use super::output::{bad_file, bad_message, complain, complain_notes, print, print_json};
use super::progress::with_spinner;
use super::run::load;
use super::{Exit, Format};
use crate::bundle;
use crate::finding::{self, Instead, Kept, ReadError, ReplayError, Replayed};
use crate::judge::Judged;
use crate::run::{self, CONFIG, Shown};
use kernels::KernelArgs;
use line::Line;

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz replay night                                    every finding of a campaign
  lumina-fuzz replay night/findings/1f0c3d2a9b4e
  lumina-fuzz replay finding.tar.gz                           a bundle, as `export --format bundle` writes it
  lumina-fuzz replay night --nic ./new-firmware.toml          does the firmware fix them?
  lumina-fuzz replay kept                                     the folder of `run --out kept`: the same findings again?
  lumina-fuzz replay test.toml                                what a test shows
  lumina-fuzz replay night --kernel 6.12.107,6.12.117         since which kernel is it there, and until which?
  git bisect run lumina-fuzz replay FINDING --tree . --bisect the commit that brought it

A finding runs on its copies of the NIC profiles, unless --nic names others, and is judged as in its campaign. The output has \
one line for each finding: reproduced or not. A lost report or trace is written again, but not into a bundle. Where runs of a test differ \
(--testbed vm), the test runs five times, and three runs must show the finding.

The folder of `run --out` has a line for each finding in its verdicts.json, and one for each other anomaly that is seen. A \
test of which nothing is expected has a line for each anomaly.

Exit codes: 0 all are reproduced, 1 failed, 2 usage or bad input, 4 at least one is not reproduced. With --kernel or --tree, 0 \
also if some are not. With --bisect, 0 not reproduced, 1 reproduced, 125 cannot be said.";

/// Arguments of `replay`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Findings (their folders, finding.json or bundles), folders of findings, campaigns, folders of `run --out`, or
    /// tests.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    instead: InsteadArgs,
    #[command(flatten)]
    kernels: KernelArgs,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A path, by its kind.
enum Subject<'a> {
    /// The folders of findings, or a bundle.
    Findings(Vec<PathBuf>),
    /// The folder of `run --out`.
    Kept(&'a Path),
    /// A test's file.
    Test(&'a Path),
}

impl<'a> Subject<'a> {
    fn of(path: &'a Path) -> Result<Self, ReadError> {
        if finding::folder_of(path).is_none() && !bundle::is_bundle(path) {
            // A named pipe too: reading it is refused as that of any test is.
            if path.exists() && !path.is_dir() {
                return Ok(Self::Test(path));
            }
            if path.join(CONFIG).is_file() {
                return Ok(Self::Kept(path));
            }
        }
        findings_at(path).map(Self::Findings)
    }
}

/// The findings at a path: their folders, or the bundle.
fn findings_at(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    // Unpacked when it is its turn, so that many bundles take the room of one.
    if bundle::is_bundle(path) { Ok(vec![path.into()]) } else { finding::find(path) }
}

pub(super) fn run(args: &Args) -> Exit {
    match replay(args) {
        Err(_) if args.kernels.is_bisect() => Exit::CannotJudge,
        Ok(exit) | Err(exit) => exit,
    }
}

fn replay(args: &Args) -> Result<Exit, Exit> {
    if args.kernels.are_given() {
        return Ok(kernels::replay(&args.paths, &args.kernels, args.instead.seed(), args.format));
    }
    let instead = args.instead.load(args.format)?;
    let subjects = args.paths.iter().map(|path| Subject::of(path)).collect::<Result<Vec<_>, _>>();
    let subjects = subjects.map_err(|error| bad_message("bad finding", &error, args.format))?;

    let mut said = Said { format: args.format, lines: Vec::new(), exit: Exit::Done };
    for subject in subjects {
        match subject {
            Subject::Findings(folders) => {
                for folder in folders {
                    let (line, exit) =
                        with_spinner("running the finding's test", || of_finding(&folder, &instead));
                    said.add(line, exit)?;
                }
            }
            Subject::Kept(folder) => of_kept(folder, &instead, &mut said)?,
            Subject::Test(file) => of_test(file, args, &mut said)?,
        }
    }
    if args.format == Format::Json {
        let printed = print_json(&serde_json::json!({ "findings": said.lines }));
        if printed != Exit::Done {
            return Ok(printed);
        }
    }
    Ok(if args.kernels.is_bisect() { kernels::bisected(&said.lines) } else { said.exit })
}

/// Output so far.
struct Said {
    format: Format,
    lines: Vec<Line>,
    exit: Exit,
}

impl Said {
    fn add(&mut self, line: Line, exit: Exit) -> Result<(), Exit> {
        if self.format == Format::Text {
            match print(&line.text()) {
                Exit::Done => {}
                cannot => return Err(cannot),
            }
        }
        // Bad input outdoes a finding that is not reproduced: for bad input that is unknown.
        self.exit = match (self.exit, exit) {
            (Exit::Usage, _) | (_, Exit::Usage) => Exit::Usage,
            (Exit::Done, exit) => exit,
            (exit, _) => exit,
        };
        self.lines.push(line);
        Ok(())
    }
}

/// A finding, by its folder or its bundle.
fn of_finding(path: &Path, instead: &Instead) -> (Line, Exit) {
    let opened = match open(path) {
        Ok(opened) => opened,
        Err(error) => return (not_run(path, &error), Exit::Usage),
    };
    let kept = match finding::read(opened.path()) {
        Ok(kept) => kept,
        Err(error) => return (not_run(path, &error), Exit::Usage),
    };
    let line = Line::of_finding(path, &kept);
    let may_restore = instead.is_nothing() && !opened.is_bundle();
    match finding::replay(&kept, instead) {
        Ok(Replayed::Reproduced { frequency, judged }) => {
            let restored = if may_restore { restore(&kept, &judged) } else { Vec::new() };
            (line.reproduced(frequency, restored), Exit::Done)
        }
        Ok(Replayed::NotReproduced { seen, frequency }) => {
            (line.not_reproduced(Some(frequency), seen), Exit::NotReproduced)
        }
        Ok(Replayed::Invalid { reason }) => (line.not_run(reason), Exit::NotReproduced),
        Err(ReplayError::Read(error)) => (not_run(path, &error), Exit::Usage),
        Err(ReplayError::Judge(error)) => {
            complain(&format!("error: {}: {error}", path.display()));
            (line.not_run(error.to_string()), Exit::Failed)
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

/// The folder of `run --out`: the findings of its verdicts, and those that are new.
fn of_kept(folder: &Path, instead: &Instead, said: &mut Said) -> Result<(), Exit> {
    let format = said.format;
    let bad = |message: &dyn Display| bad_message("bad folder", message, format);
    let loaded = corpus::load(folder.join(CONFIG));
    let loaded = loaded.map_err(|errors| bad_file("bad configuration", errors, format))?;
    complain_notes(&loaded);
    let mut config = loaded.config;
    config.traffic.seed = instead.seed.unwrap_or(config.traffic.seed);
    let expected = run::expected(folder).map_err(|error| bad(&error))?;
    let testbeds = run::testbeds_of(folder, &config, instead)
        .map_err(|reason| bad(&format!("{}: {reason}", folder.display())))?;
    let shown = match with_spinner("running the test", || run::again(&testbeds, &config)) {
        Ok(Ok(shown)) => shown,
        Ok(Err(invalid)) => return said.add(not_run(folder, &invalid), Exit::NotReproduced),
        Err(error) => return said.add(not_run(folder, &error), Exit::Failed),
    };
    for (signature, title) in &expected {
        let line = Line::of_signature(folder, signature, title);
        let often = shown.iter().find(|one| one.signature == *signature).map(|one| one.frequency);
        let (line, exit) = match often {
            Some(often) if often.is_confirmed() => (line.reproduced(often, Vec::new()), Exit::Done),
            seldom => (line.not_reproduced(seldom, Vec::new()), Exit::NotReproduced),
        };
        said.add(line, exit)?;
    }
    let others = shown.iter().filter(|one| expected.iter().all(|(signature, _)| *signature != one.signature));
    seen(folder, others, expected.is_empty(), said)
}

/// A test of which nothing is expected.
fn of_test(file: &Path, args: &Args, said: &mut Said) -> Result<(), Exit> {
    let (overrides, testbed) = args.instead.of_test();
    let test = load(file, &overrides, testbed, args.format)?;
    let testbeds = test.testbeds().map_err(|error| bad_message("bad configuration", &error, args.format))?;
    match with_spinner("running the test", || run::again(&testbeds, &test.config)) {
        Ok(Ok(shown)) => seen(file, shown.iter(), true, said),
        Ok(Err(invalid)) => said.add(not_run(file, &invalid), Exit::Failed),
        Err(error) => said.add(not_run(file, &error), Exit::Failed),
    }
}

/// Anomalies that were not expected; a line says so where there are none at all.
fn seen<'a>(
    path: &Path,
    shown: impl Iterator<Item = &'a Shown>,
    or_none: bool,
    said: &mut Said,
) -> Result<(), Exit> {
    let mut lines = shown.map(|one| Line::of_signature(path, &one.signature, &one.title).seen(one.frequency));
    let first = lines.next().or_else(|| or_none.then(|| Line::of(path)));
    first.into_iter().chain(lines).try_for_each(|line| said.add(line, Exit::Done))
}

fn not_run(path: &Path, error: &dyn Display) -> Line {
    let line = Line::of(path).not_run(error.to_string());
    complain(&format!("error: {error}"));
    line
}
