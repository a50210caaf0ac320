//! The simulated testbed on one core: traced packets a second, and what QPs, events, losses and copies cost.

use std::hint::black_box;

use corpus::{Action, ConnectionSet, Event, Load, Network, Repeat, Target, TestConfig, Verb};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Data packets of a test, whatever its number of QPs.
const PACKETS: u32 = 1_000_000;

/// A test of about [`PACKETS`] data packets over so many QPs.
fn config(verb: Verb, connections: u32) -> TestConfig {
    let mut config = TestConfig::default();
    let traffic = &mut config.traffic;
    traffic.load = Load::Same { verb, connections };
    traffic.tx_depth = 4;
    traffic.message_size = 10_240;
    traffic.num_msgs_per_qp = PACKETS / 10 / connections;
    config
}

/// Events on so many packets, spread over all QPs: marks, and no reaction point, so that they change no traffic.
fn mark(config: &mut TestConfig, events: u32) {
    if events == 0 {
        return;
    }
    let packets = u32::try_from(config.traffic.shape().packets()).expect("a benchmark's traffic is small");
    let connections = config.traffic.load.connections();
    let each = events.div_ceil(connections).max(1);
    config.requester.roce.dcqcn_rp_enable = false;
    config.events = vec![Event {
        connections: ConnectionSet::First(connections.min(events)),
        target: Target::Data { psn: 1, iter: 1 },
        progression: Some(corpus::Progression { every: packets / each, count: Some(each) }),
        action: Action::Ecn,
    }];
}

/// A network that draws for every packet and loses one of a million, so that the traffic stays the same.
fn lossy() -> Network {
    let repeat = Repeat { naks: 2, retransmissions: 2, ..Repeat::default() };
    Network { loss_ppb: 1_000, repeat, ..Network::default() }
}

fn run(config: &TestConfig) -> usize {
    let observation = executor::sim::run(config, Default::default()).expect("the configuration is valid");
    observation.trace.records().len()
}

fn simulate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulate");
    group.sample_size(10);
    for verb in [Verb::Write, Verb::Read, Verb::Send] {
        let config = config(verb, 10);
        group.throughput(Throughput::Elements(run(&config) as u64));
        group.bench_with_input(BenchmarkId::new("verb", format!("{verb:?}")), &config, |bencher, config| {
            bencher.iter(|| black_box(run(config)));
        });
    }
    for connections in [1, 10, 100, 1_000, 10_000] {
        let config = config(Verb::Write, connections);
        group.throughput(Throughput::Elements(run(&config) as u64));
        group.bench_with_input(BenchmarkId::new("qps", connections), &config, |bencher, config| {
            bencher.iter(|| black_box(run(config)));
        });
    }
    for events in [0, 1_000, 10_000, 100_000] {
        let mut config = config(Verb::Write, 100);
        mark(&mut config, events);
        group.throughput(Throughput::Elements(run(&config) as u64));
        group.bench_with_input(BenchmarkId::new("events", events), &config, |bencher, config| {
            bencher.iter(|| black_box(run(config)));
        });
    }
    for network in [false, true] {
        let mut config = config(Verb::Write, 10);
        if network {
            config.network = lossy();
        }
        group.throughput(Throughput::Elements(run(&config) as u64));
        group.bench_with_input(BenchmarkId::new("losses and copies", network), &config, |bencher, config| {
            bencher.iter(|| black_box(run(config)));
        });
    }
    group.finish();
}

criterion_group!(benches, simulate);
criterion_main!(benches);
