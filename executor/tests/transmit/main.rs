//! Order and times of transmission: reaction points, traffic classes and the transmit pipeline, by the
//! packets at the switch.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

mod classes;
mod pipeline;
mod property;

use corpus::TestConfig;
use dumper::{Nanos, Observation};
use executor::NicProfile;

/// Runs a test where both hosts have such a NIC.
fn run(config: &TestConfig, profile: &str) -> Observation {
    let nic: NicProfile = profile.parse().unwrap();
    executor::sim::run(config, [nic.clone(), nic]).unwrap()
}

/// Time at which each data packet of a connection entered the switch, and its bytes on the cable.
fn data(observation: &Observation, connection: usize) -> Vec<(Nanos, u64)> {
    let ends = &observation.connections[connection];
    let qpns = [ends.requester.qpn, ends.responder.qpn];
    let trace = &observation.trace;
    let records = trace.records().iter().filter(|record| record.class().is_data());
    // Preamble, FCS and the gap between frames are on the cable, too.
    records
        .filter(|record| qpns.contains(&Some(trace.flow(record).dest_qpn)))
        .map(|record| (record.time, u64::from(record.frame_len) + 24))
        .collect()
}
