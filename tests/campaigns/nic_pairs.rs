//! Campaigns on two different NICs that change places.

use std::fs;

use serde_json::Value;

use crate::campaign::{campaign, findings};
use crate::run::{folder, in_folder};

/// Reads that lose packets, on NICs that change places.
const SWAPPED: &str = "base = \"interop\"\noracles = \"all\"\n[objectives]\nlatency = 1\n[traffic]\n\
                       rdma-verb = \"read\"\nnum-connections = 2\n[events]\nmax-entries = 1\n";
/// A requester that is slow to see that a Read lost a packet.
const SLOW: &str = "name = \"slow\"\n[retransmission.nack-generation-ns]\nread = 400_000\n";
/// A counter that never moves, at either host.
const STUCK: [&str; 2] = [
    "name = \"one\"\n[quirks]\nstuck-counters = [\"implied_nak_seq_err\"]\n",
    "name = \"other\"\n[quirks]\nstuck-counters = [\"implied_nak_seq_err\"]\n",
];

/// The NICs of the only finding of a campaign, as its document and its report have them.
fn nics_of_the_finding(files: &[(&str, &str)], nics: [&str; 2]) -> [String; 2] {
    let folder = folder(files);
    let [requester, responder] = nics;
    let pair = ["--requester-nic", requester, "--responder-nic", responder];
    let args =
        [&["./swapped.toml"], &pair[..], &["--seed", "1", "--executions", "100", "--out", "c"]].concat();
    let summary = campaign(folder.path(), &args);
    let [finding] = findings(&summary) else { panic!("{summary:#}") };
    let path = folder.path().join("c").join(finding["path"].as_str().unwrap());
    let document: Value =
        serde_json::from_str(&fs::read_to_string(path.join("finding.json")).unwrap()).unwrap();
    let report = fs::read_to_string(path.join("report.txt")).unwrap();
    let given =
        ["requester_nic", "responder_nic"].map(|nic| document[nic]["given"].as_str().unwrap().to_owned());
    let line = format!("NICs       {} (requester), {} (responder)", given[0], given[1]);
    assert!(report.contains(&line), "{line}\n{report}");
    assert_eq!(in_folder(folder.path(), &["replay", "c"]).code, 0, "{given:?}");
    let minimised = in_folder(folder.path(), &["minimize", path.to_str().unwrap()]);
    assert_eq!(minimised.code, 0, "{}", minimised.stderr);
    assert_eq!(in_folder(folder.path(), &["replay", "c"]).code, 0, "{given:?}");
    // On other NICs it would be a finding that its campaign has not.
    let other = in_folder(folder.path(), &["minimize", path.to_str().unwrap(), "--nic", "cx5"]);
    assert_eq!(other.code, 2, "{}", other.stderr);
    assert!(other.stderr.contains("minimise the copy"), "{}", other.stderr);
    assert_eq!(in_folder(folder.path(), &["replay", "c"]).code, 0, "{given:?}");
    given
}

/// An anomaly of only one of the NICs as a requester is found with this NIC there, whichever host it was
/// given to, and the finding says so.
#[test]
fn a_finding_has_the_nics_where_it_was_seen() {
    let files = [("swapped.toml", SWAPPED), ("slow.toml", SLOW)];
    for nics in [["reference", "./slow.toml"], ["./slow.toml", "reference"]] {
        assert_eq!(nics_of_the_finding(&files, nics), ["./slow.toml", "reference"]);
    }
}

/// An anomaly of both NICs is minimised to the places that the user gave them.
#[test]
fn a_finding_of_both_has_the_nics_where_they_were_given() {
    let files = [("swapped.toml", SWAPPED), ("one.toml", STUCK[0]), ("other.toml", STUCK[1])];
    for nics in [["./one.toml", "./other.toml"], ["./other.toml", "./one.toml"]] {
        assert_eq!(nics_of_the_finding(&files, nics), nics);
    }
}

#[test]
fn one_nic_cannot_change_places_with_itself() {
    let folder = folder(&[("one.toml", SLOW), ("same.toml", SLOW)]);
    for (nics, says) in [
        (&["--nic", "cx4-lx"][..], "both hosts have cx4-lx"),
        (&[], "both hosts have reference"),
        (
            &["--responder-nic", "./one.toml", "--requester-nic", "./same.toml"],
            "./same.toml and ./one.toml are the same",
        ),
    ] {
        let ran =
            in_folder(folder.path(), &[&["campaign", "interop", "--seed", "1", "--out", "c"], nics].concat());
        assert_eq!((ran.code, &ran.stdout[..]), (2, ""), "{says}");
        assert!(ran.stderr.contains(says) && ran.stderr.contains("--requester-nic"), "{}", ran.stderr);
        assert!(!folder.path().join("c").exists());
    }
}

#[test]
fn nics_without_a_loss_recovery_in_common_are_no_pair() {
    let folder = folder(&[]);
    for nics in [["left", "reference"], ["reference", "melo"]] {
        let [requester, responder] = nics;
        let names = ["--requester-nic", requester, "--responder-nic", responder];
        let args = [&["campaign", "multipath", "--out", "c"], &names[..]].concat();
        let ran = in_folder(folder.path(), &args);
        assert_eq!((ran.code, &ran.stdout[..]), (2, ""), "{nics:?}");
        assert!(ran.stderr.contains("no loss recovery in common"), "{}", ran.stderr);
        assert!(!folder.path().join("c").exists());
    }
}

#[test]
fn nics_of_another_testbed_are_refused_by_the_names_that_the_user_gave() {
    let folder = folder(&[("one.toml", SLOW)]);
    for (nics, says) in [
        (&["--nic", "./one.toml"][..], "the requester has ./one.toml"),
        (&["--requester-kernel", "6.1", "--responder-nic", "./one.toml"], "the responder has ./one.toml"),
    ] {
        let args = [&["campaign", "general", "--testbed", "vm", "--out", "c"], nics].concat();
        let ran = in_folder(folder.path(), &args);
        assert_eq!((ran.code, &ran.stdout[..]), (2, ""), "{says}");
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
        assert!(!folder.path().join("c").exists());
    }
}
