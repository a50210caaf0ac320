//! Two paths of different length, by formula and in the simulation: where each reorder engine becomes the bottleneck, and go-back-N collapses. Settings are
//! drawn; the seed of one that fails is named.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::collections::BTreeMap;

use corpus::{
    Action, ConnectionSet, Event, Load, LossRecovery, Path, Role, Spray, SprayPackets, Target, TestConfig,
    Verb,
};
use dumper::wire::Class;
use dumper::{FlowId, Nanos, Observation, Record};
use executor::profile::{LossBy, Reorder, ReorderEngine, Span};
use executor::{NicProfile, TestbedError, sim};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use scoring::{Options, Reordering};

const MTU: u32 = 1_024;

/// Bytes of a full packet on the cable.
const CABLE_BYTES: u32 = MTU + 82;

/// Packets of a message.
const MESSAGE: u32 = 64;

/// Two paths, and the connections that send over them.
#[derive(Clone, Copy, Debug)]
struct Setting {
    connections: u32,
    /// Excess of the second path; none for a single path.
    delay_ns: Option<u64>,
    /// Data packets in all.
    packets: u32,
    selective: bool,
    pfc: bool,
}

impl Setting {
    fn test(self) -> TestConfig {
        let mut config = TestConfig::default();
        let messages = self.packets.div_ceil(MESSAGE * self.connections);
        config.traffic.load = Load::Same { verb: Verb::Write, connections: self.connections };
        (config.traffic.num_msgs_per_qp, config.traffic.tx_depth) = (messages, messages);
        config.traffic.message_size = MESSAGE * MTU;
        // No expiry.
        config.traffic.min_retransmit_timeout = 20;
        config.network.pfc = self.pfc;
        if let Some(delay_ns) = self.delay_ns {
            config.network.paths = vec![Path::default(), Path { delay_ns, ..Path::default() }];
            config.network.spray = Spray::Packet;
            config.network.spray_packets = SprayPackets::Data;
        }
        if self.selective {
            for role in Role::ALL {
                config.host_mut(role).roce.loss_recovery = LossRecovery::SelectiveRepeat;
            }
        }
        config
    }
}

/// A NIC that takes no time but that of its engine, which has room for everything and takes nothing for lost.
fn nic(rate_gbps: u32, reorder: Reorder) -> NicProfile {
    let mut nic = NicProfile { reorder, ..NicProfile::default() };
    nic.link.rate_gbps = rate_gbps;
    nic.receive.buffer_bytes = 1 << 16;
    // All connections begin at once.
    nic.host.post_ns = Span::exactly(0);
    nic
}

fn roomy(engine: ReorderEngine) -> Reorder {
    Reorder {
        engine,
        span_packets: 1 << 16,
        blocks: 1 << 16,
        cache_bits: 1 << 16,
        loss_by: LossBy::Timer,
        ..Reorder::default()
    }
}

fn run(setting: Setting, nic: &NicProfile) -> Observation {
    sim::run(&setting.test(), [nic.clone(), nic.clone()]).unwrap()
}

/// Mean time of a packet that is delivered, in ns, in the middle half of the completions.
fn packet_ns(observation: &Observation) -> f64 {
    let mut times: Vec<Nanos> =
        observation.completions().iter().map(|completion| completion.completed_ns).collect();
    times.sort_unstable();
    let (from, to) = (times.len() / 4, times.len() * 3 / 4);
    (times[to] - times[from]).0 as f64 / (f64::from(MESSAGE) * (to - from) as f64)
}

fn counted(observation: &Observation, role: Role, name: &str) -> u64 {
    let host = if role == Role::Requester { &observation.requester } else { &observation.responder };
    host.as_ref().and_then(|host| host.moved(name)).unwrap()
}

fn data(observation: &Observation) -> impl Iterator<Item = &Record> {
    observation.trace.records().iter().filter(|record| matches!(record.class(), Class::Request(..)))
}

/// Time of a packet on the link, in ns.
fn cable_ns(rate_gbps: u32) -> f64 {
    f64::from(CABLE_BYTES * 8) / f64::from(rate_gbps)
}

