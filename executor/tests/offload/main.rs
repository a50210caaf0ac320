//! A host's flow table while a test runs: each symptom of ScalaCN (table 1) on a NIC that has its cause, from its threshold on, and
//! nothing just below.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

#[path = "../support/mod.rs"]
mod support;
mod symptoms;

use corpus::{Control, Load, Offload, Operation, Role, TestConfig, Verb};
use dumper::observation::ControlEvent::{
    self, EntryCreated, EntryDeleted, EntryRefused, FlowOffloaded, LinkDown, LinkUp, SoftwareForwarded,
    Stalled, VfUnbound,
};
use dumper::observation::kernel::{Kind, troubles};
use dumper::observation::{CompletionStatus, ControlRecord};
use dumper::{Nanos, Observation};
use executor::profile::{Eswitch, OnExhausted, OnFailure, OnTimeout};
use executor::{NicProfile, sim};

const MS: u64 = 1_000_000;

/// A message of each of four connections a second, for half a minute, at a requester with so many flows.
fn slow(flows: u32) -> TestConfig {
    let mut config = TestConfig::default();
    config.traffic.load = Load::Same { verb: Verb::Write, connections: 4 };
    (config.traffic.num_msgs_per_qp, config.traffic.tx_depth) = (30, 1);
    (config.traffic.message_size, config.traffic.gap_ns) = (64, 1_000_000_000);
    config.requester.offload = Some(Offload { flows, ..Offload::default() });
    config
}

/// The same for some milliseconds, with an operation in the middle.
fn operated(flows: u32, operation: Operation) -> TestConfig {
    let mut config = slow(flows);
    config.traffic.gap_ns = MS;
    config.control = vec![Control { at_ms: 10, host: Role::Requester, operation }];
    config
}

fn run(config: &TestConfig, eswitch: Eswitch) -> Observation {
    let nic = NicProfile { eswitch, ..NicProfile::default() };
    sim::run_checked(config, [nic.clone(), nic]).unwrap()
}

/// What happened to a requester's table, but for what the operations of a test do by themselves.
fn events(observation: &Observation) -> Vec<ControlEvent> {
    observation.requester_control.iter().map(|record| record.event).collect()
}

fn of(observation: &Observation, event: ControlEvent) -> Vec<ControlRecord> {
    observation.requester_control.iter().copied().filter(|record| record.event == event).collect()
}

/// Counters are read so slowly that 720 entries take ten seconds.
fn slow_counters() -> Eswitch {
    Eswitch { counter_refresh_per_s: 72, ..Eswitch::default() }
}

/// Readings of counters may be late by a fifth.
fn late_counters() -> Eswitch {
    Eswitch { counter_jitter_percent: 20, ..slow_counters() }
}

/// A thousand operations a second, none of which waits for more than 50 ms.
fn stagnating() -> Eswitch {
    Eswitch {
        operations_per_s: 1_000,
        operation_timeout_ms: 50,
        on_timeout: OnTimeout::Stagnate,
        ..Eswitch::default()
    }
}

/// S1: the counter of an entry in use is not read for so long that the entry counts as idle.
#[test]
fn entries_in_use_are_deleted_beyond_what_can_be_read() {
    assert_eq!(events(&run(&slow(720), slow_counters())), []);
    // A pass of the host may come half a second later.
    let observation = run(&slow(720 * 21 / 20 + 1), slow_counters());
    let deleted = of(&observation, EntryDeleted);
    for connection in 1..=4 {
        let of_one: Vec<_> = deleted.iter().filter(|record| record.of == Some(connection)).collect();
        assert!((1..=3).contains(&of_one.len()), "{of_one:?}");
        let record = |event| {
            observation
                .requester_control
                .iter()
                .position(|record| (record.event, record.of) == (event, Some(connection)))
        };
        let order = [EntryDeleted, SoftwareForwarded, FlowOffloaded, EntryCreated].map(record);
        assert!(order.is_sorted() && order[0].is_some(), "{order:?}");
    }
    assert!(deleted.iter().all(|record| record.at_ns >= Nanos(10_000 * MS)));
}

/// S5: the same now and then, where a reading may be late.
#[test]
fn an_entry_is_deleted_now_and_then_where_readings_are_late() {
    let late = late_counters();
    let deleted = |flows: u32, seed: u64| {
        let mut config = slow(flows);
        config.traffic.seed = seed;
        of(&run(&config, late), EntryDeleted).len()
    };
    assert_eq!((1..=10).map(|seed| deleted(600, seed)).sum::<usize>(), 0);
    let now_and_then: Vec<usize> = (1..=20).map(|seed| deleted(620, seed)).collect();
    assert!(now_and_then.contains(&0), "{now_and_then:?}");
    assert!(now_and_then.iter().any(|deleted| *deleted > 0), "{now_and_then:?}");
}

