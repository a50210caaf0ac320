//! Faults with two smallest tests: a search that has come to the larger one leaves it by chance only.

use corpus::{Action, ConnectionSet, Event, Load, Mtu, Target, TestConfig, Traffic, Verb};

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
