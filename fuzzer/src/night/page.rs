//! The page on a campaign.

use askama::Template;
use corpus::plural;
use scoring::{Kind, Severity};

use super::Night;
use crate::campaign::report::{elapsed, meaning, minimised, rate, title};
use crate::finding::{FINDINGS, PAGE, is_reproduced};
use crate::measure;
use crate::page::figure::{Named, over_executions};
use crate::page::filters;
use crate::statistics::Discovery;
use crate::version::with_revision;

/// Points of a curve over the executions.
const POINTS: u64 = 100;

/// The page, as the templates have it.
struct Parts {
    title: String,
    facts: Vec<(&'static str, String)>,
    severities: Vec<Group>,
    figures: Vec<String>,
    operators: Vec<(String, u64)>,
    kept: usize,
    combinations: [usize; 2],
    discovery: String,
}

/// Findings of a severity.
struct Group {
    severity: &'static str,
    kinds: Vec<OfKind>,
}

/// Findings of a kind.
struct OfKind {
    kind: String,
    meaning: &'static str,
    findings: Vec<Line>,
}

/// A finding.
struct Line {
    title: String,
    signature: String,
    /// Its page, from the campaign's; none of one that was not seen again.
    link: Option<String>,
    sightings: u64,
    first: u64,
    minimised: &'static str,
    measured: Vec<String>,
}

#[derive(Template)]
#[template(path = "campaign.html")]
struct Html<'a> {
    page: &'a Parts,
}

#[derive(Template)]
#[template(path = "campaign.md", escape = "none")]
struct Markdown<'a> {
    page: &'a Parts,
}

/// The page on a campaign as HTML and as Markdown.
///
/// # Errors
/// The drawing or the template library's.
pub fn page(night: &Night) -> Result<[String; 2], String> {
    let page = &parts(night)?;
    let failed = |error: askama::Error| error.to_string();
    Ok([Html { page }.render().map_err(failed)?, Markdown { page }.render().map_err(failed)?])
}

fn parts(night: &Night) -> Result<Parts, String> {
    let settings = &night.settings;
    Ok(Parts {
        title: title(&night.settings),
        facts: facts(night),
        severities: severities(night),
        figures: figures(night)?,
        operators: {
            let mut operators: Vec<_> = night.operators.clone().into_iter().collect();
            operators.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            operators
        },
        kept: night.kept.len(),
        combinations: night.combinations,
        discovery: discovery(night, &settings.strategy.to_string()),
    })
}

/// What was run, and how far it came.
pub(super) fn facts(night: &Night) -> Vec<(&'static str, String)> {
    let (settings, progress) = (&night.settings, night.progress);
    let start = night.starts.first();
    let mut facts = vec![
        ("executions", progress.executions.to_string()),
        (
            "other tests",
            format!(
                "{} of references, {} of the minimiser; {} were invalid",
                progress.reference_executions, progress.minimizer_executions, progress.invalid
            ),
        ),
        (
            "time",
            format!("{}, {} tests/s", elapsed(progress.elapsed_ms), rate(progress.per_second(progress.runs))),
        ),
        ("search", format!("strategy {}, seed {}", settings.strategy, settings.seed)),
        ("testbed", settings.testbed.to_string()),
        ("lumina-fuzz", with_revision(&settings.version, start.and_then(|start| start.revision.as_deref()))),
        (
            "again",
            format!(
                "lumina-fuzz campaign {} {} --strategy {} --seed {} --executions {}",
                settings.target.given,
                nics(&settings.requester_nic.given, &settings.responder_nic.given),
                settings.strategy,
                settings.seed,
                progress.executions
            ),
        ),
    ];
    facts.extend(start.map(|start| ("machine", start.machine.clone())));
    facts.extend(start.map(|start| {
        let again = match night.starts.len() {
            1 => String::new(),
            starts => format!(", resumed {}", plural(starts as u64 - 1, "time")),
        };
        ("started", format!("{}{again}: {}", start.started_at, start.command_line.join(" ")))
    }));
    facts
}

/// The arguments that name the NICs.
fn nics(requester: &str, responder: &str) -> String {
    match requester == responder {
        true => format!("--nic {requester}"),
        false => format!("--requester-nic {requester} --responder-nic {responder}"),
    }
}

fn severities(night: &Night) -> Vec<Group> {
    let severity = |kind: &str| Kind::named(kind).map_or(Severity::Minor, Kind::severity);
    let groups = Severity::ALL.into_iter().map(|one| {
        let mut kinds: Vec<OfKind> = Vec::new();
        for (finding, measured) in night.findings.iter().filter(|(finding, _)| severity(&finding.kind) == one)
        {
            let line = Line {
                title: finding.title.clone(),
                signature: finding.signature.clone(),
                link: is_reproduced(finding).then(|| format!("{FINDINGS}/{}/{PAGE}", finding.id)),
                sightings: finding.sightings,
                first: finding.first_seen_execution,
                minimised: minimised(finding.minimized),
                measured: measure::lines(measured).map(|(what, value)| format!("{what}: {value}")).collect(),
            };
            match kinds.iter_mut().find(|known| known.kind == finding.kind) {
                Some(known) => known.findings.push(line),
                None => kinds.push(OfKind {
                    kind: finding.kind.clone(),
                    meaning: meaning(&finding.kind),
                    findings: vec![line],
                }),
            }
        }
        Group { severity: one.name(), kinds }
    });
    groups.filter(|group| !group.kinds.is_empty()).collect()
}

