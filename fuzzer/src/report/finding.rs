//! One page on a finding, for an engineer who knows NICs and not this program.

use std::fmt::Write as _;

use corpus::{FindingRecord, Minimized, Role, TestConfig};
use scoring::{Anomaly, Evidence};

use super::{brief, words};
use crate::analyze::packets::{Numbering, table};
use crate::judge::Judged;
use crate::measure::{self, Measured};
use crate::policy::Policy;

/// Characters in a line of prose.
const WIDTH: usize = 100;
/// Packets of the evidence that are shown, with so many packets of their connections before and after each.
const MAX_PACKETS: usize = 3;
const CONTEXT: usize = 2;
/// Other anomalies of the test that are named; the rest is counted.
const MAX_OTHERS: usize = 3;

/// Subject of a report.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The finding.
    pub finding: &'a FindingRecord,
    /// Anomaly that its reproducer shows.
    pub anomaly: &'a Anomaly,
    /// The run that showed it.
    pub judged: &'a Judged,
    /// The numbers behind it.
    pub measured: &'a [Measured],
    /// The requester's and the responder's NIC, as the user named them.
    pub nics: [&'a str; 2],
    /// Policy on the testbed of the finding.
    pub policy: Policy,
}

impl Subject<'_> {
    /// The smallest test, its NICs called as the user called them.
    pub(crate) fn test(&self) -> TestConfig {
        let mut config = self.finding.reproducer.clone();
        for (role, nic) in Role::ALL.into_iter().zip(self.nics) {
            nic.clone_into(&mut config.host_mut(role).nic);
        }
        config
    }
}

/// The rule, with its source.
pub(crate) fn expected(anomaly: &Anomaly) -> String {
    // A report may be sent to readers who do not know the paper.
    let source = anomaly.rule.source().replace("Lumina §", "Lumina, SIGCOMM'23, §");
    format!("{} ({source}).", words::capitalised(anomaly.rule.expected()))
}

/// The report: the anomaly, the expected behaviour, the smallest test, its packets, and the way to see it
/// again.
#[must_use]
pub fn text(subject: &Subject<'_>) -> String {
    let Subject { finding, anomaly, judged, measured, nics: [requester, responder], policy } = *subject;
    let mut text = format!("{}\n\n", finding.title);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "  kind       {}", finding.kind);
    let _ = writeln!(text, "  signature  {}", finding.signature);
    let _ = writeln!(text, "  NICs       {requester} (requester), {responder} (responder)");

    heading(&mut text, "Expected");
    prose(&mut text, &expected(anomaly));

    heading(&mut text, "Seen");
    prose(&mut text, &seen(anomaly));
    for (name, value) in numbers(&anomaly.evidence) {
        let _ = writeln!(text, "    {name:<38} {value}");
    }

    what_was_measured(&mut text, measured);

    heading(&mut text, "The test");
    prose(&mut text, &words::sentences(&finding.reproducer));
    prose(&mut text, &minimised(finding, policy));
    for section in brief::sections(&subject.test()) {
        let _ = writeln!(text, "\n    {}", section.header);
        for line in section.lines {
            let _ = writeln!(text, "    {line}");
        }
    }

    packets(&mut text, anomaly, judged);
    others(&mut text, finding, judged);

    heading(&mut text, "Reproduce");
    prose(
        &mut text,
        &format!(
            "First seen by execution {} of the campaign; finding.json has the number of sightings. `lumina-fuzz replay \
             FOLDER` (the folder of this file) runs reproducer.toml again; trace.pcapng has the packets, for Wireshark.",
            finding.first_seen_execution
        ),
    );
    prose(
        &mut text,
        "A finding is a reason to investigate, not a verdict: its evidence is the packets at the switch and the reports of \
         the hosts. A simulated NIC is a model and behaves as the model does.",
    );
    text
}

fn heading(text: &mut String, heading: &str) {
    let _ = writeln!(text, "\n{heading}");
}

fn prose(text: &mut String, prose: &str) {
    let options = textwrap::Options::new(WIDTH)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .initial_indent("  ")
        .subsequent_indent("  ");
    let _ = writeln!(text, "{}", textwrap::fill(prose, options));
}

/// Host and behaviour.
pub(crate) fn seen(anomaly: &Anomaly) -> String {
    let mut who = words::capitalised(&anomaly.who.role.to_string());
    if let Some(address) = anomaly.who.address {
        let _ = write!(who, " {address}");
    }
    if let Some(connection) = anomaly.who.connection {
        let _ = write!(who, ", connection {connection}");
    }
    format!("{who}: {}.", anomaly.what)
}

