//! `run` and `analyze` judge as a campaign does, and say what they do not judge.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::run::{DROP, data, folder, in_folder, lumina_fuzz};

const NOISY: &str = "noisy-neighbor/requester/innocent-suffers/lost";

/// Signatures of the findings of a document.
fn findings(document: &Value) -> Vec<&str> {
    document["findings"].as_array().unwrap().iter().map(|one| one["signature"].as_str().unwrap()).collect()
}

/// The reason that a document has for not judging something.
fn reason<'a>(document: &'a Value, what: &str) -> &'a str {
    let unjudged = document["unjudged"].as_array().unwrap();
    let one = unjudged.iter().find(|one| one["what"] == what);
    one.unwrap_or_else(|| panic!("{what} is judged: {unjudged:#?}"))["reason"].as_str().unwrap()
}

#[test]
fn a_noisy_neighbour_is_named_by_run_and_by_analyze() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/noisy-neighbor.toml");
    let example = example.to_str().unwrap();
    let folder = folder(&[]);
    let ran = in_folder(folder.path(), &["run", example, "--out", "kept", "--context", "0"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    assert!(ran.stdout.contains(&format!("\n  {NOISY}, seen 1x\n")), "{}", ran.stdout);
    assert!(!ran.stdout.contains("Not judged"), "{}", ran.stdout);

    let analyse = |more: &[&str]| {
        let ran = in_folder(folder.path(), &[&["analyze", "kept", "--format", "json"], more].concat());
        assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
        ran.json()
    };
    let document = analyse(&[]);
    assert!(findings(&document).contains(&NOISY), "{:#}", document["findings"]);
    assert_eq!(document["unjudged"], json!([]));

    // Without one of the NICs nothing can be compared, and nothing is passed over.
    fs::remove_file(folder.path().join("kept/nic-responder.toml")).unwrap();
    let document = analyse(&[]);
    assert!(!findings(&document).contains(&NOISY), "{:#}", document["findings"]);
    assert_eq!(
        reason(&document, "noisy-neighbor"),
        "the same test without events was not compared: the folder has no nic-responder.toml, so that the NIC of the \
         responder is not known"
    );
}

#[test]
fn run_without_references_says_what_it_leaves_unjudged() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/noisy-neighbor.toml");
    let args = ["run", example.to_str().unwrap(), "--no-references"];
    let ran = lumina_fuzz([&args[..], &["--format", "json"]].concat());
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    let document = ran.json();
    assert!(!findings(&document).contains(&NOISY), "{:#}", document["findings"]);
    let why = "the same test without events was not compared: --no-references";
    assert_eq!(reason(&document, "noisy-neighbor"), why);
    let text = lumina_fuzz(args).stdout;
    assert!(text.contains(&format!("\nNot judged:\n  noisy-neighbor: {why}\n")), "{text}");

    // A pair that discards, which nothing is known of without references.
    let pair = folder(&[(
        "pair.toml",
        "[requester]\nnic = \"e810\"\n[responder]\nnic = \"cx5\"\n[traffic]\nnum-connections = 16\n\
         rdma-verb = \"send\"\nnum-msgs-per-qp = 5\nmtu = 1024\nmessage-size = 102400\n",
    )]);
    let document = |more: &[&str]| {
        in_folder(pair.path(), &[&["run", "pair.toml", "--format", "json"], more].concat()).json()
    };
    let of_kind = |document: &Value, kind: &str| {
        document["findings"].as_array().unwrap().iter().any(|finding| finding["kind"] == kind)
    };
    assert!(of_kind(&document(&[]), "interop-discard"), "{:#}", document(&[])["findings"]);
    let without = document(&["--no-references"]);
    assert!(!of_kind(&without, "interop-discard") && !of_kind(&without, "unexplained-discard"));
    assert_eq!(
        reason(&without, "interop-discard"),
        "the same test with the requester's NIC at both hosts was not compared: --no-references"
    );
}

