//! The NIC's own switch: the time of a packet by the masks that it is looked up in, at both hosts and in both directions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::ops::RangeInclusive;

use corpus::{
    Direction, Hop, IpVersion, Load, Mtu, Offload, Placement, Role, Rule, Scheduler, TestConfig, Verb,
};
use executor::profile::Eswitch;
use executor::{NicProfile, sim};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Masks of each direction of a host's table.
const MASKS: u32 = 64;

/// Packets of a message, where many are sent.
const MESSAGE: u32 = 16;

/// Time of a message beside the round trip of its packet: the default profile's host posts it and polls for its completion.
const HOST_NS: f64 = 600.0;

/// Direction of a host's table, by ScalaCN's names: local is the host that posts.
#[derive(Clone, Copy, Debug)]
enum Table {
    LocalEgress,
    LocalIngress,
    RemoteEgress,
    RemoteIngress,
}

/// A message at a time on one connection, whose entry is in this mask of one table and in the first of the others.
fn test(verb: Verb, table: Table, mask: u32) -> TestConfig {
    let mut config = TestConfig::default();
    config.traffic.load = Load::Same { verb, connections: 1 };
    (config.traffic.num_msgs_per_qp, config.traffic.tx_depth) = (3, 1);
    config.traffic.message_size = 64;
    for role in Role::ALL {
        let is_here = match table {
            Table::LocalEgress | Table::LocalIngress => role == Role::Requester,
            Table::RemoteEgress | Table::RemoteIngress => role == Role::Responder,
        };
        let (egress, ingress) = match table {
            _ if !is_here => (1, 1),
            Table::LocalEgress | Table::RemoteEgress => (MASKS, 1),
            Table::LocalIngress | Table::RemoteIngress => (1, MASKS),
        };
        config.host_mut(role).offload = Some(Offload {
            flows: MASKS,
            egress_masks: egress,
            ingress_masks: ingress,
            place: Placement::Masks(vec![if is_here { mask } else { 1 }]),
            ..Offload::default()
        });
    }
    config
}

/// A switch of drawn numbers, whose masks take times in this range, and that looks so many packets up at a time at the most.
fn drawn(rng: &mut ChaCha8Rng, query: RangeInclusive<u64>, most: u32) -> Eswitch {
    Eswitch {
        egress_query_ns: rng.random_range(query.clone()),
        ingress_query_ns: rng.random_range(query),
        action_ns: rng.random_range(0..=50),
        lookups: rng.random_range(1..=most),
        in_order: rng.random(),
        ..Eswitch::default()
    }
}

/// Times of the messages, in ns.
fn times(config: &TestConfig, eswitch: Eswitch) -> Vec<u64> {
    let nic = NicProfile { eswitch, ..NicProfile::default() };
    let observation = sim::run_checked(config, [nic.clone(), nic]).unwrap();
    let completions = observation.completions().iter();
    completions.map(|one| (one.completed_ns - one.posted_ns).0).collect()
}

/// ScalaCN, equation 2, to the nanosecond: each mask costs the same again, in each table that the packets of a message pass.
#[test]
fn a_mask_costs_its_query() {
    use Table::{LocalEgress, LocalIngress, RemoteEgress, RemoteIngress};
    for seed in 0..10 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let eswitch = drawn(&mut rng, 1..=200, 8);
        for verb in [Verb::Write, Verb::Send, Verb::Read] {
            for table in [LocalEgress, LocalIngress, RemoteEgress, RemoteIngress] {
                let query = match table {
                    LocalEgress | RemoteEgress => eswitch.egress_query_ns,
                    LocalIngress | RemoteIngress => eswitch.ingress_query_ns,
                };
                let first = times(&test(verb, table, 1), eswitch);
                for mask in [2, 17, MASKS] {
                    let expected: Vec<u64> =
                        first.iter().map(|time| time + u64::from(mask - 1) * query).collect();
                    assert_eq!(
                        times(&test(verb, table, mask), eswitch),
                        expected,
                        "seed {seed}: {verb:?}, {table:?}, mask {mask}"
                    );
                }
            }
        }
    }
}

/// A packet is looked up in so many masks of each table of a chain, at the host that has it.
#[test]
fn each_table_of_a_chain_costs_its_masks() {
    let eswitch = Eswitch { egress_query_ns: 47, ingress_query_ns: 68, action_ns: 9, ..Eswitch::default() };
    for verb in [Verb::Write, Verb::Read] {
        for (table, role) in [(Table::LocalEgress, Role::Requester), (Table::RemoteIngress, Role::Responder)]
        {
            let one = test(verb, table, 5);
            for tables in [2, 8] {
                let mut chain = one.clone();
                chain.host_mut(role).offload.as_mut().unwrap().tables = tables;
                let masks = if role == Role::Requester { 5 * 47 + 68 } else { 47 + 5 * 68 };
                assert_later(&one, &chain, u64::from(tables - 1) * masks, eswitch);
            }
        }
    }
}