/// Returns true if an engine keeps up with a sender of a packet every so many ns, over two paths.
fn keeps_up(nic: &NicProfile, connections: u32, delay_ns: u64, packet_ns: u64) -> bool {
    let mut nic = nic.clone();
    nic.transmit.packet_ns = packet_ns;
    // Room for the packets of a run of bad luck, and none for those of a load that is 3 % too high.
    nic.receive.buffer_bytes = 1 << 20;
    // Those of both paths, and so many then.
    let packets = 60_000 + (2 * delay_ns / packet_ns) as u32;
    let setting = Setting { connections, delay_ns: Some(delay_ns), packets, selective: true, pfc: true };
    counted(&run(setting, &nic), Role::Responder, "tx_prio0_pause") == 0
}

/// A pool of blocks is as fast as the formula says: 3 % less is no load that it cannot take, and 3 % more is.
#[test]
fn the_pool_takes_what_the_formula_says() {
    let mut settings = 0;
    for seed in 0.. {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let connections = rng.random_range(1..=16);
        let (rate, delay_ns) = (rng.random_range(50..=400), rng.random_range(10_000..=400_000));
        let reorder = Reorder {
            first_block_ns: rng.random_range(0..=40),
            next_block_ns: rng.random_range(1..=20),
            block_bits: rng.random_range(1..=32),
            ..roomy(ReorderEngine::Pool)
        };
        let [first, next, block] =
            [reorder.first_block_ns as f64, reorder.next_block_ns as f64, f64::from(reorder.block_bits)];
        let a = next * delay_ns as f64 / (2.0 * block * f64::from(connections));
        let b = first - next * (block - 1.0) / (4.0 * block);
        let formula = f64::midpoint(b, (b * b + 4.0 * a).sqrt());
        // The formula has the mean place of a bit in its block, so that there have to be many blocks; and the link must not be the bottleneck.
        let blocks = delay_ns as f64 / (formula * f64::from(connections) * block);
        if blocks < 20.0 || formula < 1.1 * cable_ns(rate) {
            continue;
        }
        let nic = nic(rate, reorder);
        let paced = |part: f64| keeps_up(&nic, connections, delay_ns, (formula * part).round() as u64);
        assert!(
            paced(1.03) && !paced(0.97),
            "seed {seed}: {connections} connections, {rate} Gb/s, {delay_ns} ns, {formula} ns by formula, {reorder:?}"
        );
        settings += 1;
        if settings == 20 {
            break;
        }
    }
}

/// With a cache for each connection, gathering or not, the engine is as fast as a ring, in a NIC that takes time for each packet as in one
/// that takes none.
#[test]
fn enough_caches_are_a_ring() {
    for seed in 0..8 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let connections = rng.random_range(1..=6);
        let access_ns = rng.random_range(10..=150);
        let packet_ns_of_nic = if seed % 2 == 0 { 0 } else { rng.random_range(50..=200) };
        let caches = connections + rng.random_range(0..=1);
        let setting = Setting {
            connections,
            delay_ns: Some(rng.random_range(1_000..=200_000)),
            packets: 60_000,
            selective: true,
            pfc: true,
        };
        let of = |reorder| {
            let mut nic = nic(216, Reorder { access_ns, caches, ..reorder });
            nic.receive.packet_ns = packet_ns_of_nic;
            packet_ns(&run(setting, &nic))
        };
        let ring = of(roomy(ReorderEngine::Ring));
        for fifos in [0, 8] {
            let part = of(Reorder { fifos, ..roomy(ReorderEngine::Left) }) / ring;
            assert!(
                (0.99..=1.01).contains(&part),
                "seed {seed}: {fifos} FIFOs: {part} of a ring's time; {setting:?}"
            );
        }
    }
}

/// FIFOs of one packet gather nothing. What is left is that the fast path goes before: the longer the queue that this passes, the nearer the
/// first missing packet is then, so that the NIC has no latency, and the smallest buffer that flow control allows.
#[test]
fn fifos_of_one_packet_gather_nothing() {
    for seed in 0..6 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let setting = Setting {
            connections: rng.random_range(4..=16),
            delay_ns: Some(rng.random_range(100_000..=400_000)),
            packets: 150_000,
            selective: true,
            pfc: true,
        };
        let of = |fifos| {
            let mut nic = nic(216, Reorder { fifos, fifo_packets: 1, ..roomy(ReorderEngine::Left) });
            nic.receive.latency_ns = Span::exactly(0);
            nic.receive.buffer_bytes = sim::least_buffer(&nic, setting.test().traffic.mtu);
            packet_ns(&run(setting, &nic))
        };
        let part = of(8) / of(0);
        assert!((0.95..=1.05).contains(&part), "seed {seed}: {part} of the time; {setting:?}");
    }
}