/// The entry of a connection that is really idle goes, and comes again with its next packet.
#[test]
fn an_idle_entry_is_deleted_and_comes_again() {
    let mut config = slow(4);
    (config.traffic.gap_ns, config.traffic.num_msgs_per_qp) = (5_000_000_000, 3);
    config.requester.offload.as_mut().unwrap().max_idle_ms = 1_000;
    // A NIC with nothing but slow software.
    let observation = run(&config, Eswitch { software_ns: 50_000, ..Eswitch::default() });
    assert_eq!(of(&observation, EntryDeleted).len(), 8);
    assert_eq!(of(&observation, EntryCreated).len(), 8);
    let first = |message: u32| {
        let one = observation
            .completions()
            .iter()
            .find(|one| (one.connection, one.message) == (1, message))
            .unwrap();
        (one.completed_ns - one.posted_ns).0
    };
    assert_eq!(first(2) - first(1), 50_000);
}

/// S2: operations come faster than they are done, and one waits for too long.
#[test]
fn software_stops_once_an_operation_has_waited_for_too_long() {
    let slow = stagnating();
    let below = run(&operated(4, Operation::AddFlows(51)), slow);
    assert_eq!(of(&below, EntryCreated).len(), 51);
    assert_eq!(of(&below, EntryCreated).last().unwrap().waited_ns, Nanos(50 * MS));
    assert!(of(&below, Stalled).is_empty() && below.requester_log.is_empty());
    let above = run(&operated(4, Operation::AddFlows(53)), slow);
    assert_eq!(of(&above, EntryCreated).len(), 51);
    assert_eq!(of(&above, Stalled).len(), 1);
    assert_eq!(troubles(&above.requester_log)[0].kind, Kind::HungTask);
    let patient = Eswitch { on_timeout: OnTimeout::Wait, ..slow };
    assert_eq!(of(&run(&operated(4, Operation::AddFlows(53)), patient), EntryCreated).len(), 53);
}

/// S3: an entry that cannot be created.
#[test]
fn a_kernel_crashes_where_an_entry_cannot_be_created() {
    let nic = |on_failure| Eswitch { masks: 3, on_failure, ..Eswitch::default() };
    let crashing = nic(OnFailure::Crash);
    assert!(run(&operated(4, Operation::AddMasks(2)), crashing).requester_log.is_empty());
    let crashed = run(&operated(4, Operation::AddMasks(3)), crashing);
    let troubles = troubles(&crashed.requester_log);
    assert_eq!((troubles[0].kind, troubles[0].function()), (Kind::Oops, Some("eswitch_entry_free")));
    assert!(crashed.completions().len() < 4 * 30);
    let refused = run(&operated(4, Operation::AddMasks(3)), nic(OnFailure::Software));
    assert_eq!(of(&refused, EntryRefused).len(), 1);
    assert_eq!(refused.completions().len(), 4 * 30);
}

/// S8: more tunnels than a NIC has contexts for.
#[test]
fn a_nic_without_contexts_answers_nothing() {
    let nic = |on_exhausted| Eswitch { contexts: 100, on_exhausted, ..Eswitch::default() };
    let test = |vxlan, flows| {
        let mut config = operated(90, Operation::AddFlows(flows));
        config.requester.offload.as_mut().unwrap().vxlan = vxlan;
        config
    };
    for (vxlan, flows) in [(false, 11), (true, 10)] {
        let observation = run(&test(vxlan, flows), nic(OnExhausted::Unresponsive));
        assert_eq!((observation.completions().len(), observation.requester_log.len()), (4 * 30, 0));
    }
    let lost = run(&test(true, 11), nic(OnExhausted::Unresponsive));
    assert_eq!(troubles(&lost.requester_log)[0].kind, Kind::Silent);
    assert!(lost.completions().len() < 4 * 30);
    assert_eq!(run(&test(true, 11), nic(OnExhausted::Software)).completions().len(), 4 * 30);
}

/// S4: an entry takes the longer to delete, the more there are, and a new flow waits for it.
#[test]
fn deletion_takes_longer_with_more_entries() {
    let nic = Eswitch { insert_ns: 10_000, delete_ns: 20_000, delete_per_entry_ns: 16, ..Eswitch::default() };
    let mut config = operated(10_000, Operation::RemoveFlows(2));
    config.control.push(Control { operation: Operation::AddFlows(1), ..config.control[0] });
    let observation = run(&config, nic);
    let took: Vec<u64> = of(&observation, EntryDeleted).iter().map(|record| record.took_ns.0).collect();
    assert_eq!(took, [20_000 + 16 * 10_000, 20_000 + 16 * 9_999]);
    let created = of(&observation, EntryCreated)[0];
    assert_eq!((created.waited_ns.0, created.took_ns.0), (took[0] + took[1], 10_000));
}

