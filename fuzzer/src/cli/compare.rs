//! `lumina-fuzz compare`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use executor::TestbedName;
use serde::Serialize;

use super::campaign::{default_jobs, hear_ctrl_c};
use super::numbers::whole;
use super::output::{bad_message, complain, fail, print, print_json};
use super::progress::CountBar;
use super::{Exit, Format};
use crate::campaign::Stop;
use crate::compare::{self, Evaluation, Plan, Until};
use crate::signature;
use crate::strategy::Strategy;

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz compare general --strategies adaptive,random --nic cx4-lx --seeds 10
  lumina-fuzz compare noisy-neighbor --strategies adaptive,genetic --nic ./a.toml --nic ./b.toml --jobs 2 --out compared
  lumina-fuzz compare cnp --strategies genetic,random --nic e810 --find cnp-generation --find counter-mismatch

Each strategy runs on each NIC with each seed until it has found the anomaly, or has made all its executions: such a run is \
censored. The first strategy is compared with each of the others: ratio of the restricted mean executions, log-rank test of \
the survival curves with Holm's correction, and A12, the probability that a run of the first one is earlier, with its 95 % \
interval (docs/search.md).

The folder, new or empty at first, keeps the runs (runs.jsonl): the same command of the same build of the program runs only what \
is missing, so that it may be interrupted, and given more seeds, strategies or NICs. Survival curves are drawn into curves.svg.

Exit codes: 0 done, 1 failed, 2 usage or bad input, 130 interrupted and saved.";

/// Arguments of `compare`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Target: a name from `targets list`, or a TOML file.
    target: String,
    /// Strategies, the one in question first: genetic, random, annealing, adaptive; `adaptive-PART` leaves a part of it out.
    #[arg(long, value_name = "A,B", value_delimiter = ',', required = true)]
    strategies: Vec<Strategy>,
    /// NIC of both hosts, by name or path; may be given several times.
    #[arg(long, value_name = "NIC", required = true)]
    nic: Vec<String>,
    /// Seeds of each strategy on each NIC.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole(1..=10_000))]
    seeds: u64,
    /// The first of these seeds.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=u64::from(u32::MAX)))]
    first_seed: u64,
    /// Most executions of a run.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = whole(1..=u64::MAX))]
    executions: u64,
    /// Count this anomaly (the beginning of a signature), and end a run when all that are counted are found; may be given
    /// several times [default: any finding].
    #[arg(long, value_name = "SIGNATURE", conflicts_with = "each")]
    find: Vec<String>,
    /// Count each signature that any run finds; every run makes all its executions.
    #[arg(long)]
    each: bool,
    /// Testbed of the tests: sim, vm, vm-p4, uml, uml-fast, or the path of a file that names real NICs.
    #[arg(long, value_name = "TESTBED", default_value = "sim", value_parser = TestbedName::of_campaign)]
    testbed: TestbedName,
    /// Runs at a time [default: as for `campaign`].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Folder of the runs, new or empty at first [default: compare-TARGET].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Format of the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A comparison, as JSON.
#[derive(Serialize)]
struct Document<'a> {
    interrupted: bool,
    #[serde(flatten)]
    evaluation: &'a Evaluation,
}

/// Name of the file of the survival curves.
const CURVES: &str = "curves.svg";

pub(super) fn run(args: &Args) -> Exit {
    compare(args).unwrap_or_else(|exit| exit)
}

impl Args {
    fn plan(&self) -> Plan {
        let until = match (self.each, self.find.is_empty()) {
            (true, _) => Until::Each,
            (false, true) => Until::First,
            (false, false) => Until::All(self.find.clone()),
        };
        let target = Path::new(&self.target).file_stem().unwrap_or_default().to_string_lossy();
        Plan {
            target: self.target.clone(),
            testbed: self.testbed.clone(),
            nics: self.nic.clone(),
            strategies: self.strategies.clone(),
            seeds: self.first_seed..self.first_seed + self.seeds,
            executions: self.executions,
            until,
            jobs: self.jobs.map_or_else(|| default_jobs(&self.testbed), usize::from),
            folder: self.out.clone().unwrap_or_else(|| format!("compare-{target}").into()),
        }
    }

    /// Refuses what is listed twice, and signatures that no finding has or two rows would count.
    fn check(&self) -> Result<(), Exit> {
        let twice = |what: &str, listed: Vec<String>| {
            let again = listed.iter().enumerate().find(|(at, one)| listed[..*at].contains(one));
            match again {
                Some((_, one)) => Err(bad_message(
                    "bad request",
                    &format!("--{what}: {one} is listed twice; list each once"),
                    self.format,
                )),
                None => Ok(()),
            }
        };
        twice("strategies", self.strategies.iter().map(ToString::to_string).collect())?;
        twice("nic", self.nic.clone())?;
        twice("find", self.find.clone())?;
        self.check_find().map_err(|message| bad_message("bad request", &message, self.format))
    }

    fn check_find(&self) -> Result<(), String> {
        for one in &self.find {
            signature::check_beginning(one).map_err(|error| format!("--find {one}: {error}"))?;
            if let Some(longer) = self.find.iter().find(|other| *other != one && other.starts_with(one)) {
                return Err(format!(
                    "--find: {longer} begins with {one}, so that its findings would count in both rows; list one of the two"
                ));
            }
        }
        Ok(())
    }
}

fn compare(args: &Args) -> Result<Exit, Exit> {
    args.check()?;
    let plan = args.plan();
    let stop = Arc::new(Stop::new());
    let asked = || complain(&"stopping: running tests end; Ctrl-C again ends at once");
    hear_ctrl_c(&stop, asked, || ())?;
    let bar = CountBar::new("runs");
    let ran = compare::run(&plan, &stop, &|done, all, _| bar.show(done, all));
    bar.finish();
    let runs = ran.map_err(|error| fail(error, args.format))?;
    let evaluation = compare::evaluate(&plan, &runs);
    let interrupted = stop.is_asked();
    let printed = match args.format {
        Format::Json => print_json(&Document { interrupted, evaluation: &evaluation }),
        Format::Text => print(&compare::text(&evaluation)),
    };
    let drawn = compare::svg(&evaluation)
        .and_then(|drawn| std::fs::write(plan.folder.join(CURVES), drawn).map_err(|error| error.to_string()));
    if let Err(error) = drawn {
        complain(&format!("error: {}: cannot be drawn: {error}", plan.folder.join(CURVES).display()));
        return Err(Exit::Failed);
    }
    if printed == Exit::Done && interrupted {
        complain(&"interrupted; the same command runs what is missing");
        return Ok(Exit::Interrupted);
    }
    Ok(printed)
}
