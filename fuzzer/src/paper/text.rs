//! The table, for people: on a terminal, and in Markdown.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::{EXPERIMENTS, HARDWARE_NAME, Row, Verdict, agreeing};

/// Note beneath every table.
const MODELS: &str = "Simulated NICs are models of these published measurements, not claims about a vendor's hardware. \
                      \"Lumina\" is the paper as published (SIGCOMM'23), \"Lumina (preprint)\" as submitted; where they \
                      differ, the former counts; \"Gao\" is Gao et al. (JCST 2022), \"LEFT\" Huang et al. (APNET'24), \"ScalaCN\" Liu et al. (NSDI'25). \"derived\" values come from mechanisms; of \"calibrated\" ones a number set a \
                      parameter; \"formula\" is theory; \"shape\" compares a direction.";

/// Characters that a column takes at most, before its cells go on in the next line. With the gaps that is a line of
/// 112.
const WIDEST: [usize; 7] = [28, 10, 21, 16, 5, 10, 8];

/// The table, experiment by experiment.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for experiment in names(rows) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{experiment}: {}", title(experiment));
        let headers = HEADERS.map(|header| vec![header.into()]);
        let mut lines = vec![headers];
        lines.extend(rows.iter().filter(|row| row.experiment == experiment).map(|row| {
            // A text in parentheses stays together.
            let cells = cells(row).map(|cell| cell.replace(" §", "\u{a0}§"));
            std::array::from_fn(|column| {
                textwrap::wrap(&cells[column], WIDEST[column]).into_iter().map(Cow::into_owned).collect()
            })
        }));
        lines.iter().for_each(|cells| write_line(&mut text, cells));
        text.push('\n');
    }
    let _ = writeln!(text, "{}", summary(rows));
    let _ = writeln!(text, "{}", textwrap::fill(MODELS, 110));
    text
}

/// Writes a row, whose cells have a line or more each.
fn write_line(text: &mut String, cells: &[Vec<String>; 7]) {
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    for at in 0..height {
        let line: String = cells
            .iter()
            .zip(WIDEST)
            .map(|(lines, width)| format!("  {:<width$}", lines.get(at).map_or("", String::as_str)))
            .collect();
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// The same as Markdown.
#[must_use]
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::new();
    for experiment in names(rows) {
        let _ = writeln!(text, "### {}: `{experiment}`\n", title(experiment));
        let _ = writeln!(text, "| {} |\n|---|---|---|---|---|---|---|", HEADERS.join(" | "));
        for row in rows.iter().filter(|row| row.experiment == experiment) {
            let _ = writeln!(text, "| {} |", cells(row).join(" | "));
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", summary(rows));
    text
}

const HEADERS: [&str; 7] = ["what", "NIC", "paper", "measured", "ratio", "basis", "verdict"];

fn cells(row: &Row) -> [String; 7] {
    let measured = row.measured.as_ref().map(|value| value.with_unit(row.unit));
    [
        row.what.to_owned(),
        row.nics.clone().unwrap_or_default(),
        format!("{} ({})", row.paper, row.source),
        measured.unwrap_or_else(|| if row.verdict == Verdict::Hardware { "" } else { "not seen" }.to_owned()),
        row.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
        row.basis.name().to_owned(),
        row.verdict.name().to_owned(),
    ]
}

/// The experiments that there are rows of, in order.
fn names(rows: &[Row]) -> Vec<&'static str> {
    let mut names: Vec<_> = rows.iter().map(|row| row.experiment).collect();
    names.dedup();
    names
}

fn title(name: &str) -> &'static str {
    let found = EXPERIMENTS.iter().find(|experiment| experiment.name == name);
    match found {
        Some(experiment) => experiment.title,
        None if name == HARDWARE_NAME => "Measured on hardware, not simulated",
        None => "",
    }
}

/// Number of rows with each verdict.
fn summary(rows: &[Row]) -> String {
    let of = |verdict| rows.iter().filter(move |row| row.verdict == verdict);
    let counts = Verdict::ALL.map(|verdict| format!("{} {}", of(verdict).count(), verdict.name()));
    let agree: Vec<String> =
        agreeing(rows).into_iter().map(|(basis, count)| format!("{count} {}", basis.name())).collect();
    let which =
        if agree.is_empty() { String::new() } else { format!(" Those that agree: {}.", agree.join(", ")) };
    format!("{} rows: {}.{which}", rows.len(), counts.join(", "))
}
