//! Flow tables: logs of operations, connections that are slower than others, runs beside others with fewer flows.

use dumper::observation::ControlEvent::{
    self, EntryCreated, EntryDeleted, EntryRefused, FlowOffloaded, LinkDown, LinkUp, SoftwareForwarded,
};
use dumper::observation::{CompletionStatus, ControlRecord};
use dumper::{Completion, Connection, Endpoint, Nanos, Observation, Psn};
use scoring::flow_table::tables::entry;
use scoring::machines::table::Next;
use scoring::score::{Baseline, Mct, Operations, Reference, References, references_needed, score, unjudged};

use crate::hand::{analysis, config, host};

const MS: u64 = 1_000_000;

/// A test with a flow table of so many flows, and what follows.
fn table(flows: u32, more: &str) -> String {
    format!(
        "[requester.offload]\nflows = {flows}\n[traffic]\nnum-connections = 2\nnum-msgs-per-qp = 10\n{more}"
    )
}

/// Messages of each connection, that are posted so many ns apart and take so long.
fn observed(apart: u64, times: [u64; 2]) -> Observation {
    let end = |n, qpn| Endpoint { ip: host(n), qpn: Some(qpn), initial_psn: Some(Psn::new(10)) };
    let messages = |connection: u32, time: u64| {
        (1..=10).map(move |message: u32| {
            let posted_ns = Nanos(u64::from(message - 1) * apart);
            Completion {
                connection,
                message,
                posted_ns,
                completed_ns: posted_ns + Nanos(time),
                bytes: 1_000,
                status: CompletionStatus::Success,
            }
        })
    };
    Observation {
        connections: vec![
            Connection { requester: end(1, 0x11), responder: end(2, 0x22) },
            Connection { requester: end(1, 0x12), responder: end(2, 0x23) },
        ],
        completions: Some(messages(1, times[0]).chain(messages(2, times[1])).collect()),
        ..Observation::default()
    }
}

fn record(at_ms: u64, event: ControlEvent, of: u32, took_ns: u64) -> ControlRecord {
    let of = (of > 0).then_some(of);
    ControlRecord { at_ns: Nanos(at_ms * MS), event, of, waited_ns: Nanos::ZERO, took_ns: Nanos(took_ns) }
}

/// Signatures of what is found, with these references.
fn found(text: &str, observation: &Observation, references: &References) -> Vec<String> {
    let config = config(text);
    let assessment = score(&config, observation, &analysis(&config, observation), references);
    let signatures = assessment.findings().map(scoring::Anomaly::signature);
    signatures.filter(|one| one.contains("/eswitch/")).collect()
}

const NOTHING: [&str; 0] = [];

/// Of a log of a requester's host with four flows, whose messages are a second apart.
fn logged(log: &[(u64, ControlEvent, u32)]) -> Vec<String> {
    let mut observation = observed(1_000 * MS, [3_000; 2]);
    observation.requester_control = log.iter().map(|(at, event, of)| record(*at, *event, *of, 0)).collect();
    found(&idles_after_two_seconds(), &observation, &References::default())
}

fn idles_after_two_seconds() -> String {
    table(4, "").replace("flows = 4", "flows = 4\nmax-idle-ms = 2_000")
}

#[test]
fn entries_come_when_they_are_asked_for() {
    let silent: [&[(u64, ControlEvent, u32)]; 5] = [
        &[(1, FlowOffloaded, 5), (2, EntryCreated, 5), (3, EntryDeleted, 5), (4, FlowOffloaded, 5)],
        &[(1, EntryDeleted, 4), (2, SoftwareForwarded, 4), (3, FlowOffloaded, 4), (4, EntryCreated, 4)],
        &[(1, EntryDeleted, 5), (1, EntryRefused, 5), (2, FlowOffloaded, 6), (3, EntryDeleted, 6)],
        &[(1, EntryRefused, 4)],
        &[(0, EntryRefused, 4), (1, FlowOffloaded, 4), (2, EntryCreated, 4)],
    ];
    for log in silent {
        assert_eq!(logged(log), NOTHING, "{log:?}");
    }
    let not_created = "offload-inconsistent/eswitch/entry-not-created/asked";
    assert_eq!(logged(&[(1, FlowOffloaded, 5), (2, EntryRefused, 5)]), [not_created]);
    let twice = |state: &str| format!("offload-inconsistent/eswitch/offloaded-twice/{state}");
    assert_eq!(logged(&[(1, FlowOffloaded, 5), (2, FlowOffloaded, 5)]), [twice("asked")]);
    assert_eq!(logged(&[(1, FlowOffloaded, 4)]), [twice("created")]);
    let unasked = |state: &str| format!("offload-inconsistent/eswitch/entry-unasked/{state}");
    assert_eq!(logged(&[(1, EntryCreated, 5)]), [unasked("absent")]);
    assert_eq!(logged(&[(1, EntryCreated, 4)]), [unasked("created")]);
    #[cfg(debug_assertions)]
    for state in entry::State::ALL {
        for event in entry::Event::ALL {
            assert!(matches!(state.on(*event), Next::Never) || state.stepped(*event), "{state:?} {event:?}");
        }
    }
}

