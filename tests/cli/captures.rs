//! `analyze` of captures of Linux `rdma_rxe` (see `tests/data/README.md`): what was injected there is known, so
//! what must be reported is known to the packet and to the nanosecond.

use serde_json::{Value, json};

use crate::run::lumina_fuzz;

fn analyze(capture: &str) -> Value {
    let ran = lumina_fuzz(["analyze", capture, "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr, "");
    let document = ran.json();
    assert_eq!(document["valid"], true);
    assert_eq!(document["input"]["origin"], "mirror");
    assert_eq!(document["connections"].as_array().map(Vec::len), Some(1));
    assert_eq!(document["connections"][0]["first_psn"], 1000);
    document
}

fn kinds(document: &Value) -> Vec<&str> {
    document["anomalies"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect()
}

#[test]
fn a_lost_write_packet_is_naked_and_repeated_once() {
    let document = analyze("rxe_write_mid.pcap");
    assert_eq!(
        document["retransmissions"],
        json!([{
            "connection": 1, "trigger": "fast", "from_psn": 16, "lost": [16], "out_of_order": 17,
            "nack": 102, "retransmission": 103,
            // 25224702 - 12958217 and 29925587 - 25224702.
            "generation_ns": 12_266_485, "reaction_ns": 4_700_885,
            // The fastest ACK took 178757.
            "generation_net_ns": 12_266_485 - 178_757,
        }])
    );
    assert_eq!(
        document["events"],
        json!([
            {"packet": 16, "connection": 1, "event": "drop", "opcode": "WRITE_MIDDLE", "psn": 16}
        ])
    );
    assert_eq!(document["connections"][0]["fast_retransmissions"], 1);
    assert_eq!(kinds(&document), [""; 0]);
}

#[test]
fn a_packet_lost_twice_is_naked_once_and_then_timed_out() {
    let document = analyze("rxe_write_rep2.pcap");
    assert_eq!(
        document["retransmissions"],
        json!([
            {
                "connection": 1, "trigger": "fast", "from_psn": 16, "lost": [17], "out_of_order": 18,
                "nack": 38, "retransmission": 82,
                // 5938312 - 3926650 and 11616515 - 5938312.
                "generation_ns": 2_011_662, "reaction_ns": 5_678_203,
                "generation_net_ns": 2_011_662 - 805_041,
            },
            {
                "connection": 1, "trigger": "timeout", "from_psn": 16, "lost": [82], "retransmission": 167,
                // 76513829 - 11616515: the repeated packet was the last to start the timer.
                "timeout_ns": 64_897_314, "cause": "lost-again",
            },
        ])
    );
    assert_eq!(kinds(&document), [""; 0]);
}

#[test]
fn a_lost_tail_is_timed_out_from_the_oldest_unacknowledged_packet() {
    let document = analyze("rxe_write_tail.pcap");
    assert_eq!(
        document["retransmissions"],
        json!([{
            "connection": 1, "trigger": "timeout", "from_psn": 91, "lost": [108], "retransmission": 110,
            // 82945407 - 14807407: the ACK of the message before was the last progress.
            "timeout_ns": 68_138_000, "cause": "tail-lost",
        }])
    );
    assert_eq!(kinds(&document), [""; 0]);
}

#[test]
fn a_lost_send_packet_is_naked_and_a_corrupted_one_counts_as_lost() {
    let document = analyze("rxe_send_mid.pcap");
    assert_eq!(document["retransmissions"][0]["nack"], 68);
    assert_eq!(document["retransmissions"][0]["generation_ns"], 3_463_498);
    assert_eq!(document["retransmissions"][0]["reaction_ns"], 5_225_838);

    let document = analyze("rxe_send_corrupt.pcap");
    assert_eq!(document["events"][0]["event"], "corrupt");
    assert_eq!(
        document["retransmissions"],
        json!([{
            "connection": 1, "trigger": "fast", "from_psn": 16, "lost": [16], "out_of_order": 17,
            "nack": 29, "retransmission": 103, "generation_ns": 1_712_456, "reaction_ns": 20_035_678,
            "generation_net_ns": 1_712_456 - 356_502,
        }])
    );
    assert_eq!(kinds(&document), [""; 0]);
}

#[test]
fn a_lost_read_response_is_asked_for_again() {
    let document = analyze("rxe_read_resp_first.pcap");
    assert_eq!(
        document["retransmissions"],
        json!([{
            "connection": 1, "trigger": "fast", "from_psn": 41, "lost": [51], "out_of_order": 52,
            // A Read's NACK is the re-issued request, and what is repeated is the response.
            "nack": 78, "retransmission": 117, "generation_ns": 1_471_586, "reaction_ns": 3_535_286,
            // The first response to a Read took 1153261, the fastest.
            "reaction_net_ns": 3_535_286 - 1_153_261,
        }])
    );
    assert_eq!(kinds(&document), [""; 0]);
}

#[test]
fn a_lost_read_request_is_naked() {
    let document = analyze("rxe_read_reqdrop_mid.pcap");
    assert_eq!(
        document["retransmissions"],
        json!([{
            "connection": 1, "trigger": "fast", "from_psn": 41, "lost": [5], "out_of_order": 6,
            "nack": 51, "retransmission": 52, "generation_ns": 21_074_359, "reaction_ns": 1_025_911,
            // The responder took 13544292 for the first of the Reads before.
            "generation_net_ns": 21_074_359 - 13_544_292,
        }])
    );
    assert_eq!(kinds(&document), [""; 0]);
}

#[test]
fn marks_without_notifications_are_reported() {
    let document = analyze("rxe_write_ecn.pcap");
    assert_eq!(document["retransmissions"], json!([]));
    assert_eq!((&document["ecn_marked"], &document["cnps"]), (&json!(100), &json!(0)));
    assert_eq!(kinds(&document), ["cnp-generation"]);
    let anomaly = &document["anomalies"][0];
    assert_eq!(anomaly["rule"], "ecn-without-cnp");
    assert_eq!(anomaly["address"], "10.0.0.2");
    assert_eq!(anomaly["role"], "notification-point");
}

#[test]
fn whole_packets_have_their_icrc_checked() {
    let document = analyze("rxe_write_last_full.pcap");
    assert_eq!(document["input"]["icrc_right"], 143);
    assert_eq!(document["input"]["icrc_wrong"], 0);
    assert_eq!(document["retransmissions"][0]["nack"], 44);
    assert_eq!(document["retransmissions"][0]["retransmission"], 54);
    assert_eq!(kinds(&document), [""; 0]);
}

/// The document has `"kind": KIND` only where it occurred, so that a script may search for it.
#[test]
fn kinds_that_did_not_occur_are_not_named() {
    let has = |document: &str, kind: &str| document.contains(&format!("\"kind\": \"{kind}\""));
    for capture in
        ["rxe_write_mid", "rxe_write_rep2", "rxe_write_tail", "rxe_read_resp_first", "rxe_write_ecn"]
    {
        let ran = lumina_fuzz(["analyze", &format!("{capture}.pcap"), "--format", "json"]);
        for kind in [
            "gbn-violation",
            "protocol-violation",
            "unexpected-timeout",
            "counter-mismatch",
            "unexplained-discard",
        ] {
            assert!(!has(&ran.stdout, kind), "{capture} has {kind}");
        }
        assert_eq!(has(&ran.stdout, "cnp-generation"), capture == "rxe_write_ecn");
    }
}

/// With the test known, time-outs are held to T and 4T: 67.1 ms and 268 ms for exponent 14.
#[test]
fn time_outs_are_judged_by_the_configuration() {
    let analyze = |timeout: u32| {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("test.toml");
        let text = format!(
            "[traffic]\nrdma-verb = \"write\"\nnum-connections = 1\nnum-msgs-per-qp = 10\nmessage-size = 10240\n\
             tx-depth = 10\nmin-retransmit-timeout = {timeout}\n"
        );
        std::fs::write(&config, text).unwrap();
        let config = config.to_str().unwrap();
        let ran = lumina_fuzz(["analyze", "rxe_write_tail.pcap", "--config", config, "--format", "json"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let document = ran.json();
        document["anomalies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["rule"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(analyze(14), [""; 0]);
    assert_eq!(analyze(15), ["rto-below-minimum"]);
    assert_eq!(analyze(11), ["rto-above-maximum"]);
}

#[test]
fn the_text_shows_each_remark_with_its_packets() {
    for capture in ["rxe_write_rep2", "rxe_read_resp_first", "rxe_write_ecn"] {
        let ran = lumina_fuzz(["analyze", &format!("{capture}.pcap")]);
        assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
        insta::assert_snapshot!(capture, ran.stdout);
    }
}

/// A merged trace that was written out is analysed to the same result.
#[test]
fn a_written_trace_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for (capture, name) in [("rxe_write_rep2.pcap", "t.pcapng"), ("rxe_read_resp_first.pcap", "t.pcap")] {
        let copy = folder.path().join(name);
        let path = copy.to_str().unwrap();
        let ran = lumina_fuzz(["analyze", capture, "--write-trace", path, "--format", "json"]);
        assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
        let again = lumina_fuzz(["analyze", path, "--format", "json"]).json();
        let first = ran.json();
        for field in ["integrity", "connections", "events", "retransmissions", "anomalies"] {
            assert_eq!(first[field], again[field], "{capture} {field}");
        }
    }
    let ran = lumina_fuzz(["analyze", "rxe_write_mid.pcap", "--write-trace", "t.txt"]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.stderr, "t.txt: the name must end in .pcapng or .pcap\n");
    // Neither the capture that is read nor anything else beside the target is touched.
    let own = folder.path().join("own.pcap");
    std::fs::copy(crate::run::data().join("rxe_write_mid.pcap"), &own).unwrap();
    let before = std::fs::read(&own).unwrap();
    let path = own.to_str().unwrap();
    let ran = lumina_fuzz(["analyze", path, "--write-trace", path]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("is one of the captures that were read"), "{}", ran.stderr);
    assert_eq!(std::fs::read(&own).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// The same traffic as an ordinary capture would hold it: nothing says that a packet was dropped behind the
/// capture point, so no host is blamed for a NAK.
#[test]
fn a_plain_capture_is_judged_leniently() {
    for capture in
        ["rxe_write_mid.pcap", "rxe_read_resp_first.pcap", "rxe_write_tail.pcap", "rxe_write_ecn.pcap"]
    {
        let ran = lumina_fuzz(["analyze", capture, "--origin", "plain", "--format", "json"]);
        assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
        let document = ran.json();
        assert_eq!(document["input"]["origin"], "plain");
        assert_eq!(document["event_count"], 0);
        assert_eq!(document["integrity"]["conditions"][0]["verdict"], "unknown");
        assert_eq!(kinds(&document), [""; 0], "{capture}");
    }
    let document =
        lumina_fuzz(["analyze", "rxe_write_mid.pcap", "--origin", "plain", "--format", "json"]).json();
    assert_eq!(document["retransmissions"][0]["nack"], 102);
}
