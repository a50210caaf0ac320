//! One fault, one signature: what the quirks are called over many random tests, alone and two at once.
//!
//! `LUMINA_CASES` sets the number of tests for each pair of faults.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

#[path = "../quirks/cases.rs"]
#[allow(dead_code, reason = "the quirks' own tests use all of it")]
mod cases;
mod draw;
#[path = "../support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs, thread};

use cases::{CASES, Case};
use corpus::TestConfig;
use executor::NicProfile;

/// The number of tests, unless the user says another.
fn tests(usual: u64) -> u64 {
    env::var("LUMINA_CASES").map_or(usual, |text| text.parse().unwrap())
}

/// Runs a test where both hosts have such a NIC, and counts the signatures of its findings.
fn add_findings(config: &TestConfig, fields: &str, counts: &mut BTreeMap<String, u64>) {
    let nic: NicProfile = fields.parse().unwrap_or_else(|error| panic!("{fields}: {error}"));
    let nics = [nic.clone(), nic];
    let Ok(observation) = executor::sim::run(config, nics.clone()) else { return };
    for anomaly in support::assess(config, &nics, &observation).findings() {
        *counts.entry(anomaly.signature()).or_insert(0) += 1;
    }
}

/// Number of random tests that show each signature.
fn signatures(fields: &str, tests: u64) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    (0..tests).for_each(|seed| add_findings(&draw::test(seed), fields, &mut counts));
    counts
}