/// The messages of a test take so much longer than those of another one, in ns.
fn assert_later(one: &TestConfig, later: &TestConfig, by: u64, eswitch: Eswitch) {
    let expected: Vec<u64> = times(one, eswitch).into_iter().map(|time| time + by).collect();
    assert_eq!(times(later, eswitch), expected, "{later}");
}

/// Packets are looked up in the tables on their way by the rules, which may differ between directions and versions of IP.
#[test]
fn packets_are_looked_up_in_the_tables_on_their_way() {
    let rule = |table, direction, ip_version, forward_to| Rule { table, direction, ip_version, forward_to };
    let rules = vec![
        rule(1, Some(Direction::Egress), Some(IpVersion::V6), Hop::Table(4)),
        rule(1, Some(Direction::Egress), None, Hop::Table(2)),
        rule(1, None, None, Hop::Port),
        rule(2, None, None, Hop::Table(3)),
        rule(3, None, Some(IpVersion::V4), Hop::Port),
        rule(4, None, None, Hop::Port),
        // In vain: the first rule of a table decides.
        rule(4, None, None, Hop::Table(4)),
    ];
    let eswitch = Eswitch { egress_query_ns: 47, ingress_query_ns: 68, ..Eswitch::default() };
    let plain = test(Verb::Write, Table::LocalEgress, 5);
    let mut ipv6 = plain.clone();
    for (role, address) in Role::ALL.into_iter().zip(["fd00::1/64", "fd00::2/64"]) {
        ipv6.host_mut(role).ip_list = vec![address.parse().unwrap()];
    }
    // Three tables, and two.
    for (one, further) in [(plain, 2), (ipv6, 1)] {
        let mut ruled = one.clone();
        ruled.requester.offload.as_mut().unwrap().rules.clone_from(&rules);
        assert_later(&one, &ruled, further * 5 * 47, eswitch);
    }
}

/// Writes that keep the link as busy as the NICs can, all of whose packets are looked up in so many masks.
fn saturating(connections: u32, masks: u32) -> TestConfig {
    let mut config = TestConfig::default();
    config.traffic.load = Load::Same { verb: Verb::Write, connections };
    config.traffic.mtu = Mtu::B1024;
    config.traffic.message_size = MESSAGE * 1024;
    (config.traffic.num_msgs_per_qp, config.traffic.tx_depth) = (200, 8);
    config.traffic.min_retransmit_timeout = 20;
    for role in Role::ALL {
        config.host_mut(role).offload = Some(Offload {
            flows: 100,
            egress_masks: masks,
            ingress_masks: masks,
            place: Placement::Last,
            ..Offload::default()
        });
    }
    config
}

/// Time of a packet of a test whose packets all have the same size, in ns, while all connections are at work.
fn packet_ns(config: &TestConfig, eswitch: Eswitch) -> f64 {
    let mut nic = NicProfile { eswitch, ..NicProfile::default() };
    nic.receive.buffer_bytes = 1 << 30;
    let observation = sim::run(config, [nic.clone(), nic]).unwrap();
    let mut times: Vec<_> = observation.completions().iter().map(|one| one.completed_ns).collect();
    times.sort_unstable();
    let (from, to) = (times.len() / 4, times.len() * 3 / 4);
    (times[to] - times[from]).0 as f64 / (f64::from(MESSAGE) * (to - from) as f64)
}

/// Packets a second that the look-ups of either host let through: goodput is that of the slowest stage.
#[test]
fn goodput_is_that_of_the_slowest_stage() {
    for seed in 0..20 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let eswitch = drawn(&mut rng, 10..=80, 6);
        let (connections, masks) = (rng.random_range(4..=16), rng.random_range(1..=40));
        let packet =
            |query: u64| (query * u64::from(masks) + eswitch.action_ns) as f64 / f64::from(eswitch.lookups);
        let link = f64::from((1_024 + 82) * 8) / 100.0;
        let slowest = link.max(packet(eswitch.egress_query_ns)).max(packet(eswitch.ingress_query_ns));
        let measured = packet_ns(&saturating(connections, masks), eswitch);
        assert!(
            (measured / slowest - 1.0).abs() < 0.03,
            "seed {seed}: {measured} ns a packet, {slowest} by the law: {eswitch:?}, {masks} masks"
        );
    }
}

/// A NIC that bounds its data in flight sends so much in each round trip.
#[test]
fn goodput_is_the_data_in_flight_over_a_round_trip() {
    for seed in 0..20 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (egress_query_ns, ingress_query_ns) = (rng.random_range(10..=80), rng.random_range(10..=80));
        let (connections, masks, packets) =
            (rng.random_range(4..=16), rng.random_range(1..=40), rng.random_range(1_u64..=12));
        // No packet waits for a look-up.
        let eswitch = Eswitch {
            egress_query_ns,
            ingress_query_ns,
            lookups: 64,
            in_flight_bytes: packets * 1_024 + rng.random_range(0..1_024),
            ..Eswitch::default()
        };
        let mut one = saturating(1, masks);
        (one.traffic.message_size, one.traffic.tx_depth) = (1_024, 1);
        let round_trip = times(&one, eswitch)[1] as f64 - HOST_NS;
        let link = f64::from((1_024 + 82) * 8) / 100.0;
        let law = link.max(round_trip / packets as f64);
        if link * 2.0 < law {
            let measured = packet_ns(&saturating(connections, masks), eswitch);
            assert!(
                (measured / law - 1.0).abs() < 0.03,
                "seed {seed}: {measured} ns a packet, {law} by the law: {eswitch:?}, {masks} masks, {packets} packets"
            );
        }
    }
}