#[test]
fn entries_stay_while_their_connections_use_them() {
    // Messages at 0, 1, ... 9 s: 2 s without one never pass.
    let all = "offload-instability/eswitch/entries-in-use-deleted";
    let some = "offload-instability/eswitch/entry-in-use-deleted";
    assert_eq!(logged(&[(3_500, EntryDeleted, 1), (5_000, EntryDeleted, 2)]), [all]);
    assert_eq!(logged(&[(3_500, EntryDeleted, 1)]), [some]);
    assert_eq!(logged(&[(3_500, EntryDeleted, 3)]), NOTHING, "a flow of no connection");
    assert_eq!(logged(&[(10_700, EntryDeleted, 1)]), [some], "1.7 s after the last message");
    assert_eq!(logged(&[(10_900, EntryDeleted, 1)]), NOTHING, "1.9 s after the last message");
    // The host decided before.
    let mut observation = observed(1_000 * MS, [3_000; 2]);
    let late = ControlRecord { waited_ns: Nanos(2_900 * MS), ..record(11_900, EntryDeleted, 1, 0) };
    observation.requester_control = vec![late];
    let text = idles_after_two_seconds();
    assert_eq!(found(&text, &observation, &References::default()), [some]);
    // A connection that an operation stops.
    let control = "gap-ns = 1_000_000_000\n[[control]]\nat-ms = 1\ndo = \"unbind-vf\"\nvirtual-function = 1";
    assert_eq!(found(&format!("{text}{control}"), &observation, &References::default()), NOTHING);
}

#[test]
fn a_link_that_goes_down_is_all_that_is_judged() {
    let down = "link-down/eswitch/link-goes-down";
    assert_eq!(logged(&[(1, FlowOffloaded, 4), (2, LinkDown, 0), (3, LinkUp, 0)]), [down]);
    assert_eq!(logged(&[(2, LinkDown, 0)]), [down]);
}

#[test]
fn a_connection_three_times_as_slow_as_the_others_is_slow() {
    let paced = table(4, "message-size = 64\ngap-ns = 1_000_000");
    let slow = |text: &str, times| found(text, &observed(MS, times), &References::default());
    let signature = "slow-flow/eswitch/flow-slower-than-others";
    assert_eq!(slow(&paced, [3_000, 9_000]), [signature]);
    assert_eq!(slow(&paced, [3_001, 9_000]), NOTHING);
    assert_eq!(slow(&table(4, ""), [3_000, 9_000]), NOTHING, "connections that compete");
    assert_eq!(slow(&paced.replace("[requester.offload]\nflows = 4\n", ""), [3_000, 9_000]), NOTHING);
    let mut observation = observed(MS, [3_000, 9_000]);
    observation.requester_control = vec![record(1, SoftwareForwarded, 2, 0)];
    assert_eq!(found(&paced, &observation, &References::default()), NOTHING, "packets without an entry");
}

/// A run whose messages take so long, with so much goodput.
fn usual(mean: u64, goodput_bps: f64) -> Baseline {
    let one = Mct { completed: 10, failed: false, mean: Nanos(mean), max: Nanos(mean) };
    Baseline { connections: vec![one; 2], goodput_bps, ..Baseline::default() }
}

#[test]
fn a_tenth_of_the_flows_costs_little() {
    let beside = |text: &str, times, fewer| {
        let observation = observed(MS, times);
        let config = config(text);
        let needed = references_needed(&config, &observation, &analysis(&config, &observation));
        let references = References { fewer_flows: Some(fewer), ..References::default() };
        (needed.contains(&Reference::FewerFlows), found(text, &observation, &references))
    };
    let signature = || (true, vec!["performance-cliff/eswitch/performance-falls-off".to_owned()]);
    let paced = table(1_000, "gap-ns = 1_000_000");
    assert_eq!(beside(&paced, [12_800; 2], usual(10_000, 1e9)), signature());
    assert_eq!(beside(&paced, [12_600; 2], usual(10_000, 1e9)), (true, vec![]));
    assert_eq!(beside(&table(15, "gap-ns = 1_000_000"), [12_800; 2], usual(10_000, 1e9)), (false, vec![]));
    // 20 messages of 8,000 bits in 9 ms and 10 µs.
    let goodput = 160_000.0 / 9.01e-3;
    let saturated = table(1_000, "");
    assert_eq!(beside(&saturated, [10_000; 2], usual(1, goodput / 0.86)), signature());
    assert_eq!(beside(&saturated, [10_000; 2], usual(1, goodput / 0.88)), (true, vec![]));
}

