//! `lumina-fuzz corpus`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use corpus::store::{Archive, Condition, StoreError};
use serde::Serialize;

use super::output::{bad_message, complain, print, print_json};
use super::{Exit, Format};
use crate::entries::{self, Entry, ExportError, Exported, Order};
use crate::run;

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz corpus check c1
  lumina-fuzz corpus list c1 --limit 20
  lumina-fuzz corpus show c1 1042
  lumina-fuzz corpus export c1 --out tests
  lumina-fuzz corpus import c2/corpus --from c1/corpus/db.damaged-1

DIR is a campaign's folder, the corpus in it, or a damaged database that was set aside. The commands read whatever \
is readable and change nothing. Of a corpus that a running campaign has open they read a copy, as it is at one moment.";

/// Arguments of `corpus`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t, global = true)]
    format: Format,
}

#[derive(Subcommand)]
enum Action {
    /// Check that the corpus is whole, and print its readable contents. Exit code 1 if something is lost or
    /// was changed.
    Check {
        /// The campaign or corpus.
        dir: PathBuf,
    },
    /// One line for each kept test.
    List {
        /// The campaign or corpus.
        dir: PathBuf,
        /// Order: the highest score first, or the lowest number.
        #[arg(long, value_enum, default_value_t)]
        sort: Sort,
        /// No more than N lines.
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// A kept test: its objectives, its ancestors, and the test as TOML.
    Show {
        /// The campaign or corpus.
        dir: PathBuf,
        /// Number of the execution.
        number: u64,
    },
    /// Every kept test as a TOML file, for `run` and `campaign --initial`.
    Export {
        /// The campaign or corpus.
        dir: PathBuf,
        /// A new folder to write to.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
    },
    /// Make a new corpus of the readable part of another one.
    Import {
        /// A new folder to write to.
        dir: PathBuf,
        /// The campaign or corpus to read.
        #[arg(long, value_name = "DIR")]
        from: PathBuf,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
enum Sort {
    #[default]
    Score,
    Number,
}

impl From<Sort> for Order {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Score => Self::Score,
            Sort::Number => Self::Number,
        }
    }
}

pub(super) fn run(args: &Args) -> Exit {
    let format = args.format;
    let done = match &args.action {
        Action::Check { dir } => check(dir, format),
        Action::List { dir, sort, limit } => list(dir, (*sort).into(), limit.unwrap_or(usize::MAX), format),
        Action::Show { dir, number } => show(dir, *number, format),
        Action::Export { dir, out } => return export(dir, out, format),
        Action::Import { dir, from } => import(dir, from, format),
    };
    done.unwrap_or_else(|error| failed(&error, format))
}

fn failed(error: &StoreError, format: Format) -> Exit {
    match error {
        StoreError::Missing { .. } | StoreError::NotEmpty { .. } | StoreError::Schema { .. } => {
            bad_message("bad corpus", error, format)
        }
        other => {
            bad_message("cannot read or write the corpus", other, format);
            Exit::Failed
        }
    }
}

/// Readable part of a corpus, as JSON. The counts of lost records are 0 in a corpus that is whole.
#[derive(Serialize)]
struct Checked {
    path: PathBuf,
    whole: bool,
    /// Condition of its files when they were opened: `closed`, `interrupted`, `running` or `changed`.
    condition: &'static str,
    executions: u64,
    reference_executions: u64,
    minimizer_executions: u64,
    invalid: u64,
    /// Recorded, and not yet decided whether to keep.
    undecided: usize,
    kept: usize,
    findings: usize,
    references: u64,
    lost: LostDocument,
}

#[derive(Serialize)]
struct LostDocument {
    kept: u64,
    findings: u64,
    references: u64,
    /// The newest changes.
    state: bool,
}

impl Checked {
    fn of(path: &Path, archive: &Archive) -> Result<Self, StoreError> {
        let (progress, lost) = (archive.progress(), archive.lost());
        Ok(Self {
            path: path.to_owned(),
            whole: archive.is_whole(),
            condition: match archive.condition() {
                Condition::Closed => "closed",
                Condition::Interrupted => "interrupted",
                Condition::Running => "running",
                Condition::Changed => "changed",
            },
            executions: progress.executions,
            reference_executions: progress.reference_executions,
            minimizer_executions: progress.minimizer_executions,
            invalid: progress.invalid,
            undecided: archive.undecided().count(),
            kept: archive.kept().len(),
            findings: archive.findings()?.len(),
            references: archive.references(),
            lost: LostDocument {
                kept: lost.kept,
                findings: lost.findings,
                references: lost.references,
                state: lost.state > 0,
            },
        })
    }

