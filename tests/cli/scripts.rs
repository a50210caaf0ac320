//! `run` of packet scripts, and runs recorded as scripts.

use std::fs;

use serde_json::json;

use crate::run::{DROP, folder, in_folder};

const LOST: &str = "# A lost middle packet is asked for once.
+0 post write 4096 mtu 1024
+0 > WRITE_FIRST  psn 1
+0 > WRITE_MIDDLE psn 2  drop
+0 > WRITE_MIDDLE psn 3
+0 > WRITE_LAST   psn 4
+0 < NAK-SEQ      psn 2
+0 > WRITE_MIDDLE psn 2
+0 > WRITE_MIDDLE psn 3
+0 > WRITE_LAST   psn 4
+0 < ACK          psn 4
expect no anomaly
";

#[test]
fn a_script_that_holds_says_so() {
    let folder = folder(&[("lost.rds", LOST)]);
    let ran = in_folder(folder.path(), &["run", "lost.rds"]);
    assert_eq!((ran.code, &ran.stdout[..], &ran.stderr[..]), (0, "lost.rds: holds\n", ""));
    let ran = in_folder(folder.path(), &["run", "lost.rds", "--format", "json"]);
    assert_eq!(ran.code, 0);
    let document = ran.json();
    assert_eq!(document["script"], json!({"file": "lost.rds", "holds": true, "mismatches": []}));
    assert_eq!(document["test"]["packets"], 9);
    assert_eq!(document["events"][0]["psn"], 2);
}

#[test]
fn a_script_that_does_not_hold_says_where() {
    let wrong = LOST.replace("NAK-SEQ      psn 2", "NAK-SEQ      psn 2 msn 1");
    let folder = folder(&[("wrong.rds", &wrong)]);
    let ran = in_folder(folder.path(), &["run", "wrong.rds", "--context", "0"]);
    assert_eq!((ran.code, &ran.stderr[..]), (1, ""));
    insta::assert_snapshot!("run_script_wrong", ran.stdout);
    let ran = in_folder(folder.path(), &["run", "wrong.rds", "--format", "json"]);
    assert_eq!(ran.code, 1);
    let document = ran.json();
    assert_eq!(document["script"]["holds"], false);
    let mismatches = document["script"]["mismatches"].as_array().unwrap();
    assert_eq!(mismatches.len(), 1);
    assert_eq!(
        (&mismatches[0]["line"], &mismatches[0]["what"], &mismatches[0]["expected"]),
        (&json!(7), &json!("msn: expected 1, seen 0"), &json!("< NAK-SEQ psn 2 msn 1"))
    );
}