/// Go-back-N works as long as packets of a connection are farther apart than one path is longer, and no longer.
#[test]
fn go_back_n_collapses_at_its_cliff() {
    for seed in 0..10 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (connections, rate) = (rng.random_range(2..=16), rng.random_range(25..=400));
        let load = rng.random_range(0.1..0.6);
        let delay_ns = (f64::from(connections) * cable_ns(rate) / load) as u64;
        let share = |part: f64| {
            let mut nic = nic(rate, Reorder::default());
            // Time between two packets of the sender.
            let paced = (delay_ns as f64 / (f64::from(connections) * part)) as u64;
            nic.transmit.packet_ns = paced;
            let setting = Setting {
                connections,
                delay_ns: Some(delay_ns),
                packets: 20_000,
                selective: false,
                pfc: false,
            };
            paced as f64 / packet_ns(&run(setting, &nic))
        };
        let (below, above) = (share(0.9), share(1.1));
        assert!(
            below > 0.95 && above < 0.6,
            "seed {seed}: {below} and {above} of the load at 0.9 and 1.1 of the cliff; {connections} connections, {rate} Gb/s, {delay_ns} ns"
        );
    }
}

/// One lost packet is sent again once, and nothing else is.
#[test]
fn a_lost_packet_is_repeated_once() {
    for seed in 0..10 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let engine = [ReorderEngine::Ring, ReorderEngine::Pool, ReorderEngine::Left][rng.random_range(0..3)];
        let connections = rng.random_range(1..=4);
        let setting = Setting { connections, delay_ns: None, packets: 2_000, selective: true, pfc: false };
        let mut config = setting.test();
        let of_qp = config.traffic.num_msgs_per_qp * MESSAGE;
        // Behind the last packets nothing shows a loss.
        let psn = rng.random_range(1..of_qp - 32);
        let lost = ConnectionSet::One(rng.random_range(1..=connections));
        config.events = vec![Event {
            connections: lost.clone(),
            target: Target::Data { psn, iter: 1 },
            progression: None,
            action: Action::Drop(corpus::Copies::Original),
        }];
        let reorder = Reorder { loss_by: LossBy::Span, loss_span_packets: 16, ..roomy(engine) };
        let observation = sim::run(&config, [nic(100, reorder), nic(100, reorder)]).unwrap();
        let sent = data(&observation).count() as u32;
        assert_eq!(sent, of_qp * connections + 1, "seed {seed}: {engine:?}, PSN {psn} of {lost:?}");
        assert_eq!(counted(&observation, Role::Requester, "packet_seq_err"), 1, "seed {seed}");
    }
}

/// With a hundredth of all packets lost and the others sprayed every message arrives once, and no rule is broken.
#[test]
fn losses_among_sprayed_packets_are_repaired() {
    for seed in 0..6 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let engine = [ReorderEngine::Ring, ReorderEngine::Pool, ReorderEngine::Left][seed as usize % 3];
        let delay_ns = rng.random_range(1_000..=20_000);
        let setting = Setting {
            connections: rng.random_range(1..=8),
            delay_ns: Some(delay_ns),
            packets: 10_000,
            selective: true,
            pfc: false,
        };
        let mut config = setting.test();
        config.traffic.min_retransmit_timeout = 8;
        config.traffic.max_retransmit_retry = 7;
        config.network.loss_ppb = 10_000_000;
        let reorder = Reorder { loss_by: LossBy::Span, loss_span_packets: 1_024, ..roomy(engine) };
        let observation = sim::run_checked(&config, [nic(100, reorder), nic(100, reorder)]).unwrap();
        let deliveries = observation.deliveries.as_ref().unwrap();
        let messages = setting.connections * config.traffic.num_msgs_per_qp;
        assert_eq!(deliveries.len() as u32, messages, "seed {seed}");
        assert!(
            deliveries.iter().all(|one| one.intact && one.bytes == u64::from(MESSAGE * MTU)),
            "seed {seed}: {engine:?}"
        );
        let analysis = scoring::analyze(&observation, Options { config: Some(&config) });
        assert!(analysis.anomalies.is_empty(), "seed {seed}: {:?}", analysis.anomalies);
    }
}

