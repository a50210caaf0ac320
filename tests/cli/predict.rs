//! `predict`: numbers without a run.

use serde_json::Value;

use crate::run::{Ran, lumina_fuzz};

fn predict(arguments: &str) -> Ran {
    lumina_fuzz(["predict", "corruption"].into_iter().chain(arguments.split_whitespace()))
}

fn forecast(arguments: &str) -> Value {
    let ran = predict(&format!("{arguments} --format json"));
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    ran.json()
}

fn all(time_outs: &Value) -> f64 {
    time_outs.as_object().unwrap().values().map(|number| number.as_f64().unwrap()).sum()
}

/// 1,694 time-outs of 100,000 iterations of ping-pong, two Writes of 1,024 bytes each: with those of ACKs, and of what is lost again.
#[test]
fn a_loss_is_given_as_a_fraction_or_a_number() {
    let of = |loss: &str| 200_000.0 * all(&forecast(&format!("--loss {loss}"))["of_message"]);
    for loss in ["1/128", "0.0078125", "7.8125e-3", " 1 / 128 "].map(str::trim) {
        let loss = loss.replace(' ', "");
        assert!((of(&loss) - 1694.0).abs() < 1.0, "{loss}: {}", of(&loss));
    }
    assert_eq!(of("0"), 0.0);
}

#[test]
fn a_plan_keeps_its_promise() {
    let arguments = "--loss 0.01 --links 2 --message-size 65536";
    let planned = &forecast(&format!("{arguments} --at-most 1e-6"))["plan"];
    let number = |name: &str| planned["least"][name].as_u64().unwrap();
    let protection = format!(
        "--naks {} --retransmissions {} --dummies {}",
        number("naks"),
        number("retransmissions"),
        number("dummies")
    );
    let with = forecast(&format!("{arguments} {protection}"));
    assert_eq!(with["of_message"], planned["of_message"]);
    assert_eq!(with["cost"], planned["least"]["cost"]);
    assert!(all(&with["of_message"]) <= 1e-6);
    // An ACK of a message and its dummies together is lost with it.
    let merged = &forecast(&format!("{arguments} --at-most 1e-6 --merged-acks"))["plan"];
    assert!(merged["least"].is_null(), "{merged}");
    let said = predict(&format!("{arguments} --at-most 1e-6 --merged-acks")).stdout;
    assert!(said.contains("no protection is enough") && said.contains("most of them ack-lost"), "{said}");
}

#[test]
fn text_has_the_question_and_the_answer() {
    let ran = predict("--loss 1e-3 --links 4 --sizes websearch --naks 2 --retransmissions 4 --dummies 2");
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    insta::assert_snapshot!("predict_corruption", ran.stdout);
}

#[test]
fn wrong_values_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sizes.txt");
    std::fs::write(&file, "0 0\n4096 90\n2048 100\n").unwrap();
    let file = file.to_str().unwrap();
    for (arguments, says) in [
        ("", "--loss"),
        ("--loss 1", "must be below 1"),
        ("--loss -0.1", "must be at least 0"),
        ("--loss nan", "must be below 1"),
        ("--loss 1/0", "must be below 1"),
        ("--loss x", "is no number"),
        ("--loss 0.1 --links 0", "not in 1..=16"),
        ("--loss 0.1 --naks 9", "not in 1..=8"),
        ("--loss 0.1 --dummies 9", "not in 0..=8"),
        ("--loss 0.1 --mtu 1500", "is none of 256, 512, 1024, 2048, 4096"),
        ("--loss 0.1 --message-size 2147483649", "must be at most 2147483648"),
        ("--loss 0.1 --sizes websearch --message-size 5", "cannot be used with"),
        ("--loss 0.1 --sizes there-is-none", "there-is-none"),
        (&format!("--loss 0.1 --sizes {file}"), "point 3"),
    ] {
        let ran = predict(arguments);
        assert_eq!((ran.code, &ran.stdout[..]), (2, ""), "{arguments}");
        assert!(ran.stderr.contains(says), "{arguments}: {}", ran.stderr);
    }
}

#[test]
fn engines_over_two_paths() {
    let ran = lumina_fuzz(["predict", "multipath", "--rate", "216", "--delay", "186us"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    insta::assert_snapshot!("predict_multipath", ran.stdout);
    let one = lumina_fuzz(["predict", "multipath", "--rate", "200", "--delay", "186us", "--engine", "pool"]);
    assert!(one.stdout.contains("pool") && !one.stdout.contains("ring "), "{}", one.stdout);
    let json =
        lumina_fuzz(["predict", "multipath", "--rate", "200", "--delay", "186us", "--format", "json"]).json();
    let pool = json["engines"].as_array().unwrap().iter().find(|of| of["engine"] == "pool").unwrap().clone();
    // A = 11,625 and b = 13.9 ns: a packet in 115 ns, where the link has one in 44.24.
    assert!((pool["throughput"].as_f64().unwrap() - 44.24 / 115.0).abs() < 1e-3, "{pool}");
    assert_eq!(pool["memory_bytes"], 5 * 5 + 342);
}

/// The engine of a file counts, and what is too small in it is named.
#[test]
fn a_profile_is_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let text = "base = \"melo\"\nlink.rate-gbps = 100\n[reorder]\nblocks = 100\nfirst-block-ns = 30\n";
    std::fs::write(&file, text).unwrap();
    let ran = lumina_fuzz([
        "predict",
        "multipath",
        "--delay",
        "1ms",
        "--nic",
        file.to_str().unwrap(),
        "--connections",
        "2",
    ]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    for part in
        ["mine", "100 Gb/s", "reorder.blocks = 100, and needs", "reorder.span-packets = 4608, and needs"]
    {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}

#[test]
fn wrong_paths_and_engines_are_refused() {
    for (arguments, says) in [
        ("", "--delay"),
        ("--delay 0us", "above 0"),
        ("--delay fast", "186us"),
        ("--delay 11s", "at most 10.0 s"),
        ("--delay -1us", "186us"),
        ("--delay 1us --rate 0", "at least 1"),
        ("--delay 1us --rate 801", "at most 800"),
        ("--delay 1us --connections 0", "at least 1"),
        ("--delay 1us --engine heap", "left-no-gather"),
        ("--delay 1us --engine pool --nic left", "cannot be used with"),
        ("--delay 1us --nic lefft", "did you mean `left`?"),
        ("--delay 1us --mtu 1000", "256, 512"),
    ] {
        let ran = lumina_fuzz(["predict", "multipath"].into_iter().chain(arguments.split_whitespace()));
        assert_eq!(ran.code, 2, "{arguments}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{arguments}: {}", ran.stderr);
    }
}
