//! A recording is a script of the same test, and the observation fits it.

use std::cmp::Ordering;

use corpus::testing::complete_configs;
use corpus::{ConnectionSet, TestConfig};
use dumper::observation::CompletionStatus;
use dumper::script::{Found, MAX_PACKETS, Script, Step, parse};
use dumper::trace::Origin;
use dumper::wire::{Opcode, Syndrome};
use dumper::{Completion, Delivery, Event, Flow, FlowId, Nanos, Observation, Psn, Record, Trace};
use executor::script::{compare, record, to_config};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::hand::{INITIAL, connections};

/// Any packets of a test's connections, in an order that no NIC would send them in.
fn observation(config: &TestConfig) -> impl Strategy<Value = Observation> + use<> {
    let count = config.traffic.load.connections();
    let messages = config.traffic.num_msgs_per_qp;
    let opcodes = select(Opcode::KNOWN.to_vec());
    let packet =
        (0..2 * count, opcodes, 0..12_u32, any::<u8>(), 0..9_u8, 0..10_000_u64, any::<(u16, u32, u8)>());
    let end = (1..=count, 1..=messages, select(dumper::script::STATUSES.map(|(_, status)| status).to_vec()));
    (vec(packet, 0..40), vec(end, 0..6)).prop_map(move |(packets, ends)| {
        let connections = connections(count);
        let mut trace = Trace::new(Origin::Mirror);
        for connection in &connections {
            for (from, to) in
                [(connection.requester, connection.responder), (connection.responder, connection.requester)]
            {
                let dest_qpn = to.qpn.unwrap();
                trace.add_flow(Flow { source: from.ip, destination: to.ip, dest_qpn, vlan: None });
            }
        }
        let mut time = Nanos(1000);
        for (sequence, (flow, opcode, psn, syndrome, event, wait, (len, dma, flags))) in (1..).zip(packets) {
            time += Nanos(wait);
            // Also a PSN before the first.
            let mut packet = Record::new(time, sequence, FlowId(flow), opcode, INITIAL.sub(1).add(psn));
            packet.aeth = u32::from(u8::from(Syndrome::from(syndrome))) << 24 | u32::from(len);
            packet.set_event(Event::from_code(event));
            packet.payload_len = len;
            packet.dma_length = dma;
            packet.virtual_address = u64::from(dma);
            packet.flags = flags;
            packet.traffic_class = flags;
            trace.push(packet);
        }
        let completion = |(connection, message, status): (u32, u32, CompletionStatus)| Completion {
            connection,
            message,
            posted_ns: Nanos(0),
            completed_ns: Nanos(1),
            bytes: 1,
            status,
        };
        let deliveries = ends.iter().map(|(connection, message, status)| Delivery {
            connection: *connection,
            message: *message,
            bytes: u64::from(*message),
            intact: *status == CompletionStatus::Success,
        });
        let deliveries = Some(deliveries.collect());
        let completions = Some(ends.into_iter().map(completion).collect());
        Observation { completions, deliveries, ..Observation::of_trace(trace, connections) }
    })
}

/// Events in one order, sets of one connection in one form.
fn normal(mut config: TestConfig) -> TestConfig {
    for event in &mut config.events {
        if let ConnectionSet::List(list) = &event.connections
            && let [one] = list.as_slice()
        {
            event.connections = ConnectionSet::One(*one);
        }
    }
    config.events.sort_by(|a, b| match a == b {
        true => Ordering::Equal,
        false => format!("{a:?}").cmp(&format!("{b:?}")),
    });
    config
}

fn reread(script: &Script) -> Result<Script, TestCaseError> {
    let text = script.to_string();
    parse(&script.file, &text).map_err(|errors| TestCaseError::fail(format!("{errors}\n{text}")))
}

proptest! {
    #[test]
    fn the_observation_fits_and_the_test_is_the_same(
        (config, observation) in complete_configs().prop_flat_map(|config| {
            let observation = observation(&config);
            (Just(config), observation)
        })
    ) {
        let recorded = record(&config, &observation);
        let script = reread(&recorded)?;
        prop_assert_eq!(&script, &recorded);
        let read = to_config(&script).map_err(|errors| TestCaseError::fail(format!("{errors}\n{script}")))?;
        prop_assert_eq!(normal(read.clone()), normal(config), "{}", script);
        let mismatches = compare(&script, &read, &observation, &Found::default());
        prop_assert!(mismatches.is_empty(), "{}\n{}", mismatches[0], script);
    }
}

/// A long observation is recorded up to where a script may go, and still fits.
#[test]
fn long_observations_are_cut() {
    let config = TestConfig::default();
    let mut trace = Trace::new(Origin::Mirror);
    let connections = connections(1);
    let (from, to) = (connections[0].requester, connections[0].responder);
    let flow =
        trace.add_flow(Flow { source: from.ip, destination: to.ip, dest_qpn: to.qpn.unwrap(), vlan: None });
    let packets = MAX_PACKETS as u32 + 5;
    for n in 1..=packets {
        trace.push(Record::new(
            Nanos(n.into()),
            n,
            flow,
            Opcode::WriteMiddle,
            Psn::from_relative(n, INITIAL),
        ));
    }
    let observation = Observation::of_trace(trace, connections);
    let script = reread(&record(&config, &observation)).unwrap();
    assert!(matches!(script.steps.last(), Some(Step::Skip(_))));
    assert_eq!(script.steps.len(), MAX_PACKETS + 1);
    assert_eq!(compare(&script, &config, &observation, &Found::default()).len(), 0);
}

/// A script can rewrite what a test can, and nothing else.
#[test]
fn scripts_and_tests_rewrite_the_same_fields() {
    let of_tests: Vec<_> =
        corpus::HeaderField::NAMES.iter().map(|(name, field)| (*name, field.largest())).collect();
    assert_eq!(dumper::script::SETTABLE.to_vec(), of_tests);
}
