//! Behaviours that a test shows, conforming or not: ways in which connections recovered, how many at the same time, counters
//! that moved. A search keeps tests for those that are rare; numbers go in by their magnitude.

use std::collections::BTreeSet;

use corpus::{Role, TestConfig};
use dumper::Observation;

use crate::Analysis;

/// Most behaviours of a test that are kept.
const MOST: usize = 256;

/// Magnitude of a number: 0, 1, 2 to 3, 4 to 7, and so on.
const fn magnitude(number: u64) -> u8 {
    (u64::BITS - number.leading_zeros()) as u8
}

/// A kind of behaviour, which begins its text.
#[derive(Clone, Copy)]
enum Of {
    Recovery = 1,
    Together,
    Stuck,
    Counter,
    Injected,
    Status,
    Congestion,
}

/// The behaviours of a test, as digests, ascending: equal for equal behaviours on every machine.
#[must_use]
pub fn behaviours(config: &TestConfig, observation: &Observation, analysis: &Analysis) -> Vec<u32> {
    let mut found: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut add = |of: Of, parts: &[u8]| {
        let mut text = vec![of as u8];
        text.extend_from_slice(parts);
        found.insert(text);
    };
    let traffic = &config.traffic;
    let shape = traffic.shape();
    let mut recovering = [const { BTreeSet::new() }; 4];
    for one in &analysis.retransmissions {
        let trigger = one.trigger as u8;
        recovering[usize::from(trigger).min(3)].insert(one.connection);
        // Packets that were injected as copies may lie outside of the test's messages.
        let Some(place) = shape.locate(one.from_psn) else { continue };
        let connection = u32::try_from(one.connection).unwrap_or(u32::MAX);
        let verb = traffic.load.verb(connection, place.message) as u8;
        let class =
            config.requester.traffic_class.as_ref().and_then(|classes| classes.of(connection)).unwrap_or(0);
        let message = magnitude(u64::from(place.message) + 1);
        add(Of::Recovery, &[trigger, verb, place.position as u8, message]);
        add(Of::Recovery, &[trigger, verb, place.position as u8, 0xff, class]);
        add(Of::Recovery, &[trigger, verb, 0xfe, magnitude(one.lost.len() as u64)]);
    }
    let mtu = magnitude(traffic.mtu.bytes().into());
    for (trigger, connections) in
        recovering.iter().enumerate().filter(|(_, connections)| !connections.is_empty())
    {
        let together = magnitude(connections.len() as u64);
        add(Of::Together, &[trigger as u8, together, mtu]);
        add(Of::Together, &[trigger as u8, together, 0xff, magnitude(shape.packets_per_message().into())]);
    }
    for stuck in &analysis.expiries {
        add(
            Of::Stuck,
            &[magnitude(stuck.waits_ns.len() as u64), stuck.failed.into(), stuck.time.min(8) as u8],
        );
    }
    for (role, counters) in Role::ALL.into_iter().zip([&observation.requester, &observation.responder]) {
        let Some(counters) = counters else { continue };
        for name in counters.names() {
            let Some(moved) = counters.moved(name).filter(|moved| *moved > 0) else { continue };
            let mut text = vec![role as u8, magnitude(moved)];
            text.extend_from_slice(name.as_bytes());
            add(Of::Counter, &text);
        }
    }
    for event in &analysis.events {
        add(Of::Injected, &[event.event.code(), event.opcode.code()]);
    }
    // The first one is success.
    let mut statuses = [0_u64; 8];
    for completion in observation.completions() {
        statuses[completion.status as usize] += 1;
    }
    for (status, count) in statuses.into_iter().enumerate().skip(1).filter(|(_, count)| *count > 0) {
        add(Of::Status, &[status as u8, magnitude(count)]);
    }
    if analysis.marked > 0 {
        add(Of::Congestion, &[magnitude(analysis.marked), magnitude(analysis.cnps)]);
    }
    let digests: BTreeSet<u32> = found.iter().map(|text| crc32fast::hash(text)).collect();
    digests.into_iter().take(MOST).collect()
}
