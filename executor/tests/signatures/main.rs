//! experiment
#![allow(clippy::unwrap_used, clippy::panic, dead_code, reason = "tests panic where they fail")]

#[path = "../quirks/cases.rs"]
mod cases;
#[path = "../random/stress.rs"]
mod stress;
#[path = "../support/mod.rs"]
mod support;

use corpus::{Action, ConnectionSet, Event, Progression, Target, TestConfig};
use executor::NicProfile;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::BTreeMap;

fn draw(seed: u64) -> TestConfig {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut config = corpus::testing::configs().new_tree(&mut runner).unwrap().current();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    config.traffic.min_retransmit_timeout = rng.random_range(8..=16);
    if rng.random_bool(0.7) {
        config.traffic.max_retransmit_retry = 7;
    }
    if rng.random_bool(0.7) {
        config.traffic.message_size = config.traffic.message_size.max(3000);
    }
    config.traffic.rnr_retry = rng.random_range(0..=7);
    if rng.random_bool(0.5) {
        config.traffic.recv_depth = 128;
    }
    let packets = config.traffic.shape().packets() as u32;
    let connections = config.traffic.load.connections();
    for _ in 0..rng.random_range(0..3) {
        let mut edited = config.clone();
        let target = Target::Data { psn: rng.random_range(1..=packets), iter: 1 };
        let set = if rng.random_bool(0.5) {
            ConnectionSet::All
        } else {
            ConnectionSet::One(rng.random_range(1..=connections))
        };
        let every = rng.random_range(1..=packets);
        let progression = rng.random_bool(0.5).then_some(Progression { every, count: None });
        let action = if rng.random_bool(0.7) { Action::Drop } else { Action::Ecn };
        edited.events.push(Event { connections: set, target, progression, action });
        if edited.is_valid() {
            config = edited;
        }
    }
    for host in [&mut config.requester, &mut config.responder] {
        if rng.random_bool(0.7) {
            host.roce.dcqcn_np_enable = true;
            host.roce.min_time_between_cnps = rng.random_range(0..50);
        }
    }
    if config.is_valid() { config } else { draw(seed + 1_000_000_007) }
}

#[test]
fn signatures() {
    let tests: u64 = std::env::var("TESTS").map_or(300, |text| text.parse().unwrap());
    let first: u64 = std::env::var("FIRST").map_or(1, |text| text.parse().unwrap());
    let only = std::env::var("ONLY").unwrap_or_default();
    let show = std::env::var("SHOW").unwrap_or_default();
    let mut list: Vec<String> = if only.contains('=') {
        only.split(" ; ").map(|text| text.replace("\\n", "\n")).collect()
    } else {
        cases::CASES
            .iter()
            .map(|case| format!("{}\n[quirks]\n{}\n", case.hosts, case.quirk))
            .filter(|text| text.contains(&only))
            .collect()
    };
    list.dedup();
    for fields in list {
        let nic: NicProfile = toml::from_str(&fields).unwrap_or_else(|error| panic!("{fields}: {error}"));
        let nics = [nic.clone(), nic];
        let mut counts: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
        let mut endless = 0;
        let mut with = 0;
        for seed in first..first + tests {
            let config = draw(seed);
            let Ok(observation) = executor::sim::run(&config, nics.clone()) else {
                endless += 1;
                continue;
            };
            let assessment = support::assess(&config, &nics, &observation);
            for anomaly in &assessment.anomalies {
                counts.entry(anomaly.signature()).or_default().1 += 1;
            }
            let found: Vec<_> = assessment.findings().collect();
            with += u64::from(!found.is_empty());
            for anomaly in &found {
                let entry = counts.entry(anomaly.signature()).or_default();
                entry.0 += 1;
                if entry.2 == 0 {
                    entry.2 = seed;
                }
                if !show.is_empty() && anomaly.signature().contains(&show) {
                    eprintln!(
                        "seed {seed}: {:?}",
                        assessment
                            .anomalies
                            .iter()
                            .map(|a| format!(
                                "{} {:?} {} {:?}",
                                a.signature(),
                                a.who.connection,
                                a.what,
                                a.evidence.packets
                            ))
                            .collect::<Vec<_>>()
                    );
                }
            }
        }
        println!("## {} (with findings {with}, endless {endless})", fields.replace('\n', " "));
        for (signature, (found, seen, first)) in counts {
            println!("   {found:5} {seen:5} {first:5} {signature}");
        }
    }
}

#[test]
fn dump() {
    let Ok(seed) = std::env::var("DUMP") else { return };
    let fields = std::env::var("ONLY").unwrap().replace("\\n", "\n");
    let nic: NicProfile = toml::from_str(&fields).unwrap();
    let config = draw(seed.parse().unwrap());
    println!("{}", config.to_toml());
    let observation = executor::sim::run(&config, [nic.clone(), nic]).unwrap();
    for record in observation.trace.records().iter().take(std::env::var("TAKE").map_or(60, |t| t.parse().unwrap())) {
        let flow = observation.trace.flow(record);
        let c = observation.connections.iter().position(|ends| [ends.requester.qpn, ends.responder.qpn].contains(&Some(flow.dest_qpn))).unwrap();
        let first = observation.connections[c].requester.initial_psn.unwrap();
        println!("{:>6} {:>12} {} #{} {} psn {} {} {:?} len {} {:?}", record.sequence, record.time.0, flow.source, c + 1, record.opcode(), record.psn.relative_to(first), record.event(), record.aeth(), record.dma_length, observation.trace.exit(record).map(|e| (e.time, e.copies)));
    }
}
