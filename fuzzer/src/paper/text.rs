//! The table, for people: on a terminal, and in Markdown.

use std::fmt::Write as _;

use super::{EXPERIMENTS, HARDWARE_NAME, Row, Verdict};

/// What is said beneath every table.
const MODELS: &str = "Simulated NICs are models of these published measurements, not claims about a vendor's hardware. \
                      001 is the paper as published (SIGCOMM'23), 000 as submitted; where they differ, 001 counts.";

/// The table with as many columns as it needs, experiment by experiment.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    let cells: Vec<[String; 6]> = rows.iter().map(cells).collect();
    let width = |column: usize| {
        cells.iter().map(|cells| cells[column].chars().count()).max().unwrap_or_default().max(HEADERS[column].len())
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |cells: [&str; 6]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    for experiment in names(rows) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}: {}", experiment, title(experiment));
        let _ = writeln!(text, "  {}", line(HEADERS));
        for (row, cells) in rows.iter().zip(&cells).filter(|(row, _)| row.experiment == experiment) {
            let _ = writeln!(text, "  {}", line(std::array::from_fn(|column| &*cells[column])));
            debug_assert_eq!(row.experiment, experiment);
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", summary(rows));
    let _ = writeln!(text, "{}", textwrap::fill(MODELS, 110));
    text
}

/// The same as Markdown.
#[must_use]
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::new();
    for experiment in names(rows) {
        let _ = writeln!(text, "### {}: `{experiment}`\n", title(experiment));
        let _ = writeln!(text, "| {} |\n|---|---|---|---|---|---|", HEADERS.join(" | "));
        for row in rows.iter().filter(|row| row.experiment == experiment) {
            let _ = writeln!(text, "| {} |", cells(row).join(" | "));
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", summary(rows));
    text
}

const HEADERS: [&str; 6] = ["what", "NIC", "paper", "measured", "ratio", "verdict"];

fn cells(row: &Row) -> [String; 6] {
    let measured = row.measured.as_ref().map(|value| super::with_unit(&value.to_string(), row.unit));
    [
        row.what.to_owned(),
        row.nics.clone().unwrap_or_default(),
        format!("{} ({})", row.paper, row.source),
        measured.unwrap_or_else(|| if row.verdict == Verdict::Hardware { "" } else { "not seen" }.to_owned()),
        row.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
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

/// How many rows have which verdict.
fn summary(rows: &[Row]) -> String {
    let counts = Verdict::ALL.map(|verdict| {
        format!("{} {}", rows.iter().filter(|row| row.verdict == verdict).count(), verdict.name())
    });
    format!("{} rows: {}.", rows.len(), counts.join(", "))
}
