//! Thresholds come out exact, and cheaply: most faults have one.

use std::collections::BTreeSet;

use corpus::{
    Action, Cidr, ConnectionSet, Ets, Event, Load, Mtu, Progression, Role, Target, TestConfig, Traffic,
    TrafficClass, Verb,
};

use crate::minimize::{Effort, Minimised, minimize};

fn event(connections: ConnectionSet, psn: u32, action: Action) -> Event {
    Event { connections, target: Target::Data { psn, iter: 1 }, progression: None, action }
}

fn every(event: Event, every: u32, count: Option<u32>) -> Event {
    Event { progression: Some(Progression { every, count }), ..event }
}

/// A test of 57 connections with sets of every form, in which only the losses matter.
fn start() -> TestConfig {
    TestConfig {
        traffic: Traffic {
            load: Load::Same { verb: Verb::Send, connections: 57 },
            num_msgs_per_qp: 9,
            mtu: Mtu::B512,
            message_size: 7_777,
            tx_depth: 4,
            max_retransmit_retry: 3,
            min_rnr_timer: 30,
            seed: 1 << 40,
            ..Traffic::default()
        },
        events: vec![
            every(event(ConnectionSet::All, 2, Action::Ecn), 16, None),
            every(event(ConnectionSet::First(19), 7, Action::DROP), 16, Some(4)),
            event(ConnectionSet::List((15..40).rev().collect()), 9, Action::DROP),
            event(ConnectionSet::List(vec![2, 57, 31]), 40, Action::Duplicate { copies: 7 }),
            every(event(ConnectionSet::One(55), 100, Action::DROP), 1, Some(2)),
        ],
        ..TestConfig::default()
    }
}

/// Connections that lose a packet.
fn losers(config: &TestConfig) -> u32 {
    let connections = config.traffic.load.connections();
    let dropping = config.events.iter().filter(|event| event.action == Action::DROP);
    dropping.flat_map(|event| event.connections.members(connections)).collect::<BTreeSet<_>>().len() as u32
}

fn minimal(start: &TestConfig, shows: impl Fn(&TestConfig) -> bool) -> Minimised {
    assert_eq!(start.violations(), vec![]);
    assert!(shows(start));
    let minimised = minimize(start, Effort::Many, None, &mut |config| Ok::<_, ()>(shows(config))).unwrap();
    assert!(shows(&minimised.config) && minimised.complete);
    minimised
}

#[test]
fn connections_that_lose_packets_beside_innocents() {
    for (needed, innocents) in [(6, 1), (11, 3), (21, 1), (21, 17), (40, 17), (1, 0), (40, 0)] {
        // Under load: half of the first test's bytes have to be in flight at once.
        let bytes = 57 * 7_777 / 2;
        let minimised = minimal(&start(), |config| {
            let connections = config.traffic.load.connections();
            losers(config) >= needed
                && connections - losers(config) >= innocents
                && u64::from(connections) * u64::from(config.traffic.message_size) >= bytes
        });
        let connections = needed + innocents;
        let set = match (needed, innocents) {
            (1, _) => ConnectionSet::One(1),
            (_, 0) => ConnectionSet::All,
            _ => ConnectionSet::First(needed),
        };
        let expected = TestConfig {
            traffic: Traffic {
                load: Load::Same { verb: Verb::Write, connections },
                num_msgs_per_qp: 1,
                message_size: bytes.div_ceil(connections.into()) as u32,
                ..Traffic::default()
            },
            events: vec![event(set, 1, Action::DROP)],
            ..TestConfig::default()
        };
        assert_eq!(minimised.config, expected);
        assert!(minimised.executions < 900, "{needed}, {innocents}: {}", minimised.executions);
    }
}

#[test]
fn as_many_packets_in_all_make_up_for_connections() {
    let minimised = minimal(&start(), |config| config.traffic.total_packets() >= 4_000);
    let traffic = &minimised.config.traffic;
    assert_eq!((traffic.load.connections(), traffic.num_msgs_per_qp), (1, 1));
    assert_eq!(traffic.message_size, 3_999 * 1_024 + 1);
    // Many short messages, where they have to be short: of as many packets as they can have.
    let minimised = minimal(&start(), |config| {
        config.traffic.total_packets() >= 4_000 && config.traffic.message_size < 8_000
    });
    let traffic = &minimised.config.traffic;
    assert_eq!((traffic.load.connections(), traffic.mtu), (1, Mtu::B256));
    assert_eq!((traffic.num_msgs_per_qp, traffic.message_size), (125, 31 * 256 + 1));
}

