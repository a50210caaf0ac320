//! Campaigns of minutes on every pairing of kernels: what they find is found again, and nothing is lost.

use serde_json::Value;

use super::given::given;
use super::held::{each_finding_replays, findings, stored_traces_show_no_more};
use super::place::{Place, TEN};

const MINUTES: u64 = 60;

/// The kernels of the requester and the responder; the first pairing has the longest campaigns.
const PAIRINGS: [[&str; 2]; 4] = [["6.1", "6.1"], ["6.1", "6.12"], ["6.12", "6.1"], ["6.12", "6.12"]];

/// Runs a campaign on guests with these kernels for so many seconds, and holds what it says against what it stored.
fn hunt(target: &str, kernels: [&str; 2], seconds: u64) {
    hunt_with(target, kernels, seconds, &[]);
}

/// The same with further options; returns the campaign's summary.
fn hunt_with(target: &str, kernels: [&str; 2], seconds: u64, more: &[&str]) -> Value {
    let seconds = given("LUMINA_SECONDS").unwrap_or(seconds);
    let place = Place::new();
    let duration = format!("{seconds}s");
    let summary = place.run_between(kernels, &[&[target, "--duration", &duration], more].concat());
    place.nothing_is_left();
    let count = |field: &str| summary[field].as_u64().unwrap();
    let (executions, invalid) = (count("executions"), count("invalid"));
    let [requester, responder] = kernels;
    println!(
        "{target}, {requester} with {responder}: {executions} executions, {:.1}/s, {:.1} tests/s in all, {invalid} invalid, \
         {} in reference runs, {} in the minimiser",
        summary["executions_per_s"].as_f64().unwrap(),
        summary["tests_per_s"].as_f64().unwrap(),
        count("reference_executions"),
        count("minimizer_executions")
    );
    assert!(executions > 0 && invalid * 50 < executions, "{invalid} of {executions} tests are invalid");
    stored_traces_show_no_more(&place, &summary);
    each_finding_replays(&place, &summary);
    place.nothing_is_left();
    place.store_is_whole();
    summary
}

/// Two pairs of guests at a time, on two cores.
#[test]
#[ignore = "takes minutes: ci/long vm"]
fn two_pairs_at_a_time() {
    hunt_with("general", PAIRINGS[0], MINUTES, &["--jobs", "2"]);
}

/// Three minutes on each of the other pairings.
fn hunt_on_others(target: &str) {
    for pairing in PAIRINGS.into_iter().skip(1) {
        hunt(target, pairing, 3 * MINUTES);
    }
}

/// The rate of a pair at 10 messages of 10 KB, some of which lose a packet.
#[test]
#[ignore = "takes minutes: ci/long vm"]
fn ten_messages_of_10_kb() {
    for pairing in PAIRINGS {
        hunt(TEN, pairing, MINUTES);
    }
}

#[test]
#[ignore = "takes ten minutes: ci/long vm"]
fn general_on_6_1() {
    hunt("general", PAIRINGS[0], 10 * MINUTES);
}

#[test]
#[ignore = "takes ten minutes: ci/long vm"]
fn retransmission_on_6_1() {
    hunt("retransmission", PAIRINGS[0], 10 * MINUTES);
}

#[test]
#[ignore = "takes ten minutes: ci/long vm"]
fn malformed_on_6_1() {
    hunt("malformed", PAIRINGS[0], 10 * MINUTES);
}

#[test]
#[ignore = "takes ten minutes: ci/long vm"]
fn general_on_the_other_pairings() {
    hunt_on_others("general");
}

#[test]
#[ignore = "takes ten minutes: ci/long vm"]
fn retransmission_on_the_other_pairings() {
    hunt_on_others("retransmission");
}

#[test]
#[ignore = "takes ten minutes: ci/long vm"]
fn malformed_on_the_other_pairings() {
    hunt_on_others("malformed");
}

/// Under random losses, with copies and dummies: a gap in a Read response is noticed when the timer expires
/// (docs/findings-rxe.md).
fn corruption_finds_that_gaps_are_not_noticed(kernel: &str, minutes: u64) {
    let summary = hunt_with("corruption", [kernel, kernel], minutes * MINUTES, &[]);
    let findings = findings(&summary);
    assert!(findings.keys().any(|signature| signature.contains("/implied-nak-missing")), "{findings:#?}");
}

#[test]
#[ignore = "takes ten minutes: ci/long vm"]
fn corruption_on_6_1() {
    corruption_finds_that_gaps_are_not_noticed("6.1", 10);
}

/// Guests that warn are started again, and this kernel warns.
#[test]
#[ignore = "takes twenty minutes: ci/long vm"]
fn corruption_on_6_12() {
    corruption_finds_that_gaps_are_not_noticed("6.12", 20);
}
