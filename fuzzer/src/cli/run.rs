//! `lumina-fuzz run`.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use corpus::Loaded;
use corpus::lumina::Lab;
use executor::profile::ProfileError;
use executor::{TestbedError, TestbedName};

use super::nic_args::NicArgs;
use super::numbers::whole;
use super::output::{bad_file, bad_message, complain, complain_notes, print, print_json};
use super::progress::with_spinner;
use super::{Exit, Format};
use crate::analyze::{Report, json, text};
use crate::judge::{Invalid, JudgeError, Verdict};
use crate::run::{self, Checked, KeepError, NoProfile, Overrides, PacketScript, Test};

/// Reason why oracles that need a reference run do not judge.
const NO_REFERENCES: &str = "--no-references";

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz run test.toml
  lumina-fuzz run lumina.yml --nic reference
  lumina-fuzz run test.toml --responder-nic ./my-nic.toml --seed 7 --out result
  lumina-fuzz run test.toml --record seen.rds
  lumina-fuzz run seen.rds --nic ./my-nic.toml

The paths of profiles are relative to the current folder here, and to the test's folder in the test's file. \
`analyze` of the folder of --out gives the same verdicts.

A test is judged as a campaign judges it: where something looks suspicious, the same test runs without its events, \
without ETS, or with one NIC at both hosts, and is compared. The output lists what was not judged, with the reason.

A packet script (.rds) is run and compared with the trace: `holds` and exit code 0, or every difference and exit code 1. \
The analyzers' report follows if there is a difference or an anomaly.";

/// Bytes of a frame that may be kept: 128 hold all headers there are, and no Ethernet frame is longer than 65535.
const SNAP_LENS: RangeInclusive<i64> = 128..=65_535;

/// Arguments of `run`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The test: TOML, Lumina's YAML, or a packet script (.rds).
    #[arg(value_name = "TEST")]
    test: PathBuf,
    /// Testbed: sim, vm, vm-p4, uml, or the path of a file that names real NICs (docs/physical.md).
    #[arg(long, default_value = "sim", value_name = "TESTBED")]
    testbed: TestbedName,
    #[command(flatten)]
    nics: NicArgs,
    /// Seed of the test, in place of its own.
    #[arg(long, value_name = "N", value_parser = whole(0..=corpus::config::fields::SEED.max))]
    seed: Option<u64>,
    /// Keep everything in a new folder: the test as it was run, the NIC profiles, the result folder, verdicts.json.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Keep only the first N bytes of each frame in the capture of --out; whole frames if absent, 128 in the
    /// published tool. Wireshark calls truncated frames malformed.
    #[arg(long, value_name = "N", requires = "out", value_parser = clap::value_parser!(u32).range(SNAP_LENS))]
    snap_len: Option<u32>,
    /// Make no reference runs. What is anomalous only beside one (noisy neighbours, discards between different NICs,
    /// bandwidth that is withheld) is then not judged, which is said.
    #[arg(long)]
    no_references: bool,
    /// Write the observation as a new packet script (.rds), which this run fits.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Packets shown before and after each packet of the evidence.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=50))]
    context: u8,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Args {
    fn overrides(&self) -> Overrides {
        Overrides { nics: self.nics.named(), seed: self.seed }
    }
}

pub(super) fn run(args: &Args) -> Exit {
    run_test(args).unwrap_or_else(|exit| exit)
}