/// An anomaly that shows under load, but not under more load than any NIC could take.
#[test]
fn a_load_that_is_neither_too_small_nor_too_large() {
    let most = 57 * 7_777;
    let bytes = most / 4;
    let minimised = minimal(&start(), |config| {
        let connections = config.traffic.load.connections();
        let in_flight = u64::from(connections) * u64::from(config.traffic.message_size);
        losers(config) >= 11 && losers(config) < connections && (bytes..=most).contains(&in_flight)
    });
    let traffic = &minimised.config.traffic;
    assert_eq!((traffic.load.connections(), traffic.num_msgs_per_qp), (12, 1));
    assert_eq!(u64::from(traffic.message_size), bytes.div_ceil(12));
}

#[test]
fn numbers_stop_where_they_are_needed() {
    let mut start = start();
    start.requester.ip_list =
        ["10.0.0.1/24", "10.0.0.3/24", "10.0.0.4/24"].map(|ip| ip.parse::<Cidr>().unwrap()).into();
    start.responder.traffic_class = Some(TrafficClass::PerConnection((0..57).map(|qpn| qpn % 8).collect()));
    start.responder.roce.min_time_between_cnps = 900;
    start.traffic.multi_gid = true;
    start.traffic.barrier_sync = true;
    let minimised = minimal(&start, |config| {
        let traffic = &config.traffic;
        traffic.tx_depth >= 3
            && traffic.max_retransmit_retry <= 5
            && traffic.min_rnr_timer >= 21
            && config.requester.ip_list.len() >= 2
            && config.responder.roce.min_time_between_cnps > 333
            && config.responder.traffic_class.as_ref().is_some_and(|classes| classes.classes().contains(&6))
            && traffic.mtu < Mtu::B1024
    });
    let expected = Traffic {
        load: Load::Same { verb: Verb::Write, connections: 1 },
        num_msgs_per_qp: 3,
        message_size: 0,
        mtu: Mtu::B512,
        tx_depth: 3,
        max_retransmit_retry: 5,
        min_rnr_timer: 21,
        ..Traffic::default()
    };
    let config = minimised.config;
    assert_eq!(config.traffic, expected);
    assert_eq!(config.requester.ip_list.len(), 2);
    assert_eq!(config.responder.roce.min_time_between_cnps, 334);
    assert_eq!(config.responder.traffic_class, Some(TrafficClass::Same(6)));
    assert_eq!(config.events, vec![]);
}

/// Of the host that matters, no class is left that is not needed, nor anything that makes one special; the others have the first
/// numbers.
#[test]
fn classes_become_few_and_alike() {
    let classes = TrafficClass::PerConnection((0..57).map(|qpn| qpn % 5).collect());
    let mut start = start();
    for role in Role::ALL {
        let host = start.host_mut(role);
        host.traffic_class = Some(classes.clone());
        host.ets = Some(Ets { weights: vec![10, 20, 30], strict: vec![3, 4] });
    }
    let classes_of = |config: &TestConfig| {
        let mut used = config.requester.traffic_class.as_ref()?.classes().to_vec();
        used.sort_unstable();
        used.dedup();
        Some(used.len()).filter(|_| config.requester.ets.is_some())
    };
    let config = minimal(&start, |config| classes_of(config).is_some_and(|classes| classes >= 2)).config;
    assert_eq!(config.requester.ets, Some(Ets { weights: vec![10, 10], strict: vec![] }));
    assert_eq!(config.requester.traffic_class, Some(TrafficClass::PerConnection(vec![0, 1])));
    assert_eq!((config.responder.ets, config.responder.traffic_class), (None, None));
    let strict =
        |config: &TestConfig| config.requester.ets.as_ref().is_some_and(|ets| !ets.strict.is_empty());
    let config = minimal(&start, |config| strict(config) && classes_of(config) >= Some(2)).config;
    assert_eq!(config.requester.ets, Some(Ets { weights: vec![10], strict: vec![1] }));
}
