//! Copies and dummies that harm a connection, just below and just above each threshold.

use dumper::observation::{CompletionStatus, Delivery};
use dumper::wire::Opcode::{WriteMiddle, WriteOnly};
use dumper::{Completion, Connection, Counters, Endpoint, HostCounters, Nanos, Observation, Psn};
use scoring::score::{
    Assessment, Baseline, Mct, Recovery, Reference, References, references_needed, score, unjudged,
};
use scoring::{ExpiryCause, Kind};

use crate::hand::{Hand, analysis, config, host, signatures};

const MS: u64 = 1_000_000;
/// The ACK timeout, and what a timer may be off by.
const T: u64 = 67_108_864;
const SLACK: u64 = 50_000;

const FAILS: &str = "mitigation-harm/requester/mitigation-harms/fails";
const DATA: &str = "mitigation-harm/responder/mitigation-harms/data";
const TIME_OUTS: &str = "mitigation-harm/responder/mitigation-harms/time-outs";
const SLOW: &str = "mitigation-harm/requester/mitigation-harms/slow";

/// The trace of one connection with its only message, of so many packets, and of hosts that discard nothing.
fn observed(hand: Hand, packets: u64, time: u64, status: CompletionStatus) -> Observation {
    let end = |n, qpn| Endpoint { ip: host(n), qpn: Some(qpn), initial_psn: Some(Psn::new(10)) };
    let counters =
        || Counters { ethtool_counters: [("rx_discards_phy".to_owned(), 0)].into(), ..Counters::default() };
    let counted = || Some(HostCounters { start: counters(), finish: counters() });
    Observation {
        connections: vec![Connection { requester: end(1, 0x11), responder: end(2, 0x22) }],
        completions: Some(vec![Completion {
            connection: 1,
            message: 1,
            posted_ns: Nanos(0),
            completed_ns: Nanos(time),
            bytes: packets * 1_024,
            status,
        }]),
        requester: counted(),
        responder: counted(),
        ..hand.observation()
    }
}

/// A run without copies and dummies in which the message completes.
fn usual(recovery: Recovery) -> Baseline {
    let mct = Mct { completed: 1, failed: false, mean: Nanos(5_000), max: Nanos(5_000) };
    Baseline { connections: vec![mct], recoveries: vec![recovery], ..Baseline::default() }
}

/// True if a reference run is requested, and the assessment with one.
fn judged(text: &str, observation: &Observation, usual: &Baseline) -> (bool, Assessment) {
    let config = config(text);
    let analysis = analysis(&config, observation);
    let asks = references_needed(&config, observation, &analysis) == [Reference::WithoutMitigation];
    let references = References { without_mitigation: Some(usual.clone()), ..References::default() };
    (asks, score(&config, observation, &analysis, &references))
}

/// Signatures of harm, findings and symptoms of others.
fn harms(assessment: &Assessment) -> Vec<String> {
    let all = assessment.anomalies.iter().filter(|anomaly| anomaly.kind() == Kind::MitigationHarm);
    all.map(scoring::Anomaly::signature).collect()
}

/// The second of four packets is lost, and its NAK comes with so many copies to a requester with so many retries, which gives up.
#[derive(Clone, Copy)]
struct Failing {
    copies: u8,
    retries: u32,
    status: CompletionStatus,
    /// It has repeated the packet, which was lost again.
    has_returned: bool,
}

const FAILING: Failing =
    Failing { copies: 1, retries: 1, status: CompletionStatus::RetryExceeded, has_returned: false };

impl Failing {
    fn judged(self, usual: &Baseline) -> Vec<String> {
        let (mut hand, there, back) = Hand::lossy_write();
        hand.copied_nak(3_000, back, 11, self.copies);
        if self.has_returned {
            hand.lost(5_000, there, WriteMiddle, 11);
        }
        let text = format!(
            "[traffic]\nrdma-verb = \"write\"\nnum-msgs-per-qp = 1\nmessage-size = 4096\nmax-retransmit-retry = {}\n\
             [network.repeat]\nnaks = {}\n[[event]]\nqpn = 1\npsn = 2\ntype = \"drop\"\n",
            self.retries,
            1 + self.copies
        );
        let observation = observed(hand, 4, 4_000, self.status);
        let (asks, assessment) = judged(&text, &observation, usual);
        let found = signatures(&assessment);
        assert!(asks || found.iter().all(|one| one != FAILS));
        found
    }
}

