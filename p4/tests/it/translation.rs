//! From relative QPNs and PSNs to entries.

use std::collections::BTreeMap;

use corpus::config::Points;
use corpus::{ControlPacket, Role, Target, TestConfig, testing};
use dumper::{Connection, Nanos, Psn};
use p4::{Actions, Entry, Key, MAX_ENTRIES, Timing, TranslateError, translate};
use proptest::prelude::*;

use crate::support::{config, connections, endpoint_of};

/// Lumina Fig. 2: the fourth packet of the first connection is the one with PSN 1004 to QPN 0xea at 10.0.0.2.
#[test]
fn figure_2() {
    let connection = Connection {
        requester: endpoint_of("10.0.0.1", 0xfe, 1001),
        responder: endpoint_of("10.0.0.2", 0xea, 3002),
    };
    let tables =
        translate(&config(r#"event = [{ qpn = 1, psn = 4, type = "ecn" }]"#), &[connection]).unwrap();
    let flow = tables.flow("10.0.0.2".parse().unwrap(), 0xea).unwrap();
    assert_eq!((flow.connection(), flow.towards()), (1, Role::Responder));
    assert_eq!(tables.flow("10.0.0.1".parse().unwrap(), 0xea), None);
    assert_eq!(
        tables.entries(),
        [Entry {
            key: Key::Data { flow, psn: Psn::new(1004), iter: 1 },
            actions: Actions { ecn: true, ..Actions::default() }
        }]
    );
}

/// Read responses carry the requester's PSNs to the requester; a mixed connection has data both ways.
#[test]
fn the_message_that_owns_a_psn_says_where_it_goes() {
    let test = config(
        r#"
        traffic = { rdma-verb = "send_read", mtu = 1024, message-size = 2048, num-msgs-per-qp = 3 }
        event = [{ qpn = 1, psn = 2, every = 1, type = "drop" }]"#,
    );
    let connection = Connection {
        requester: endpoint_of("10.0.0.1", 7, 0xff_fffe),
        responder: endpoint_of("10.0.0.2", 9, 500),
    };
    let tables = translate(&test, &[connection]).unwrap();
    let keys: Vec<_> = tables.entries().into_iter().map(|entry| entry.key).collect();
    let requester = tables.flow("10.0.0.1".parse().unwrap(), 7).unwrap();
    let responder = tables.flow("10.0.0.2".parse().unwrap(), 9).unwrap();
    let key = |flow, psn| Key::Data { flow, psn: Psn::new(psn), iter: 1 };
    assert_eq!(
        keys,
        [
            key(requester, 0),
            key(requester, 1),
            key(responder, 2),
            key(responder, 3),
            key(responder, 0xff_ffff)
        ]
    );
}

#[test]
fn sets_progressions_and_several_events() {
    let test = config(
        r#"
        traffic = { num-connections = 3 }
        event = [
            { qpn = { first = 2 }, psn = 10, every = 45, type = "ecn" },
            { qpn = [3, 2], psn = 55, type = "delay", delay-ns = 9 },
            { qpn = 2, packet = "ack", nth = 2, every = 3, count = 4, type = "drop" },
            { qpn = 2, packet = "cnp", nth = 1, type = "drop" },
        ]"#,
    );
    let connections = connections(3, Psn::new(1));
    let tables = translate(&test, &connections).unwrap();
    let flow = |number: usize| {
        let responder = connections[number - 1].responder;
        tables.flow(responder.ip, responder.qpn.unwrap()).unwrap()
    };
    let data = |number, psn, actions| Entry {
        key: Key::Data { flow: flow(number), psn: Psn::new(psn), iter: 1 },
        actions,
    };
    let ecn = Actions { ecn: true, ..Actions::default() };
    let delay = Actions { timing: Timing::Delay(Nanos(9)), ..Actions::default() };
    let both = Actions { ecn: true, ..delay };
    let to_requester = tables.flow("10.0.0.1".parse().unwrap(), 0x102).unwrap();
    let control = |packet, nth| Entry {
        key: Key::Control { flow: to_requester, packet, nth },
        actions: Actions { drop: true, ..Actions::default() },
    };
    assert_eq!(
        tables.entries(),
        [
            data(1, 10, ecn),
            data(1, 55, ecn),
            data(1, 100, ecn),
            data(2, 10, ecn),
            data(2, 55, both),
            data(2, 100, ecn),
            data(3, 55, delay),
            control(ControlPacket::Ack, Points { first: 2, step: 3, last: 11 }),
            control(ControlPacket::Cnp, Points { first: 1, step: 1, last: 1 }),
        ]
    );
    assert_eq!((tables.len(), tables.is_empty()), (9, false));
}

/// A data packet: connection, whether the requester sends it, PSN, ITER.
type Named = (u32, bool, u32, u32);

/// The data packets with the number of events that name each, and the number of control entries, by going through
/// all events, connections and packets.
fn expected(config: &TestConfig, initial: Psn) -> (BTreeMap<Named, usize>, usize) {
    let (mut data, mut control) = (BTreeMap::new(), 0);
    for event in &config.events {
        for qpn in (1..=config.traffic.load.connections()).filter(|qpn| event.connections.contains(*qpn)) {
            let Target::Data { psn, iter } = event.target else {
                control += 1;
                continue;
            };
            let every = event.progression.map_or(u32::MAX, |progression| progression.every);
            let count = event.progression.map_or(Some(1), |progression| progression.count);
            let last = config.traffic.shape().packets() as u32;
            for psn in (psn..=last).step_by(every as usize).take(count.unwrap_or(u32::MAX) as usize) {
                let from_requester = config.traffic.data_sender(qpn, psn) == Some(Role::Requester);
                let wire = (initial.value() + psn - 1) % (1 << 24);
                *data.entry((qpn, from_requester, wire, iter)).or_default() += 1;
            }
        }
    }
    (data, control)
}

proptest! {
    #[test]
    fn every_valid_test_is_translated(config in testing::configs(), initial in any::<u32>()) {
        let initial = Psn::new(initial);
        let connections = connections(config.traffic.load.connections(), initial);
        let tables = translate(&config, &connections).unwrap();
        let (mut data, control) = expected(&config, initial);
        prop_assert_eq!(tables.len(), data.len() + control);
        for entry in tables.entries() {
            if let Key::Data { flow, psn, iter } = entry.key {
                let key = (flow.connection(), flow.towards() == Role::Responder, psn.value(), u32::from(iter));
                let events = data.remove(&key);
                prop_assert!(events.is_some(), "no event names {:?}", entry);
                prop_assert_eq!(p4::Sent::from(entry.actions).event() == dumper::Event::Several, events > Some(1));
            }
        }
        prop_assert_eq!(data, BTreeMap::new());
    }
}

fn refusal(text: &str, connections: &[Connection]) -> String {
    translate(&config(text), connections).unwrap_err().to_string()
}

#[test]
fn metadata_that_does_not_fit_is_refused() {
    let good = connections(2, Psn::new(0));
    assert_eq!(
        refusal("traffic = { num-connections = 3 }", &good),
        "the test has 3 connections, and the hosts told of 2; run both from the same test"
    );
    let two = "traffic = { num-connections = 2 }";
    let broken = |change: fn(&mut Connection)| {
        let mut connections = good.clone();
        change(&mut connections[1]);
        refusal(two, &connections)
    };
    assert_eq!(
        broken(|connection| connection.responder.qpn = None),
        "connection 2: the responder did not tell its QPN, without which its packets are not known"
    );
    assert_eq!(
        broken(|connection| connection.requester.initial_psn = None),
        "connection 2: the requester did not tell its initial PSN, from which relative PSNs count"
    );
    assert_eq!(
        broken(|connection| connection.requester.qpn = Some(0x101)),
        "connection 2: QPN 257 at 10.0.0.1 is an end of another connection too; each needs a QP of its own"
    );
    // Nobody sends by the responder's initial PSN.
    let mut connections = good.clone();
    connections[0].responder.initial_psn = None;
    assert!(translate(&config(two), &connections).is_ok());
}

#[test]
fn contradicting_events_are_named() {
    let mut test = config(
        r#"event = [
            { qpn = 1, psn = 4, type = "drop" },
            { qpn = 1, psn = 2, every = 2, count = 1, type = "ecn" },
        ]"#,
    );
    test.events[1].progression =
        test.events[1].progression.map(|all| corpus::Progression { count: None, ..all });
    let error = translate(&test, &connections(1, Psn::new(0))).unwrap_err();
    assert!(matches!(error, TranslateError::Config(_)));
    assert_eq!(
        error.to_string(),
        "event[2]: acts on psn 4, iter 1 of connection 1, as event[1] (drop) does: a dropped packet cannot be changed \
         or sent as well; remove one of the two or choose another packet"
    );
}

/// A full table is one test's every packet in one round; a second round does not fit.
#[test]
fn tables_are_bounded() {
    let text = |more: &str| {
        format!(
            r#"
            traffic = {{ num-msgs-per-qp = 4, mtu = 1024, message-size = {} }}
            event = [{{ qpn = 1, psn = 1, every = 1, type = "ecn" }}, {more}]"#,
            MAX_ENTRIES / 4 * 1024
        )
    };
    let one = connections(1, Psn::MAX);
    let delay = r#"{ qpn = 1, psn = 7, type = "delay", delay-us = 1 }"#;
    assert_eq!(translate(&config(&text(delay)), &one).unwrap().len(), MAX_ENTRIES);
    assert_eq!(
        refusal(&text(&format!("{delay}, {{ qpn = 1, psn = 7, iter = 2, type = \"drop\" }}")), &one),
        "event[3]: with it the events name more than 4194304 packets; name fewer, for example with `count`"
    );
    assert_eq!(
        refusal(&text(r#"{ qpn = 1, packet = "ack", nth = 7, type = "drop" }"#), &one),
        "event[2]: with it the events name more than 4194304 packets; name fewer, for example with `count`"
    );
}
