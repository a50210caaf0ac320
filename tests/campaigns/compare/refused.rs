//! Requests that are refused, and folders that are left as they are.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{COMPARE, NIC, compare};
use crate::run::{Ran, folder, in_folder};

/// A small comparison with such arguments besides.
fn small(folder: &Path, more: &[&str]) -> Ran {
    let common = ["compare", "cnp", "--strategies", "random,genetic", "--executions", "20", "--seeds", "1"];
    in_folder(folder, &[&common[..], more].concat())
}

/// The request is refused with these words.
fn refused(ran: &Ran, words: &str) {
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
}

#[test]
fn a_folder_in_which_another_process_is_at_work_is_left_alone() {
    let half = "{\"nic\":\"cx";
    let folder = folder(&[("c/runs.jsonl", half), ("c/running/0/mark", "")]);
    let lock = fs::File::create(folder.path().join("c/.lock")).unwrap();
    lock.lock().unwrap();
    let again = || small(folder.path(), &["--nic", "cx5", "--out", "c"]);
    refused(&again(), "c: another process is at work in it; wait for that to end, or name another folder");
    assert!(folder.path().join("c/running/0/mark").exists());
    assert_eq!(fs::read_to_string(folder.path().join("c/runs.jsonl")).unwrap(), half);

    drop(lock);
    let ran = again();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!folder.path().join("c/running").exists());
}

#[test]
fn files_of_others_are_left_alone() {
    let files = [
        ("notes/running/mine.txt", "mine"),
        ("half/running/mine.txt", "mine"),
        ("half/runs.jsonl", "{\"theirs\": 1"),
        ("lines/running/mine.txt", "mine"),
        ("lines/runs.jsonl", "{\"theirs\": 1}\n{\"theirs\""),
    ];
    let folder = folder(&files);
    for (out, words) in [
        ("notes", "notes: is not empty, and has no runs.jsonl; name a new folder"),
        ("half", "half/runs.jsonl:1: is no run"),
        ("lines", "lines/runs.jsonl:1: is no run"),
    ] {
        refused(&small(folder.path(), &["--nic", "cx5", "--out", out]), words);
    }
    for (name, text) in files {
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), text, "{name}");
    }
}

#[test]
fn an_unknown_target_leaves_no_folder() {
    let folder = folder(&[]);
    let args = ["compare", "no-such-target", "--strategies", "random", "--nic", "cx5", "--out", "c"];
    assert_eq!(in_folder(folder.path(), &args).code, 2);
    assert!(!folder.path().join("c").exists());
}

#[test]
fn anomalies_are_ones_that_there_are_and_are_named_once() {
    let folder = folder(&[]);
    let find = |finds: &[&str]| {
        let finds: Vec<&str> = finds.iter().flat_map(|one| ["--find", *one]).collect();
        small(folder.path(), &[&["--nic", "cx5", "--out", "c"][..], &finds[..]].concat())
    };
    refused(
        &find(&["no-such-kind/xyz"]),
        "--find no-such-kind/xyz: `no-such-kind` is no kind of anomaly; there are gbn-violation, ",
    );
    refused(
        &find(&["cnp-generation/notification-point/cnp-too-erly"]),
        "is no rule of cnp-generation; did you mean `cnp-too-early`?",
    );
    refused(&find(&["counter-mismatch", "counter-mismatch"]), "--find: counter-mismatch is listed twice");
    refused(
        &find(&["counter-mismatch/requester", "counter-mismatch"]),
        "--find: counter-mismatch/requester begins with counter-mismatch, so that its findings would count in both rows",
    );
    assert!(!folder.path().join("c").exists());
    let ran = find(&["counter-mismatch/requester", "counter-mismatch/responder"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn runs_of_another_build_or_above_the_limit_are_refused() {
    let folder = folder(&[]);
    let again = || small(folder.path(), &["--nic", "cx5", "--out", "c"]);
    assert_eq!(again().code, 0);
    let path = folder.path().join("c/runs.jsonl");
    let runs = fs::read_to_string(&path).unwrap();

    fs::write(&path, runs.replace("\"program\":\"", "\"program\":\"9.")).unwrap();
    refused(&again(), "was run by another version or revision of the program, 9.");

    let mut lines: Vec<Value> = runs.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines[1]["found"] = serde_json::json!([{ "signature": "a/b/c", "execution": 21, "at_s": 0.1 }]);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&path, text).unwrap();
    refused(&again(), "c/runs.jsonl:2: execution 21 is above the limit of 20");
}

#[test]
fn the_table_is_printed_though_nothing_can_be_written() {
    let folder = folder(&[("nic.toml", NIC)]);
    let document = compare(folder.path(), &["--out", "c"]);
    let curves = folder.path().join("c/curves.svg");
    fs::remove_file(&curves).unwrap();
    fs::create_dir(&curves).unwrap();
    let again = |more: &[&str]| in_folder(folder.path(), &[&COMPARE[..], &["--out", "c"], more].concat());
    let ran = again(&["--format", "json"]);
    assert_eq!((ran.code, ran.json()), (1, document));
    assert!(ran.stderr.contains("c/curves.svg: cannot be drawn"), "{}", ran.stderr);
    assert!(again(&[]).stdout.contains("any finding"));

    // A lock that cannot be made keeps nobody from reading, but from running more.
    let lock = folder.path().join("c/.lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    assert!(again(&[]).stdout.contains("any finding"));
    let mut more = COMPARE;
    more[7] = "5";
    let ran = in_folder(folder.path(), &[&more[..], &["--out", "c"]].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("c/.lock: cannot be written"), "{}", ran.stderr);
}

#[test]
fn without_a_finding_nothing_is_compared() {
    let folder = folder(&[]);
    let each = |more: &[&str]| {
        let ran = small(folder.path(), &[&["--nic", "reference", "--each", "--out", "c"][..], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran
    };
    assert!(each(&[]).stdout.ends_with("\nNothing was found: there is nothing to compare.\n"));
    let document = each(&["--format", "json"]).json();
    assert_eq!((&document["rows"], &document["overall"]), (&serde_json::json!([]), &serde_json::json!([])));
}
