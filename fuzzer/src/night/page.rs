//! The page on a campaign.

use std::collections::BTreeSet;

use askama::Template;
use corpus::plural;
use scoring::Analyzer;
use scoring::machines::Situation;
use scoring::tables::{Machine, Transition, transitions};
use scoring::{Kind, Severity};

use super::Night;
use super::tolerance::{self, Tolerated};
use crate::campaign::report::{elapsed, meaning, minimised, rate, title};
use crate::finding::{FINDINGS, PAGE, is_reproduced};
use crate::measure;
use crate::page::figure::{Named, over_executions};
use crate::page::filters;
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
    machines: Vec<Exercised>,
    discovery: String,
    /// None where too few losses were seen.
    tolerated: Option<Tolerated>,
}

/// The transitions of a machine of go-back-N that tests have made.
struct Exercised {
    machine: &'static str,
    /// Of those that a NIC that conforms makes: how many were made, and of how many.
    made: usize,
    of: usize,
    /// Those of them that no test has made.
    never: Vec<String>,
    /// Those that were made and break a rule.
    broken: Vec<String>,
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
        machines: exercised(night),
        discovery: discovery(night, &settings.strategy.to_string()),
        tolerated: tolerance::of(night),
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
    facts.extend(night.ended.clone().map(|ended| ("ended by", ended)));
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
    let once = night.findings.iter().filter(|(finding, _)| finding.sightings == 1).count();
    let of_once = night.situations.iter().filter(|seen| !seen.again).count();
    let again = night.discoveries_again();
    format!(
        "{once} of {} was seen by a single execution. Executions went through {}, {of_once} of which a single one went through. \
         Of as many executions of {strategy} again {again:.1} are expected to go through a new one; the probability that any does \
         is {:.0} %.",
        plural(night.findings.len() as u64, "signature"),
        plural(night.situations.len() as u64, "situation"),
        -(-again).exp_m1() * 100.0
    )
}

/// The transitions of each machine that executions made.
fn exercised(night: &Night) -> Vec<Exercised> {
    let made: BTreeSet<u16> =
        night.situations.iter().map(|seen| Situation::transition_of(seen.situation)).collect();
    let all = transitions();
    let of = |machine: Machine| {
        let (breaking, conforming): (Vec<_>, Vec<_>) =
            all.iter().filter(|one| one.machine == machine).partition(|one| one.breaks_rule);
        let is_made = |one: &&&Transition| made.contains(&one.number);
        let name = |one: &&Transition| one.name.clone();
        let never: Vec<String> = conforming.iter().filter(|one| !is_made(one)).map(name).collect();
        Exercised {
            machine: machine.name(),
            made: conforming.len() - never.len(),
            of: conforming.len(),
            never,
            broken: breaking.iter().filter(is_made).map(name).collect(),
        }
    };
    // Without tests that repeat selectively their machines have nothing to say.
    let has_tests = |machine: &Machine| {
        let is_of = |one: &Transition| one.machine == *machine && made.contains(&one.number);
        machine.analyzer() == Analyzer::GoBackN || all.iter().any(is_of)
    };
    Machine::ALL.into_iter().filter(has_tests).map(of).collect()
}

#[cfg(test)]
mod tests {
    use corpus::{Minimized, SituationSeen, TestConfig};

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
            target: None,
            starts: Vec::new(),
            ended: Some("max-disk".into()),
            progress: corpus::store::Progress { executions: 5_000, ..Default::default() },
            kept: (1..=2_000).map(|number| (number, number as f64 / 2_000.0)).collect(),
            findings: (1..=findings).map(|number| (finding(number), Vec::new())).collect(),
            operators: [("broad".to_owned(), 1_984), ("<random>".to_owned(), 16)].into(),
            situations: [(0, true), (1, true), (40, false)]
                .map(|(situation, again)| SituationSeen { situation, first: 7, again })
                .into(),
            losses: Default::default(),
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
        // Three situations of two transitions, one of which a single execution went through.
        let expected = "Of as many executions of adaptive again 0.7 are expected to go through a new one; the probability that \
                        any does is 50 %.";
        assert!(html.contains(expected) && markdown.contains(expected), "{html}");
        let made = markdown.lines().find(|line| line.starts_with("- requester:")).unwrap();
        assert!(
            made.starts_with("- requester: 2 of ") && made.contains("never made: flowing: SkipAcknowledged"),
            "{made}"
        );
    }

    #[test]
    fn a_campaign_that_has_run_nothing_has_a_page() {
        let nothing = Night { progress: Default::default(), kept: Default::default(), ..night(0) };
        let [html, markdown] = page(&nothing).unwrap();
        assert!(html.contains("No findings.") && markdown.contains("Nothing was run yet."));
    }
}