/// S7: a virtual function is unbound while packets of it are outstanding.
#[test]
fn a_link_goes_down_where_a_function_is_unbound_too_early() {
    let nic = |link_down_ms| Eswitch { unbind_race: true, link_down_ms, ..Eswitch::default() };
    let mut config = operated(4, Operation::UnbindVf(2));
    config.requester.offload.as_mut().unwrap().virtual_functions = 2;
    // Between two messages.
    let quiet = run(&config, nic(5));
    assert_eq!(events(&quiet), [EntryDeleted, EntryDeleted, VfUnbound]);
    let posted = |connection| quiet.completions().iter().filter(|one| one.connection == connection).count();
    assert_eq!([1, 3].map(posted), [30, 30]);
    assert!([2, 4].map(posted).iter().all(|posted| (5..30).contains(posted)));
    // In the middle of one.
    (config.traffic.message_size, config.traffic.gap_ns) = (16 << 20, 0);
    (config.traffic.num_msgs_per_qp, config.control[0].at_ms) = (3, 5);
    let busy = run(&config, nic(5));
    assert_eq!(events(&busy), [LinkDown, LinkUp, EntryDeleted, EntryDeleted, VfUnbound]);
    let down = of(&busy, LinkDown)[0].at_ns;
    assert_eq!(of(&busy, LinkUp)[0].at_ns, down + Nanos(5 * MS));
    assert!(busy.completions().iter().all(|one| one.status == CompletionStatus::Success));
    assert_eq!(events(&run(&config, nic(0)))[0], LinkDown);
    let sound = run(&config, Eswitch { insert_ns: 1, ..Eswitch::default() });
    assert_eq!(events(&sound), [EntryDeleted, EntryDeleted, VfUnbound]);
}

/// S6: a flow behind the entries of one table pays for all masks of the next, and goes on to when these are gone.
#[test]
fn a_further_table_makes_all_older_flows_slower() {
    let nic = Eswitch { egress_query_ns: 100, table_entries: 50, ..Eswitch::default() };
    let time = |config: &TestConfig, message: u32| {
        let observation = run(config, nic);
        let mut times = observation.completions().iter().filter(|one| one.message == message);
        let one = times.next().unwrap();
        (one.completed_ns - one.posted_ns).0
    };
    let with = |flows: u32| {
        let mut config = slow(flows);
        config.traffic.gap_ns = MS;
        let offload = config.requester.offload.as_mut().unwrap();
        (offload.egress_masks, offload.place) = (5, corpus::Placement::First);
        config
    };
    assert_eq!(time(&with(51), 2) - time(&with(50), 2), 100);
    assert_eq!(time(&with(55), 2) - time(&with(50), 2), 500);
    assert_eq!(time(&with(100), 2), time(&with(60), 2));
    let mut recovers = with(60);
    recovers.control =
        vec![Control { at_ms: 10, host: Role::Requester, operation: Operation::RemoveFlows(40) }];
    assert_eq!(time(&recovers, 30), time(&with(60), 30));
}

/// An entry that is created after its deletion was asked for: nobody reads its counter any more, as an empty table has its counters read without a pause.
#[test]
fn a_table_that_becomes_empty_is_not_looked_at() {
    let mut config = slow(2);
    config.traffic.load = Load::Same { verb: Verb::Send, connections: 2 };
    (config.traffic.num_msgs_per_qp, config.traffic.gap_ns) = (5, 1_000);
    config.traffic.min_retransmit_timeout = 18;
    let offload = config.requester.offload.as_mut().unwrap();
    (offload.max_idle_ms, offload.virtual_functions) = (5, 256);
    config.responder.offload = Some(Offload { flows: 2, ..Offload::default() });
    config.control = Role::ALL
        .into_iter()
        .map(|host| Control { at_ms: 5, host, operation: Operation::UnbindVf(1) })
        .collect();
    config.control[1].at_ms = 0;
    let nic = Eswitch {
        insert_ns: 1_000_000_000,
        unbind_race: true,
        link_down_ms: 1,
        counter_refresh_per_s: 720,
        operations_per_s: 1_000,
        ..Eswitch::default()
    };
    let nic = NicProfile { eswitch: nic, ..NicProfile::default() };
    let observation = sim::run(&config, [nic.clone(), nic]).unwrap();
    assert!(observation.requester_control.iter().any(|record| record.event == EntryDeleted));
}
