//! What is found in the tests of [`super`]: each symptom by its kind, once, and nothing just below its threshold.

use corpus::{Control, Offload, Operation, Placement, Role, TestConfig};
use executor::profile::{Eswitch, OnExhausted, OnFailure};
use executor::{NicProfile, sim};

use super::{late_counters, operated, slow, slow_counters, stagnating, support};

/// Signatures of the findings.
fn found(config: &TestConfig, eswitch: Eswitch) -> Vec<String> {
    found_on(config, NicProfile { eswitch, ..NicProfile::default() })
}

/// The same on other NICs.
fn found_on(config: &TestConfig, nic: NicProfile) -> Vec<String> {
    let observation = sim::run_checked(config, [nic.clone(), nic.clone()]).unwrap();
    let assessment = support::assess(config, &[nic.clone(), nic], &observation);
    assessment.findings().map(scoring::Anomaly::signature).collect()
}

/// A test in which nothing is found, and one in which one thing is.
fn twins(below: &TestConfig, above: &TestConfig, eswitch: Eswitch, signature: &str) {
    assert_eq!(found(below, eswitch), [""; 0], "just below {signature}");
    assert_eq!(found(above, eswitch), [signature]);
}

#[test]
fn entries_that_all_connections_lose_again_and_again() {
    let (below, above) = (slow(720), slow(757));
    twins(&below, &above, slow_counters(), "offload-instability/eswitch/entries-in-use-deleted");
}

#[test]
fn entries_that_some_connections_lose() {
    let late = late_counters();
    let with = |flows: u32, seed: u64| {
        let mut config = slow(flows);
        config.traffic.seed = seed;
        found(&config, late)
    };
    assert!((1..=5).all(|seed| with(600, seed).is_empty()));
    let now_and_then: Vec<String> = (1..=20).flat_map(|seed| with(620, seed)).collect();
    let one = "offload-instability/eswitch/entry-in-use-deleted";
    assert!(now_and_then.iter().any(|signature| signature == one), "{now_and_then:?}");
}

/// A host that deletes what was idle does what it should.
#[test]
fn idle_entries_are_no_finding() {
    let mut config = slow(4);
    (config.traffic.gap_ns, config.traffic.num_msgs_per_qp) = (5_000_000_000, 12);
    config.requester.offload.as_mut().unwrap().max_idle_ms = 1_000;
    assert_eq!(found(&config, Eswitch { software_ns: 50_000, ..Eswitch::default() }), [""; 0]);
}

#[test]
fn software_that_stops() {
    let (below, above) = (operated(4, Operation::AddFlows(51)), operated(4, Operation::AddFlows(53)));
    twins(&below, &above, stagnating(), "stall/requester/kernel-hangs/eswitch_operation_wait");
}

#[test]
fn entries_that_are_not_created() {
    let nic = |on_failure| Eswitch { masks: 3, on_failure, ..Eswitch::default() };
    let (below, above) = (operated(4, Operation::AddMasks(2)), operated(4, Operation::AddMasks(3)));
    twins(&below, &above, nic(OnFailure::Crash), "crash/requester/kernel-crashes/eswitch_entry_free");
    twins(&below, &above, nic(OnFailure::Software), "offload-inconsistent/eswitch/entry-not-created/asked");
}

/// A table that the NIC has no room for from the start is an error of the test, but where it takes the host down.
#[test]
fn entries_that_were_never_created() {
    let nic = |on_failure| Eswitch { masks: 3, on_failure, ..Eswitch::default() };
    let mut config = slow(8);
    config.traffic.gap_ns = 1_000_000;
    // The fourth connection has the fourth mask.
    config.requester.offload.as_mut().unwrap().egress_masks = 4;
    let error = |config: &TestConfig, eswitch| {
        let nic = NicProfile { eswitch, ..NicProfile::default() };
        sim::run(config, [nic.clone(), nic]).unwrap_err().to_string()
    };
    let refused = "requester.offload: of 8 flows the NIC \"reference\" has no entry for number 4, as it has room for 3 masks (eswitch.masks); \
                   ask for fewer masks, or choose a NIC with more room";
    assert!(error(&config, nic(OnFailure::Software)).ends_with(refused));
    let crashed = "crash/requester/kernel-crashes/eswitch_entry_free";
    assert_eq!(found(&config, nic(OnFailure::Crash)), [crashed]);
    let tunnels = Eswitch { contexts: 7, ..Eswitch::default() };
    config.requester.offload.as_mut().unwrap().vxlan = true;
    let refused = "has no entry for number 8, as it has room for 7 tunnels (eswitch.contexts); ask for fewer flows, or none with vxlan, or \
                   choose a NIC with more room";
    assert!(error(&config, tunnels).ends_with(refused));
}

