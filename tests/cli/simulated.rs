//! `run` on the simulated testbed, and `analyze` of what it keeps.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::run::{DROP, folder, in_folder, lumina_fuzz};

/// Verdicts of a document on the packets, whatever they came from.
fn verdicts(mut document: Value) -> Value {
    let fields = document.as_object_mut().unwrap();
    fields.remove("script");
    assert!(fields.remove("test").is_some() || fields.remove("input").is_some());
    document
}

fn verdicts_of_file(path: PathBuf) -> Value {
    verdicts(serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
}

#[test]
fn a_dropped_packet_as_text() {
    let folder = folder(&[("test.toml", DROP)]);
    let ran = in_folder(folder.path(), &["run", "test.toml"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    insta::assert_snapshot!("run_drop", ran.stdout);
    assert_eq!(
        in_folder(folder.path(), &["run", "test.toml"]).stdout,
        ran.stdout,
        "the same in every process"
    );
}

#[test]
fn a_dropped_packet_as_json() {
    let folder = folder(&[("test.toml", DROP)]);
    let ran = in_folder(folder.path(), &["run", "test.toml", "--format", "json"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    let document = ran.json();
    assert_eq!(document["valid"], true);
    for condition in document["integrity"]["conditions"].as_array().unwrap() {
        assert_eq!(condition["verdict"], "pass", "{condition}");
    }
    assert_eq!(document["test"]["file"], "test.toml");
    assert_eq!(document["test"]["testbed"], "sim");
    assert_eq!(document["test"]["overridden"], serde_json::json!([]));
    assert_eq!(document["events"][0]["connection"], 2);
    assert_eq!(document["events"][0]["psn"], 2);
    assert_eq!(document["retransmissions"].as_array().unwrap().len(), 1);
    assert_eq!(document["message_times"].as_array().unwrap().len(), 4);
    assert_eq!(document["anomalies"], serde_json::json!([]));
}

#[test]
fn a_kept_test_is_analysed_to_the_same_verdicts_and_runs_again() {
    for (verb, quirk) in [("write", ""), ("read", ""), ("send_read", ""), ("write", "nak-repeats = 1")] {
        let test = format!("[requester]\nnic = \"../nics/odd.toml\"\n\n{DROP}\n")
            .replace("[traffic]", &format!("[traffic]\nrdma-verb = \"{verb}\""));
        let folder = folder(&[("tests/t.toml", &test), ("nics/odd.toml", &format!("[quirks]\n{quirk}\n"))]);
        let args = ["run", "tests/t.toml", "--responder-nic", "nics/odd.toml", "--out", "new/kept"];
        let ran = in_folder(folder.path(), &[&args[..], &["--format", "json"]].concat());
        assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
        let first = verdicts(ran.json());
        assert_eq!(first["anomalies"].as_array().unwrap().is_empty(), quirk.is_empty(), "{verb} {quirk}");
        let kept = folder.path().join("new/kept");
        assert_eq!(verdicts_of_file(kept.join("verdicts.json")), first);

        let analysed = in_folder(folder.path(), &["analyze", "new/kept", "--format", "json"]);
        assert_eq!((analysed.code, &analysed.stderr[..]), (0, ""));
        assert_eq!(analysed.json()["input"]["config"], "new/kept/config.toml");
        assert_eq!(analysed.json()["input"]["missing_files"], serde_json::json!([]));
        assert_eq!(verdicts(analysed.json()), first, "{verb} {quirk}");
        let text = in_folder(folder.path(), &["analyze", "new/kept"]).stdout;
        assert!(text.contains("\n  judged by new/kept/config.toml\n"), "{text}");

        // The folder has all that it takes, even where nothing else is left.
        let elsewhere = tempfile::tempdir().unwrap();
        for name in ["config.toml", "nic-requester.toml", "nic-responder.toml"] {
            fs::copy(kept.join(name), elsewhere.path().join(name)).unwrap();
        }
        let again = in_folder(elsewhere.path(), &["run", "config.toml", "--format", "json"]);
        assert_eq!(verdicts(again.json()), first, "{verb} {quirk}");
    }
}

/// The test that is given goes before the one that was kept.
#[test]
fn a_given_test_goes_before_the_kept_one() {
    let folder = folder(&[("test.toml", DROP)]);
    in_folder(folder.path(), &["run", "test.toml", "--out", "kept"]);
    let ran = in_folder(folder.path(), &["analyze", "kept", "--config", "test.toml", "--format", "json"]);
    assert_eq!(ran.json()["input"]["config"], "test.toml");
    fs::write(folder.path().join("kept/config.toml"), "[traffic]\nmtu = 1000\n").unwrap();
    let ran = in_folder(folder.path(), &["analyze", "kept"]);
    assert_eq!((ran.code, ran.stderr.contains("kept/config.toml")), (2, true), "{}", ran.stderr);
}

#[test]
fn overrides_are_recorded() {
    let folder = folder(&[("test.toml", DROP), ("slow.toml", "[link]\nrate-gbps = 10\n")]);
    let args = ["run", "test.toml", "--seed", "7", "--requester-nic", "./slow.toml", "--out", "kept"];
    let ran = in_folder(folder.path(), &args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let header: Vec<_> = ran.stdout.lines().take(5).collect();
    assert_eq!(
        header,
        [
            "Test test.toml on the simulated testbed, seed 7",
            "  requester  ./slow.toml (slow)",
            "  responder  reference",
            "  --requester-nic ./slow.toml overrides requester.nic = reference",
            "  --seed 7 overrides traffic.seed = 1",
        ]
    );
    let config = fs::read_to_string(folder.path().join("kept/config.toml")).unwrap();
    insta::assert_snapshot!("run_kept_config", config);
    let document: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("kept/verdicts.json")).unwrap()).unwrap();
    assert_eq!(
        document["test"]["overridden"],
        serde_json::json!([
            {"flag": "--requester-nic", "field": "requester.nic", "from": "reference", "to": "./slow.toml"},
            {"flag": "--seed", "field": "traffic.seed", "from": "1", "to": "7"},
        ])
    );
    let both =
        in_folder(folder.path(), &["run", "test.toml", "--nic", "slow.toml", "--format", "json"]).json();
    assert_eq!(both["test"]["responder_nic"], "slow.toml");
    assert_eq!(both["test"]["overridden"].as_array().unwrap().len(), 2);
}

/// Lumina's own files run as they are; what they mean differently is said.
#[test]
fn lumina_yaml() {
    let yaml = "requester:\n  nic: {type: CX4, ip-list: [10.0.0.3/24]}\nresponder:\n  nic: {type: CX4, ip-list: \
                [10.0.0.4/24]}\ntraffic:\n  num-qps: 1\n  rdma-verb: write\n  num-msgs-per-qp: 2\n  mtu: 1024\n  \
                message-size: 2048\n  tx-depth: 1\n  data-pkt-events:\n    - {qpn: 0, psn: 1, type: drop, iter: 1}\n";
    let folder = folder(&[("lumina.yml", yaml)]);
    let ran = in_folder(folder.path(), &["run", "lumina.yml", "--nic", "reference", "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    assert_eq!(document["connections"][0]["requester"]["ip"], "10.0.0.3");
    // Lumina counts from 0, and an event holds for every message.
    let psns: Vec<_> = document["events"].as_array().unwrap().iter().map(|event| &event["psn"]).collect();
    assert_eq!(psns, [2, 4]);
    assert!(ran.stderr.lines().all(|line| line.starts_with("note: ")), "{}", ran.stderr);

    let args = ["run", "lumina.yml", "--nic", "reference", "--out", "kept"];
    assert_eq!(in_folder(folder.path(), &args).code, 0);
    let config = fs::read_to_string(folder.path().join("kept/config.toml")).unwrap();
    assert!(config.starts_with("# lumina.yml, as it was run.\n"), "{config}");
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("kept/verdicts.json")).unwrap()).unwrap();
    assert_eq!(kept["test"]["file"], "lumina.yml");
    let analysed = in_folder(folder.path(), &["analyze", "kept", "--format", "json"]);
    assert_eq!((analysed.code, &analysed.stderr[..]), (0, ""));
    assert_eq!(analysed.json()["input"]["config"], "kept/config.toml");
    assert_eq!(verdicts(analysed.json()), verdicts(document));
}

#[test]
fn bad_input_is_named() {
    let folder = folder(&[
        ("test.toml", DROP),
        ("broken.toml", "[traffic]\nmtu = 1000\n"),
        ("odd.toml", "[link]\nrate-gbps = 0\n"),
        ("nic.toml", "[requester]\nnic = \"odd.toml\"\n"),
        ("full/file", ""),
        ("there.rds", ""),
    ]);
    let mut answers = String::new();
    for (args, code) in [
        (&["missing.toml"][..], 2),
        (&["broken.toml"], 2),
        (&["test.toml", "--responder-nic", "nowhere.toml"], 2),
        (&["nic.toml"], 2),
        (&["test.toml", "--out", "full"], 2),
        (&["test.toml", "--out", "full/file"], 1),
        (&["test.toml", "--out", "full/file/deeper"], 1),
        (&["test.toml", "--snap-len", "128"], 2),
        (&["test.toml", "--out", "kept", "--snap-len", "127"], 2),
        (&["test.toml", "--record", "test.toml"], 2),
        (&["test.toml", "--record", "there.rds"], 2),
        (&["test.toml", "--record", "nowhere/seen.rds"], 1),
        (&["test.toml", "--testbed", "vm", "--nic", "cx5"], 2),
        (&["test.toml", "--responder-kernel", "6.1"], 2),
        (&["test.toml", "--requester-kernel", "5.0"], 2),
        (&["test.toml", "--testbed", "testbed.toml"], 2),
        (&["test.toml", "--nic", "reference", "--responder-nic", "reference"], 2),
        (&["test.toml", "--seed", "9223372036854775808"], 2),
        (&[], 2),
    ] {
        let ran = in_folder(folder.path(), &[&["run"], args].concat());
        assert_eq!((ran.code, &ran.stdout[..]), (code, ""), "{args:?}: {}", ran.stderr);
        answers += &format!("$ run {}\n{}\n", args.join(" "), ran.stderr);
    }
    insta::assert_snapshot!("run_bad_input", answers);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6, "nothing was written");
    let json = in_folder(folder.path(), &["run", "test.toml", "--out", "full", "--format", "json"]).json();
    assert_eq!(json["message"], "full: is not empty; name a new folder or an empty one");
    let json = in_folder(folder.path(), &["run", "test.toml", "--nic", "cx99", "--format", "json"]).json();
    assert_eq!(json["problems"][0]["message"], "there is no NIC profile of this name");
    let json = in_folder(folder.path(), &["run", "nic.toml", "--format", "json"]).json();
    assert_eq!(
        (&json["file"], &json["problems"][0]["field"]),
        (&"odd.toml".into(), &"link.rate-gbps".into())
    );
}

/// An empty folder may be there already.
#[test]
fn an_empty_folder_is_as_good_as_none() {
    let folder = folder(&[("test.toml", DROP)]);
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let test = folder.path().join("test.toml");
    let args = ["run", test.to_str().unwrap(), "--out", out.to_str().unwrap()];
    assert_eq!(lumina_fuzz(args).code, 0);
    assert_eq!(lumina_fuzz(args).code, 2, "it is not empty any more");
}

/// The examples show what their comments promise.
#[test]
fn examples_show_what_they_are_for() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let run = |path: &Path| {
        let ran = lumina_fuzz(["run", path.to_str().unwrap(), "--format", "json"]);
        assert_eq!((ran.code, &ran.stderr[..]), (0, ""), "{}", path.display());
        ran.json()
    };
    let drop = run(&examples.join("drop.toml"));
    let retransmissions = drop["retransmissions"].as_array().unwrap();
    assert_eq!(retransmissions.len(), 1);
    assert_eq!(
        (&retransmissions[0]["connection"], &retransmissions[0]["trigger"]),
        (&2.into(), &"fast".into())
    );

    // The longest message of the connections that lost nothing, in seconds.
    let longest = |document: &Value, noisy: u64| {
        let connections = document["messages"].as_array().unwrap().iter();
        let innocent = connections.filter(|one| one["connection"].as_u64().unwrap() > noisy);
        innocent.map(|one| one["max_ns"].as_u64().unwrap()).max().unwrap() as f64 / 1e9
    };
    let noisy = examples.join("noisy-neighbor.toml");
    let stalled = longest(&run(&noisy), 12);
    assert!(stalled > 1.0, "{stalled} s");
    let text = fs::read_to_string(noisy).unwrap().replace("first = 12", "first = 8");
    let fewer = folder(&[("fewer.toml", &text)]);
    let undisturbed = longest(&run(&fewer.path().join("fewer.toml")), 8);
    assert!(undisturbed < 0.01, "{undisturbed} s");
}