fn figures(night: &Night) -> Result<Vec<String>, String> {
    let executions = night.progress.executions;
    let last = |count: usize| (executions as f64, count as f64);
    let mut found = vec![(0.0, 0.0)];
    for (at, (finding, _)) in night.findings.iter().enumerate() {
        let first = finding.first_seen_execution as f64;
        found.extend([(first, at as f64), (first, (at + 1) as f64)]);
    }
    found.push(last(night.findings.len()));
    let (mut kept, mut best, mut median) = (vec![(0.0, 0.0)], Vec::new(), Vec::new());
    for point in 1..=POINTS {
        let until = executions * point / POINTS;
        let mut scores: Vec<f64> = night.kept.range(..=until).map(|(_, score)| *score).collect();
        scores.sort_by(f64::total_cmp);
        kept.push((until as f64, scores.len() as f64));
        if let Some(highest) = scores.last() {
            best.push((until as f64, *highest));
            median.push((until as f64, scores[scores.len() / 2]));
        }
    }
    let figures: [(&str, &str, Vec<Named>); 3] = [
        ("Findings", "findings", vec![("findings", found)]),
        ("Scores of kept tests", "score", vec![("highest", best), ("median", median)]),
        ("Corpus", "kept tests", vec![("kept tests", kept)]),
    ];
    figures.into_iter().map(|(title, y, series)| over_executions(title, y, executions, series)).collect()
}

/// What more of the same search may find.
fn discovery(night: &Night, strategy: &str) -> String {
    let executions = night.progress.executions;
    if executions == 0 {
        return "Nothing was run yet.".into();
    }
    let estimate = Discovery::of(executions, night.findings.iter().map(|(finding, _)| finding.sightings));
    let once = night.findings.iter().filter(|(finding, _)| finding.sightings == 1).count();
    format!(
        "{} of {} was seen by a single execution. As many executions again of {strategy} are estimated to find {:.1} new \
         signatures: {:.0} % that they find any.",
        once,
        plural(night.findings.len() as u64, "signature"),
        estimate.again,
        estimate.probability_again() * 100.0
    )
}

#[cfg(test)]
mod tests {
    use corpus::{Minimized, TestConfig};

    use executor::TestbedName;

    use super::*;
    use crate::campaign::{Limits, Settings};
    use crate::finding::Copied;
    use crate::strategy::Strategy;

    fn settings() -> Settings {
        let copied = |given: &str| Copied::new(given, None, "copy.toml", "");
        Settings {
            version: "0.1.0".into(),
            sha256: String::new(),
            strategy: Strategy::default(),
            seed: 7,
            testbed: TestbedName::Sim,
            batch: 16,
            keep_probability: 0.1,
            minimizer_budget: 2_000,
            ignore: Vec::new(),
            limits: Limits::default(),
            target: copied("general"),
            requester_nic: copied("cx5"),
            responder_nic: copied("e810"),
            initial: Vec::new(),
        }
    }

    fn night(findings: u64) -> Night {
        let finding = |number: u64| corpus::FindingRecord {
            id: format!("{number:012x}"),
            kind: ["crash", "cnp-generation", "noisy-neighbor", "of-tomorrow"][number as usize % 4].into(),
            signature: format!("kind/requester/rule/{number}"),
            title: format!("Requester does <{number}> & more (1 Write)"),
            first_seen_execution: number,
            sightings: 1 + number % 3,
            config: TestConfig::default(),
            reproducer: TestConfig::default(),
            minimized: Minimized::Full,
            minimizer_executions: 500,
            evidence: "{}".into(),
        };
        Night {
            folder: "night".into(),
            settings: settings(),
            starts: Vec::new(),
            progress: corpus::store::Progress { executions: 5_000, ..Default::default() },
            kept: (1..=2_000).map(|number| (number, number as f64 / 2_000.0)).collect(),
            findings: (1..=findings).map(|number| (finding(number), Vec::new())).collect(),
            operators: [("broad".to_owned(), 1_984), ("<random>".to_owned(), 16)].into(),
            combinations: [1_200, 30_000],
        }
    }

    #[test]
    fn a_thousand_findings_are_listed_and_stay_small() {
        let [html, markdown] = page(&night(1_000)).unwrap();
        assert!(html.len() < 5 << 20, "{}", html.len());
        for number in 1..=1_000 {
            let link = format!("<a href=\"findings/{number:012x}/report.html\">");
            assert_eq!(html.matches(&link).count(), 1, "{number}");
            assert_eq!(markdown.matches(&format!("(`kind/requester/rule/{number}`)")).count(), 1, "{number}");
        }
    }

    #[test]
    fn the_worst_come_first_and_nothing_is_taken_for_markup() {
        let [html, markdown] = page(&night(4)).unwrap();
        let place = |word: &str| html.find(word).unwrap_or_else(|| panic!("no `{word}` in {html}"));
        assert!(
            place("<h3>critical</h3>") < place("<h3>major</h3>")
                && place("<h3>major</h3>") < place("<h3>minor</h3>")
        );
        assert!(place("of-tomorrow") > place("<h3>minor</h3>"));
        assert!(html.contains("Requester does &#60;3&#62; &#38; more"), "{html}");
        assert!(markdown.contains("Requester does \\<3\\> \\& more"), "{markdown}");
        assert!(!html.contains("<random>"));
        // Two of the four were seen by three executions, or by two, and one by a single one.
        assert!(html.contains("1 of 4 signatures was seen by a single execution."), "{html}");
    }

    #[test]
    fn a_campaign_that_has_run_nothing_has_a_page() {
        let nothing = Night { progress: Default::default(), kept: Default::default(), ..night(0) };
        let [html, markdown] = page(&nothing).unwrap();
        assert!(html.contains("No findings.") && markdown.contains("Nothing was run yet."));
    }
}
