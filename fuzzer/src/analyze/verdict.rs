//! The verdict for people: anomalies by signature, as campaigns report them, and what was not judged.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use scoring::Anomaly;
use scoring::score::{Unjudged, signature_of};

use super::limited::limited;
use crate::judge::Judged;

/// Writes the anomalies, findings first, each with its sightings and their packets, and then what was not judged.
pub(super) fn anomalies(
    text: &mut String,
    judged: &Judged,
    unjudged: &[Unjudged],
    table: impl Fn(&[u32]) -> String,
) {
    let assessment = &judged.assessment;
    match assessment.anomalies.len() {
        0 if unjudged.is_empty() => text.push_str("\nNo anomalies.\n"),
        0 => text.push_str("\nNo anomalies in what was judged.\n"),
        count => {
            let _ = writeln!(text, "\nAnomalies: {count}");
        }
    }
    let counts = judged.counts();
    let mut sightings: BTreeMap<String, Vec<&Anomaly>> = BTreeMap::new();
    for anomaly in judged.sightings() {
        sightings.entry(signature_of(anomaly)).or_default().push(anomaly);
    }
    let mut block = |anomaly: &Anomaly, cause: Option<&Anomaly>| {
        let signature = anomaly.signature();
        let times = counts.get(&signature).copied().unwrap_or_default();
        let _ = writeln!(text, "\n  {signature}, seen {times}x");
        if let Some(cause) = cause {
            let _ = writeln!(text, "    a symptom of {}", cause.signature());
        }
        let (expected, source) = (anomaly.rule.expected(), anomaly.rule.source());
        let _ = writeln!(text, "    expected: {expected}\n    source:   {source}");
        let all = sightings.get(&signature).map(Vec::as_slice).unwrap_or_default();
        limited(text, all, "sightings", |text, sighting| {
            let _ = writeln!(text, "    {} {}", who(sighting), sighting.what);
            text.push_str(&table(&sighting.evidence.packets));
        });
    };
    for finding in assessment.findings() {
        block(finding, None);
    }
    for (symptom, cause) in &assessment.explained {
        block(&assessment.anomalies[*symptom], Some(&assessment.anomalies[*cause]));
    }
    not_judged(text, unjudged);
}

/// The part of a NIC, its address and the connection.
fn who(anomaly: &Anomaly) -> String {
    let who = anomaly.who;
    match (who.connection, who.address) {
        (Some(connection), Some(address)) => format!("{} {address} (connection {connection})", who.role),
        (None, Some(address)) => format!("{} {address}", who.role),
        (_, None) => who.role.to_string(),
    }
}

/// Writes what was not judged, by reason.
fn not_judged(text: &mut String, unjudged: &[Unjudged]) {
    if unjudged.is_empty() {
        return;
    }
    text.push_str("\nNot judged:\n");
    let mut rest = unjudged;
    while let [first, ..] = rest {
        // Neighbours with one reason share a line.
        let same = rest.iter().take_while(|one| one.reason == first.reason).count();
        let (together, later) = rest.split_at(same);
        let what: Vec<&str> = together.iter().map(|one| &*one.what).collect();
        let _ = writeln!(text, "  {}: {}", what.join(", "), first.reason);
        rest = later;
    }
}