/// A QP without an ACK timer may wait for ever for what was lost: its messages are in the table all the same.
#[test]
fn messages_that_nobody_waits_for_in_vain_are_outstanding() {
    let tail = |messages: u32| {
        format!(
            "[traffic]\nnum-connections = 2\nnum-msgs-per-qp = {messages}\nmtu = 1024\nmessage-size = 1024\n\
             min-retransmit-timeout = 0\n[[event]]\nqpn = 1\npsn = {messages}\ntype = \"drop\"\n"
        )
    };
    for messages in [1, 3] {
        let folder = folder(&[("tail.toml", &tail(messages))]);
        let ran = in_folder(folder.path(), &["run", "tail.toml"]);
        assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
        let line = |connection: u32| {
            let table = ran.stdout.split("\nMessages by connection").nth(1).unwrap();
            let begins = format!("    {connection}  ");
            table.lines().find(|line| line.starts_with(&begins)).unwrap().to_owned()
        };
        assert!(line(1).starts_with(&format!("    1  {} 0  ", messages - 1)), "{}", ran.stdout);
        assert!(line(1).ends_with("  1 outstanding"), "{}", ran.stdout);
        assert!(line(2).starts_with(&format!("    2  {messages} 0  ")), "{}", ran.stdout);
        assert!(!line(2).contains("outstanding"), "{}", ran.stdout);
        assert!(ran.stdout.contains("\nNot judged:\n  stall: the ACK timer is disabled"), "{}", ran.stdout);
        let document = in_folder(folder.path(), &["run", "tail.toml", "--format", "json"]).json();
        assert_eq!(document["messages"][0]["outstanding"], 1);
    }
}

#[test]
fn a_capture_says_which_kinds_it_cannot_show() {
    let folder = folder(&[("test.toml", DROP)]);
    in_folder(folder.path(), &["run", "test.toml", "--out", "kept"]);
    let capture = "kept/pcap-result/trace.pcapng";
    let document = |more: &[&str]| {
        in_folder(folder.path(), &[&["analyze", capture, "--format", "json"], more].concat()).json()
    };
    let alone = document(&[]);
    for kind in ["stall", "noisy-neighbor", "slow-retransmission", "interop-discard", "non-work-conserving"] {
        assert_eq!(reason(&alone, kind), "the test is not known");
    }
    let judged = document(&["--config", "test.toml"]);
    for kind in ["stall", "noisy-neighbor"] {
        assert_eq!(reason(&judged, kind), "the completions of the messages are not known");
    }
    assert_eq!(reason(&judged, "counter-mismatch"), "the counters of the hosts are not known");
    assert!(!judged["unjudged"].to_string().contains("slow-retransmission"), "{:#}", judged["unjudged"]);
    let text = in_folder(folder.path(), &["analyze", capture, "--config", "test.toml"]).stdout;
    assert!(text.contains("\nNo anomalies in what was judged.\n\nNot judged:\n  stall"), "{text}");
}

