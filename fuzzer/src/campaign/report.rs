//! Description of a campaign and of its results, for people.

use std::fmt::Write as _;
use std::path::Path;

use corpus::{FindingRecord, Minimized};
use dumper::Nanos;
use executor::uml::{KernelShares, Shares};
use scoring::Kind;

use super::engine::Status;
use super::settings::Settings;
use super::stop::End;
use crate::finding::{FINDINGS, PAGE, REPORT, is_reproduced};
use crate::measure::{self, Measured};

/// The target and the NICs of a campaign: `Campaign general on cx5`.
#[must_use]
pub fn title(settings: &Settings) -> String {
    let (requester, responder) = (&settings.requester_nic.given, &settings.responder_nic.given);
    let nics = if requester == responder { requester.clone() } else { format!("{requester} to {responder}") };
    format!("Campaign {} on {nics}", settings.target.given)
}

/// Description of the campaign before it begins.
#[must_use]
pub fn header(settings: &Settings, folder: &Path) -> String {
    format!(
        "{}, {}, strategy {}, seed {}, in {}",
        title(settings),
        settings.testbed,
        settings.strategy,
        settings.seed,
        folder.display()
    )
}

/// Result of the campaign.
#[must_use]
pub fn text(
    settings: &Settings,
    folder: &Path,
    end: &End,
    status: &Status,
    findings: &[(FindingRecord, Vec<Measured>)],
) -> String {
    let progress = status.progress;
    let rate = rate(progress.per_second(progress.runs));
    let mut text = header(settings, folder);
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "\n{} executions in {} (and {} of reference tests, {} of the minimiser; {rate} tests/s in all), {} invalid\n\
         corpus {}, median score {}, best {}\n{end}",
        progress.executions,
        elapsed(progress.elapsed_ms),
        progress.reference_executions,
        progress.minimizer_executions,
        progress.invalid,
        status.corpus_size,
        score(status.median),
        score(status.best),
    );
    for code in &status.code {
        let _ = writeln!(text, "{}", ran(code));
    }
    if findings.is_empty() {
        text.push_str("\nNo findings. ");
        text.push_str(&page(folder, end, "has the search"));
        return text;
    }
    let _ = writeln!(text, "\nFindings: {}", findings.len());
    // Those of a kind together, in the order in which the kinds were seen first.
    let mut kinds: Vec<&str> = Vec::new();
    let mut findings: Vec<_> = findings.iter().collect();
    findings.sort_by_key(|(finding, _)| (finding.first_seen_execution, &finding.signature));
    for (finding, _) in &findings {
        if !kinds.contains(&&*finding.kind) {
            kinds.push(&finding.kind);
        }
    }
    for kind in kinds {
        let _ = writeln!(text, "\n{kind}: {}", meaning(kind));
        for (finding, measured) in findings.iter().filter(|(finding, _)| finding.kind == kind) {
            one(&mut text, finding, measured, folder);
        }
    }
    if findings.iter().any(|(finding, _)| is_reproduced(finding)) {
        let _ = writeln!(text, "\n`lumina-fuzz replay {}` runs them again.", folder.display());
    }
    text.push_str(&page(folder, end, "shows everything"));
    text
}

/// The line on the campaign's page.
fn page(folder: &Path, end: &End, shows: &str) -> String {
    if end.leaves_page() {
        format!("{} {shows}.\n", folder.join(PAGE).display())
    } else {
        format!("`lumina-fuzz report {}` {shows}, once there is room.\n", folder.display())
    }
}

/// How far a finding is minimised, in a phrase.
pub(crate) const fn minimised(minimized: Minimized) -> &'static str {
    match minimized {
        Minimized::Pending => "not minimised yet",
        Minimized::Partial => "minimised in part",
        Minimized::Full => "minimised",
        Minimized::Flaky => "not minimised: it does not show in every run",
    }
}

/// Meaning of a kind of anomaly, by its name.
pub(crate) fn meaning(kind: &str) -> &'static str {
    Kind::named(kind).map_or("of another version of this program", Kind::meaning)
}

/// One finding: the anomaly, the numbers behind it, its certainty, its folder.
fn one(text: &mut String, finding: &FindingRecord, measured: &[Measured], folder: &Path) {
    let minimised = minimised(finding.minimized);
    let _ = writeln!(text, "\n  {}", finding.title);
    for (what, value) in measure::lines(measured) {
        let _ = writeln!(text, "    measured: {what}: {value}");
    }
    let _ = writeln!(
        text,
        "    {}\n    seen {}x, first by execution {}, {minimised}",
        finding.signature, finding.sightings, finding.first_seen_execution,
    );
    if is_reproduced(finding) {
        let report = folder.join(FINDINGS).join(&finding.id).join(REPORT);
        let _ = writeln!(text, "    {}", report.display());
    }
}

/// Duration of a campaign, for people: three digits below a minute, whole seconds above.
pub(crate) fn elapsed(ms: u64) -> String {
    match ms {
        0..60_000 => Nanos::from_millis(ms).to_string(),
        _ => humantime::format_duration(std::time::Duration::from_secs(ms / 1_000)).to_string(),
    }
}

/// Tests per second, for people: a simulated testbed runs hundreds, guests a few.
#[must_use]
pub fn rate(per_second: f64) -> String {
    if per_second < 10.0 { format!("{per_second:.1}") } else { format!("{per_second:.0}") }
}

/// How much of a kernel's code has run.
#[must_use]
pub fn ran(code: &KernelShares) -> String {
    let Shares { lines, functions, files } = code.shares;
    format!(
        "rdma_rxe of Linux {}: {} of {} lines ({:.1} %) run, {} of {} functions, {} of {} files",
        code.kernel,
        lines.run,
        lines.all,
        lines.percent(),
        functions.run,
        functions.all,
        files.run,
        files.all,
    )
}

/// The share of the lines of a kernel's code that has run, in few words.
#[must_use]
pub fn share_run(KernelShares { kernel, shares }: &KernelShares) -> String {
    format!("{:.1} % of rdma_rxe {kernel}", shares.lines.percent())
}

/// A score, for people.
#[must_use]
pub fn score(score: Option<f64>) -> String {
    score.map_or_else(|| "-".into(), |score| format!("{score:.3}"))
}
