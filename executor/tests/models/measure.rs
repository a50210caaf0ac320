//! Running tests and taking figures from them.

use std::path::Path;

use corpus::TestConfig;
use dumper::{HostCounters, Observation};
use executor::sim::Sim;
use executor::{NicProfile, Testbed, profile};
use scoring::{Analysis, Anomaly, Options};

use super::support;

/// A test of a NIC with itself.
pub(crate) fn config(nic: &str, text: &str) -> TestConfig {
    pair(nic, nic, text)
}

/// A test of two NICs.
pub(crate) fn pair(requester: &str, responder: &str, text: &str) -> TestConfig {
    let nics = format!("requester.nic = \"{requester}\"\nresponder.nic = \"{responder}\"\n");
    corpus::from_toml("test.toml", &format!("{nics}{text}")).unwrap()
}

pub(crate) fn run(config: &TestConfig) -> Observation {
    Sim::new(Path::new(".")).run(config).unwrap()
}

pub(crate) fn analyze(config: &TestConfig, observation: &Observation) -> Analysis {
    scoring::analyze(observation, Options { config: Some(config) })
}

/// Findings of a test of these NICs.
pub(crate) fn findings(config: &TestConfig) -> Vec<Anomaly> {
    let load = |nic: &str| -> NicProfile { profile::load(nic, Path::new(".")).unwrap() };
    let nics = [load(&config.requester.nic), load(&config.responder.nic)];
    support::assess(config, &nics, &run(config)).findings().cloned().collect()
}

pub(crate) fn signatures(config: &TestConfig) -> Vec<String> {
    findings(config).iter().map(Anomaly::signature).collect()
}

/// Data packets of the requester, or of the responder of Reads: connection from 1, relative PSN, time in µs
/// from the first packet of the test.
pub(crate) fn data(observation: &Observation) -> Vec<(u32, u32, f64)> {
    let records = observation.trace.records();
    let start = records[0].time;
    let at = |record: &dumper::Record| {
        let qpn = Some(observation.trace.flow(record).dest_qpn);
        let ends = observation.connections.iter().zip(1..);
        let mut here = ends.filter(|(ends, _)| ends.responder.qpn == qpn || ends.requester.qpn == qpn);
        let (ends, connection) = here.next().unwrap();
        let psn = record.psn.relative_to(ends.requester.initial_psn.unwrap());
        (connection, psn, (record.time - start).0 as f64 / 1e3)
    };
    records.iter().filter(|record| record.class().is_data()).map(at).collect()
}

/// Times at which a data packet of the first connection passed, in µs.
pub(crate) fn passes(observation: &Observation, psn: u32) -> Vec<f64> {
    data(observation).into_iter().filter(|(qp, at, _)| (*qp, *at) == (1, psn)).map(|(_, _, at)| at).collect()
}

pub(crate) fn moved(counters: &Option<HostCounters>, name: &str) -> u64 {
    counters.as_ref().unwrap().moved(name).unwrap()
}

pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[track_caller]
pub(crate) fn assert_within(value: f64, target: f64, percent: f64) {
    assert!(
        (value - target).abs() <= target * percent / 100.0,
        "{value}, where {target} ± {percent} % is right"
    );
}

#[track_caller]
pub(crate) fn assert_between(value: f64, least: f64, most: f64) {
    assert!((least..=most).contains(&value), "{value}, where {least} to {most} is right");
}