/// The signatures of each of some NICs, in their order.
fn all_signatures(nics: &[String], tests: u64) -> Vec<BTreeMap<String, u64>> {
    let share = nics.len().div_ceil(thread::available_parallelism().map_or(1, usize::from));
    thread::scope(|scope| {
        let work = |nics| move || Vec::from_iter(<[String]>::iter(nics).map(|nic| signatures(nic, tests)));
        let threads: Vec<_> = nics.chunks(share).map(|nics| scope.spawn(work(nics))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// The signatures of each quirk.
type Names = BTreeMap<&'static str, BTreeSet<String>>;

/// The table of docs/nic-profiles.md that says which quirks have two findings.
fn quirks_with_two_findings() -> Names {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/nic-profiles.md")).unwrap();
    let (_, section) = page.split_once("\n## Quirks with two findings\n").unwrap();
    let rows =
        section.lines().take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [quirk, signatures, reason] = cells[..] else { panic!("{line}") };
        let case = CASES.iter().find(|case| case.quirk == quirk.trim_matches('`')).unwrap();
        let signatures: BTreeSet<String> =
            signatures.split(", ").map(|name| name.trim_matches('`').to_owned()).collect();
        assert!(signatures.len() == 2 && !reason.is_empty(), "{line}");
        (case.quirk, signatures)
    };
    rows.map(row).collect()
}

/// A quirk that comes under several names is several findings: where it honestly breaks several rules, or where what it does
/// looks like something else if that is all there is to see.
#[test]
fn signatures_of_each_quirk() {
    let nic = |case: &Case| format!("{}\n[quirks]\n{}\n", case.hosts, case.quirk);
    let nics: Vec<String> = CASES.iter().map(nic).collect();
    let mut text = String::new();
    let mut found: Names = BTreeMap::new();
    for (case, mut signatures) in CASES.iter().zip(all_signatures(&nics, 30)) {
        let test = corpus::from_toml("test.toml", case.test).unwrap();
        add_findings(&test, &nic(case), &mut signatures);
        found.entry(case.quirk).or_default().extend(signatures.keys().cloned());
        text += &format!("{}\n", case.quirk);
        for (signature, count) in signatures {
            text += &format!("    {count:>3} {signature}\n");
        }
    }
    insta::assert_snapshot!(text);
    found.retain(|_, signatures| signatures.len() > 1);
    assert_eq!(found, quirks_with_two_findings());
}

/// Two faults at once are two findings, of the same kind or not.
#[test]
fn two_faults_are_two_findings() {
    let stuck = |role: &str, counter: &str| format!("counter-mismatch/{role}/counter-differs/{counter}");
    let slow = |who: &str| format!("slow-retransmission/{who}");
    let again = || "gbn-violation/responder/nak-again".to_owned();
    let pairs = [
        (
            "[quirks]\nstuck-counters = [\"packet_seq_err\", \"out_of_sequence\"]",
            [stuck("requester", "packet_seq_err"), stuck("responder", "out_of_sequence")],
        ),
        (
            "[quirks]\nstuck-counters = [\"np_cnp_sent\", \"implied_nak_seq_err\"]",
            [stuck("notification-point", "np_cnp_sent"), stuck("requester", "implied_nak_seq_err")],
        ),
        (
            "[retransmission.nack-generation-ns]\nread = 300_000\nsend = 300_000",
            [slow("requester/slow-nack/generation-read"), slow("responder/slow-nack/generation-send")],
        ),
        (
            "[quirks]\nnak-repeats = 1\nresume-offset = 1",
            ["gbn-violation/requester/resume-late".to_owned(), again()],
        ),
        (
            "[quirks]\nmsn-offset = 1\nstuck-counters = [\"packet_seq_err\"]",
            [stuck("requester", "packet_seq_err"), "protocol-violation/responder/msn-wrong".to_owned()],
        ),
        (
            "[link]\nrate-gbps = 10\n[quirks]\nack-missing-every = 5\ncnp-suppressed = true",
            [
                "cnp-generation/notification-point/ecn-without-cnp/no-cnp".to_owned(),
                "gbn-violation/responder/ack-missing".to_owned(),
            ],
        ),
        (
            "[quirks]\ndoubled-counters = [\"out_of_sequence\"]\nnak-psn-offset = 1",
            [stuck("responder", "out_of_sequence"), "gbn-violation/responder/nak-wrong-psn".to_owned()],
        ),
    ];
    let nics: Vec<String> = pairs.iter().map(|(nic, _)| (*nic).to_owned()).collect();
    for ((nic, expected), found) in pairs.iter().zip(all_signatures(&nics, tests(200))) {
        assert!(found.keys().eq(expected.iter()), "{nic}: {found:#?}");
        // A finding that rests on one test alone could be anything.
        assert!(found.values().all(|count| *count > 2), "{nic}: {found:#?}");
    }
}

/// A slow path that is too narrow, and a stuck counter, on 16 connections of which some lose a packet.
#[test]
fn a_noisy_neighbour_is_not_hidden_by_a_stuck_counter() {
    let nic = "[slow-path]\ncontexts = 3\nverbs = [\"read\"]\n[receive]\nbuffer-bytes = 16_384\n\
               [retransmission.nack-generation-ns]\nread = 90_000\n\
               [quirks]\nstuck-counters = [\"implied_nak_seq_err\"]\n";
    let found = (1..=8).map(|noisy| {
        let test = format!(
            "[traffic]\nnum-connections = 16\nrdma-verb = \"read\"\nmessage-size = 20_480\n\
             [[event]]\nqpn = {{ first = {noisy} }}\npsn = 5\ntype = \"drop\"\n"
        );
        let mut counts = BTreeMap::new();
        add_findings(&corpus::from_toml("test.toml", &test).unwrap(), nic, &mut counts);
        counts.into_keys().collect::<Vec<_>>()
    });
    let stuck = "counter-mismatch/requester/counter-differs/implied_nak_seq_err".to_owned();
    let noisy = "noisy-neighbor/requester/innocent-suffers/lost".to_owned();
    // Where packets were discarded, the right value of the counter is unknown.
    let (stuck, noisy) = (vec![stuck], vec![noisy]);
    let expected = [&stuck, &stuck, &stuck, &noisy, &noisy, &noisy, &noisy, &noisy];
    assert!(found.eq(expected.into_iter().cloned()));
}
