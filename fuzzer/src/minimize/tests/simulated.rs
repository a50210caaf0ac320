//! Noisy neighbours on the simulated testbed (Lumina §6.2.2): minimising ends at the model's threshold.

use std::path::Path;

use corpus::{
    Action, ConnectionSet, Event, Load, Mtu, Progression, Target, TestConfig, Traffic, TrafficClass, Verb,
};
use executor::profile::{self, NicProfile};
use scoring::Options;

use crate::minimize::{BUDGET, Effort, minimize};

/// A NIC with this many contexts of the slow path, through which losses of one verb are recovered.
fn nic(contexts: u32, verb: Verb) -> NicProfile {
    let mut nic = profile::load("cx4-lx", Path::new(".")).unwrap();
    let slow = if verb == Verb::Read { profile::Verb::Read } else { profile::Verb::Write };
    nic.slow_path = profile::SlowPath { contexts, verbs: vec![slow] };
    // As slow for the other verb, or no connection waits long enough for another one to join it.
    nic.retransmission.nack_generation_ns.write = nic.retransmission.nack_generation_ns.read;
    // Writes are sent at once, and not one burst after the other.
    nic.transmit.burst = 1;
    nic
}

/// A connection that lost nothing at the switch retransmits, and the receiver of the data discards packets.
fn innocents_suffer(config: &TestConfig, nic: &NicProfile) -> bool {
    let observation = executor::sim::run(config, [nic.clone(), nic.clone()]).unwrap();
    let receiver = match config.traffic.load {
        Load::Same { verb: Verb::Read, .. } => &observation.requester,
        _ => &observation.responder,
    };
    let discards = receiver.as_ref().and_then(|counters| counters.moved("rx_discards_phy"));
    let analysis = scoring::analyze(&observation, Options { config: Some(config) });
    let innocent = |qpn: u32| !config.events.iter().any(|event| event.connections.contains(qpn));
    discards.is_some_and(|moved| moved > 0)
        && analysis.retransmissions.iter().any(|one| innocent(one.connection as u32))
}

/// A test as a search finds it: much that does not matter, and nothing in order.
fn found(verb: Verb) -> TestConfig {
    let event = |qpns: &[u32], psn, progression, action| Event {
        connections: ConnectionSet::List(qpns.to_vec()),
        target: Target::Data { psn, iter: 1 },
        progression,
        action,
    };
    let marked: Vec<u32> = (1..=33).chain([40, 50, 57]).collect();
    let mut config = TestConfig {
        traffic: Traffic {
            load: Load::Same { verb, connections: 57 },
            num_msgs_per_qp: 7,
            mtu: Mtu::B2048,
            message_size: 23_456,
            tx_depth: 3,
            min_retransmit_timeout: 17,
            barrier_sync: true,
            initial_psn: Some(77),
            seed: 99,
            ..Traffic::default()
        },
        events: vec![
            event(&marked, 9, Some(Progression { every: 12, count: None }), Action::Ecn),
            Event {
                connections: ConnectionSet::First(24),
                ..event(&[], 4, Some(Progression { every: 24, count: Some(3) }), Action::DROP)
            },
            event(&[57, 3, 8, 20, 27, 30, 31, 40, 50], 5, None, Action::DROP),
            event(&[13], 7, None, Action::Ecn),
        ],
        ..TestConfig::default()
    };
    config.requester.traffic_class = Some(TrafficClass::Same(3));
    config.responder.roce.slow_restart = true;
    config
}

#[test]
fn the_threshold_of_a_nic_comes_out() {
    for verb in [Verb::Read, Verb::Write] {
        for contexts in [5, 10, 20] {
            let (nic, config) = (nic(contexts, verb), found(verb));
            assert!(innocents_suffer(&config, &nic), "{verb:?} {contexts}");
            let mut shows = |config: &TestConfig| Ok::<_, ()>(innocents_suffer(config, &nic));
            let minimised = minimize(&config, Effort::Many, Some(BUDGET), &mut shows).unwrap();
            assert!(minimised.complete, "{}", minimised.executions);

            let smallest = minimised.config;
            let bytes = smallest.traffic.message_size;
            let expected = TestConfig {
                traffic: Traffic {
                    load: Load::Same { verb, connections: contexts + 2 },
                    num_msgs_per_qp: 1,
                    message_size: bytes,
                    ..Traffic::default()
                },
                events: vec![Event {
                    connections: ConnectionSet::First(contexts + 1),
                    target: Target::Data { psn: 1, iter: 1 },
                    progression: None,
                    action: Action::DROP,
                }],
                ..TestConfig::default()
            };
            assert_eq!(smallest, expected);
            // All connections together just overflow the receive buffer.
            let buffer = nic.receive.buffer_bytes / u64::from(contexts + 2);
            assert!((buffer * 9 / 10..buffer * 12 / 10).contains(&u64::from(bytes)), "{bytes} of {buffer}");
            assert!(innocents_suffer(&smallest, &nic));
        }
    }
}
