//! Reports as engineers read them: known answers, and whole reports of simulated runs.

use std::path::Path;

use corpus::testing::configs;
use corpus::{FindingRecord, Minimized, TestConfig};
use dumper::Observation;
use executor::profile::{self, NicProfile};
use executor::{Testbed, TestbedError};
use proptest::prelude::*;

use super::title::MAX_TITLE;
use super::{Subject, brief, minimised, text, title, words};
use crate::judge::{InMemory, Judged, Verdict, judge};
use crate::policy::Policy;

/// Two NICs, whatever a test calls them.
struct Pair(NicProfile);

impl Testbed for Pair {
    fn capabilities(&self) -> corpus::Capabilities {
        corpus::Capabilities::all()
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        executor::sim::run(config, [self.0.clone(), self.0.clone()])
    }
}

fn nic(name: &str) -> NicProfile {
    profile::load(name, Path::new(".")).unwrap()
}

fn config(toml: &str) -> TestConfig {
    corpus::from_toml("test.toml", toml).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The report of the first finding of a kind that a test shows.
fn report(nic: NicProfile, kind: &str, minimized: Minimized, toml: &str) -> String {
    let config = config(toml);
    report_of(&judged(nic, &config), kind, minimized, config)
}

fn judged(nic: NicProfile, config: &TestConfig) -> Box<Judged> {
    match judge(&mut Pair(nic), config, &InMemory::new(Policy::OneRun)).unwrap() {
        Verdict::Judged(judged) => judged,
        Verdict::Invalid(invalid) => panic!("{invalid}"),
    }
}

fn report_of(judged: &Judged, kind: &str, minimized: Minimized, config: TestConfig) -> String {
    let Some(anomaly) = judged.assessment.findings().find(|anomaly| anomaly.kind().name() == kind) else {
        panic!("{:?}", judged.signatures());
    };
    let finding = FindingRecord {
        id: "0123456789ab".into(),
        kind: kind.into(),
        signature: anomaly.signature(),
        title: title(anomaly, &config),
        first_seen_execution: 17,
        sightings: if minimized == Minimized::Pending { 1 } else { 3 },
        config: config.clone(),
        reproducer: config,
        minimized,
        minimizer_executions: 91,
        evidence: String::new(),
    };
    let text = text(&Subject {
        finding: &finding,
        anomaly,
        judged,
        measured: &[],
        nics: ["first-nic", "second.toml"],
        policy: Policy::OneRun,
    });
    // Lines of a printed page.
    assert!(text.lines().count() <= 66, "{text}");
    text
}

/// Losses of eleven Reads, one more than cx4-lx has contexts for.
pub(crate) const NOISY: &str = r#"
    [traffic]
    num-connections = 41
    rdma-verb = "read"
    num-msgs-per-qp = 1
    message-size = 16384
    [[event]]
    qpn = { first = 11 }
    psn = 1
    type = "drop"
"#;

#[test]
fn noisy_neighbor() {
    insta::assert_snapshot!(report(nic("cx4-lx"), "noisy-neighbor", Minimized::Full, NOISY));
}

/// The same of Reads that lose packets at random.
pub(crate) const LOSSES: &str = r#"
    [traffic]
    num-connections = 14
    rdma-verb = "read"
    num-msgs-per-qp = 1
    mtu = 512
    message-size = 41553
    [network]
    loss-ppb = 50_000_000
    links = 3
    loss-qpn = { first = 11 }
"#;

/// A noisy neighbour that a test shows.
pub(crate) fn noisy(toml: &str, minimized: Minimized) -> FindingRecord {
    let config = config(toml);
    FindingRecord {
        id: "0123456789ab".into(),
        kind: "noisy-neighbor".into(),
        signature: "noisy-neighbor/requester/innocent-suffers/lost".into(),
        title: String::new(),
        first_seen_execution: 17,
        sightings: 1,
        config: config.clone(),
        reproducer: config,
        minimized,
        minimizer_executions: 0,
        evidence: String::new(),
    }
}

/// A minimised test that still loses packets at random says so.
#[test]
fn losses_that_stay_random() {
    let says = |minimized, test: &str| minimised(&noisy(test, minimized), Policy::OneRun);
    for minimized in [Minimized::Partial, Minimized::Full] {
        assert!(says(minimized, LOSSES).contains("packets at random"));
        assert!(!says(minimized, NOISY).contains("packets at random"));
    }
    assert!(!says(Minimized::Pending, LOSSES).contains("packets at random"));
}

/// A symptom is below its cause, and no finding of its own.
#[test]
fn symptoms() {
    let config = config(NOISY);
    let judged = judged(nic("cx4-lx"), &config);
    let text = report_of(&judged, "noisy-neighbor", Minimized::Full, config);
    let (_, below) = text.split_once("Symptoms of it in the same run\n").unwrap();
    assert!(below.starts_with("  slow-retransmission/"), "{text}");
    assert!(!text.contains("Other findings"), "{text}");
}

#[test]
fn nak_again() {
    let mut nic = nic("reference");
    nic.quirks.nak_repeats = 1;
    let test = r#"
        [traffic]
        num-msgs-per-qp = 1
        message-size = 4096
        [[event]]
        qpn = 1
        psn = 1
        type = "drop"
    "#;
    insta::assert_snapshot!(report(nic, "gbn-violation", Minimized::Partial, test));
}

#[test]
fn stuck_counter() {
    let mut nic = nic("reference");
    nic.quirks.stuck_counters = vec!["packet_seq_err".into()];
    let test = r#"
        [traffic]
        num-msgs-per-qp = 1
        [[event]]
        qpn = 1
        psn = 1
        type = "drop"
    "#;
    insta::assert_snapshot!(report(nic, "counter-mismatch", Minimized::Pending, test));
}

#[test]
fn a_test_in_words() {
    for (toml, expected) in [
        (
            "",
            "One connection Writes 10 messages of 10240 bytes (10 packets each, MTU 1024). No packet has an event. \
             All other parameters have their defaults.",
        ),
        (
            r#"
            [responder]
            traffic-class = 3
            [traffic]
            num-connections = 12
            rdma-verb = "read"
            num-msgs-per-qp = 1
            message-size = 20480
            min-retransmit-timeout = 18
            [[event]]
            qpn = { first = 11 }
            psn = 5
            type = "drop"
            "#,
            "12 connections each Read 1 message of 20480 bytes (20 packets, MTU 1024). The data of the responder is \
             in traffic class 3. Data packet 5 of connections 1 to 11 is dropped. Other values than the defaults: min-retransmit-timeout = 18.",
        ),
        (
            r#"
            [requester]
            traffic-class = [0, 1, 1]
            ets = { weights = [50, 50] }
            [responder]
            traffic-class = [0, 1, 1]
            ets = { weights = [50, 50] }
            [traffic]
            num-connections = 3
            message-size = 1024
            num-msgs-per-qp = 1
            "#,
            "3 connections each Write 1 message of 1024 bytes (1 packet, MTU 1024). The data of both hosts is in two \
             traffic classes of equal weight: class 0 has connection 1, class 1 has connections 2, 3. No packet \
             has an event. All other parameters have their defaults.",
        ),
        (
            r#"
            [requester]
            traffic-class = [2, 5]
            ets = { weights = [0, 10, 20], strict = [5] }
            [traffic]
            num-connections = 2
            message-size = 1024
            num-msgs-per-qp = 1
            "#,
            "2 connections each Write 1 message of 1024 bytes (1 packet, MTU 1024). The data of the requester is in \
             three traffic classes: class 1 of weight 10 has no connection, class 2 of weight 20 has connection 1, \
             class 5 with strict priority has connection 2. No packet has an event. All other parameters have their \
             defaults.",
        ),
        (
            r#"
            [responder.roce-parameters]
            slow-restart = true
            [traffic]
            num-connections = { send = 1, read = 3 }
            rdma-verb = "send_read"
            num-msgs-per-qp = 4
            tx-depth = 2
            barrier-sync = true
            message-size = 1
            mtu = 256
            [[event]]
            qpn = [1, 3, 4]
            psn = 1
            every = 2
            type = "delay"
            delay-us = 50
            [[event]]
            qpn = 2
            packet = "read-request"
            nth = 2
            every = 1
            count = 3
            type = "duplicate"
            copies = 2
            [[event]]
            qpn = 2
            psn = 3
            iter = 2
            type = "reorder"
            by = 1
            "#,
            "Of 4 connections, connection 1 for Sends and connections 2 to 4 for Reads, each has 4 messages of 1 byte \
             (1 packet each, MTU 256), up to 2 of them at a time, and wait for each other after every 2 messages. Data packet 1 and \
             every 2nd after it (to the end) of connections 1, 3, 4 are delayed by 50.0 µs. Read request 2 and \
             each after it (3 in all) of connection 2 are sent 3 times. Data packet 3 of connection 2 is held back \
             until overtaken by 1 later packet, when sent for the 2nd time. Other values than the defaults: slow-restart = \
             true of the responder.",
        ),
    ] {
        assert_eq!(words::sentences(&config(toml)), expected);
    }
}

#[test]
fn numbers_in_spans() {
    for (numbers, expected) in [
        (&[4][..], "connection 4"),
        (&[2, 1], "connections 1, 2"),
        (&[3, 1, 2, 9, 7, 8, 5], "connections 1 to 3, 5, 7 to 9"),
    ] {
        assert_eq!(words::numbers(numbers.iter().copied()), expected);
    }
}

proptest! {
    /// Only values that are not at their defaults are written, and the file is the test.
    #[test]
    fn a_brief_file_is_the_test(config in configs()) {
        let text: String = brief::sections(&config)
            .into_iter()
            .map(|section| format!("{}\n{}\n\n", section.header, section.lines.join("\n")))
            .collect();
        let read = corpus::from_toml("brief.toml", &text);
        prop_assert_eq!(read.as_ref(), Ok(&config), "{}", text);
    }

    #[test]
    fn titles_fit_one_line(config in configs(), what in "[a-zµ, ]{0,300}") {
        let anomaly = scoring::Anomaly {
            rule: scoring::Rule::NakAgain,
            who: scoring::Who { role: scoring::Role::NotificationPoint, address: None, connection: None },
            state: "state".into(),
            what,
            evidence: scoring::Evidence::default(),
        };
        let title = title(&anomaly, &config);
        prop_assert!(title.chars().count() <= MAX_TITLE && title.lines().count() == 1, "{}", title);
        prop_assert!(title.starts_with("Notification point"), "{}", title);
    }
}
