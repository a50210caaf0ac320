//! `lumina-fuzz whatif`.

use std::path::PathBuf;

use executor::TestbedName;
use serde::Serialize;

use super::nic_args::NicArgs;
use super::numbers::whole;
use super::output::{bad_file, bad_message, complain_notes, print, print_json};
use super::progress::CountBar;
use super::run::{cannot_judge, no_profile};
use super::{Exit, Format};
use crate::run::Overrides;
use crate::whatif::{self, Plan, PlanError, Summary, Vary};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz whatif test.toml --vary network.repeat.naks=1,2 --vary traffic.dummy-headers=0,1,2 --runs 50
  lumina-fuzz whatif test.toml --vary responder.nic=reference,cx5
  lumina-fuzz whatif test.toml --vary traffic.tx-depth=1,4,16 --nic e810 --format json

Every combination of the values runs with the same seeds: what a link loses is drawn for each packet by itself, so that the \
same transmissions of the same packets are lost, and runs differ by the settings alone. Each setting is compared with the \
first one, pair by pair (sign test).

Times are completion times of all messages of all runs; bytes are those on the wire, of the first setting's.";

/// Most settings, and most runs of all.
const MOST_POINTS: usize = 256;
const MOST_RUNS: u64 = 10_000;

/// Arguments of `whatif`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The test: TOML, or Lumina's YAML.
    #[arg(value_name = "TEST")]
    test: PathBuf,
    /// A key of the test, as in its file, and values for it; may be given several times.
    #[arg(long, value_name = "KEY=V1,V2", required = true)]
    vary: Vec<Vary>,
    /// Runs of each setting, with seeds that follow each other.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole(1..=MOST_RUNS))]
    runs: u64,
    /// Testbed: sim, vm, vm-p4 or uml.
    #[arg(long, default_value = "sim", value_name = "TESTBED")]
    testbed: TestbedName,
    #[command(flatten)]
    nics: NicArgs,
    /// First seed, in place of the test's own.
    #[arg(long, value_name = "N", value_parser = whole(0..=corpus::config::fields::SEED.max))]
    seed: Option<u64>,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The settings with their summaries, as JSON.
#[derive(Serialize)]
struct Document<'a> {
    test: String,
    testbed: TestbedName,
    first_seed: u64,
    points: &'a [Summary],
}

pub(super) fn run(args: &Args) -> Exit {
    whatif(args).unwrap_or_else(|exit| exit)
}

fn whatif(args: &Args) -> Result<Exit, Exit> {
    // Not by the grid itself, which has no bound yet.
    let points = args.vary.iter().fold(1_usize, |points, one| points.saturating_mul(one.values.len()));
    if points > MOST_POINTS {
        let message = format!("--vary: there are {points} combinations; give at most {MOST_POINTS}");
        return Err(bad_message("bad request", &message, args.format));
    }
    if let Some(again) = args
        .vary
        .iter()
        .enumerate()
        .find(|(at, one)| args.vary[..*at].iter().any(|other| other.key == one.key))
    {
        let message = format!("--vary: {} is given twice; give all its values once", again.1.key);
        return Err(bad_message("bad request", &message, args.format));
    }
    if let Some(message) = contradiction(args) {
        return Err(bad_message("bad request", &message, args.format));
    }
    let loaded =
        corpus::load(&args.test).map_err(|errors| bad_file("bad configuration", errors, args.format))?;
    complain_notes(&loaded);
    let overrides = Overrides { nics: args.nics.named(), seed: args.seed };
    let plan = Plan::of(&args.test, &loaded.config, &args.vary, args.runs as u32, &overrides, &args.testbed);
    let plan = plan.map_err(|error| match error {
        PlanError::Config(errors) => bad_file("bad setting", errors, args.format),
        PlanError::Profile(error) => no_profile(error, args.format),
    })?;
    let bar = CountBar::new("runs");
    let ran = plan.run(&|done, all| bar.show(done, all));
    bar.finish();
    let outcomes = ran.map_err(|error| cannot_judge(error, args.format))?;
    let summaries = whatif::summarise(&plan, &outcomes);
    Ok(match args.format {
        Format::Text => print(&whatif::text(&plan, &summaries)),
        Format::Json => print_json(&Document {
            test: args.test.display().to_string(),
            testbed: args.testbed.clone(),
            first_seed: plan.points.first().map_or(0, |(_, test)| test.config.traffic.seed),
            points: &summaries,
        }),
    })
}

/// A key that is varied although another option gives its value for all settings.
fn contradiction(args: &Args) -> Option<String> {
    let nics = ["requester.nic", "responder.nic"].into_iter().zip(args.nics.named());
    let mut flags = nics.filter_map(|(key, named)| Some((key, named?.0)));
    let of_nic = |(key, flag): (&str, &str)| {
        args.vary
            .iter()
            .any(|one| one.key == key)
            .then(|| format!("--vary {key} and {flag} both say which NIC it is; give one of them"))
    };
    let seed = args.vary.iter().find(|one| ["traffic.seed", "network.seed"].contains(&one.key.as_str()));
    let of_seed = |one: &Vary| {
        let key = &one.key;
        format!(
            "--vary {key}: all settings run with the same seeds; give the first one with --seed, and --runs"
        )
    };
    flags.find_map(of_nic).or_else(|| seed.map(of_seed))
}
