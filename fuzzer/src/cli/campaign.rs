//! `lumina-fuzz campaign`.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::bundle;
use crate::campaign::{
    Campaign, End, Event, Lifted, Limits, Request, Rest, Settings, Status, Stop, Summary, random_seed, report,
};
use crate::finding::{self, FINDINGS};
use crate::strategy::Strategy;
use corpus::FindingRecord;
use executor::TestbedName;

use super::limit::{self, Limit, is_lifted};
use super::nic_args::NicArgs;
use super::numbers::whole;
use super::output::{complain, fail, print, print_json};
use super::progress::CampaignProgress;
use super::{Exit, Format};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz campaign general                                   until Ctrl-C
  lumina-fuzz campaign noisy-neighbor --nic cx4-lx --duration 8h --out night
  lumina-fuzz campaign noisy-neighbor --out night --resume --duration 16h
  lumina-fuzz campaign --out night --resume --duration unlimited
  lumina-fuzz campaign ./my-target.toml --nic ./my-nic.toml --seed 7 --executions 2000 --fail-on-finding

A campaign draws each test from the target's search space or mutates a kept test, runs, judges and scores it, and keeps \
it if it scores above the median. Each anomaly is identified by its signature, minimised to the smallest test that shows \
it, and written to findings/ in the campaign's folder, with a report, the packets and a test for `replay`.

The same target, NICs, strategy and seed give the same findings, whatever --jobs is and however often the campaign is \
interrupted. --resume may raise each limit (--executions, --duration, --max-disk, --max-corpus), lower it, or lift it \
with `unlimited`; a campaign says which limit ended it. Ctrl-C saves and ends; a second Ctrl-C does not wait for running tests, \
and prints what is saved.

Exit codes: 0 done, 1 failed (or the disk is full), 2 usage or bad input, 3 something was found (--fail-on-finding), \
130 interrupted and saved.";

/// Arguments of `campaign`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Target: a name from `targets list`, or a TOML file (with a `/`, or ending in .toml). May be left out
    /// with --resume.
    #[arg(value_name = "TARGET", required_unless_present = "resume")]
    target: Option<String>,
    /// Testbed of the tests: sim, on models of NICs; vm, on Linux guests with rdma_rxe; vm-p4, with bmv2 and the P4 program
    /// between them (docs/p4.md); uml, on guests in virtual time; uml-fast, with fewer interrupts, so that packets are up to
    /// 7 us late: twice the tests, and what they find is looked at on uml [default: sim].
    #[arg(long, value_name = "TESTBED", value_parser = TestbedName::of_campaign)]
    testbed: Option<TestbedName>,
    #[command(flatten)]
    nics: NicArgs,
    /// Seed of the search [default: random, and printed].
    #[arg(long, value_name = "N", value_parser = whole(0..=corpus::config::fields::SEED.max))]
    seed: Option<u64>,
    /// End after so many executions, those before --resume included; `unlimited` lifts the limit of a resumed campaign.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = limit::executions)]
    executions: Option<Limit>,
    /// End after so long (`90s`, `30m`, `8h`, `1h 30m`, `unlimited`), the time before --resume included.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = limit::duration)]
    duration: Option<Limit>,
    /// End at the first finding; with --resume, `--stop-on-first=false` continues such a campaign.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    stop_on_first: Option<bool>,
    /// Strategy that chooses tests: adaptive, genetic, random or annealing (docs/search.md) [default: adaptive].
    #[arg(long, value_name = "STRATEGY")]
    strategy: Option<Strategy>,
    /// Tests that run at a time [default: one for each core; on the VM testbed, one pair of guests for every
    /// two cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// The campaign's folder, new or empty [default: campaign-TARGET-SEED].
    #[arg(long, value_name = "DIR", required_if_eq("resume", "true"))]
    out: Option<PathBuf>,
    /// Continue the campaign in --out exactly where it ended.
    #[arg(long)]
    resume: bool,
    /// Start from the tests in a folder (TOML, or Lumina's YAML), as `corpus export` writes them.
    #[arg(long, value_name = "DIR")]
    initial: Option<PathBuf>,
    /// A known signature, not to be reported as a finding; may be given several times.
    #[arg(long, value_name = "SIGNATURE")]
    ignore: Vec<String>,
    /// End when the campaign's folder reaches this size (`500M`, `20G`, `unlimited`).
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = limit::size)]
    max_disk: Option<Limit>,
    /// Drop half of the kept tests each time that there are so many (`unlimited`: never): those with low scores and
    /// nothing of their own (docs/search.md) [default: 10000].
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = limit::max_corpus)]
    max_corpus: Option<Limit>,
    /// Exit with 3 if something was found.
    #[arg(long)]
    fail_on_finding: bool,
    /// Format of the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Args {
    fn request(&self) -> Request {
        Request {
            target: self.target.clone(),
            nics: self.nics.names(),
            seed: self.seed,
            strategy: self.strategy,
            testbed: self.testbed.clone(),
            limits: Limits {
                executions: self.executions.and_then(Limit::value),
                duration_s: self.duration.and_then(Limit::value),
                stop_on_first: self.stop_on_first,
                max_disk_bytes: self.max_disk.and_then(Limit::value),
                max_corpus: self.max_corpus.and_then(Limit::value),
            },
            lifted: Lifted {
                executions: is_lifted(self.executions),
                duration: is_lifted(self.duration),
                max_disk: is_lifted(self.max_disk),
                max_corpus: is_lifted(self.max_corpus),
            },
            initial: self.initial.clone(),
            ignore: self.ignore.clone(),
            minimizer_budget: None,
        }
    }
}

pub(super) fn run(args: &Args) -> Exit {
    run_campaign(args).unwrap_or_else(|exit| exit)
}

