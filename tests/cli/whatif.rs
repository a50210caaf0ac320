//! `whatif`: a test with other settings over the same seeds.

use std::path::Path;

use serde_json::Value;

use crate::run::{Ran, folder, in_folder};

const TEST: &str = "\
[traffic]
num-msgs-per-qp = 400
message-size = 4096
min-retransmit-timeout = 8

[network]
loss-ppb = 20_000_000
";

fn whatif(folder: &Path, arguments: &[&str]) -> Ran {
    in_folder(folder, &[&["whatif", "test.toml"], arguments].concat())
}

fn time_outs(point: &Value, cause: &str) -> u64 {
    point["timeouts"][cause].as_u64().unwrap_or_default()
}

#[test]
fn mitigations_take_away_the_causes_that_they_are_for() {
    let folder = folder(&[("test.toml", TEST)]);
    let arguments = [
        "--vary",
        "traffic.dummy-headers=0,2",
        "--vary",
        "network.repeat.retransmissions=1,3",
        "--runs",
        "8",
    ];
    let ran = whatif(folder.path(), &[&arguments[..], &["--format", "json"]].concat());
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    let document = ran.json();
    let points = document["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    let [bare, copies, dummies, both] = [0, 1, 2, 3].map(|at| &points[at]);
    assert_eq!(copies["settings"]["network.repeat.retransmissions"], 3);
    assert_eq!(dummies["settings"]["traffic.dummy-headers"], 2);
    assert!(time_outs(bare, "tail-lost") > 20 && time_outs(bare, "lost-again") > 0, "{bare:#}");
    // The same packets are lost: copies of what NAKs ask for leave the tails as they are.
    assert_eq!(time_outs(copies, "tail-lost"), time_outs(bare, "tail-lost"));
    assert!(time_outs(copies, "lost-again") < time_outs(bare, "lost-again"));
    assert_eq!(time_outs(dummies, "tail-lost"), 0);
    let beside = &both["timeouts_beside_first"];
    assert_eq!((&beside["less"], &beside["more"]), (&8.into(), &0.into()));
    assert!((beside["p"].as_f64().unwrap() - 2.0 / 256.0).abs() < 1e-9);
    assert!(bare["timeouts_beside_first"].is_null());
    let mean = |point: &Value| point["mean_ns"].as_u64().unwrap();
    assert!(mean(both) * 5 < mean(bare), "{} and {}", mean(both), mean(bare));
    assert!(both["wire_bytes"].as_u64() > bare["wire_bytes"].as_u64());
    for point in points {
        assert_eq!((&point["completed"], &point["failed"]), (&3_200.into(), &0.into()));
    }
    let text = whatif(folder.path(), &arguments).stdout;
    insta::assert_snapshot!("whatif", text);
}

#[test]
fn wrong_settings_are_refused() {
    let folder = folder(&[("test.toml", TEST)]);
    let many: Vec<String> = (0..300).map(|one| one.to_string()).collect();
    let many = format!("traffic.seed={}", many.join(","));
    for (arguments, says) in [
        (&["--runs", "2"][..], "--vary"),
        (&["--vary", "traffic.tx-depth"], "KEY=V1,V2"),
        (&["--vary", "network.repeat.naks=9"], "network.repeat.naks"),
        (&["--vary", "network.no-such=9"], "no-such"),
        (&["--vary", "traffic.seed.x=9"], "`seed` is a value"),
        (&["--vary", "traffic.tx-depth=1", "--vary", "traffic.tx-depth=2"], "given twice"),
        (&["--vary", "traffic.tx-depth=1", "--runs", "0"], "at least 1"),
        (&["--vary", &many], "300 combinations"),
        (&["--vary", "responder.nic=no-such-nic"], "no-such-nic"),
        (&["--vary", "responder.nic=cx5,e810", "--responder-nic", "cx6-dx"], "both say which NIC"),
        (&["--vary", "requester.nic=cx5,e810", "--nic", "cx6-dx"], "both say which NIC"),
        (&["--vary", "traffic.seed=1,2"], "the same seeds"),
    ] {
        let ran = whatif(folder.path(), arguments);
        assert_eq!((ran.code, &ran.stdout[..]), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(says), "{arguments:?}: {}", ran.stderr);
    }
}
