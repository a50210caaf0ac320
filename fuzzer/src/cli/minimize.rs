//! `lumina-fuzz minimize`.

use std::cell::Cell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use corpus::{FindingRecord, Minimized, TestConfig, plural};
use executor::Testbed;
use serde::Serialize;

use super::campaign::hear_ctrl_c;
use super::nic_args::InsteadArgs;
use super::opened::not_opened;
use super::output::{bad_message, complain, fail, print, print_json};
use super::progress::with_status;
use super::{Exit, Format};
use crate::bundle::{self, BundleError};
use crate::campaign::{self, Idle, Stop};
use crate::finding::{
    self, Answers, Course, Kept, MinimiseError, Progress, REPORT, REPRODUCER, Reproduced, Start,
};
use crate::judge::JudgeError;
use crate::policy::Policy;
use crate::repeat::Frequency;

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz minimize night/findings/1f0c3d2a9b4e
  lumina-fuzz minimize finding.tar.gz                 a bundle, as `export --format bundle` writes it

A campaign spends at most 5,000 executions on a finding; `minimize` continues from there, until nothing can be removed. It then \
restarts with other random draws, until 12 restarts in a row find nothing smaller. Of a finding that is minimised already, each search \
starts from the test of its first sighting, if the campaign is there, and else from the reproducer. Ctrl-C ends it at any time. It writes \
the finding's files (or the bundle) again, and records the smaller test in the corpus of its campaign. On other NICs or another testbed it \
minimises a copy of the folder or a bundle: in a campaign all findings are of the campaign's NICs.

Exit codes: 0 done, 1 failed or not reproduced, 2 usage or bad input, 130 interrupted, with the smallest test so far saved.";

/// Arguments of `minimize`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The folder or the bundle of a finding.
    #[arg(value_name = "FINDING")]
    finding: PathBuf,
    #[command(flatten)]
    instead: InsteadArgs,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Result of minimising.
#[derive(Serialize)]
struct Done<'a> {
    path: String,
    signature: &'a str,
    minimized: Minimized,
    executions: u64,
    restarts: u64,
    size: Size,
    reproducer: String,
}

/// Size of a test, for people.
#[derive(Serialize)]
struct Size {
    connections: u32,
    connections_with_events: usize,
    messages: u32,
    message_size: u32,
    events: usize,
}

impl Size {
    fn of(config: &TestConfig) -> Self {
        let traffic = &config.traffic;
        Self {
            connections: traffic.load.connections(),
            connections_with_events: config.connections_with_events(),
            messages: traffic.num_msgs_per_qp,
            message_size: traffic.message_size,
            events: config.events.len(),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({} with events) of {}, {} each; {}",
            plural(self.connections.into(), "connection"),
            self.connections_with_events,
            plural(self.messages.into(), "message"),
            plural(self.message_size.into(), "byte"),
            plural(self.events as u64, "event")
        )
    }
}

pub(super) fn run(args: &Args) -> Exit {
    minimize(args).unwrap_or_else(|exit| exit)
}

fn minimize(args: &Args) -> Result<Exit, Exit> {
    let bad = |error: finding::ReadError| bad_message("bad finding", &error, args.format);
    let failed = |error: &dyn fmt::Display| {
        complain(&format!("error: {error}"));
        Exit::Failed
    };
    let instead = args.instead.load(args.format)?;
    // Ctrl-C saves the smallest test so far, in a bundle too.
    let opened =
        bundle::open(&args.finding).map_err(|error| not_opened(&error, "bad finding", args.format))?;
    let kept = finding::read(opened.path()).map_err(bad)?.with(&instead);
    let mut testbed = kept.testbeds(&instead).map_err(bad)?.testbed();
    let is_its_own = instead.is_nothing();
    let campaign = idle_campaign(args, &kept, is_its_own)?;
    finding::can_be_rewritten(&kept).map_err(|error| failed(&error))?;
    for note in campaign.iter().flat_map(|campaign| &campaign.notes) {
        complain(&format!("note: {note}"));
    }
    let stop = Arc::new(Stop::new());
    let asked =
        || complain(&"stopping: the smallest test so far is saved; Ctrl-C again ends at once, without it");
    hear_ctrl_c(&stop, asked, || ())?;

    let mut record = kept.record();
    let before = record.minimizer_executions;
    let Some(shown) = finding::reproduce(&record, &mut *testbed).map_err(|error| failed(&error))? else {
        return Err(failed(&format!("{}: its test does not show it", args.finding.display())));
    };
    // What is minimised already may have a smaller test elsewhere: one that the search did not come to from where it began.
    let is_small = is_its_own && record.minimized == Minimized::Full;
    let first =
        campaign.as_ref().filter(|_| is_small).map(|campaign| campaign.first_sighting(&record.signature));
    let first = first.transpose().map_err(|error| fail(error, args.format))?.flatten();
    let start = if first.is_some() { Start::FirstSighting } else { Start::Reproducer };
    record.config = first.map_or(record.config, |first| kept.named(first));
    let searched = search(&mut record, start, shown.frequency, &mut *testbed, &stop);
    let Searched { restarts, interrupted } = searched.map_err(|error| failed(&error))?;
    let is_smaller = record.reproducer != kept.reproducer;
    if interrupted && record.minimized == Minimized::Full && (is_smaller || !is_small) {
        record.minimized = Minimized::Partial;
    }
    let judged = finding::reproduce(&record, &mut *testbed).map_err(|error| failed(&error))?;
    let confirmed = judged.filter(|judged| judged.may_be_kept(is_smaller.then_some(shown.frequency)));
    let policy = Policy::on(&*testbed);
    match &confirmed {
        Some(judged) => {
            finding::describe(&mut record, judged);
            if policy.may_show_more() {
                note_what_is_beside(&record, judged);
            }
        }
        None if policy.may_miss() => go_back(&mut record, &kept),
        None => return Err(failed(&"the smallest test does not show the finding twice")),
    }
    let result = match record.minimized {
        _ if confirmed.is_none() => {
            "smaller tests do not show the finding often enough: the test is unchanged"
        }
        _ if interrupted => "interrupted: a smaller test may show the finding too",
        Minimized::Full if is_small && !is_smaller => "no smaller test was found",
        Minimized::Full => "nothing can be removed",
        Minimized::Partial | Minimized::Pending | Minimized::Flaky => {
            "a smaller test may show the finding too"
        }
    };
    if let Some(campaign) = &campaign {
        campaign.replace(&record).map_err(|error| fail(error, args.format))?;
    }
    match confirmed {
        Some(judged) => finding::rewrite(&kept, &record, &judged, &instead),
        None if is_its_own => finding::reached(kept.clone(), &record),
        // The folder's numbers are of other NICs.
        None => Ok(()),
    }
    .map_err(|error| failed(&error))?;

    if opened.is_bundle() {
        bundle_again(opened.path(), args)?;
    }
    let executions = record.minimizer_executions - before;
    let printed = match args.format {
        Format::Json => print_json(&Done {
            path: opened.name_of(&kept.folder).display().to_string(),
            signature: &record.signature,
            minimized: record.minimized,
            executions,
            restarts,
            size: Size::of(&record.reproducer),
            reproducer: opened.name_of(&kept.folder.join(REPRODUCER)).display().to_string(),
        }),
        Format::Text => print(&format!(
            "{}\n{}, {}; {result}\nsmallest test: {}\n{}\n",
            record.title.escape_debug(),
            plural(executions, "execution"),
            plural(restarts, "restart"),
            Size::of(&record.reproducer),
            opened.name_of(&kept.folder.join(REPORT)).display()
        )),
    };
    Ok(if interrupted && printed == Exit::Done { Exit::Interrupted } else { printed })
}

