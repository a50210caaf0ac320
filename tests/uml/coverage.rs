//! How much of rdma_rxe a campaign runs.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::campaign::{Campaign, nothing_is_left_of};
use super::run::command;

/// A kernel that counts; needs `testbed uml build --kernel 6.12 --coverage`.
const COUNTS: &str = "rxe-6.12-coverage";

fn coverage_of(campaign: &Campaign) -> Value {
    let said = command()
        .args(["testbed", "uml", "coverage", "--uncovered", "--format", "json"])
        .arg(campaign.folder())
        .output();
    let said = said.unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).unwrap()
}

#[test]
fn coverage_is_that_of_the_campaign_whatever_happens_to_it() {
    let whole = Campaign::on(COUNTS);
    whole.finish(&["--executions", "40", "--jobs", "2"]);
    let left = whole.left();
    let summary = &left.summary;
    let lines = &summary["coverage"][0]["lines"];
    let (run, all) = (lines["run"].as_u64().unwrap(), lines["all"].as_u64().unwrap());
    // Sends, Writes and Reads with losses run most of the requester and the responder, and nothing of multicast.
    assert!(all > 3_000 && run > all / 3 && run < all, "{summary:#?}");

    let said = coverage_of(&whole);
    assert_eq!(said["kernels"][0]["coverage"], summary["coverage"][0]);
    let files = &said["kernels"][0]["files"];
    assert_eq!(files["rxe_mcast.c"]["lines"]["run"], 0);
    for file in ["rxe_req.c", "rxe_resp.c", "rxe_comp.c"] {
        assert!(files[file]["lines"]["run"].as_u64() > Some(100), "{file}: {files:#}");
    }
    let traced = fs::read_to_string(whole.folder().join("coverage.info")).unwrap();
    let hit = traced.lines().filter(|line| line.starts_with("DA:") && !line.ends_with(",0")).count();
    let missed = said["kernels"][0]["uncovered"].as_array().unwrap();
    let missed = missed.iter().filter(|line| line["blocks"]["run"] == 0).count();
    assert_eq!((hit as u64, missed as u64), (run, all - run));

    let killed = Campaign::on(COUNTS);
    for _ in 0..2 {
        let mut orchestrator = killed.start(&["--executions", "40", "--jobs", "1"]);
        thread::sleep(Duration::from_millis(1_500));
        let _ = orchestrator.kill();
        orchestrator.wait().unwrap();
        nothing_is_left_of(orchestrator.id());
    }
    killed.finish(&["--executions", "40", "--jobs", "1"]);
    killed.left().must_be(&left, "after kills");
}

#[test]
fn a_campaign_whose_kernels_do_not_count_says_so() {
    let campaign = Campaign::new();
    campaign.finish(&["--executions", "4"]);
    let said = command().args(["testbed", "uml", "coverage"]).arg(campaign.folder()).output().unwrap();
    assert_eq!(said.status.code(), Some(2));
    let error = String::from_utf8(said.stderr).unwrap();
    assert!(error.contains("do not count") && error.contains("--coverage"), "{error}");
}