/// A requester that reacts to a NAK within so long without copies.
fn reacts_within(time: u64) -> Baseline {
    usual(Recovery { slowest_reaction: Some(Nanos(time)), ..Recovery::default() })
}

#[test]
fn a_requester_fails_at_a_copy() {
    let none: [&str; 0] = [];
    assert_eq!(FAILING.judged(&reacts_within(2_000)), [FAILS]);
    // Without a copy it may not fail at all, which has its own rule; with a retry less, the NAK ends it.
    let alone = Failing { copies: 0, ..FAILING }.judged(&reacts_within(2_000));
    assert!(!alone.iter().any(|one| one == FAILS), "{alone:?}");
    assert_eq!(Failing { retries: 0, ..FAILING }.judged(&reacts_within(2_000)), none);
    // Three retries spent, and two of them on copies.
    assert_eq!(Failing { retries: 2, copies: 2, ..FAILING }.judged(&reacts_within(2_000)), [FAILS]);
    // It fails for another reason.
    let flushed = Failing { status: CompletionStatus::RemoteError, ..FAILING }.judged(&reacts_within(2_000));
    assert!(!flushed.iter().any(|one| one == FAILS), "{flushed:?}");
    // What it repeated was lost as well: the copy may have come after it, as another NAK.
    assert_eq!(Failing { has_returned: true, ..FAILING }.judged(&reacts_within(2_000)), none);
}

#[test]
fn a_requester_that_is_slower_than_its_timer_fails_at_that() {
    // Four times the slowest reaction: the NAK started the timer again.
    let limit = (T - SLACK) / 4;
    assert_eq!(FAILING.judged(&reacts_within(limit)), [FAILS]);
    assert_eq!(FAILING.judged(&reacts_within(limit + 1)), [""; 0]);
    // Nobody has seen it react.
    assert_eq!(FAILING.judged(&usual(Recovery::default())), [""; 0]);
}

#[test]
fn what_fails_without_copies_too_is_not_harmed_by_them() {
    let mut failing = reacts_within(2_000);
    failing.connections[0] = Mct { failed: true, ..Mct::default() };
    assert_eq!(FAILING.judged(&failing), [""; 0]);
    failing.connections[0] = Mct::default();
    assert_eq!(FAILING.judged(&failing), [""; 0]);
}

const ONE_DUMMY: &str =
    "[traffic]\nrdma-verb = \"write\"\nnum-msgs-per-qp = 1\nmessage-size = 1024\ndummy-headers = 1\n";

/// A message and a dummy, without any loss: the message takes so long.
fn without_loss(time: u64) -> Observation {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.last(1_000, there, WriteOnly, 10);
    hand.with(1_100, there, WriteOnly, 11, |record| {
        record.payload_len = 0;
        record.flags |= dumper::trace::flags::ACK_REQ;
    });
    hand.ack(3_000, back, 10, 1);
    hand.ack(3_100, back, 11, 2);
    observed(hand, 1, time, CompletionStatus::Success)
}

#[test]
fn messages_are_slow() {
    let slow = |text: &str, time: u64, usually: u64| {
        let baseline = usual(Recovery { median: Some(Nanos(usually)), ..Recovery::default() });
        let (asks, assessment) = judged(text, &without_loss(time), &baseline);
        let found = signatures(&assessment);
        assert!(asks || found.is_empty());
        assert!(found.is_empty() || found == [SLOW], "{found:?}");
        !found.is_empty()
    };
    // Four packets of 1 µs for the NIC and 19.2 ns for the link, and what hosts take.
    let explained = 4_000 + 77 + 4 * MS;
    assert!(!slow(ONE_DUMMY, 5_000 + explained, 5_000));
    assert!(slow(ONE_DUMMY, 5_001 + explained, 5_000));
    // Half as long again as two messages.
    assert!(!slow(ONE_DUMMY, 30 * MS, 10 * MS));
    assert!(slow(ONE_DUMMY, 30 * MS + 1, 10 * MS));
    // A copy of the last packet is one more.
    let tails = format!("{ONE_DUMMY}[network.repeat]\ntails = 2\n");
    assert!(!slow(&tails, 45 * MS, 10 * MS));
    assert!(slow(&tails, 45 * MS + 1, 10 * MS));
    // Without either nothing is compared.
    assert!(!slow(&ONE_DUMMY.replace("dummy-headers = 1", ""), 300 * MS, 10 * MS));
}

