//! Every way in which an observation can be something else than its script, and what is said then.

use std::fmt::Write as _;

use dumper::observation::CompletionStatus;
use dumper::script::{Found, FoundAnomaly, Script};
use dumper::{Completion, Counters, Delivery, HostCounters, Nanos, Observation};
use executor::script::{RunError, run};
use executor::{Testbed, TestbedError};

use crate::hand::{differences, observe, script};

const LOST: &str = "\
# Lost middle packet, on two connections.
traffic num-connections 2
traffic min-retransmit-timeout 4
+0 post write 4096
+0            > WRITE_FIRST  psn 1 len 1024 dma 4096 offset 0
+0            > WRITE_MIDDLE psn 2 iter 1 drop
+0            > WRITE_MIDDLE psn 3 mig-req 1
+0            > WRITE_LAST   psn 4 ackreq noce
+2us~+5us     < NAK-SEQ      psn 2 msn 0 nth 1
+1us~+9us     > WRITE_MIDDLE psn 2 iter 2
+0            > WRITE_MIDDLE psn 3 ce
+1T~+4T       > WRITE_LAST   psn 4 iter 2 ackreq ecn
{
  +1us        < CNP
  +2us~+3us   < ACK psn 4 msn 1
  +0          > WRITE_FIRST  qp 2 psn 1
  +0          < RNR-NAK qp 2 psn 1 timer 12
}
";

#[test]
fn what_a_script_says_fits_it() {
    assert_eq!(differences(&script(LOST), &observe(&script(LOST)), &Found::default()), "");
}

/// The script as it is, compared with what a changed one says.
fn seen_instead(from: &str, to: &str) -> String {
    assert!(LOST.contains(from), "{from}");
    let observation = observe(&script(&LOST.replacen(from, to, 1)));
    format!(
        "== {} -> {}\n{}\n",
        from.trim(),
        to.trim(),
        differences(&script(LOST), &observation, &Found::default())
    )
}

#[test]
fn each_difference_is_named() {
    let changes = [
        ("WRITE_MIDDLE psn 3 mig", "WRITE_LAST psn 3 mig"),
        ("< NAK-SEQ      psn 2 msn 0", "< ACK psn 2 msn 0"),
        ("< NAK-SEQ      psn 2", "> NAK-SEQ psn 2"),
        ("< NAK-SEQ      psn 2", "< NAK-SEQ qp 2 psn 2"),
        ("< NAK-SEQ      psn 2", "< NAK-SEQ psn 3"),
        ("len 1024", "len 1000"),
        ("dma 4096", "dma 2048"),
        (
            "+0            > WRITE_MIDDLE psn 2 iter 1 drop\n",
            "+0 > WRITE_MIDDLE psn 1\n+0 > WRITE_MIDDLE psn 2 iter 2 drop\n",
        ),
        ("iter 1 drop", "iter 1"),
        ("iter 1 drop", "iter 1 corrupt"),
        ("mig-req 1", "mig-req 0"),
        ("ackreq noce", "noce"),
        ("noce", "ce"),
        ("msn 0", "msn 7"),
        ("psn 3 ce", "psn 3"),
        ("+2us~+5us", "+1999ns"),
        ("+2us~+5us", "+5001ns"),
        ("+1T~+4T", "+4.1T"),
        ("timer 12", "timer 13"),
        ("+2us~+3us", "+3us"),
        ("  +1us        < CNP\n", ""),
        (
            "  +0          < RNR-NAK qp 2 psn 1 timer 12\n",
            "  +0 < RNR-NAK qp 2 psn 1 timer 12\n  +0 < ACK psn 4\n",
        ),
        ("  +1us        < CNP\n", "  +1us < ACK psn 3\n"),
    ];
    let answers: String = changes.iter().map(|(from, to)| seen_instead(from, to)).collect();
    insta::assert_snapshot!(answers);
}

