//! `lumina-fuzz paper`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::output::{complain, print, print_json};
use super::progress::CountBar;
use super::{Exit, Format};
use crate::paper::{self, EXPERIMENTS, HARDWARE_NAME, Row, Verdict, plot};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz paper
  lumina-fuzz paper cnp ets --format json
  lumina-fuzz paper corruption-theory
  lumina-fuzz paper --plot figures

Verdicts: ok (within 15 % of the paper, in its range, or the same count), off (anything else), open (the paper has no \
number), hardware (measured on a switch and dumpers, not simulated). Exit code 1 if anything is off.

Basis, which says what agreement is worth: derived (no number of the row went into the model), calibrated (one set a \
parameter), formula (theory, without a run), shape (a direction is compared, and no number), assumed (the paper has no number).";

/// Arguments of `paper`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The experiments to run; all of them if none is named.
    #[arg(value_name = "EXPERIMENT", value_parser = names())]
    experiments: Vec<String>,
    /// Draw the paper's figures from our runs into a folder, as SVG.
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn names() -> clap::builder::PossibleValuesParser {
    let all = EXPERIMENTS.iter().map(|experiment| experiment.name);
    clap::builder::PossibleValuesParser::new(all.chain([HARDWARE_NAME]))
}

#[derive(Serialize)]
struct Document<'a> {
    rows: &'a [Row],
    ok: usize,
    off: usize,
    open: usize,
    hardware: usize,
    /// Rows that agree, by basis.
    agree: BTreeMap<&'static str, usize>,
    figures: Vec<String>,
}

pub(super) fn run(args: &Args) -> Exit {
    let names: Vec<&str> = args.experiments.iter().map(String::as_str).collect();
    let figures = if args.plot.is_some() { plot::FIGURES } else { &[] };
    let bar = CountBar::new("running the paper's tests");
    let ran = paper::run(&names, figures, &|done, all| bar.show(done, all));
    bar.finish();
    let (rows, lab) = match ran {
        Ok(ran) => ran,
        Err(error) => {
            complain(&format!("error: {error}"));
            return Exit::Failed;
        }
    };
    if let Some(folder) = &args.plot
        && let Err(error) = plot::write(figures, &lab, folder)
    {
        complain(&format!("error: {error}"));
        return Exit::Failed;
    }
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let printed = match args.format {
        Format::Text => print(&paper::table(&rows)),
        Format::Json => print_json(&Document {
            rows: &rows,
            ok: count(Verdict::Ok),
            off: count(Verdict::Off),
            open: count(Verdict::Open),
            hardware: count(Verdict::Hardware),
            agree: paper::agreeing(&rows).into_iter().map(|(basis, count)| (basis.name(), count)).collect(),
            figures: figures.iter().map(|figure| figure.file.to_owned()).collect(),
        }),
    };
    if printed == Exit::Done && count(Verdict::Off) > 0 { Exit::Failed } else { printed }
}