/// A test that has more retransmissions than without dummies is slower for that.
#[test]
fn more_recoveries_explain_slow_messages() {
    let slow = |retransmissions: u64| {
        let recovery = Recovery { median: Some(Nanos(5_000)), ..Recovery::default() };
        let baseline = Baseline { retransmissions, ..usual(recovery) };
        // The dummy is sent again for no reason that the trace shows, long after the message.
        let mut hand = Hand::new();
        let (there, back) = hand.connection();
        let (other, other_back) = (hand.flow(1, 2, 0x44, 0xc001), hand.flow(2, 1, 0x33, 0xc001));
        hand.last(1_000, there, WriteOnly, 10);
        hand.last(1_050, other, WriteOnly, 50);
        hand.ack(3_000, back, 10, 1);
        hand.last(100 * MS, other, WriteOnly, 50);
        hand.ack(101 * MS, other_back, 50, 1);
        let observation = observed(hand, 1, 90 * MS, CompletionStatus::Success);
        let (_, assessment) = judged(ONE_DUMMY, &observation, &baseline);
        harms(&assessment).iter().any(|one| one == SLOW)
    };
    assert!(!slow(0));
    assert!(slow(1));
}

/// A message that was delivered is not acknowledged until its timer expires.
fn unanswered() -> Observation {
    let mut hand = Hand::new();
    let (there, back) = hand.connection();
    hand.last(1_000, there, WriteOnly, 10);
    hand.last(100 * MS, there, WriteOnly, 10);
    hand.ack(100 * MS + 3_000, back, 10, 1);
    hand.with(101 * MS, there, WriteOnly, 11, |record| {
        record.payload_len = 0;
        record.flags |= dumper::trace::flags::ACK_REQ;
    });
    hand.ack(101 * MS + 3_000, back, 11, 2);
    observed(hand, 1, 100 * MS + 5_000, CompletionStatus::Success)
}

#[test]
fn time_outs_that_no_loss_explains_are_compared() {
    let with = |timeouts: &[(ExpiryCause, usize)]| {
        let timeouts = timeouts.iter().copied().collect();
        judged(ONE_DUMMY, &unanswered(), &usual(Recovery { timeouts, ..Recovery::default() }))
    };
    let (asks, assessment) = with(&[(ExpiryCause::TailLost, 3)]);
    assert!(asks);
    assert_eq!(harms(&assessment), [TIME_OUTS]);
    // It shows beside the rule that the responder breaks, and is no finding of its own.
    assert_eq!(signatures(&assessment), ["gbn-violation/responder/ack-missing"]);
    let harm = assessment.anomalies.iter().find(|one| one.kind() == Kind::MitigationHarm).unwrap();
    assert_eq!(harm.evidence.timeouts["timeouts"], [(ExpiryCause::AckMissing, 1)].into());
    assert_eq!(harm.evidence.timeouts["reference-timeouts"], [(ExpiryCause::TailLost, 3)].into());
    assert_eq!(harms(&with(&[(ExpiryCause::NakIgnored, 1)]).1), [""; 0]);
}

#[test]
fn data_is_compared() {
    let mut observation = without_loss(5_000);
    observation.deliveries = Some(vec![Delivery { connection: 1, message: 1, bytes: 1_024, intact: false }]);
    let with = |has_wrong_data| {
        let baseline = usual(Recovery { has_wrong_data, ..Recovery::default() });
        harms(&judged(ONE_DUMMY, &observation, &baseline).1)
    };
    assert_eq!(with(false), [DATA]);
    assert_eq!(with(true), [""; 0]);
}

#[test]
fn what_was_not_compared_is_listed() {
    let (config, observation) = (config(ONE_DUMMY), unanswered());
    let analysis = analysis(&config, &observation);
    let mut references = References::default();
    references.not_made.insert(Reference::WithoutMitigation, "there is no testbed".to_owned());
    let listed = |references: &References| {
        let all = unjudged(Some(&config), &observation, &analysis, references);
        let ours = all.into_iter().find(|one| one.what == Kind::MitigationHarm.name());
        ours.map(|one| one.reason)
    };
    let reason = "the same test without copies and dummies was not compared: there is no testbed";
    assert_eq!(listed(&references).as_deref(), Some(reason));
    references.without_mitigation = Some(usual(Recovery::default()));
    assert_eq!(listed(&references), None);
}