/// A NIC that does one thing wrong does it in every packet: the first ones say all there is.
#[test]
fn the_same_fault_is_not_told_for_ever() {
    let packets = |ackreq: &str| {
        let lines = (1..=200).map(|psn| format!("+0 > WRITE_ONLY psn {psn} {ackreq}\n"));
        script(&format!("+0 post write 10 x 200\n{}", lines.collect::<String>()))
    };
    let mismatches = differences(&packets("ackreq"), &observe(&packets("noackreq")), &Found::default());
    assert_eq!(mismatches.matches("ackreq: expected ackreq, seen noackreq").count(), 50);
}

const SKIPS: &str = "\
+0 post write 2048 x 3
...
+0 > WRITE_LAST psn 4 iter 1 drop
...
{
+0 < NAK-SEQ psn 4
+0~+2us > WRITE_FIRST psn 5
}
...
";

#[test]
fn packets_are_skipped_until_one_fits() {
    let seen = "\
+0 post write 2048 x 3
+0 > WRITE_FIRST psn 1
+0 > WRITE_LAST psn 2
+0 < ACK psn 2
+0 > WRITE_FIRST psn 3
+0 > WRITE_LAST psn 4 drop
+0 < ACK psn 3
+1us > WRITE_FIRST psn 5
+0 < NAK-SEQ psn 4
+0 > WRITE_LAST psn 4
";
    assert_eq!(differences(&script(SKIPS), &observe(&script(seen)), &Found::default()), "");
    let mut answers = String::new();
    for (from, to) in
        [("WRITE_LAST psn 4 drop", "WRITE_LAST psn 2"), ("NAK-SEQ psn 4", "NAK-SEQ psn 3"), ("+1us", "+3us")]
    {
        let observation = observe(&script(&seen.replacen(from, to, 1)));
        write!(
            answers,
            "== {from} -> {to}\n{}\n",
            differences(&script(SKIPS), &observation, &Found::default())
        )
        .unwrap();
    }
    let nothing = Observation { trace: Default::default(), ..observe(&script(seen)) };
    write!(answers, "== nothing\n{}\n", differences(&script(SKIPS), &nothing, &Found::default())).unwrap();
    let unlisted = Observation { connections: Vec::new(), ..observe(&script(seen)) };
    write!(answers, "== no connections\n{}", differences(&script(SKIPS), &unlisted, &Found::default()))
        .unwrap();
    insta::assert_snapshot!(answers);
}

/// Offsets count from the message's first RETH; a Read is issued again from where its response broke off.
#[test]
fn reads_are_issued_again_further_on() {
    let text = "\
+0 post read 4096
+0 > READ_REQUEST psn 1 dma 4096 offset 0
+0 < READ_RESPONSE_FIRST psn 1 msn 1
+0 < READ_RESPONSE_MIDDLE psn 2 drop
+0 < READ_RESPONSE_MIDDLE psn 3
+0 > READ_REQUEST psn 2 nth 2 dma 3072 offset 1024
+0 < READ_RESPONSE_FIRST psn 2 iter 2 msn 1
";
    assert_eq!(differences(&script(text), &observe(&script(text)), &Found::default()), "");
    let early = observe(&script(&text.replace("offset 1024", "offset -1024")));
    insta::assert_snapshot!(differences(&script(text), &early, &Found::default()));
}

const EXPECTING: &str = "\
traffic num-connections 2
+0 post write 100 x 3
...
expect no anomaly
expect anomaly gbn-violation
expect anomaly gbn-violation nak-again
expect counter responder out_of_sequence 1
expect counter requester packet_seq_err 1
expect completion success
expect completion qp 2 success
expect completion qp 1 message 2~3 flushed
expect delivered all
expect delivered 4 of 6
expect packets 0
expect timeouts tail-lost 1
";

/// Anomalies of these rules, and as many time-outs.
fn found(rules: &[&str]) -> Found {
    let anomaly = |rule: &&str| FoundAnomaly {
        kind: "gbn-violation".into(),
        rule: (*rule).into(),
        text: "the responder NAKed psn 2 again".into(),
    };
    Found {
        anomalies: rules.iter().map(anomaly).collect(),
        timeouts: rules.iter().map(|_| "tail-lost".into()).collect(),
    }
}

