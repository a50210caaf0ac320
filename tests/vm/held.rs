//! Compares the report of a campaign with its store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use dumper::capture::ReadOptions;
use fuzzer::analyze::{Input, LoadError};
use fuzzer::campaign::vocabulary;
use fuzzer::finding::{REPRODUCER, RESULT};
use mutators::Target;
use scoring::score::{References, score};
use scoring::{Anomaly, Options};
use serde_json::Value;

use super::place::Place;

/// The findings of a summary: the signature of each, and its title.
pub(crate) fn findings(summary: &Value) -> BTreeMap<String, String> {
    let text = |finding: &Value, field: &str| finding[field].as_str().unwrap().to_owned();
    let findings = summary["findings"].as_array().unwrap();
    findings.iter().map(|finding| (text(finding, "signature"), text(finding, "title"))).collect()
}

/// A finding that was not there in every run says so in its title.
fn is_flaky(title: &str) -> bool {
    title.contains("; seen ")
}

/// Each finding of a campaign that does not say it is flaky shows again, in three of five runs.
pub(crate) fn each_finding_replays(place: &Place, summary: &Value) {
    let findings = findings(summary);
    if findings.values().all(|title| is_flaky(title)) {
        return;
    }
    let ran = place.run(&["replay", "c", "--format", "json"]);
    assert!([0, 4].contains(&ran.code), "{}", ran.stderr);
    let replayed = ran.json();
    let lines = replayed["findings"].as_array().unwrap();
    for (signature, title) in &findings {
        let line = lines.iter().find(|line| line["signature"] == **signature);
        let count = |field| line.map_or(&Value::Null, |line| &line[field]);
        println!("  {title}: {} of {} replays", count("seen_in"), count("runs"));
        let is_reproduced = line.is_some_and(|line| line["reproduced"] == true);
        assert!(is_reproduced || is_flaky(title), "{signature}: {line:?}");
    }
}

/// Analysing what is stored of each finding's run says nothing that the campaign looked for and does not have.
pub(crate) fn stored_traces_show_no_more(place: &Place, summary: &Value) {
    let known: BTreeSet<String> = findings(summary).into_keys().collect();
    let text = fs::read_to_string(place.campaign().join("target.toml")).unwrap();
    let target =
        Target::from_toml("target.toml", &text, vocabulary()).unwrap_or_else(|error| panic!("{}", error.0));
    let is_sought = |anomaly: &&Anomaly| target.oracles.contains(&anomaly.kind().to_string());
    let mut analysed = 0;
    for finding in summary["findings"].as_array().unwrap() {
        let Some(path) = finding["path"].as_str() else {
            assert!(is_flaky(finding["title"].as_str().unwrap()), "{finding:#}");
            continue;
        };
        let folder = place.campaign().join(path);
        let stored = match Input::load(&[folder.join(RESULT)], ReadOptions::default(), &mut |_| ()) {
            Ok(stored) => stored,
            // Of a host that crashed nothing may have come.
            Err(LoadError::Empty { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        let config = corpus::load(folder.join(REPRODUCER)).unwrap().config;
        let analysis = scoring::analyze(&stored.observation, Options { config: Some(&config) });
        let assessment = score(&config, &stored.observation, &analysis, &References::default());
        let seen: BTreeSet<String> =
            assessment.findings().filter(is_sought).map(Anomaly::signature).collect();
        let lost: Vec<&String> = seen.difference(&known).collect();
        assert!(lost.is_empty(), "{}: {lost:?}", folder.display());
        analysed += 1;
    }
    println!("  {analysed} stored traces show nothing else");
}
