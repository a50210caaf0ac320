//! `predict`: numbers without a run.

use serde_json::Value;

use crate::run::{Ran, folder, in_folder, lumina_fuzz};

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

/// Messages of 2 GiB have more than one.
#[test]
fn a_message_may_have_several_time_outs() {
    let said = predict("--loss 1e-3 --message-size 2147483648").stdout;
    assert!(said.contains("\n2.23 time-outs in each message\n") && !said.contains("in 0 messages"), "{said}");
    let said = predict("--loss 1e-3").stdout;
    assert!(said.contains("\none time-out in 929 messages\n"), "{said}");
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
        ("--loss 0.1 --slo p99=1ms", "'--loss <P>' cannot be used with '--slo"),
        ("--loss 0.1 --timeout 5", "'--loss <P>' cannot be used with '--timeout"),
        ("--loss 0.1 --within 5", "'--loss <P>' cannot be used with '--within"),
        ("--loss 0.1 --slo p99=1ms --timeout 5 --within 5", "cannot be used with"),
        ("--slo p99=1ms", "--nic-from"),
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

/// Over paths that are 186 µs apart, as in the test below.
fn of_nic(nic: &str) -> Ran {
    let folder = folder(&[("mine.toml", nic)]);
    let ran = in_folder(folder.path(), &["predict", "multipath", "--delay", "186us", "--nic", "./mine.toml"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    ran
}

/// A sender that waits for ACKs, or takes too long for a packet, is in the number.
#[test]
fn limits_of_the_sender_count() {
    for (field, percent, needs) in [
        ("requester.window-packets = 64", "7.4 %", "865"),
        ("requester.window-packets = 512", "59.2 %", "865"),
        ("transmit.packet-ns = 100", "44.2 %", "44"),
    ] {
        let said = of_nic(&format!("base = \"left\"\n{field}\n")).stdout;
        let note = format!("mine has {field}, and needs {needs} for more than {percent}: ");
        assert!(said.contains(&note) && said.contains(&format!("  {:<16}{percent}", "mine")), "{said}");
        assert!(!said.contains("below "), "{said}");
    }
    let said = of_nic("base = \"left\"\nrequester.window-packets = 865\n").stdout;
    assert!(!said.contains("mine has"), "{said}");
}

/// Packets of the long path count as lost: of what is sent again there is no formula.
#[test]
fn losses_that_are_none_are_named() {
    for (fields, note) in [
        ("loss-by = \"psn\"", "mine has reorder.loss-by = \"psn\", and needs \"span\" at full speed: "),
        ("loss-span-packets = 64", "mine has reorder.loss-span-packets = 64, and needs 843 at full speed: "),
    ] {
        let said = of_nic(&format!("base = \"left\"\n[reorder]\n{fields}\n")).stdout;
        assert!(said.contains(note) && said.contains("spurious NAKs"), "{said}");
        assert!(said.contains(&format!("  {:<16}below 100 %", "mine")), "{said}");
    }
    let said = lumina_fuzz(["predict", "multipath", "--delay", "186us", "--nic", "irn"]).stdout;
    assert!(said.contains("below 100 %") && said.contains("reorder.loss-by"), "{said}");
    let timer = of_nic("base = \"irn\"\nreorder.loss-by = \"timer\"\n").stdout;
    assert!(!timer.contains("below "), "{timer}");
}

/// A test over the two paths that [`of_nic`] is about.
const TWO_PATHS: &str = "\
[requester]
nic = \"./mine.toml\"
roce-parameters = { loss-recovery = \"selective-repeat\" }
[responder]
nic = \"./mine.toml\"
roce-parameters = { loss-recovery = \"selective-repeat\" }
[traffic]
num-connections = 5
num-msgs-per-qp = 200
message-size = 8192
tx-depth = 200
[network]
spray = \"packet\"
spray-packets = \"data\"
pfc = true
[[network.path]]
[[network.path]]
delay-ns = 186_000
";

/// A window of 64 packets: the prediction is that of a run, within 3 %.
#[test]
fn a_run_has_the_throughput_of_the_window() {
    let nic = "base = \"left\"\nrequester.window-packets = 64\n";
    let folder = folder(&[("mine.toml", nic), ("test.toml", TWO_PATHS)]);
    let json = |args: &[&str]| {
        let ran = in_folder(folder.path(), &[args, &["--format", "json"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.json()
    };
    let ran = json(&["run", "test.toml"])["one_path"]["goodput_bps"].as_f64().unwrap();
    let predicted =
        &json(&["predict", "multipath", "--delay", "186us", "--nic", "./mine.toml"])["engines"][0];
    assert_eq!(predicted["limit"]["field"], "requester.window-packets");
    // Of 200 Gb/s, packets of 1,024 bytes of payload and 82 bytes besides.
    let predicted = predicted["throughput"].as_f64().unwrap() * 200e9 * 1_024.0 / 1_106.0;
    assert!((ran / predicted - 1.0).abs() < 0.03, "{ran} and {predicted}");
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