fn run_test(args: &Args) -> Result<Exit, Exit> {
    let test = load(&args.test, &args.overrides(), args.testbed.clone(), args.format)?;
    // The folder last, as it is made.
    let prepared = args.record.as_deref().map_or(Ok(()), run::prepare_script);
    let prepared = prepared.and_then(|()| args.out.as_deref().map_or(Ok(()), run::prepare));
    prepared.map_err(|error| cannot_keep(&error, args.format))?;

    let without_references = args.no_references.then_some(NO_REFERENCES);
    let verdict = with_spinner("running the test", || test.judge(without_references))
        .map_err(|error| cannot_judge(error, args.format))?;
    let Some((observation, report)) = verdict.observation().zip(Report::of(Some(&test.config), &verdict))
    else {
        return Err(invalid(verdict, args.format));
    };
    let checked = test.check(observation, &report);
    let digest = observation.trace.digest();
    let document = json::document(test.subject(observation, digest, checked.as_ref()), &report);

    let kept = args
        .out
        .as_deref()
        .map_or(Ok(()), |folder| run::keep(&test, observation, &document, args.snap_len, folder));
    let kept = kept.and_then(|()| {
        args.record.as_deref().map_or(Ok(()), |path| run::write_script(&test, observation, &report, path))
    });
    kept.map_err(|error| cannot_keep(&error, args.format))?;

    let printed = match args.format {
        Format::Json => print_json(&document),
        Format::Text => {
            let verdict = checked.as_ref().map(|checked| format!("{checked}")).unwrap_or_default();
            if checked.as_ref().is_some_and(Checked::says_all) {
                print(&verdict)
            } else {
                let gap = if verdict.is_empty() { "" } else { "\n" };
                let header = format!("{verdict}{gap}{}", test.header(observation, digest));
                print(&text::render(header, &report, usize::from(args.context)))
            }
        }
    };
    Ok(match printed {
        Exit::Done if report.integrity.is_invalid() => Exit::InvalidTrace,
        Exit::Done if checked.is_some_and(|checked| !checked.holds()) => Exit::Failed,
        other => other,
    })
}

/// Loads a test with all files that it names; prints the error of one that cannot be loaded, and what a run does not need of a
/// Lumina file.
pub(super) fn load(
    file: &Path,
    overrides: &Overrides,
    testbed: TestbedName,
    format: Format,
) -> Result<Test, Exit> {
    load_with(file, overrides, testbed, format, complain_notes)
}

/// The same, where notes on a Lumina file go elsewhere.
pub(super) fn load_with(
    file: &Path,
    overrides: &Overrides,
    testbed: TestbedName,
    format: Format,
    note: impl FnOnce(&Loaded),
) -> Result<Test, Exit> {
    let described = if run::is_script(file) {
        let (script, config) =
            PacketScript::load(file).map_err(|errors| bad_file("bad packet script", errors, format))?;
        (config, Some(script), Lab::default())
    } else {
        let loaded = corpus::load(file).map_err(|errors| bad_file("bad configuration", errors, format))?;
        note(&loaded);
        (loaded.config, None, loaded.lab)
    };
    Test::new(file, described, overrides, testbed).map_err(|error| no_profile(error, format))
}

/// A host of a test has no NIC.
pub(super) fn no_profile(
    NoProfile { role, profile: ProfileError(errors) }: NoProfile,
    format: Format,
) -> Exit {
    complain(&format!("error: the NIC of the {} has no usable profile", role.name()));
    bad_file("bad NIC profile", errors, format)
}

fn cannot_keep(error: &KeepError, format: Format) -> Exit {
    match error {
        KeepError::NotEmpty(_) => bad_message("bad output folder", error, format),
        KeepError::Exists(_) | KeepError::NotScript(_) => bad_message("bad output file", error, format),
        KeepError::Io { .. } | KeepError::Folder(_) => {
            complain(&format!("error: {error}"));
            Exit::Failed
        }
    }
}

pub(super) fn cannot_judge(error: JudgeError, format: Format) -> Exit {
    match error {
        JudgeError::Testbed(error) => cannot_run(error, format),
        JudgeError::Store(error) => {
            complain(&format!("error: {error}"));
            Exit::Failed
        }
    }
}

/// A test that left nothing to judge.
fn invalid(verdict: Verdict, format: Format) -> Exit {
    match verdict {
        Verdict::Invalid(Invalid::NotRun(error)) => cannot_run(error, format),
        Verdict::Invalid(invalid) => {
            complain(&format!("error: {invalid}"));
            Exit::Failed
        }
        Verdict::Judged(_) => unreachable!("a verdict has a report"),
    }
}

fn cannot_run(error: TestbedError, format: Format) -> Exit {
    match error {
        TestbedError::Config(_) => bad_message("bad configuration", &error, format),
        TestbedError::Profile(ProfileError(errors)) => bad_file("bad NIC profile", errors, format),
        TestbedError::TooManyPackets { .. }
        | TestbedError::Stopped { .. }
        | TestbedError::Target(_)
        | TestbedError::TimedOut { .. }
        | TestbedError::Broken(_) => {
            complain(&format!("error: {error}"));
            Exit::Failed
        }
    }
}
