//! The page on a finding.

use askama::Template;
use corpus::lumina::Lab;
use corpus::{TestConfig, plural};
use scoring::{Anomaly, CounterReport};

use super::filters;
use super::headers::{Difference, differences};
use super::ladder::Ladder;
use super::times;
use crate::analyze::packets::{Numbering, table};
use crate::export;
use crate::judge::Judged;
use crate::measure;
use crate::report::{self, Subject};

/// Longest packet script that a page contains, in packets.
const MAX_SCRIPT: usize = 400;
/// Packets of the evidence in Markdown, and of their connections before and after each.
const MAX_PACKETS: usize = 3;
const CONTEXT: usize = 2;
/// Other anomalies of the test that are named.
const MAX_OTHERS: usize = 20;

/// A finding, with everything that its page says.
#[derive(Debug)]
pub struct Page<'a> {
    /// The finding and the run that shows it.
    pub subject: Subject<'a>,
    /// What it was found with, each with its name: versions, testbed, search.
    pub environment: Vec<(&'static str, String)>,
}

/// The page, as the templates have it.
struct Parts {
    title: String,
    kind: String,
    signature: String,
    nics: [String; 2],
    expected: String,
    seen: String,
    numbers: Vec<(String, String)>,
    measured: Vec<(String, String)>,
    sentences: String,
    minimised: String,
    ladder: Option<String>,
    packets: String,
    times: Option<String>,
    headers: Vec<Difference>,
    counters: Vec<Counters>,
    beside: [Vec<Other>; 2],
    toml: String,
    lumina: Result<String, String>,
    script: Result<String, String>,
    perftest: String,
    environment: Vec<(&'static str, String)>,
}

/// Counters of a host.
struct Counters {
    host: &'static str,
    rows: Vec<Counter>,
}

struct Counter {
    name: String,
    moved: u64,
    expected: u64,
    differs: bool,
}

/// Another anomaly of the same run.
struct Other {
    signature: String,
    seen: String,
}

#[derive(Template)]
#[template(path = "finding.html")]
struct Html<'a> {
    page: &'a Parts,
}

#[derive(Template)]
#[template(path = "finding.md", escape = "none")]
struct Markdown<'a> {
    page: &'a Parts,
}

/// The page as HTML and as Markdown.
///
/// # Errors
/// The drawing or the template library's.
pub fn pages(page: &Page<'_>) -> Result<[String; 2], String> {
    let page = &page.parts()?;
    let failed = |error: askama::Error| error.to_string();
    Ok([Html { page }.render().map_err(failed)?, Markdown { page }.render().map_err(failed)?])
}

impl Page<'_> {
    fn parts(&self) -> Result<Parts, String> {
        let Subject { finding, anomaly, judged, measured, nics, policy } = self.subject;
        let config = self.subject.test();
        let trace = &judged.observation.trace;
        let numbering = Numbering::of(trace, &judged.analysis.connections);
        let ladder = Ladder::of(anomaly, judged, &numbering).map(|ladder| ladder.render());
        let named = &anomaly.evidence.packets;
        let exported =
            export::Subject { config, shows: Some([finding.title.clone(), finding.signature.clone()]) };
        let other =
            |anomaly: &&Anomaly| Other { signature: anomaly.signature(), seen: report::seen(anomaly) };
        Ok(Parts {
            title: finding.title.clone(),
            kind: finding.kind.clone(),
            signature: finding.signature.clone(),
            nics: nics.map(str::to_owned),
            expected: report::expected(anomaly),
            seen: report::seen(anomaly),
            numbers: report::numbers(&anomaly.evidence),
            measured: measure::lines(measured).map(|(what, value)| (what.to_string(), value)).collect(),
            sentences: report::sentences(&finding.reproducer),
            minimised: report::minimised(finding, policy),
            ladder: ladder.transpose().map_err(|error| error.to_string())?,
            packets: table(trace, &numbering, &named[..named.len().min(MAX_PACKETS)], CONTEXT),
            times: times::figure(&exported.config, judged).transpose()?,
            headers: differences(trace, &numbering),
            counters: counters(&judged.analysis.counters),
            beside: report::beside(finding, judged)
                .map(|others| others.iter().take(MAX_OTHERS).map(other).collect()),
            toml: report::toml(&exported.config),
            lumina: exported.lumina(&Lab::default()).map_err(|refusals| refusals.to_string()),
            script: script(&exported.config, judged),
            perftest: export::perftest(&exported.config),
            environment: self.environment.clone(),
        })
    }
}

/// The script of a run, or the reason why the page has none.
fn script(config: &TestConfig, judged: &Judged) -> Result<String, String> {
    match judged.observation.trace.records().len() {
        0..=MAX_SCRIPT => Ok(export::script(config, &judged.observation, Some(judged)).to_string()),
        packets => Err(format!(
            "Its run has {}; `lumina-fuzz export FOLDER --format script` writes them.",
            plural(packets as u64, "packet")
        )),
    }
}

/// Counters that moved, or that should have.
fn counters(reports: &[Option<CounterReport>; 2]) -> Vec<Counters> {
    let hosts = ["requester", "responder"].into_iter().zip(reports);
    let hosts = hosts.filter_map(|(host, report)| {
        let moved =
            report.as_ref()?.compared.iter().filter(|counter| counter.moved != 0 || counter.expected != 0);
        let rows = moved.map(|counter| Counter {
            name: counter.name.clone(),
            moved: counter.moved,
            expected: counter.expected,
            differs: counter.moved != counter.expected,
        });
        Some(Counters { host, rows: rows.collect() })
    });
    hosts.filter(|host| !host.rows.is_empty()).collect()
}