/// A script may expect an anomaly; what was found is said all the same.
#[test]
fn flags_override_a_script_as_they_do_a_test() {
    let folder = folder(&[("lost.rds", LOST), ("nics/odd.toml", "[quirks]\nnak-repeats = 1\n")]);
    let ran = in_folder(folder.path(), &["run", "lost.rds", "--nic", "./nics/odd.toml", "--seed", "7"]);
    assert_eq!((ran.code, &ran.stderr[..]), (1, ""));
    for part in [
        "lost.rds:12: expected no anomaly: found gbn-violation",
        "--nic ./nics/odd.toml overrides",
        "\nAnomalies: ",
    ] {
        assert!(ran.stdout.contains(part), "{part} is not in {}", ran.stdout);
    }
    let expects = format!("nic ./nics/odd.toml\n{}", LOST.replace("no anomaly", "anomaly gbn-violation"));
    let expects = expects.replace("+0 > WRITE_MIDDLE psn 2\n", "...\n+0 > WRITE_MIDDLE psn 2\n");
    fs::write(folder.path().join("odd.rds"), expects).unwrap();
    let ran = in_folder(folder.path(), &["run", "odd.rds"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.starts_with("odd.rds: holds\n\nTest odd.rds on"), "{}", ran.stdout);
}

/// The profile that a script names is relative to the script, from whichever folder it is run.
#[test]
fn a_profile_is_found_beside_its_script() {
    let script = format!("nic ./odd.toml\n{}", LOST.replace("no anomaly", "anomaly gbn-violation"));
    let script = script.replace("+0 > WRITE_MIDDLE psn 2\n", "...\n+0 > WRITE_MIDDLE psn 2\n");
    let folder = folder(&[("deep/odd.rds", &script), ("deep/odd.toml", "[quirks]\nnak-repeats = 1\n")]);
    let ran = in_folder(folder.path(), &["run", "deep/odd.rds"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("deep/odd.rds: holds\n"), "{}", ran.stdout);
}

#[test]
fn a_kept_script_is_there_with_its_test() {
    let folder = folder(&[("tests/lost.rds", LOST)]);
    let ran = in_folder(folder.path(), &["run", "tests/lost.rds", "--out", "kept"]);
    assert_eq!((ran.code, &ran.stdout[..]), (0, "tests/lost.rds: holds\n"));
    assert_eq!(fs::read_to_string(folder.path().join("kept/lost.rds")).unwrap(), LOST);
    let digest = |args: &[&str], subject: &str| {
        let ran = in_folder(folder.path(), &[args, &["--format", "json"]].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        ran.json()[subject]["trace_sha256"].clone()
    };
    let seen = digest(&["analyze", "kept"], "input");
    assert_eq!(digest(&["run", "kept/config.toml"], "test"), seen);
    assert_eq!(digest(&["run", "kept/lost.rds"], "test"), seen);
}

#[test]
fn bad_scripts_are_answered_with_everything_that_is_wrong() {
    let folder = folder(&[
        ("bad.rds", "+0 post wriet 1024\n# é\n+0 > WRITE_FRIST psn 1\n"),
        ("nic.rds", "nic refrence\n+0 post write 1024\n...\n"),
        ("empty.rds", ""),
        (
            "kinds.rds",
            "+0 post write 1024\n...\nexpect no anomaly\nexpect anomaly gbn-violatoin\n\
             expect anomaly gbn-violation nak-agian\nexpect anomaly stall\n",
        ),
    ]);
    fs::write(folder.path().join("binary.rds"), b"\xff\xfe").unwrap();
    let mut answers = String::new();
    for name in ["bad.rds", "nic.rds", "empty.rds", "kinds.rds", "binary.rds", "missing.rds"] {
        let ran = in_folder(folder.path(), &["run", name]);
        assert_eq!((ran.code, &ran.stdout[..]), (2, ""), "{name}: {}", ran.stderr);
        answers += &format!("$ run {name}\n{}\n", ran.stderr);
    }
    insta::assert_snapshot!("run_script_bad", answers);
    let document = in_folder(folder.path(), &["run", "bad.rds", "--format", "json"]).json();
    assert_eq!(document["error"], "bad packet script");
    assert_eq!(document["problems"][1]["location"]["line"], 3);
}

/// A recording fits its own run, and has the same findings whatever folder it is in.
#[test]
fn a_recorded_run_is_a_script_that_it_fits() {
    let odd = DROP.replace("[traffic]", "[responder]\nnic = \"nics/odd one.toml\"\n\n[traffic]");
    let folder = folder(&[
        ("drop.toml", DROP),
        ("odd.toml", &odd),
        ("nics/odd one.toml", "[quirks]\nnak-repeats = 1\n"),
        ("deep/down/lost.rds", LOST),
    ]);
    for (test, script, finds) in [
        ("drop.toml", "drop.rds", "expect no anomaly\n"),
        ("odd.toml", "odd.rds", "expect anomaly gbn-violation nak-again\n"),
        ("odd.toml", "deep/odd.rds", "expect anomaly gbn-violation nak-again\n"),
        ("deep/down/lost.rds", "again.rds", "expect no anomaly\n"),
    ] {
        let ran =
            in_folder(folder.path(), &["run", test, "--seed", "5", "--record", script, "--format", "json"]);
        assert_eq!((ran.code, &ran.stderr[..]), (0, ""), "{test}");
        let text = fs::read_to_string(folder.path().join(script)).unwrap();
        assert!(text.starts_with(&format!("# {test} on the simulated testbed, seed 5.\n")), "{text}");
        assert!(text.contains("  drop\n") && text.contains(finds), "{text}");
        let again = in_folder(folder.path(), &["run", script, "--format", "json"]);
        assert_eq!(again.json()["script"]["mismatches"], json!([]), "{text}");
        assert_eq!(again.json()["test"]["trace_sha256"], ran.json()["test"]["trace_sha256"], "{text}");
        assert_eq!(again.code, 0);
    }
    // Losses that events cannot express stay losses at random.
    for (script, traffic) in [
        ("dummies.rds", "dummy-headers = 1\ndummy-idle-ns = 1"),
        ("rounds.rds", "tx-depth = 2\niter-mode = \"per-message\""),
    ] {
        let test = format!("[traffic]\n{traffic}\n[network]\nloss-ppb = 20000000\n");
        fs::write(folder.path().join("losses.toml"), test).unwrap();
        let ran = in_folder(folder.path(), &["run", "losses.toml", "--record", script]);
        assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
        let again = in_folder(folder.path(), &["run", script, "--format", "json"]);
        assert_eq!(again.json()["script"]["mismatches"], json!([]), "{traffic}");
    }
    let text = fs::read_to_string(folder.path().join("odd.rds")).unwrap();
    assert!(text.contains("responder nic \"./nics/odd one.toml\"\n"), "{text}");
}
