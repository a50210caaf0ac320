//! `compare`: strategies side by side.

mod refused;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::run::{command, folder, in_folder};

/// Found after some dozens of executions: enough connections have to recover at once.
const NIC: &str =
    "[[quirk]]\nwhen = { recovering = [6, 10_000], message = [4, 1_000_000] }\nresume-offset = 1\n";

const COMPARE: [&str; 10] = [
    "compare",
    "retransmission",
    "--strategies",
    "random,genetic",
    "--nic",
    "nic.toml",
    "--seeds",
    "4",
    "--executions",
    "600",
];

fn compare(folder: &Path, more: &[&str]) -> Value {
    let ran = in_folder(folder, &[&COMPARE[..], &["--format", "json"], more].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.json()
}

/// A document without its seconds.
fn without_times(mut document: Value) -> Value {
    for row in document["rows"].as_array_mut().unwrap() {
        for sample in row["samples"].as_array_mut().unwrap() {
            sample.as_object_mut().unwrap().remove("mean_s");
        }
    }
    document
}

#[test]
fn strategies_are_compared_and_runs_are_kept() {
    let folder = folder(&[("nic.toml", NIC)]);
    let document = compare(folder.path(), &["--out", "c"]);
    let row = &document["rows"][0];
    assert_eq!((&row["nic"], &row["anomaly"]), (&"nic.toml".into(), &"any finding".into()));
    let [random, genetic] = &row["samples"].as_array().unwrap()[..] else { panic!("{row:#}") };
    assert_eq!((&random["strategy"], &genetic["strategy"]), (&"random".into(), &"genetic".into()));
    for sample in [random, genetic] {
        assert_eq!(sample["runs"], 4);
        let mean = sample["restricted_mean"].as_f64().unwrap();
        assert!(0.0 < mean && mean <= 600.0, "{sample:#}");
    }
    let compared = &row["comparisons"][0];
    assert_eq!(compared["against"], "genetic");
    let a12: Vec<f64> = compared["a12"].as_array().unwrap().iter().map(|end| end.as_f64().unwrap()).collect();
    assert!(a12[0] <= a12[1] && a12[1] <= a12[2], "{a12:?}");
    assert!(
        fs::read_to_string(folder.path().join("c/curves.svg")).unwrap().contains("nic.toml: any finding")
    );
    assert!(!folder.path().join("c/running").exists());

    // The runs are those of campaigns with the same seed.
    let runs = fs::read_to_string(folder.path().join("c/runs.jsonl")).unwrap();
    let run: Value = runs
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .find(|run: &Value| run["strategy"] == "genetic" && run["seed"] == 2)
        .unwrap();
    let ran = in_folder(
        folder.path(),
        &[
            "campaign",
            "retransmission",
            "--nic",
            "nic.toml",
            "--seed",
            "2",
            "--strategy",
            "genetic",
            "--executions",
            "600",
            "--stop-on-first",
            "--format",
            "json",
            "--out",
            "campaign",
        ],
    );
    let found = ran.json()["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["first_seen_execution"].as_u64().unwrap())
        .min();
    assert!(found.is_some_and(|execution| execution > 1), "{found:?}");
    assert_eq!(
        run["found"].as_array().unwrap().iter().map(|found| found["execution"].as_u64().unwrap()).min(),
        found
    );

    // Nothing runs twice; more seeds are added to those that there are.
    let again = compare(folder.path(), &["--out", "c"]);
    assert_eq!(again, document);
    assert_eq!(fs::read_to_string(folder.path().join("c/runs.jsonl")).unwrap(), runs);
    let mut more = COMPARE;
    more[7] = "5";
    let ran = in_folder(folder.path(), &[&more[..], &["--format", "json", "--out", "c"]].concat());
    assert_eq!(ran.json()["rows"][0]["samples"][0]["runs"], 5);
    assert!(fs::read_to_string(folder.path().join("c/runs.jsonl")).unwrap().starts_with(&runs));
}

#[test]
fn a_comparison_that_is_killed_goes_on() {
    let folder = folder(&[("nic.toml", NIC)]);
    let whole = without_times(compare(folder.path(), &["--out", "whole", "--jobs", "1"]));
    for pause in [80, 200, 350] {
        let mut killed = command();
        killed.current_dir(folder.path()).args(COMPARE).args(["--out", "killed"]);
        let mut child = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // A line that was not written whole.
    let runs = folder.path().join("killed/runs.jsonl");
    let mut text = fs::read_to_string(&runs).unwrap_or_default();
    text.push_str("{\"nic\":\"nic.to");
    fs::write(&runs, text).unwrap();
    assert_eq!(without_times(compare(folder.path(), &["--out", "killed"])), whole);
}

#[test]
fn wrong_requests_are_answered() {
    let folder = folder(&[("nic.toml", NIC), ("bad/runs.jsonl", "{\"nic\": 1}\n")]);
    let says = |args: &[&str], what: &str| {
        let ran = in_folder(folder.path(), args);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(what), "{args:?}: {}", ran.stderr);
    };
    let request = |strategies, nic| {
        [
            "compare",
            "cnp",
            "--strategies",
            strategies,
            "--nic",
            nic,
            "--executions",
            "20",
            "--seeds",
            "1",
            "--out",
        ]
    };
    let with = |strategies, nic, out| [&request(strategies, nic)[..], &[out]].concat();
    says(
        &with("random,luck", "cx5", "c"),
        "is no strategy; there are genetic, random, annealing and adaptive",
    );
    says(&with("adaptive-luck", "cx5", "c"), "adaptive has no part `luck`");
    says(&with("random,random", "cx5", "c"), "random is listed twice");
    says(&with("random", "cx9", "c"), "there is no NIC profile of this name");
    says(&with("random", "cx5", "bad"), "runs.jsonl:1: is no run");
    let ran = in_folder(folder.path(), &with("random", "nic.toml", "c"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    fs::write(folder.path().join("nic.toml"), "link.rate-gbps = 50\n").unwrap();
    says(&with("random", "nic.toml", "c"), "was run on another target or NIC, or with other limits");
}