/// ScalaCN §4.3: with the scheduler packets are looked up in one mask, and where it cannot help, they take as long as without.
#[test]
fn the_scheduler_helps_or_does_no_harm() {
    let eswitch = Eswitch { egress_query_ns: 20, ingress_query_ns: 20, lookups: 2, ..Eswitch::default() };
    let time = |masks: u32, scheduled: Option<u32>| {
        let mut config = saturating(16, masks);
        for role in Role::ALL {
            let offload = config.host_mut(role).offload.as_mut().unwrap();
            offload.place = Placement::Spread;
            if let Some(entries) = scheduled {
                (offload.scheduler, offload.hyper_entries) = (Scheduler::Hyper, entries);
            }
        }
        packet_ns(&config, eswitch)
    };
    // Half of 40 masks, and one: the link takes longer.
    let link = f64::from((1_024 + 82) * 8) / 100.0;
    assert!(time(40, None) > 2.0 * link);
    assert!((time(40, Some(16)) / link - 1.0).abs() < 0.03);
    for masks in [1, 8, 40, 90] {
        let (without, with) = (time(masks, None), time(masks, Some(4)));
        assert!(with < without * 1.05, "{masks} masks: {with} ns a packet, {without} without the scheduler");
    }
}

/// One packet at a time on each connection, each round of them once the one before it is complete on all.
fn in_turn(connections: u32, messages: u32) -> TestConfig {
    let mut config = saturating(connections, 1);
    (config.traffic.message_size, config.traffic.tx_depth) = (64, 1);
    config.traffic.num_msgs_per_qp = messages;
    config.traffic.barrier_sync = connections > 1;
    config
}

/// Flows that have packets in turn, with as many entries on the chip, and with one less: of each the packets of a flow are the latest ones
/// again and again, or never.
#[test]
fn an_entry_that_is_not_on_the_chip_is_fetched() {
    let plain = Eswitch { egress_query_ns: 30, ingress_query_ns: 40, lookups: 64, ..Eswitch::default() };
    // The packet and its ACK each pass two tables.
    let fetches = 4 * 700;
    for connections in [1, 3, 8] {
        let config = in_turn(connections, 4);
        let without = times(&config, plain);
        let with = |entry_cache| times(&config, Eswitch { entry_cache, miss_ns: 700, ..plain });
        let cold: Vec<u64> = without.iter().map(|time| time + fetches).collect();
        let first = connections as usize;
        let warm: Vec<u64> = cold[..first].iter().chain(&without[first..]).copied().collect();
        assert_eq!(with(connections), warm, "{connections} connections");
        assert_eq!(with(1 << 24), warm, "{connections} connections");
        if connections > 1 {
            assert_eq!(with(connections - 1), cold, "{connections} connections");
        }
    }
}

/// A tunnel has 50 bytes on both cables that a packet of its host passes: 4 ns each at 100 Gb/s.
#[test]
fn a_tunnel_has_headers_on_the_cable() {
    let eswitch = Eswitch { egress_query_ns: 30, ..Eswitch::default() };
    let one = test(Verb::Write, Table::LocalEgress, 1);
    for (tunnels, by) in [(&[][..], 0), (&[Role::Requester], 8), (&[Role::Responder], 8), (&Role::ALL, 16)] {
        let mut tunnelled = one.clone();
        for role in tunnels {
            tunnelled.host_mut(*role).offload.as_mut().unwrap().vxlan = true;
        }
        assert_later(&one, &tunnelled, by, eswitch);
    }
    let mut tunnelled = saturating(4, 1);
    tunnelled.requester.offload.as_mut().unwrap().vxlan = true;
    let (link, measured) = (f64::from((1_024 + 82 + 50) * 8) / 100.0, packet_ns(&tunnelled, eswitch));
    assert!((measured / link - 1.0).abs() < 0.01, "{measured} ns a packet, {link} on the cable");
}

/// A NIC whose look-ups take no time, and a test that offloads nothing.
#[test]
fn without_cost_or_table_nothing_changes() {
    let config = test(Verb::Write, Table::LocalEgress, MASKS);
    let mut without = config.clone();
    (without.requester.offload, without.responder.offload) = (None, None);
    let slow = Eswitch { egress_query_ns: 100, ingress_query_ns: 100, ..Eswitch::default() };
    assert_eq!(times(&config, Eswitch::default()), times(&without, slow));
    assert_ne!(times(&config, slow), times(&without, slow));
}