    fn describe(&self) -> String {
        let path = self.path.display();
        let mut text = match (self.whole, self.condition) {
            (true, "interrupted") => format!("{path}: whole; its process ended without closing it\n"),
            (true, "running") => format!("{path}: whole; a campaign has it open\n"),
            (true, _) => format!("{path}: whole\n"),
            (false, _) => format!("{path}: damaged\n"),
        };
        let lost = &self.lost;
        let of = |lost: u64, here: u64| {
            if lost == 0 { here.to_string() } else { format!("{here} of {}, {lost} lost", here + lost) }
        };
        let lines = [
            ("executions", format!("{} ({} invalid)", self.executions, self.invalid)),
            ("not decided yet", self.undecided.to_string()),
            ("tests kept", of(lost.kept, self.kept as u64)),
            ("findings", of(lost.findings, self.findings as u64)),
            ("references", of(lost.references, self.references)),
        ];
        for (name, value) in lines {
            let _ = writeln!(text, "  {name:<16} {value}");
        }
        if lost.state {
            text.push_str("  the last changes are lost; numbers are those of an earlier moment\n");
        }
        if !self.whole {
            text.push_str(
                "`campaign --resume` continues with the readable records, and sets the damaged files aside; \
                 `corpus export` and `corpus import` save it elsewhere\n",
            );
        }
        text
    }
}

fn check(dir: &Path, format: Format) -> Result<Exit, StoreError> {
    let checked = Checked::of(dir, &Archive::read(dir)?)?;
    let printed = match format {
        Format::Json => print_json(&checked),
        Format::Text => print(&checked.describe()),
    };
    Ok(if printed == Exit::Done && !checked.whole { Exit::Failed } else { printed })
}

/// Reads a corpus, and says if it is damaged.
fn read(dir: &Path) -> Result<Archive, StoreError> {
    let archive = Archive::read(dir)?;
    if !archive.is_whole() {
        complain(&format!("note: {}: is damaged; `corpus check` says what is lost", dir.display()));
    }
    Ok(archive)
}

fn list(dir: &Path, order: Order, limit: usize, format: Format) -> Result<Exit, StoreError> {
    let entries = entries::list(&read(dir)?, order, limit)?;
    Ok(match format {
        Format::Json => print_json(&entries),
        Format::Text => {
            let mut text =
                String::from("  number     score    parent  best objective             operators\n");
            for entry in &entries {
                text += &line(entry);
            }
            print(&text)
        }
    })
}

fn line(entry: &Entry) -> String {
    let score = entry.score.map_or_else(String::new, |score| format!("{score:.6}"));
    let parent = entry.parent.map_or_else(|| "-".to_owned(), |parent| parent.to_string());
    let best = entry.best().map_or_else(|| "-".to_owned(), |(name, value)| format!("{name} {value:.3}"));
    let operators = entry.operators.join(", ");
    format!("{:>8}  {score:>8}  {parent:>8}  {best:<25}  {operators}\n", entry.number)
}

/// An entry with all that is known of it, as JSON.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    entry: Entry,
    /// Its ancestors, the nearest first, as far as they were kept.
    ancestors: Vec<Entry>,
    /// The test, as TOML.
    test: String,
}

fn show(dir: &Path, number: u64, format: Format) -> Result<Exit, StoreError> {
    let archive = read(dir)?;
    let Some((entry, test)) = Entry::read(&archive, number)? else {
        let message = format!(
            "{}: the test of execution {number} was not kept; `corpus list` names those that were",
            dir.display()
        );
        return Ok(bad_message("no such test", &message, format));
    };
    let ancestors = entries::ancestors(&archive, &entry)?;
    let shown = Shown { entry, ancestors, test };
    Ok(match format {
        Format::Json => print_json(&shown),
        Format::Text => print(&describe(&shown)),
    })
}

fn describe(Shown { entry, ancestors, test }: &Shown) -> String {
    let score = match entry.score {
        Some(score) => format!("kept with score {score:.6}"),
        None => "not decided yet".to_owned(),
    };
    let mut text = format!("# Execution {}, {score}\n# {}\n", entry.number, entry.origin().escape_debug());
    for (name, value) in &entry.objectives {
        let _ = writeln!(text, "#   {:<24} {value:.6}", name.escape_debug().to_string());
    }
    if let Some([requester, responder]) = entry.blocks {
        let _ = writeln!(
            text,
            "# ran {requester} blocks of the requester's rdma_rxe, {responder} of the responder's"
        );
    }
    if let Some(reason) = &entry.invalid {
        let _ = writeln!(text, "# invalid: {}", reason.escape_debug());
    }
    for signature in &entry.signatures {
        let _ = writeln!(text, "# showed {}", signature.escape_debug());
    }
    for ancestor in ancestors {
        let _ = writeln!(text, "# execution {}: {}", ancestor.number, ancestor.origin().escape_debug());
    }
    if let Some(parent) = ancestors.last().unwrap_or(entry).parent {
        let _ = writeln!(text, "# execution {parent}: its test was not kept");
    }
    let _ = write!(text, "\n{test}");
    text
}

/// Result of an export, as JSON.
#[derive(Serialize)]
struct Export<'a> {
    out: &'a Path,
    tests: Vec<Exported>,
}

fn export(dir: &Path, out: &Path, format: Format) -> Exit {
    let archive = match read(dir) {
        Ok(archive) => archive,
        Err(error) => return failed(&error, format),
    };
    if let Err(error) = run::prepare(out) {
        return bad_message("bad output folder", &error, format);
    }
    match entries::export(&archive, out) {
        Ok(tests) => match format {
            Format::Json => print_json(&Export { out, tests }),
            Format::Text => print(&format!("{}: {} tests\n", out.display(), tests.len())),
        },
        Err(ExportError::Store(error)) => failed(&error, format),
        Err(error @ ExportError::Io { .. }) => {
            bad_message("cannot export", &error, format);
            Exit::Failed
        }
    }
}

fn import(dir: &Path, from: &Path, format: Format) -> Result<Exit, StoreError> {
    let archive = read(from)?;
    archive.restore(dir)?;
    drop(archive);
    check(dir, format)
}