#[test]
fn a_nic_that_answers_nothing() {
    let nic = Eswitch { contexts: 100, on_exhausted: OnExhausted::Unresponsive, ..Eswitch::default() };
    let test = |flows| {
        let mut config = operated(90, Operation::AddFlows(flows));
        config.requester.offload.as_mut().unwrap().vxlan = true;
        config
    };
    twins(&test(10), &test(11), nic, "stall/requester/host-silent");
}

#[test]
fn deletions_that_take_longer_with_more_entries() {
    let nic = Eswitch { delete_ns: 20_000, delete_per_entry_ns: 16, ..Eswitch::default() };
    // (20 + 0.016 n) / 20 is 3 at 2,500 entries; the median entry of a hundred is deleted with 50 fewer.
    let test = |flows| operated(flows, Operation::RemoveFlows(100));
    twins(&test(2_500), &test(2_800), nic, "slow-control/eswitch/operation-slower-with-entries/delete");
}

#[test]
fn a_link_that_goes_down() {
    let nic = Eswitch { unbind_race: true, link_down_ms: 5, ..Eswitch::default() };
    let mut quiet = operated(4, Operation::UnbindVf(2));
    quiet.requester.offload.as_mut().unwrap().virtual_functions = 2;
    let mut busy = quiet.clone();
    (busy.traffic.message_size, busy.traffic.gap_ns) = (16 << 20, 0);
    (busy.traffic.num_msgs_per_qp, busy.control[0].at_ms) = (3, 5);
    twins(&quiet, &busy, nic, "link-down/eswitch/link-goes-down");
    // A conforming NIC waits for the messages.
    assert_eq!(found(&busy, Eswitch { insert_ns: 1, ..Eswitch::default() }), [""; 0]);
}

/// A connection a hundred masks behind the others.
#[test]
fn a_connection_that_is_slower_than_others() {
    let nic = Eswitch { egress_query_ns: 81, ..Eswitch::default() };
    let test = |mask: u32| {
        let mut config = slow(128);
        config.traffic.gap_ns = 1_000_000;
        let offload = config.requester.offload.as_mut().unwrap();
        (offload.egress_masks, offload.place) = (100, Placement::Masks(vec![1, 2, 3, mask]));
        config
    };
    // A message takes about 2.5 µs: 60 masks more add twice as much.
    twins(&test(40), &test(80), nic, "slow-flow/eswitch/flow-slower-than-others");
}

/// Of one table its host is named. Packets pass both where both hosts have one, and their times do not say which of them took it.
#[test]
fn a_slow_flow_is_of_the_one_host_with_a_table() {
    let nic = Eswitch { egress_query_ns: 81, ingress_query_ns: 81, ..Eswitch::default() };
    let mut config = slow(128);
    config.traffic.gap_ns = 1_000_000;
    let offload = config.requester.offload.as_mut().unwrap();
    (offload.egress_masks, offload.ingress_masks) = (100, 100);
    offload.place = Placement::Masks(vec![1, 2, 3, 80]);
    let named = |config: &TestConfig| {
        let nic = NicProfile { eswitch: nic, ..NicProfile::default() };
        let observation = sim::run_checked(config, [nic.clone(), nic.clone()]).unwrap();
        let assessment = support::assess(config, &[nic.clone(), nic], &observation);
        let mut findings = assessment.findings();
        let address = findings.next().unwrap().who.address;
        assert!(findings.next().is_none());
        let ends = &observation.connections[0];
        [ends.requester.ip, ends.responder.ip].map(|host| address == Some(host))
    };
    assert_eq!(named(&config), [true, false]);
    config.responder.offload = config.requester.offload.replace(Offload { flows: 4, ..Offload::default() });
    assert_eq!(named(&config), [false, false]);
    config.requester.offload = None;
    assert_eq!(named(&config), [false, true]);
}

