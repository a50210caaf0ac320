//! Any traffic over any classes, with any marks, arrives whole.

use corpus::{
    Action, ConnectionSet, Ets, Event, Load, Mtu, Progression, Target, TestConfig, TrafficClass, Verb,
};
use dumper::observation::CompletionStatus;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::run;

prop_compose! {
    /// Classes of both hosts: those with a weight of 0 are strict.
    fn hosts(connections: u32)(
        weights in vec(prop_oneof![Just(0u8), 1..=100u8], 8),
        classes in vec(0..8u8, connections as usize),
        selects in any::<bool>(),
    ) -> (TrafficClass, Option<Ets>) {
        let strict = (0..8).filter(|class| weights[usize::from(*class)] == 0).collect();
        (TrafficClass::PerConnection(classes), selects.then_some(Ets { weights, strict }))
    }
}

prop_compose! {
    fn marks(connections: u32)(
        connection in 1..=connections,
        psn in 1..20u32,
        every in 1..50u32,
    ) -> Event {
        Event {
            connections: ConnectionSet::One(connection),
            target: Target::Data { psn, iter: 1 },
            progression: Some(Progression { every, count: None }),
            action: Action::Ecn,
        }
    }
}

fn load() -> impl Strategy<Value = Load> {
    let verb = select(vec![Verb::Write, Verb::Read, Verb::Send]);
    prop_oneof![
        (verb, 1..6u32).prop_map(|(verb, connections)| Load::Same { verb, connections }),
        (1..6u32).prop_map(|connections| Load::Alternating { connections }),
    ]
}

prop_compose! {
    fn tests()(load in load())(
        load in Just(load),
        hosts in [hosts(load.connections()), hosts(load.connections())],
        events in vec(marks(load.connections()), 0..4),
        mtu in select(vec![Mtu::B256, Mtu::B1024, Mtu::B4096]),
        (messages, message_size, tx_depth) in (1..5u32, 0..100_000u32, 1..4u32),
        seed in 0..1_000u64,
    ) -> TestConfig {
        let mut config = TestConfig::default();
        let [requester, responder] = hosts;
        (config.requester.traffic_class, config.requester.ets) = (Some(requester.0), requester.1);
        (config.responder.traffic_class, config.responder.ets) = (Some(responder.0), responder.1);
        let traffic = &mut config.traffic;
        (traffic.load, traffic.mtu, traffic.seed) = (load, mtu, seed);
        (traffic.num_msgs_per_qp, traffic.message_size) = (messages, message_size);
        traffic.tx_depth = tx_depth.min(messages);
        for event in events {
            config.events.push(event);
            if !config.is_valid() {
                config.events.pop();
            }
        }
        config
    }
}

fn profiles() -> impl Strategy<Value = String> {
    let ceiling = prop_oneof![Just(0), 20..300u32];
    (1..10u32, prop_oneof![Just(0u32), 0..100_000u32], ceiling, 1..100_000u32).prop_map(
        |(burst, pipeline, ceiling, counter)| {
            format!(
                "[transmit]\nburst = {burst}\npipeline-bytes = {pipeline}\n[ets]\nceiling-percent = {ceiling}\n\
                 [reaction]\nbyte-counter = {counter}\nmin-rate-mbps = 1_000\n"
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn everything_arrives_once_and_the_same_way_each_time(config in tests(), profile in profiles()) {
        prop_assert_eq!(config.violations(), vec![]);
        let observation = run(&config, &profile);
        let messages = u64::from(config.traffic.load.connections()) * u64::from(config.traffic.num_msgs_per_qp);
        prop_assert_eq!(observation.completions().len() as u64, messages);
        prop_assert!(observation.completions().iter().all(|done| done.status == CompletionStatus::Success));
        if config.traffic.message_size > 0 {
            prop_assert_eq!(observation.deliveries().len() as u64, messages);
            let bytes = u64::from(config.traffic.message_size);
            prop_assert!(observation.deliveries().iter().all(|got| got.intact && got.bytes == bytes));
        }
        let packets = u64::from(config.traffic.load.connections()) * config.traffic.shape().packets();
        let data = observation.trace.records().iter().filter(|record| record.class().is_data()).count();
        prop_assert_eq!(data as u64, packets, "nothing is sent twice where nothing is lost");
        prop_assert_eq!(run(&config, &profile), observation);
    }
}