/// Paths in turn for connections in turn: each of an even number of them keeps to one of two paths, and nothing is overtaken.
#[test]
fn round_robin_hides_reordering_from_an_even_number_of_connections() {
    for connections in 1..=8 {
        let setting =
            Setting { connections, delay_ns: Some(20_000), packets: 6_000, selective: true, pfc: false };
        let mut config = setting.test();
        config.network.spray = Spray::RoundRobin;
        let mut nic = nic(100, roomy(ReorderEngine::Ring));
        nic.transmit.burst = 1;
        let observation = sim::run(&config, [nic.clone(), nic]).unwrap();
        let analysis = scoring::analyze(&observation, Options { config: Some(&config) });
        let extent = Reordering::of_all(&analysis.reordering).iter().map(|one| one.extent).max();
        assert_eq!(extent == Some(0), connections % 2 == 0, "{connections}: {extent:?}");
    }
}

/// On one path the engine is not seen but in the time.
#[test]
fn one_path_shows_no_engine() {
    for seed in 0..12 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let verb = [Verb::Write, Verb::Send, Verb::Read][seed as usize % 3];
        let connections = rng.random_range(1..=8);
        let bytes = rng.random_range(1..=100_000);
        let of = |reorder: Reorder| {
            let setting = Setting {
                connections,
                delay_ns: None,
                packets: 2_000,
                selective: reorder.engine != ReorderEngine::None,
                pfc: false,
            };
            let mut config = setting.test();
            config.traffic.load = Load::Same { verb, connections };
            config.traffic.num_msgs_per_qp = 10;
            config.traffic.recv_depth = 10;
            config.traffic.tx_depth = 4;
            config.traffic.message_size = bytes;
            let observation = sim::run(&config, [nic(100, reorder), nic(100, reorder)]).unwrap();
            let mut flows: BTreeMap<(u32, u16), Vec<Record>> = BTreeMap::new();
            for record in observation.trace.records() {
                let of_flow = (observation.trace.flow(record).dest_qpn, record.src_port);
                let mut timeless = *record;
                (timeless.time, timeless.sequence, timeless.flow) = (Nanos::ZERO, 0, FlowId(0));
                flows.entry(of_flow).or_default().push(timeless);
            }
            let mut completed: Vec<_> = observation
                .completions()
                .iter()
                .map(|one| (one.connection, one.message, one.status))
                .collect();
            completed.sort_by_key(|(connection, message, _)| (*connection, *message));
            (flows, completed, observation.deliveries.clone())
        };
        let none = of(Reorder::default());
        for engine in [ReorderEngine::Ring, ReorderEngine::Pool, ReorderEngine::Left] {
            assert!(
                of(roomy(engine)) == none,
                "seed {seed}: {engine:?}, {connections} connections, {verb:?} of {bytes} bytes"
            );
        }
    }
}

/// A NIC keeps packets, or its hosts go back: one error says which field of the test, which NIC, and what to do.
#[test]
fn engines_and_recoveries_that_do_not_fit_are_refused() {
    for (engine, selective, says) in [
        (ReorderEngine::None, true, "has no reorder engine"),
        (ReorderEngine::Left, false, "has a reorder engine"),
    ] {
        let setting = Setting { connections: 1, delay_ns: None, packets: 64, selective, pfc: false };
        let mut config = setting.test();
        config.requester.nic = "mine".into();
        let nics = [nic(100, roomy(engine)), nic(100, roomy(engine))];
        let Err(TestbedError::Config(message)) = sim::run(&config, nics) else { panic!("{engine:?}") };
        let field = "requester.roce-parameters.loss-recovery";
        for part in [field, "\"mine\"", says, "reorder.engine", "go-back-n"] {
            assert!(message.contains(part), "{message}");
        }
    }
}

/// The packet that fills the window asks for an ACK, so that a window shorter than a message does not stop for ever.
#[test]
fn a_window_shorter_than_a_message_goes_on() {
    for engine in [ReorderEngine::None, ReorderEngine::Ring, ReorderEngine::Pool, ReorderEngine::Left] {
        for window in [1, 2, MESSAGE - 1] {
            let selective = engine != ReorderEngine::None;
            let delay_ns = selective.then_some(5_000);
            let setting = Setting { connections: 2, delay_ns, packets: 500, selective, pfc: false };
            let mut nic = nic(100, roomy(engine));
            nic.requester.window_packets = window;
            let observation = run(setting, &nic);
            let messages = setting.test().traffic.num_msgs_per_qp * setting.connections;
            assert_eq!(
                observation.deliveries.as_ref().unwrap().len() as u32,
                messages,
                "{engine:?}, {window}"
            );
            let expiries = counted(&observation, Role::Requester, "local_ack_timeout_err");
            assert_eq!(expiries, 0, "{engine:?}, {window}");
        }
    }
}
