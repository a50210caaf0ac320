//! The simulated testbed on one core: traced packets a second, and what QPs, events, losses, copies, reordering and flow tables cost.

use std::hint::black_box;
use std::path::Path as File;

use corpus::{
    Action, ConnectionSet, Event, Load, LossRecovery, Network, Offload, Path, Repeat, Role, Spray, Target,
    TestConfig, Verb,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use executor::profile::Eswitch;
use executor::{NicProfile, profile};

/// Data packets of a test, whatever its number of QPs.
const PACKETS: u32 = 1_000_000;

/// A test of about [`PACKETS`] data packets over so many QPs.
fn config(verb: Verb, connections: u32) -> TestConfig {
    with_packets(PACKETS, verb, connections)
}

/// A test of about so many data packets over so many QPs.
fn with_packets(packets: u32, verb: Verb, connections: u32) -> TestConfig {
    let mut config = TestConfig::default();
    let traffic = &mut config.traffic;
    traffic.load = Load::Same { verb, connections };
    traffic.tx_depth = 4;
    traffic.message_size = 10_240;
    traffic.num_msgs_per_qp = packets / 10 / connections;
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
    run_on(config, &NicProfile::default())
}

fn run_on(config: &TestConfig, nic: &NicProfile) -> usize {
    let profiles = [nic.clone(), nic.clone()];
    let observation = executor::sim::run(config, profiles).expect("the configuration is valid");
    observation.trace.records().len()
}

/// 16 connections on a NIC that is shipped, over one path, or sprayed over two of which one is so much longer: of 6 µs or 186 µs, which have 2
/// and 32 times the round trip of LEFT's figure 6.
fn over_paths(nic: &str, longer_ns: Option<u64>, pfc: bool) -> (TestConfig, NicProfile) {
    let nic = profile::load(nic, File::new("")).expect("the profile is shipped");
    let mut config = config(Verb::Write, 16);
    config.network.pfc = pfc;
    if nic.reorder.keeps_packets() {
        for role in Role::ALL {
            config.host_mut(role).roce.loss_recovery = LossRecovery::SelectiveRepeat;
        }
    }
    if let Some(delay_ns) = longer_ns {
        config.traffic.tx_depth = config.traffic.num_msgs_per_qp;
        config.network.paths = vec![Path::default(), Path { delay_ns, ..Path::default() }];
        config.network.spray = Spray::Packet;
    }
    (config, nic)
}

/// So many data packets of 16 connections between NICs with so many flows and masks in their tables, of which a packet is looked up in half.
fn offloaded(packets: u32, flows: u32, masks: u32) -> (TestConfig, NicProfile) {
    let mut config = with_packets(packets, Verb::Write, 16);
    for role in Role::ALL {
        config.host_mut(role).offload =
            Some(Offload { flows, egress_masks: masks, ingress_masks: masks, ..Offload::default() });
    }
    let eswitch = Eswitch { egress_query_ns: 1, ingress_query_ns: 1, lookups: 1_024, ..Eswitch::default() };
    (config, NicProfile { eswitch, ..NicProfile::default() })
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
    for (name, nic, longer_ns, pfc) in [
        ("reference", "reference", None, true),
        ("left", "left", None, true),
        ("left, a path 6 µs longer", "left", Some(6_000), false),
        ("left, a path 186 µs longer", "left", Some(186_000), false),
        ("left, a path 186 µs longer, flow control", "left", Some(186_000), true),
    ] {
        let (config, profile) = over_paths(nic, longer_ns, pfc);
        group.throughput(Throughput::Elements(run_on(&config, &profile) as u64));
        group.bench_with_input(BenchmarkId::new("paths", name), &config, |bencher, config| {
            bencher.iter(|| black_box(run_on(config, &profile)));
        });
    }
    for (flows, masks) in [(16, 1), (1_024, 1), (16_384, 1), (16_384, 64), (16_384, 1_024)] {
        let (config, profile) = offloaded(PACKETS, flows, masks);
        group.throughput(Throughput::Elements(run_on(&config, &profile) as u64));
        group.bench_with_input(
            BenchmarkId::new(format!("{flows} flows, masks"), masks),
            &config,
            |bencher, config| {
                bencher.iter(|| black_box(run_on(config, &profile)));
            },
        );
    }
    // What a campaign on flow tables runs.
    let (config, profile) = offloaded(50_000, 16_384, 1_024);
    group.throughput(Throughput::Elements(run_on(&config, &profile) as u64));
    group.bench_with_input(
        BenchmarkId::new("a test with 16,384 flows", 50_000),
        &config,
        |bencher, config| {
            bencher.iter(|| black_box(run_on(config, &profile)));
        },
    );
    group.finish();
}

criterion_group!(benches, simulate);
criterion_main!(benches);
