//! The page on two campaigns side by side: two nights, or two firmwares.

use std::collections::BTreeMap;

use askama::Template;
use corpus::FindingRecord;

use super::Night;
use super::page::facts;
use crate::campaign::report::title;
use crate::measure::{self, Measured};
use crate::page::filters;

/// The page, as the templates have it.
struct Parts {
    titles: [String; 2],
    folders: [String; 2],
    /// Each with its name, of both campaigns.
    facts: Vec<(&'static str, [String; 2])>,
    groups: Vec<Group>,
}

/// Findings that the second campaign has and the first has not, the other way round, that both have and that differ, or not, and that
/// only one of the campaigns looks for.
struct Group {
    /// In the words behind "Findings that".
    name: &'static str,
    lines: Vec<Line>,
}

/// A finding in both campaigns.
struct Line {
    signature: String,
    seen: [Option<Seen>; 2],
}

/// A finding of a campaign.
#[derive(PartialEq)]
struct Seen {
    title: String,
    measured: Vec<String>,
}

#[derive(Template)]
#[template(path = "versus.html")]
struct Html<'a> {
    page: &'a Parts,
}

#[derive(Template)]
#[template(path = "versus.md", escape = "none")]
struct Markdown<'a> {
    page: &'a Parts,
}

/// The page on two campaigns as HTML and as Markdown.
///
/// # Errors
/// The template library's.
pub fn versus(nights: [&Night; 2]) -> Result<[String; 2], String> {
    let page = &parts(nights);
    let failed = |error: askama::Error| error.to_string();
    Ok([Html { page }.render().map_err(failed)?, Markdown { page }.render().map_err(failed)?])
}

fn parts(nights: [&Night; 2]) -> Parts {
    let [first, second] = nights.map(facts);
    let names = ["are new", "are gone", "are changed", "are the same", "only one of the campaigns looks for"];
    let mut groups = Vec::from(names.map(|name| Group { name, lines: Vec::new() }));
    let mut findings: BTreeMap<&str, [Option<Seen>; 2]> = BTreeMap::new();
    for (at, night) in nights.into_iter().enumerate() {
        for (finding, measured) in &night.findings {
            findings.entry(&finding.signature).or_default()[at] = Some(seen(finding, measured));
        }
    }
    for (signature, seen) in findings {
        let is_missed = |at: usize| seen[at].is_none() && !nights[at].seeks(signature);
        let group = match &seen {
            _ if is_missed(0) || is_missed(1) => 4,
            [None, _] => 0,
            [_, None] => 1,
            [first, second] if first != second => 2,
            _ => 3,
        };
        groups[group].lines.push(Line { signature: signature.to_owned(), seen });
    }
    // Campaigns of one target have none.
    groups.pop_if(|one_sided| one_sided.lines.is_empty());
    Parts {
        titles: nights.map(|night| title(&night.settings)),
        folders: nights.map(|night| night.folder.display().to_string()),
        facts: first
            .into_iter()
            .zip(second)
            .map(|((name, first), (_, second))| (name, [first, second]))
            .collect(),
        groups,
    }
}

fn seen(finding: &FindingRecord, measured: &[Measured]) -> Seen {
    let measured = measure::lines(measured).map(|(what, value)| format!("{what}: {value}"));
    Seen { title: finding.title.clone(), measured: measured.collect() }
}