/// Numbers of the evidence, each with its name; its packets have a table of their own.
pub(crate) fn numbers(evidence: &Evidence) -> Vec<(String, String)> {
    let Evidence { packets: _, times_ns, numbers, counters, connections, timeouts } = evidence;
    let times = times_ns.iter().map(|(name, time)| {
        (words::of_evidence(name).replace("mct", "message completion time"), time.to_string())
    });
    let numbers = numbers.iter().map(|(name, number)| (words::of_evidence(name), number.to_string()));
    let counters = counters.iter().map(|counter| {
        (counter.name.clone(), format!("increased by {}, expected {}", counter.moved, counter.expected))
    });
    let connections =
        connections.iter().map(|(name, set)| (words::of_evidence(name), words::numbers(set.iter().copied())));
    let timeouts = timeouts.iter().map(|(name, causes)| (words::of_evidence(name), words::causes(causes)));
    times.chain(numbers).chain(counters).chain(connections).chain(timeouts).collect()
}

/// Measurements by further tests on the same NICs and parameters.
fn what_was_measured(text: &mut String, measured: &[Measured]) {
    if measured.is_empty() {
        return;
    }
    heading(text, "Measured by further tests with the same NICs and parameters");
    for (what, value) in measure::lines(measured) {
        let options = textwrap::Options::new(WIDTH).initial_indent("    ").subsequent_indent("      ");
        let _ = writeln!(text, "{}", textwrap::fill(&format!("{what}: {value}"), options));
    }
}

/// Degree to which the test is minimised. Where runs of a test differ it is never certain that a smaller test does
/// not show the finding.
pub(crate) fn minimised(finding: &FindingRecord, policy: Policy) -> String {
    let after = format!("after {} executions of the minimiser", finding.minimizer_executions);
    let degree = match finding.minimized {
        Minimized::Flaky => "This test showed the finding. It is not minimised: the finding does not show often or clearly enough \
                             to compare smaller tests."
            .into(),
        Minimized::Pending if finding.reproducer != finding.config => {
            "This test is smaller than the one that showed the finding first, and not minimised to the end yet.".into()
        }
        Minimized::Pending => "This test showed the finding first; it is not minimised yet.".into(),
        Minimized::Partial => format!(
            "This is the smallest test {after}, when their budget ended; `lumina-fuzz minimize FOLDER` \
             continues."
        ),
        Minimized::Full => format!(
            "This is the smallest test {after}: with one connection, message, byte or event less, or a parameter \
             nearer to its default, the finding {}.",
            if policy.replays_exactly() { "does not show" } else { "did not show in a run" }
        ),
    };
    let is_random = matches!(finding.minimized, Minimized::Partial | Minimized::Full)
        && finding.reproducer.network.moves_packets();
    let random = if is_random {
        " Its network loses or delays packets at random: events in their place would be too many, or did not show the finding."
    } else {
        ""
    };
    format!("{degree}{random}")
}

fn packets(text: &mut String, anomaly: &Anomaly, judged: &Judged) {
    let trace = &judged.observation.trace;
    let named = &anomaly.evidence.packets;
    let shown = &named[..named.len().min(MAX_PACKETS)];
    if shown.is_empty() || trace.records().is_empty() {
        return;
    }
    heading(text, "Packets (number, time and path; > marks evidence; PSNs count from 1 on each connection)");
    let numbering = Numbering::of(trace, &judged.analysis.connections);
    text.push_str(&table(trace, &numbering, shown, CONTEXT));
}

/// Other anomalies in the same run: those that this one explains, and those that it does not.
pub(crate) fn beside<'a>(finding: &FindingRecord, judged: &'a Judged) -> [Vec<&'a Anomaly>; 2] {
    let (mut explained, mut separate) = (Vec::new(), Vec::new());
    for (anomaly, symptoms) in judged.assessment.findings_with_symptoms() {
        if anomaly.signature() == finding.signature {
            explained.extend(symptoms);
        } else {
            separate.push(anomaly);
        }
    }
    [explained, separate]
}

fn others(text: &mut String, finding: &FindingRecord, judged: &Judged) {
    let titles = ["Symptoms of it in the same run", "Other findings in the same run"];
    for (title, others) in titles.into_iter().zip(beside(finding, judged)) {
        if others.is_empty() {
            continue;
        }
        heading(text, title);
        for other in others.iter().take(MAX_OTHERS) {
            prose(text, &format!("{}: {}", other.signature(), seen(other)));
        }
        if others.len() > MAX_OTHERS {
            prose(text, &format!("... and {} more", others.len() - MAX_OTHERS));
        }
    }
}