fn counters(name: &str, moved: u64) -> Option<HostCounters> {
    let counted = |value| Counters { hw_counters: [(name.to_owned(), value)].into(), ..Counters::default() };
    Some(HostCounters { start: counted(10), finish: counted(10 + moved) })
}

/// Three messages on each of two connections: what a host said of them.
fn ended(status: impl Fn(u32, u32) -> CompletionStatus) -> Vec<Completion> {
    let (posted_ns, completed_ns) = (Nanos(0), Nanos(1));
    let one = |connection, message| Completion {
        connection,
        message,
        posted_ns,
        completed_ns,
        bytes: 100,
        status: status(connection, message),
    };
    (1..=2).flat_map(|connection| (1..=3).map(move |message| one(connection, message))).collect()
}

fn arrived(bytes: impl Fn(u32, u32) -> u64) -> Vec<Delivery> {
    let one = |connection, message| Delivery {
        connection,
        message,
        bytes: bytes(connection, message),
        intact: true,
    };
    (1..=2).flat_map(|connection| (1..=3).map(move |message| one(connection, message))).collect()
}

/// Lines of [`EXPECTING`] that do not hold.
fn broken(observation: &Observation, found: &Found) -> String {
    differences(&script(EXPECTING), observation, found)
}

#[test]
fn expectations_say_what_they_met() {
    let nothing = Observation::default();
    let good = Observation {
        requester: counters("packet_seq_err", 1),
        responder: counters("out_of_sequence", 1),
        completions: Some(ended(|_, _| CompletionStatus::Success)),
        deliveries: Some(arrived(|_, _| 100)),
        ..Observation::default()
    };
    let bad = Observation {
        requester: counters("packet_seq_er", 1),
        responder: counters("out_of_sequence", 2),
        completions: Some(ended(|qp, message| match (qp, message) {
            (1, 1) => CompletionStatus::RetryExceeded,
            (1, _) => CompletionStatus::Flushed,
            _ => CompletionStatus::Success,
        })),
        deliveries: Some(
            arrived(|qp, message| if (qp, message) == (1, 3) { 200 } else { 100 })[..5].to_vec(),
        ),
        ..observe(&script("+0 post send 10\n+0 > SEND_ONLY psn 1\n"))
    };
    let answers = format!(
        "== nothing was reported\n{}\n== all well\n{}\n== an error\n{}",
        broken(&nothing, &Found::default()),
        broken(&good, &found(&["nak-again"])),
        broken(&bad, &found(&["nak-wrong-psn", "nak-wrong-psn"]))
    );
    insta::assert_snapshot!(answers);
}

/// A testbed that has seen it all before.
struct Replayed(Observation);

impl Testbed for Replayed {
    fn capabilities(&self) -> corpus::Capabilities {
        corpus::Capabilities::all()
    }

    fn run(&mut self, _: &corpus::TestConfig) -> Result<Observation, TestbedError> {
        Ok(self.0.clone())
    }
}

fn run_on(expected: &Script, observation: Observation) -> usize {
    let judge = |_: &corpus::TestConfig, seen: &Observation| {
        let broken = seen.trace.records().len() > 1;
        if broken { found(&["nak-again"]) } else { Found::default() }
    };
    run(expected, &mut Replayed(observation), judge).unwrap().mismatches.len()
}

#[test]
fn a_script_runs_on_a_testbed_and_is_judged() {
    let one = script("+0 post send 10\n+0 > SEND_ONLY psn 1\nexpect no anomaly\n");
    let two = script("+0 post send 10\n+0 > SEND_ONLY psn 1\n+0 > SEND_ONLY psn 1\n");
    assert_eq!(run_on(&one, observe(&one)), 0);
    // A packet is left over, and there is an anomaly.
    assert_eq!(run_on(&one, observe(&two)), 2);
    let none = script("traffic tx-depth 0\n+0 post send 10\n");
    let refused = run(&none, &mut Replayed(Observation::default()), |_, _| Found::default());
    assert!(matches!(refused, Err(RunError::Script(_))));
}