/// The campaign of a finding, if it is in one, which must not run. On other NICs or another testbed a finding is not in its campaign.
fn idle_campaign(args: &Args, kept: &Kept, is_its_own: bool) -> Result<Option<Idle>, Exit> {
    let Some(folder) = campaign_of(kept) else { return Ok(None) };
    if !is_its_own {
        let message = format!(
            "{} is a finding of the campaign {}, on its NICs; copy the folder elsewhere, and minimise the copy",
            args.finding.display(),
            folder.display()
        );
        return Err(bad_message("bad request", &message, args.format));
    }
    // The corpus is opened before the work: while a campaign runs on it, nothing is changed.
    Idle::open(&folder).map(Some).map_err(|error| fail(error, args.format))
}

/// End of the searches.
struct Searched {
    restarts: u64,
    /// Ctrl-C came before their end.
    interrupted: bool,
}

/// Minimises a finding, and says how far that is.
fn search(
    record: &mut FindingRecord,
    start: Start,
    often: Frequency,
    testbed: &mut dyn Testbed,
    stop: &Stop,
) -> Result<Searched, JudgeError> {
    let before = record.minimizer_executions;
    let restarts = Cell::new(0);
    let worked = with_status("minimising", |say| {
        let watch = |progress: Progress<'_>| {
            restarts.set(progress.restarts);
            say(format!(
                "minimising: {}, {}; smallest test: {}",
                plural(progress.executions - before, "execution"),
                plural(progress.restarts, "restart"),
                Size::of(progress.smallest)
            ));
        };
        let is_over = || stop.is_asked();
        // An interrupted one has made the finding's test smaller, and another one goes on from there.
        let course = Course { budget: None, is_over: &is_over, keep: &|_| Ok(()), watch: &watch };
        finding::minimise(record, often, start, testbed, &course, &mut Answers::default())
    });
    let interrupted = match worked {
        Ok(()) => false,
        Err(MinimiseError::Interrupted) => true,
        Err(MinimiseError::Judge(error)) => return Err(error),
    };
    Ok(Searched { restarts: restarts.get(), interrupted })
}

/// Writes the bundle of the finding again, from its unpacked folder.
fn bundle_again(folder: &Path, args: &Args) -> Result<(), Exit> {
    let written = finding::read(folder).map_err(BundleError::from);
    let bundled = written.and_then(|kept| bundle::write(&kept, &args.finding));
    bundled.map_err(|error| not_opened(&error, "bad finding", args.format))
}

/// Goes back to the test that was there, as the smaller one does not show it often enough.
fn go_back(record: &mut FindingRecord, kept: &Kept) {
    record.reproducer.clone_from(&kept.reproducer);
    record.minimized = match kept.document.minimized {
        Minimized::Flaky => Minimized::Flaky,
        Minimized::Full => Minimized::Full,
        Minimized::Partial | Minimized::Pending => Minimized::Partial,
    };
}

/// Prints the other anomalies of the run that the finding's folder keeps: minimising makes no findings of
/// them.
fn note_what_is_beside(record: &FindingRecord, reproduced: &Reproduced) {
    for other in reproduced.judged.signatures() {
        if other != record.signature {
            complain(&format!("note: the kept run shows {other} too"));
        }
    }
}

/// The campaign that a finding is in: `<campaign>/findings/<id>`.
fn campaign_of(kept: &Kept) -> Option<PathBuf> {
    let folder = kept.folder.canonicalize().ok()?;
    let campaign = folder.parent()?.parent()?;
    campaign.join(campaign::SETTINGS).is_file().then(|| campaign.to_owned())
}
