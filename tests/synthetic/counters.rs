//! Counters against the trace: each one stuck, or off by one, is named, and no other.

use scoring::{Options, analyze};
use tests::synthetic::{
    self, Action, Fault, Kind, Message, Notifications, Outcome, Scope, Target, Verb, World, counters,
};

use crate::common::config_of;

/// A world in which every counter of both hosts moves.
fn eventful() -> Outcome {
    let mut messages = vec![Message::new(Verb::Send, 6_000); 4];
    messages.extend([Message::new(Verb::Read, 6_000); 4]);
    let mut world = World::with(messages);
    world.timeout = 10;
    world.notifications = Some(Notifications { interval_us: 4, scope: Scope::Qp, on_loss: false });
    world.connections[0].not_ready = vec![(0, 1)];
    let fault = |target, action| Fault { connection: 1, target, action };
    world.faults = vec![
        fault(Target::Psn(8, 1), Action::Drop),
        fault(Target::Psn(12, 1), Action::Drop),
        fault(Target::Psn(15, 1), Action::Ecn),
        fault(Target::Psn(16, 1), Action::Corrupt),
        fault(Target::Psn(26, 1), Action::Drop),
        fault(Target::Psn(32, 1), Action::Ecn),
        fault(Target::Psn(34, 1), Action::Corrupt),
        fault(Target::Nth(Kind::Ack, 3), Action::Drop),
    ];
    let outcome = synthetic::run(&world);
    assert!(outcome.gave_up.is_empty());
    outcome
}

/// Signatures of what is remarked when a host's counter is moved from what it should be.
fn remarks(outcome: &Outcome, side: usize, counter: &str, change: impl Fn(u64) -> u64) -> Vec<String> {
    let mut hosts = outcome.tallies.map(|tally| counters::nvidia(&tally));
    let start = hosts[side].start.hw_counters[counter];
    if let Some(value) = hosts[side].finish.hw_counters.get_mut(counter) {
        *value = start + change(*value - start);
    }
    let [requester, responder] = hosts.map(Some);
    let observation = dumper::Observation { requester, responder, ..outcome.observation.clone() };
    let mut world = World::with(Vec::new());
    world.notifications = Some(Notifications { interval_us: 4, scope: Scope::Qp, on_loss: false });
    let mut config = config_of(&world);
    config.traffic.max_retransmit_retry = 7;
    let analysis = analyze(&observation, Options { config: Some(&config) });
    analysis.anomalies.kept().iter().map(scoring::Anomaly::signature).collect()
}

#[test]
fn each_counter_that_is_stuck_or_off_by_one_is_named() {
    let outcome = eventful();
    // Counter, host, whether one more or less is noticed besides not moving at all.
    let exact = [
        ("packet_seq_err", 0),
        ("out_of_sequence", 1),
        ("rnr_nak_retry_err", 0),
        ("np_ecn_marked_roce_packets", 0),
        ("np_ecn_marked_roce_packets", 1),
        ("np_cnp_sent", 0),
        ("np_cnp_sent", 1),
        ("rp_cnp_handled", 0),
        ("rp_cnp_handled", 1),
        ("rx_icrc_encapsulated", 0),
        ("rx_icrc_encapsulated", 1),
        ("duplicate_request", 1),
        ("local_ack_timeout_err", 0),
    ];
    for (counter, side) in exact {
        let role = ["requester", "responder"][side];
        let named = vec![format!("counter-mismatch/{role}/counter-differs/{counter}")];
        assert_eq!(remarks(&outcome, side, counter, |moved| moved), Vec::<String>::new());
        assert_eq!(remarks(&outcome, side, counter, |_| 0), named, "stuck");
        // A duplicate may be discarded without a trace, and a counter of discards that is 0 proves nothing.
        let fewer = if counter == "duplicate_request" { Vec::new() } else { named };
        assert_eq!(remarks(&outcome, side, counter, |moved| moved - 1), fewer, "one less");
    }
    for (counter, side) in exact.into_iter().filter(|(counter, _)| *counter != "local_ack_timeout_err") {
        let role = ["requester", "responder"][side];
        let named = vec![format!("counter-mismatch/{role}/counter-differs/{counter}")];
        assert_eq!(remarks(&outcome, side, counter, |moved| moved + 1), named, "one more");
    }
    // Implementations differ in what they count as one implied NAK; ports carry other traffic, too.
    let implied = vec!["counter-mismatch/requester/counter-differs/implied_nak_seq_err".to_owned()];
    assert_eq!(remarks(&outcome, 0, "implied_nak_seq_err", |_| 0), implied);
    assert_eq!(remarks(&outcome, 0, "implied_nak_seq_err", |moved| moved + 1), Vec::<String>::new());
    for (counter, side) in [("port_xmit_packets", 0), ("port_rcv_packets", 1)] {
        let role = ["requester", "responder"][side];
        let named = vec![format!("counter-mismatch/{role}/counter-differs/{counter}")];
        assert_eq!(remarks(&outcome, side, counter, |moved| moved - 1), named, "one less");
        assert_eq!(remarks(&outcome, side, counter, |moved| moved + 1), Vec::<String>::new());
    }
}

/// The last expiry before a requester gives up sends nothing, so one more does not contradict.
#[test]
fn giving_up_counts_one_more_timeout() {
    let mut world = World::with(vec![Message::new(Verb::Write, 100)]);
    let drop = |round| Fault { connection: 1, target: Target::Psn(1, round), action: Action::Drop };
    world.faults = (1..=8).map(drop).collect();
    let outcome = synthetic::run(&world);
    assert_eq!((outcome.gave_up.len(), outcome.tallies[0].timeouts), (1, 8));
    assert_eq!(remarks(&outcome, 0, "local_ack_timeout_err", |moved| moved), Vec::<String>::new());
    assert_eq!(remarks(&outcome, 0, "local_ack_timeout_err", |moved| moved - 1), Vec::<String>::new());
    let named = vec!["counter-mismatch/requester/counter-differs/local_ack_timeout_err".to_owned()];
    assert_eq!(remarks(&outcome, 0, "local_ack_timeout_err", |moved| moved - 2), named);
    assert_eq!(remarks(&outcome, 0, "local_ack_timeout_err", |moved| moved + 1), named);
}

/// rdma_rxe counts RNR NAKs by themselves, and the retransmission after one as nothing else (seen on Linux
/// 6.1).
#[test]
fn what_an_rnr_nak_makes_it_repeat_may_be_counted_or_not() {
    let remarks = |world: &World, moved| {
        let requester = Some(counters::of(&[("completer_retry_err", moved)]));
        let observation = dumper::Observation { requester, ..synthetic::run(world).observation };
        let analysis = analyze(&observation, Options { config: Some(&config_of(world)) });
        analysis.anomalies.kept().iter().map(scoring::Anomaly::signature).collect::<Vec<_>>()
    };
    let mut refused = World::with(vec![Message::new(Verb::Send, 100)]);
    refused.connections[0].not_ready = vec![(0, 1)];
    let mut lost = World::with(vec![Message::new(Verb::Send, 100)]);
    lost.faults = vec![Fault { connection: 1, target: Target::Psn(1, 1), action: Action::Drop }];
    let named = vec!["counter-mismatch/requester/counter-differs/completer_retry_err".to_owned()];
    for (world, moved, expected) in
        [(&refused, 0, &[][..]), (&refused, 1, &[]), (&lost, 1, &[]), (&lost, 0, &named)]
    {
        assert_eq!(remarks(world, moved), expected);
    }
}
