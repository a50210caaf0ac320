//! Campaigns that have little to go on.

use crate::campaign::{campaign, findings};
use crate::run::{folder, in_folder};

/// A target whose tests have no events, and so nothing to score.
const FLAT: &str = "base = \"general\"\n[events]\nmax-entries = 0\n";

#[test]
fn a_pool_of_one_grows() {
    let folder = folder(&[("one.toml", "base = \"general\"\npool = 1\n")]);
    let args = ["./one.toml", "--seed", "1", "--executions", "100", "--out", "c"];
    let summary = campaign(folder.path(), &args);
    assert_eq!(summary["executions"], 100);
    assert!(summary["corpus_size"].as_u64().unwrap() > 1);
}

#[test]
fn equal_scores_keep_a_tenth() {
    // Nobody is harmed by events that there are not.
    let flat = "oracles = \"all\"\n[objectives]\nnoisy-neighbor = 1.0\n[traffic]\nnum-connections = { min = 1, max = 64 }\n";
    let folder = folder(&[("flat.toml", flat)]);
    let args = ["./flat.toml", "--seed", "1", "--executions", "832", "--out", "c"];
    let summary = campaign(folder.path(), &args);
    // 32 of the initial pool and a tenth of 800, give or take three standard deviations.
    let kept = summary["corpus_size"].as_u64().unwrap() - 32;
    assert!((55..=105).contains(&kept), "{summary:#}");
}

#[test]
fn a_space_of_a_single_test_ends_with_a_message() {
    let folder = folder(&[("point.toml", include_str!("point.toml"))]);
    let args = ["campaign", "./point.toml", "--seed", "1", "--executions", "1000", "--out", "c"];
    let ran = in_folder(folder.path(), &args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("nothing left to try: the target's search space holds a single test"),
        "{}",
        ran.stdout
    );
}

#[test]
fn tests_without_events_find_nothing() {
    let folder = folder(&[("flat.toml", FLAT)]);
    let args = ["./flat.toml", "--seed", "1", "--executions", "64", "--out", "c"];
    assert!(findings(&campaign(folder.path(), &args)).is_empty());
}
