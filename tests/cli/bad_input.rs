//! Bad input: what it answers, with which exit code, and that nothing panics.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use crate::run::{command, data, lumina_fuzz};

#[test]
fn captures_that_are_none() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("empty.pcap"), b"").unwrap();
    fs::write(folder.path().join("text.pcap"), b"hello, this is a letter").unwrap();
    let mut header_only = fs::read(data().join("rxe_write_mid.pcap")).unwrap();
    header_only.truncate(24);
    fs::write(folder.path().join("header.pcap"), header_only).unwrap();
    fs::create_dir(folder.path().join("nothing")).unwrap();

    let mut answers = String::new();
    for name in ["missing.pcap", "empty.pcap", "text.pcap", "header.pcap", "nothing"] {
        let path = folder.path().join(name);
        let ran = lumina_fuzz(["analyze", path.to_str().unwrap()]);
        assert_eq!((ran.code, &ran.stdout[..]), (2, ""), "{name}: {}", ran.stderr);
        answers += &ran.stderr.replace(folder.path().to_str().unwrap(), "DIR");
    }
    insta::assert_snapshot!("captures_that_are_none", answers);
}

#[test]
fn a_capture_that_was_cut_short_is_read_up_to_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.pcap");
    let whole = fs::read(data().join("rxe_write_mid.pcap")).unwrap();
    fs::write(&path, &whole[..whole.len() - 10]).unwrap();
    let ran = lumina_fuzz(["analyze", path.to_str().unwrap(), "--format", "json"]);
    assert_eq!(ran.code, 0);
    assert_eq!(ran.json()["input"]["packets"], 195);
    // Nobody can say any more that all packets are there.
    assert_eq!(ran.json()["integrity"]["conditions"][0]["verdict"], "unknown");
    assert!(
        ran.stderr.contains("damaged at byte 27444") && ran.stderr.contains("cut short"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.json()["input"]["warnings"].as_array().unwrap().len(), 1);
}

/// A packet that is missing in the middle makes the trace invalid: exit code 5, and no verdict on the NIC.
#[test]
fn a_missing_packet_makes_the_trace_invalid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gap.pcap");
    let mut capture = fs::read(data().join("rxe_write_mid.pcap")).unwrap();
    // The second record: 24 bytes of file header, then 16 + 128 bytes a record.
    capture.drain(24 + 144..24 + 2 * 144);
    fs::write(&path, capture).unwrap();
    let path = path.to_str().unwrap();
    let ran = lumina_fuzz(["analyze", path]);
    assert_eq!(ran.code, 5);
    assert!(
        ran.stdout.contains("packet 2 is missing") && ran.stdout.contains("Not analysed"),
        "{}",
        ran.stdout
    );
    let json = lumina_fuzz(["analyze", path, "--format", "json"]);
    assert_eq!(json.code, 5);
    assert_eq!(json.json()["valid"], false);
    assert!(json.json().get("anomalies").is_none());
    let forced = lumina_fuzz(["analyze", path, "--even-if-invalid", "--format", "json"]);
    assert_eq!(forced.code, 5);
    assert!(forced.json()["retransmissions"].as_array().is_some_and(|all| all.len() == 1));
}

/// One frame with a real MAC among mirrored ones is missing from the trace, and named; the capture is still a
/// mirrored one.
#[test]
fn a_stray_frame_does_not_make_a_capture_plain() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stray.pcap");
    let mut capture = fs::read(data().join("rxe_write_mid.pcap")).unwrap();
    // Source MAC of the second record's frame.
    let at = 24 + 144 + 16 + 6;
    capture[at..at + 6].copy_from_slice(&[0x0c, 0x42, 0xa1, 0xb2, 0xc3, 0xd4]);
    fs::write(&path, capture).unwrap();
    let ran = lumina_fuzz(["analyze", path.to_str().unwrap(), "--format", "json"]);
    assert_eq!(ran.code, 5);
    assert_eq!(ran.json()["input"]["origin"], "mirror");
    assert!(ran.stderr.contains("packet 2: no mirror sequence number"), "{}", ran.stderr);
}

#[test]
fn configurations_that_are_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("test.toml");
    fs::write(&config, "[traffic]\nmtu = 1000\nrdma-verbs = \"write\"\n").unwrap();
    let config = config.to_str().unwrap();
    let ran = lumina_fuzz(["analyze", "rxe_write_mid.pcap", "--config", config]);
    assert_eq!((ran.code, &ran.stdout[..]), (2, ""));
    for part in ["test.toml", "1000", "rdma-verb", "256"] {
        assert!(ran.stderr.contains(part), "{part} is not in {}", ran.stderr);
    }
    let ran = lumina_fuzz(["analyze", "rxe_write_mid.pcap", "--config", config, "--format", "json"]);
    assert_eq!(ran.code, 2);
    let problems = ran.json()["problems"].as_array().unwrap().clone();
    assert_eq!(problems.len(), 2);
    assert_eq!((&problems[0]["location"]["line"], &problems[0]["field"]), (&2.into(), &"traffic.mtu".into()));
}

#[test]
fn wrong_arguments() {
    for args in [
        &["analyze"][..],
        &["analyze", "rxe_write_mid.pcap", "--context", "51"],
        &["analyze", "rxe_write_mid.pcap", "--format", "xml"],
        &["analyzers", "show", "nothing"],
        &["analyze", "rxe_write_mid.pcap", "."],
        &["frobnicate"],
    ] {
        let ran = lumina_fuzz(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
}

/// `lumina-fuzz analyze ... | head -1` neither fails nor panics.
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = command()
        .args(["analyze", "rxe_write_ecn.pcap", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), &stderr[..]), (Some(0), ""));
}

/// A NIC goes back to N or repeats selectively, as its reorder engine asks: the error says what it does, and that it is the NIC.
#[test]
fn a_recovery_that_the_nic_does_not_have() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.toml");
    fs::write(&path, "[requester]\nnic = \"left\"\n[responder]\nnic = \"left\"\n").unwrap();
    let ran = lumina_fuzz(["run", path.to_str().unwrap()]);
    assert_ne!(ran.code, 0);
    for part in [
        "requester.roce-parameters.loss-recovery",
        "NIC does not recover",
        "\"selective-repeat\"",
        "reorder.engine",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}