fn run_campaign(args: &Args) -> Result<Exit, Exit> {
    let fails = |error| fail(error, args.format);
    let mut request = args.request();
    let campaign = match (&args.out, args.resume) {
        (Some(out), true) => Campaign::resume(out, &request),
        (Some(out), false) => Campaign::begin(out, &request),
        (None, _) => {
            let seed = request.seed.unwrap_or_else(random_seed);
            request.seed = Some(seed);
            let target = args.target.as_deref().map(Path::new).and_then(Path::file_stem);
            let target = target.unwrap_or_default().to_string_lossy();
            Campaign::begin(Path::new(&format!("campaign-{target}-{seed}")), &request)
        }
    }
    .map_err(fails)?;
    for note in &campaign.notes {
        complain(&format!("note: {note}"));
    }

    let stop = Arc::new(Stop::new());
    let progress = CampaignProgress::new(campaign.settings().limits);
    let so_far = Arc::new(Mutex::new(SoFar { status: None, findings: campaign.findings().map_err(fails)? }));
    let seen = {
        let (so_far, settings) = (Arc::clone(&so_far), campaign.settings().clone());
        let (folder, format) = (campaign.folder().to_owned(), args.format);
        move || {
            let so_far = so_far.lock().unwrap_or_else(PoisonError::into_inner);
            match &so_far.status {
                Some(status) => {
                    conclude(&settings, &folder, &End::Interrupted, status, &so_far.findings, format);
                }
                None => complain(&"no test was recorded yet"),
            }
        }
    };
    let say = progress.sayer();
    let asked = move || {
        say("stopping: running tests end and are saved; Ctrl-C again ends at once, with what is saved");
    };
    hear_ctrl_c(&stop, asked, seen)?;
    let jobs = args.jobs.map_or_else(|| default_jobs(&campaign.settings().testbed), usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().map_err(|error| {
        complain(&format!("error: cannot start the jobs: {error}"));
        Exit::Failed
    })?;
    complain(&report::header(campaign.settings(), campaign.folder()));
    let watch = |event: Event<'_>| {
        so_far.lock().unwrap_or_else(PoisonError::into_inner).note(&event);
        progress.show(&event);
    };
    let ran = pool.install(|| campaign.run(&stop, &watch));
    progress.finish();
    let (end, status) = ran.map_err(fails)?;
    let findings = campaign.findings().map_err(fails)?;
    let printed = conclude(campaign.settings(), campaign.folder(), &end, &status, &findings, args.format);
    let folder = campaign.folder().to_owned();
    // Its corpus is closed then, and can be read.
    drop(campaign);
    let reported = if end.leaves_page() { super::report::write_campaign(&folder) } else { Ok(()) };
    Ok(match (printed, &end) {
        (Exit::Done, End::Interrupted) => {
            complain(&format!("{end}"));
            Exit::Interrupted
        }
        (Exit::Done, end) if !end.is_done() => {
            complain(&format!("error: {end}"));
            Exit::Failed
        }
        (Exit::Done, _) if args.fail_on_finding && findings.iter().any(finding::is_reproduced) => Exit::Found,
        (Exit::Done, _) => reported.err().unwrap_or(Exit::Done),
        (printed, _) => printed,
    })
}

/// Status and findings of a campaign that runs.
struct SoFar {
    status: Option<Status>,
    findings: Vec<FindingRecord>,
}

impl SoFar {
    fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::Status(status) => self.status = Some((*status).clone()),
            Event::Found(finding) | Event::Minimised(finding) | Event::Flaky(finding) => {
                self.findings.retain(|known| known.id != finding.id);
                self.findings.push((*finding).clone());
            }
            Event::Note(_) => {}
        }
    }
}

/// Prints the result of a campaign.
fn conclude(
    settings: &Settings,
    folder: &Path,
    end: &End,
    status: &Status,
    findings: &[FindingRecord],
    format: Format,
) -> Exit {
    match format {
        Format::Json => {
            let Status { progress, corpus_size, code, .. } = status;
            let rest = Rest { ended: Some(end.name().into()), coverage: code.clone() };
            print_json(&Summary::new(settings, *progress, *corpus_size, findings, rest))
        }
        Format::Text => {
            let measured = |record: &FindingRecord| {
                let folder = folder.join(FINDINGS).join(&record.id);
                // One whose folder is gone or damaged is listed without its numbers.
                finding::read(&folder).map(|kept| kept.document.measured).unwrap_or_default()
            };
            let findings: Vec<_> = findings.iter().map(|record| (record.clone(), measured(record))).collect();
            print(&report::text(settings, folder, end, status, &findings))
        }
    }
}

/// As many tests at a time as the machine has cores for.
pub(super) fn default_jobs(testbed: &TestbedName) -> usize {
    // A machine that does not say how many cores it has has one.
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let jobs = (cores / testbed.cores_per_test()).max(1);
    testbed.most_jobs().map_or(jobs, |most| jobs.min(most))
}

/// The first Ctrl-C (or a request to terminate) lets the running tests end; the second one ends the program. Either is
/// answered at once. Recorded executions are safe either way.
pub(super) fn hear_ctrl_c(
    stop: &Arc<Stop>,
    answer: impl Fn() + Send + 'static,
    last: impl Fn() + Send + 'static,
) -> Result<(), Exit> {
    let stop = Arc::clone(stop);
    ctrlc::set_handler(move || {
        if stop.is_asked() {
            last();
            bundle::remove_unpacked();
            std::process::exit(i32::from(Exit::Interrupted as u8));
        }
        stop.ask();
        answer();
    })
    .map_err(|error| {
        complain(&format!("error: cannot listen to Ctrl-C: {error}"));
        Exit::Failed
    })
}