#[test]
fn flows_that_were_removed_cost_nothing() {
    let removes = "gap-ns = 1_000_000\n[[control]]\nat-ms = 1\ndo = \"remove-flows\"\ncount = 900";
    let text = table(1_000, removes).replace("num-msgs-per-qp = 10", "num-msgs-per-qp = 20");
    let observation = observed(MS, [12_800; 2]);
    let beside = |text: &str, mean| {
        let references = References { without_removal: Some(usual(mean, 1e9)), ..References::default() };
        found(text, &observation, &references)
    };
    assert_eq!(beside(&text, 10_000), ["no-recovery/eswitch/removed-flows-still-cost"]);
    assert_eq!(beside(&text, 10_200), NOTHING);
    let needed = |text: &str| {
        let config = config(text);
        references_needed(&config, &observation, &analysis(&config, &observation))
    };
    assert!(needed(&text).contains(&Reference::WithoutRemoval));
    assert!(!needed(&text.replace("remove-flows", "add-flows")).contains(&Reference::WithoutRemoval));
}

/// Messages of 8,000 bits are posted each ms on two connections, and take 2.5 ms: at any time as many are in flight.
#[test]
fn messages_in_flight_at_a_removal_are_no_loss_of_goodput() {
    let text = table(1_000, "[[control]]\nat-ms = 1\ndo = \"remove-flows\"\ncount = 900")
        .replace("num-msgs-per-qp = 10", "num-msgs-per-qp = 30");
    let few = observed(MS, [2_500_000; 2]);
    let mut observation = few.clone();
    for round in 1..=2 {
        let later = few.completions().iter().map(|one| Completion {
            message: one.message + 10 * round,
            posted_ns: one.posted_ns + Nanos(10 * MS * u64::from(round)),
            completed_ns: one.completed_ns + Nanos(10 * MS * u64::from(round)),
            ..*one
        });
        observation.completions.get_or_insert_default().extend(later);
    }
    let beside = |observation: &Observation, goodput_bps| {
        let references = References { without_removal: Some(usual(1, goodput_bps)), ..References::default() };
        found(&text, observation, &references)
    };
    let goodput = 16_000.0 / 1e-3;
    assert_eq!(beside(&observation, goodput), NOTHING);
    assert_eq!(beside(&observation, goodput / 0.88), NOTHING);
    assert_eq!(beside(&observation, goodput / 0.86), ["no-recovery/eswitch/removed-flows-still-cost"]);
    // Seven messages of each connection.
    assert_eq!(beside(&few, goodput / 0.5), NOTHING);
}

#[test]
fn an_operation_takes_as_long_as_on_a_small_table() {
    let mut observation = observed(MS, [3_000; 2]);
    observation.requester_control = vec![
        record(1, FlowOffloaded, 1_001, 0),
        record(1, EntryCreated, 1_001, 900),
        record(2, EntryDeleted, 9, 3_000),
    ];
    let text = table(1_000, "gap-ns = 1_000_000");
    let beside = |create, delete| {
        let operations = Operations { create: Nanos(create), delete: Nanos(delete) };
        let small = Baseline { operations, ..Baseline::default() };
        found(&text, &observation, &References { fewest_flows: Some(small), ..References::default() })
    };
    assert_eq!(beside(900, 1_000), ["slow-control/eswitch/operation-slower-with-entries/delete"]);
    assert_eq!(beside(300, 1_001), ["slow-control/eswitch/operation-slower-with-entries/create"]);
    assert_eq!(beside(301, 1_001), NOTHING);
    assert_eq!(beside(0, 0), NOTHING, "no operation to compare with");
    let config = config(&text);
    let analysis = analysis(&config, &observation);
    assert!(references_needed(&config, &observation, &analysis).contains(&Reference::FewestFlows));
    let listed = unjudged(Some(&config), &observation, &analysis, &References::default());
    assert!(listed.iter().any(|one| one.what == "slow-control"), "{listed:?}");
}