/// ScalaCN figure 6, and what is left of it when the flows are gone.
#[test]
fn messages_that_fall_off_with_some_more_flows_and_stay_there() {
    let nic =
        Eswitch { egress_query_ns: 200, ingress_query_ns: 200, table_entries: 1_000, ..Eswitch::default() };
    let with = |flows: u32| {
        let mut config = slow(flows);
        config.traffic.gap_ns = 1_000_000;
        for role in Role::ALL {
            let place = Placement::First;
            config.host_mut(role).offload =
                Some(Offload { flows, egress_masks: 5, ingress_masks: 5, place, ..Offload::default() });
        }
        config
    };
    twins(&with(1_000), &with(1_010), nic, "performance-cliff/eswitch/performance-falls-off");
    let removing = |flows: u32, removed: u32| {
        let operation = Operation::RemoveFlows(removed);
        let mut config = with(flows);
        config.control = Role::ALL.map(|host| Control { at_ms: 10, host, operation }).to_vec();
        config
    };
    let no_recovery = "no-recovery/eswitch/removed-flows-still-cost";
    twins(&removing(990, 900), &removing(1_200, 1_100), nic, no_recovery);
}

/// A NIC that takes little time for each operation, and has no limit.
#[test]
fn a_sound_switch_shows_nothing() {
    let nic = Eswitch {
        egress_query_ns: 1,
        ingress_query_ns: 1,
        action_ns: 10,
        insert_ns: 100,
        delete_ns: 100,
        ..Eswitch::default()
    };
    for operation in [
        Operation::AddFlows(1_000),
        Operation::RemoveFlows(1_000),
        Operation::AddMasks(50),
        Operation::StopConnections(2),
        Operation::UnbindVf(1),
    ] {
        assert_eq!(found(&operated(2_000, operation), nic), [""; 0], "{operation:?}");
    }
}

/// Messages of all connections, five at a time, wait for the link: messages of some packets, whose distance tells the time of a packet, and of one.
#[test]
fn connections_that_wait_for_each_other_are_no_finding() {
    let nic = executor::profile::load("cx4-lx", std::path::Path::new("")).unwrap();
    for (connections, size, mtu, gap_ns) in
        [(6, 1_265, corpus::Mtu::B512, 7_792), (16, 4_096, corpus::Mtu::B4096, 100_000)]
    {
        let mut config = slow(connections);
        config.traffic.load = corpus::Load::Same { verb: corpus::Verb::Write, connections };
        (config.traffic.num_msgs_per_qp, config.traffic.tx_depth) = (10, 5);
        (config.traffic.message_size, config.traffic.mtu, config.traffic.gap_ns) = (size, mtu, gap_ns);
        config.requester.offload.as_mut().unwrap().vxlan = true;
        assert_eq!(found_on(&config, nic.clone()), [""; 0], "{connections} connections");
    }
}

/// Responses wait in the NIC until they are looked up, and its ACK timer starts when they have been.
#[test]
fn packets_that_wait_for_their_look_up_do_not_make_a_timer_late() {
    let nic = Eswitch {
        egress_query_ns: 47,
        ingress_query_ns: 68,
        action_ns: 20,
        lookups: 4,
        ..Eswitch::default()
    };
    let mut config = slow(117);
    config.traffic.load = corpus::Load::Same { verb: corpus::Verb::Read, connections: 2 };
    (config.traffic.num_msgs_per_qp, config.traffic.tx_depth) = (5, 3);
    (config.traffic.message_size, config.traffic.gap_ns) = (171_361, 0);
    let offload = config.requester.offload.as_mut().unwrap();
    (offload.egress_masks, offload.ingress_masks, offload.tables) = (23, 116, 3);
    offload.place = Placement::Last;
    assert_eq!(found(&config, nic), [""; 0]);
}

/// Messages that are longer than the pauses between them wait for each other, those at the beginning for fewer.
#[test]
fn messages_after_a_removal_that_wait_for_each_other_are_no_finding() {
    let nic = executor::profile::load("cx4-lx", std::path::Path::new("")).unwrap();
    let mut config = slow(5);
    (config.traffic.num_msgs_per_qp, config.traffic.tx_depth) = (8, 5);
    (config.traffic.message_size, config.traffic.gap_ns) = (1_146_881, 1);
    (config.requester.offload, config.responder.offload) = (None, config.requester.offload.take());
    config.control = vec![Control { at_ms: 1, host: Role::Responder, operation: Operation::RemoveFlows(1) }];
    assert_eq!(found_on(&config, nic), [""; 0]);
}
