//! `lumina-fuzz run`.

use std::path::PathBuf;

use executor::TestbedError;
use executor::profile::ProfileError;
use scoring::Options;

use super::output::{bad_file, bad_message, complain, complain_notes, print, print_json};
use super::progress::with_spinner;
use super::{Exit, Format, ScopeArg};
use crate::analyze::{Report, json, text};
use crate::run::{self, KeepError, NoProfile, Overrides, Test, TestbedName};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz run test.toml
  lumina-fuzz run lumina.yml --nic reference
  lumina-fuzz run test.toml --responder-nic ./my-nic.toml --seed 7 --out result

The paths of profiles are relative to the current folder here, and to the test's folder in the test's file. \
`analyze` of the folder that --out names comes to the same verdicts.";

/// Arguments of `run`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The test: TOML, or Lumina's YAML.
    #[arg(value_name = "CONFIG")]
    config: PathBuf,
    /// Where to run it.
    #[arg(long, default_value = "sim", value_name = "TESTBED")]
    testbed: TestbedName,
    /// NIC profile of both hosts, by name or path, in place of what the test says.
    #[arg(long, value_name = "NIC", conflicts_with_all = ["requester_nic", "responder_nic"])]
    nic: Option<String>,
    /// NIC profile of the requester.
    #[arg(long, value_name = "NIC")]
    requester_nic: Option<String>,
    /// NIC profile of the responder.
    #[arg(long, value_name = "NIC")]
    responder_nic: Option<String>,
    /// Seed of all that is random, in place of the test's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=corpus::config::fields::SEED.max))]
    seed: Option<u64>,
    /// Keep everything in a new folder: the test as it was run, the NIC profiles, the result folder, verdicts.json.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Which CNPs share one interval.
    #[arg(long, value_enum, default_value_t, value_name = "SCOPE")]
    cnp_scope: ScopeArg,
    /// Packets shown before and after each packet of a remark.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=50))]
    context: u8,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Args {
    fn overrides(&self) -> Overrides {
        let nic = |flag, own: &Option<String>| match (own, &self.nic) {
            (Some(nic), _) => Some((flag, nic.clone())),
            (None, both) => both.clone().map(|nic| ("--nic", nic)),
        };
        Overrides {
            nics: [nic("--requester-nic", &self.requester_nic), nic("--responder-nic", &self.responder_nic)],
            seed: self.seed,
        }
    }
}

pub(super) fn run(args: &Args) -> Exit {
    let loaded = match corpus::load(&args.config) {
        Ok(loaded) => loaded,
        Err(errors) => return bad_file("bad configuration", errors, args.format),
    };
    complain_notes(&loaded);
    let test = match Test::new(&args.config, loaded, &args.overrides(), args.testbed) {
        Ok(test) => test,
        Err(NoProfile { role, profile: ProfileError(errors) }) => {
            complain(&format!("error: the NIC of the {} has no usable profile", role.name()));
            return bad_file("bad NIC profile", errors, args.format);
        }
    };
    if let Some(folder) = &args.out
        && let Err(error) = run::prepare(folder)
    {
        return cannot_keep(&error, args.format);
    }
    let observation = match with_spinner("running the test", || test.run()) {
        Ok(observation) => observation,
        Err(error) => return cannot_run(error, args.format),
    };
    let options = Options { config: Some(&test.config), cnp_scope: args.cnp_scope.into() };
    let report = Report::of(&observation, options, false);
    let document = json::document(test.subject(&observation), &report);
    if let Some(folder) = &args.out
        && let Err(error) = run::keep(&test, &observation, &document, folder)
    {
        return cannot_keep(&error, args.format);
    }
    let printed = match args.format {
        Format::Json => print_json(&document),
        Format::Text => {
            let header = test.header(&observation);
            print(&text::render(header, &observation.trace, &report, usize::from(args.context)))
        }
    };
    match printed {
        Exit::Done if report.integrity.is_invalid() => Exit::InvalidTrace,
        other => other,
    }
}

fn cannot_keep(error: &KeepError, format: Format) -> Exit {
    match error {
        KeepError::NotEmpty(_) => bad_message("bad output folder", error, format),
        KeepError::Io { .. } | KeepError::Folder(_) => {
            complain(&format!("error: {error}"));
            Exit::Failed
        }
    }
}

fn cannot_run(error: TestbedError, format: Format) -> Exit {
    match error {
        TestbedError::Config(_) => bad_message("bad configuration", &error, format),
        TestbedError::Profile(ProfileError(errors)) => bad_file("bad NIC profile", errors, format),
        TestbedError::TooManyPackets { .. } => {
            complain(&format!("error: {error}"));
            Exit::Failed
        }
    }
}
