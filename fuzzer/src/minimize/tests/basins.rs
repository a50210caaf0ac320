//! Faults with two smallest tests: a search that has come to the larger one leaves it by chance only.

use std::collections::BTreeSet;

use corpus::config::Points;
use corpus::{Action, ActionKind, ConnectionSet, Event, Load, Mtu, Target, TestConfig, Traffic, Verb};

use crate::minimize::{Effort, minimize, minimize_with_restarts};

/// Connections that lose a packet at the bottom of the wide basin, beside an innocent one.
const CROWD: u32 = 6;

/// A test of 24 connections, half of which lose a packet.
fn start() -> TestConfig {
    TestConfig {
        traffic: Traffic {
            load: Load::Same { verb: Verb::Write, connections: 24 },
            num_msgs_per_qp: 5,
            mtu: Mtu::B1024,
            message_size: 10_000,
            ..Traffic::default()
        },
        events: vec![Event {
            connections: ConnectionSet::First(12),
            target: Target::Data { psn: 3, iter: 1 },
            progression: None,
            action: Action::DROP,
        }],
        ..TestConfig::default()
    }
}

/// The wide basin: any test in which enough connections lose a packet and one loses none.
fn has_crowd(config: &TestConfig) -> bool {
    let losers = config.connections_with_events() as u32;
    losers >= CROWD && losers < config.traffic.load.connections()
}

/// The narrow one: two connections at most, with messages of exactly so many packets.
fn has_length(config: &TestConfig, packets: u32) -> bool {
    let traffic = &config.traffic;
    traffic.load.connections() <= 2
        && config.connections_with_events() > 0
        && traffic.shape().own_packets() == packets
}

#[test]
fn restarts_leave_a_basin_that_one_search_ends_in() {
    let bottom = |config: &TestConfig| config.connections_with_events() as u32;
    let lengths = 6..14;
    let (mut found_by_one, mut found_with_restarts) = (0, 0);
    for packets in lengths.clone() {
        let shows = |config: &TestConfig| has_crowd(config) || has_length(config, packets);
        let one = minimize(&start(), Effort::Many, None, &mut |config| Ok::<_, ()>(shows(config))).unwrap();
        let restarted = &mut |config: &TestConfig, _| Ok::<_, ()>(shows(config));
        let several = minimize_with_restarts(&start(), Effort::Many, restarted).unwrap();
        for minimised in [&one, &several] {
            assert!(minimised.complete && shows(&minimised.config));
            assert!([1, CROWD].contains(&bottom(&minimised.config)), "{}", minimised.config);
        }
        assert!(bottom(&several.config) <= bottom(&one.config));
        found_by_one += u32::from(bottom(&one.config) == 1);
        found_with_restarts += u32::from(bottom(&several.config) == 1);
    }
    let all = lengths.count() as u32;
    assert!(found_by_one * 2 < all, "one search finds {found_by_one} of {all}");
    assert!(found_with_restarts * 4 >= all * 3, "with restarts {found_with_restarts} of {all} are found");
}

/// Marks that a fault needs, each of a packet behind one that is lost.
const PAIRS: usize = 8;

/// Packets that are marked behind a lost one, on all connections together.
fn pairs(config: &TestConfig) -> usize {
    let traffic = &config.traffic;
    let end = traffic.shape().packets() as u32;
    let on = |connection: u32, kind: ActionKind| {
        let named = config
            .events
            .iter()
            .filter(|one| one.action.kind() == kind && one.connections.contains(connection));
        named.filter_map(|one| one.points(end)).flat_map(Points::iter).collect::<BTreeSet<_>>()
    };
    let of_one = |connection| {
        let lost = on(connection, ActionKind::Drop);
        on(connection, ActionKind::Ecn).iter().filter(|psn| lost.contains(&(**psn - 1))).count()
    };
    (1..=traffic.load.connections()).map(of_one).sum()
}

/// Neither more messages nor events that repeat are of any use by themselves.
#[test]
fn what_many_connections_have_once_one_may_have_again_and_again() {
    let event = |psn, action| Event {
        connections: ConnectionSet::All,
        target: Target::Data { psn, iter: 1 },
        progression: None,
        action,
    };
    let mut start = start();
    start.traffic.num_msgs_per_qp = 2;
    start.traffic.message_size = 1_000;
    start.events = vec![event(1, Action::DROP), event(2, Action::Ecn)];
    let shows = &mut |config: &TestConfig| Ok::<_, ()>(pairs(config) >= PAIRS);
    let minimised = minimize(&start, Effort::Many, None, shows).unwrap();
    assert_eq!(minimised.config.traffic.load.connections(), 1, "{}", minimised.config);
}