#[test]
fn packets_of_another_number_of_connections_are_of_another_test() {
    let folder = folder(&[("test.toml", DROP), ("other.toml", "[traffic]\nnum-connections = 3\n")]);
    in_folder(folder.path(), &["run", "test.toml", "--out", "kept"]);
    let warned = |args: &[&str]| {
        let ran = in_folder(folder.path(), &[&["analyze"], args].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stderr
    };
    let warning =
        "warning: other.toml has 3 connections, and the packets are of 2: they may be of another test\n";
    for packets in ["kept", "kept/pcap-result/trace.pcapng"] {
        assert_eq!(warned(&[packets, "--config", "other.toml"]), warning);
        assert_eq!(warned(&[packets, "--config", "test.toml"]), "");
    }
    assert_eq!(warned(&["kept"]), "");
}

/// The times of an emulated machine have long tails, which a capture does not say of itself.
#[test]
fn the_clock_of_a_capture_can_be_named() {
    let slow = "[retransmission.nack-generation-ns]\nwrite = 150_000\n";
    let test = DROP.replace("[traffic]", "[responder]\nnic = \"slow.toml\"\n\n[traffic]");
    let folder = folder(&[("test.toml", &test), ("slow.toml", slow)]);
    let ran = in_folder(folder.path(), &["run", "test.toml", "--out", "kept", "--format", "json"]);
    let found = ["slow-retransmission/responder/slow-nack/generation-write"];
    assert_eq!(findings(&ran.json()), found);
    for (clock, found) in
        [(&[][..], &found[..]), (&["--clock", "exact"], &found), (&["--clock", "emulated"], &[])]
    {
        let capture =
            ["analyze", "kept/pcap-result/trace.pcapng", "--config", "test.toml", "--format", "json"];
        let ran = in_folder(folder.path(), &[&capture[..], clock].concat());
        assert_eq!(findings(&ran.json()), found, "{clock:?}");
    }
    let ran = in_folder(&data(), &["analyze", "rxe_write_mid.pcap", "--clock", "wrong"]);
    assert_eq!(ran.code, 2);
}

#[test]
fn replay_takes_tests_and_what_run_kept() {
    let folder = folder(&[
        ("nic.toml", "[quirks]\nnak-repeats = 1\n"),
        ("test.toml", DROP),
        ("reads.toml", "[traffic]\nrdma-verb = \"read\"\nfoo = 1\n"),
    ]);
    let replay = |args: &[&str]| in_folder(folder.path(), &[&["replay"], args].concat());
    // A test of which nothing is expected.
    let ran = replay(&["test.toml"]);
    assert_eq!((ran.code, &ran.stdout[..]), (0, "no anomalies    test.toml\n"), "{}", ran.stderr);
    let ran = replay(&["test.toml", "--nic", "./nic.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("seen            test.toml  Responder "), "{}", ran.stdout);
    let document = replay(&["test.toml", "--nic", "./nic.toml", "--format", "json"]).json();
    let line = &document["findings"][0];
    assert_eq!((&line["reproduced"], &line["seen_in"], &line["runs"]), (&Value::Null, &json!(1), &json!(1)));

    // The same findings again, on the NIC that showed them.
    let ran = in_folder(folder.path(), &["run", "test.toml", "--nic", "./nic.toml", "--out", "kept"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    fs::remove_file(folder.path().join("nic.toml")).unwrap();
    let ran = replay(&["kept"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.lines().all(|line| line.starts_with("reproduced      kept  Responder ")),
        "{}",
        ran.stdout
    );
    let shown = ran.stdout.lines().count();
    assert!(shown > 0);
    // Another NIC does not show them.
    let ran = replay(&["kept", "--nic", "reference"]);
    assert_eq!(ran.code, 4, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.lines().all(|line| line.starts_with("not reproduced  kept  Responder ")),
        "{}",
        ran.stdout
    );
    // Findings that the folder does not know are new.
    fs::write(folder.path().join("kept/verdicts.json"), "{ \"findings\": [] }").unwrap();
    let ran = replay(&["kept"]);
    assert_eq!(
        (ran.code, ran.stdout.matches("seen            kept  ").count()),
        (0, shown),
        "{}",
        ran.stdout
    );

    // Bad input.
    fs::write(folder.path().join("kept/verdicts.json"), "{").unwrap();
    let ran = replay(&["kept"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("kept/verdicts.json: EOF while parsing"), "{}", ran.stderr);
    fs::remove_file(folder.path().join("kept/nic-responder.toml")).unwrap();
    fs::write(folder.path().join("kept/verdicts.json"), "{ \"findings\": [] }").unwrap();
    let ran = replay(&["kept"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("kept: the folder has no nic-responder.toml"), "{}", ran.stderr);
    let ran = replay(&["reads.toml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("reads.toml:3"), "{}", ran.stderr);
    assert_eq!(replay(&["absent.toml"]).code, 2);
}
