//! Losses at random: how many, of which packets, and what they depend on.

use std::collections::BTreeSet;

use corpus::{ControlPacket, Role, TestConfig};
use dumper::{Event, Nanos, Psn};
use p4::network::{LossRule, Stage, draw};
use p4::{Kind, Packet, Pipeline, translate};
use proptest::prelude::*;
use statrs::distribution::{ChiSquared, ContinuousCDF as _};

use crate::support::{Requester, Responder, config, connections, ports};

const DATA: Kind = Kind::Data { starts: false, ends: false };
/// Chances in a million that a fair generator fails a test of chance; the draws are the same in each run.
const UNLIKELY: f64 = 1e-6;

/// The packets that are lost, of those given by connection, sender, kind, relative PSN and bytes without frame check sequence:
/// their places.
fn lost(config: &TestConfig, packets: impl IntoIterator<Item = (u32, Role, Kind, u32, u32)>) -> Vec<usize> {
    let initial = Psn::new(77);
    let connections = connections(config.traffic.load.connections(), initial);
    let mut pipeline = Pipeline::new(translate(config, &connections).unwrap(), ports());
    let mut lost = Vec::new();
    for (at, (connection, from, kind, psn, frame_bytes)) in packets.into_iter().enumerate() {
        let ends = connections[connection as usize - 1];
        let to = if from == Requester { ends.responder } else { ends.requester };
        let flow = pipeline.flow(to.ip, to.qpn.unwrap());
        let packet = Packet { kind, psn: Psn::from_relative(psn, initial), frame_bytes, asks_again: false };
        let verdict = pipeline.process(from, flow, packet, Nanos(at as u64));
        if verdict.sent.actions.drop || verdict.sent.actions.corrupt {
            assert_ne!(verdict.mirror.event, Event::None);
            lost.push(at);
        }
    }
    lost
}

/// Connections, and data packets of each in messages of ten.
fn test(connections: u32, packets: u32, network: &str) -> TestConfig {
    let messages = packets / 10;
    config(&format!(
        "traffic = {{ num-connections = {connections}, num-msgs-per-qp = {messages} }}\nnetwork = {{ {network} }}"
    ))
}

/// Frames with frame check sequence: an ACK, a zero-byte Write, a full MIDDLE packet, a full FIRST of a Write.
#[test]
fn as_many_are_lost_as_their_size_says() {
    let beta = 0.02;
    let config = test(1, 200_000, "loss-ppb = 20_000_000, links = 2");
    for (bytes, kind, from) in [
        (66, Kind::Control(ControlPacket::Ack), Responder),
        (78, DATA, Requester),
        (1086, DATA, Requester),
        (1102, DATA, Requester),
    ] {
        let packets = (1..=200_000).map(|psn| (1, from, kind, psn, bytes - 4));
        let lost = lost(&config, packets).len() as f64;
        // On two links.
        let each = 1.0 - (1.0_f64 - beta).powf(f64::from(bytes) / 1086.0);
        let expected = 1.0 - (1.0 - each) * (1.0 - each);
        let sigma = (200_000.0 * expected * (1.0 - expected)).sqrt();
        assert!((lost - 200_000.0 * expected).abs() < 4.0 * sigma, "{bytes}: {lost}, expected {expected}");
    }
    let alike = test(1, 200_000, "loss-ppb = 20_000_000, loss-model = \"per-packet\"");
    for bytes in [60, 1500] {
        let lost = lost(&alike, (1..=200_000).map(|psn| (1, Requester, DATA, psn, bytes))).len() as f64;
        assert!((lost - 4_000.0).abs() < 4.0 * (4_000.0_f64 * 0.98).sqrt(), "{bytes}: {lost}");
    }
}

/// The shortest frame has 64 bytes.
#[test]
fn short_packets_are_lost_like_the_shortest_frame() {
    let rule = |bytes| {
        let rule = LossRule {
            seed: 1,
            ppb: 10_000_000,
            reference: 1086,
            links: 1,
            corrupted_percent: 100,
            kinds: corpus::PacketKinds::ALL,
            corrupts: false,
            packets: 1,
            packets_per_message: 1,
        };
        rule.probability(bytes)
    };
    assert!((rule(58) - rule(60)).abs() < f64::EPSILON);
    assert!(rule(61) > rule(60));
    assert!((rule(1082) - 0.01).abs() < 1e-12);
}

#[test]
fn only_packets_that_can_be_lost_are_lost() {
    let network = "loss-ppb = 500_000_000, loss-model = \"per-packet\", loss-qpn = [2], \
        loss-direction = \"to-responder\", loss-packets = [\"data\"]";
    let config = test(2, 1_000, network);
    let all = |connection, from, kind| {
        lost(&config, (1..=1_000).map(|psn| (connection, from, kind, psn, 1000))).len()
    };
    assert!(all(2, Requester, DATA) > 400);
    assert_eq!(all(1, Requester, DATA), 0);
    assert_eq!(all(2, Responder, DATA), 0);
    assert_eq!(all(2, Requester, Kind::Control(ControlPacket::ReadRequest)), 0);
    assert_eq!(all(2, Requester, Kind::Other), 0);
}

/// A packet that is lost each time with probability one half gets through before long, also beyond the rounds that an event
/// can name.
#[test]
fn each_transmission_is_drawn_anew() {
    let config = test(1, 10, "loss-ppb = 500_000_000, loss-model = \"per-packet\"");
    let lost = lost(&config, (0..2_000).map(|_| (1, Requester, DATA, 3, 1000)));
    assert!((900..1_100).contains(&lost.len()), "{}", lost.len());
    let longest = lost.chunk_by(|a, b| a + 1 == *b).map(<[usize]>::len).max().unwrap();
    assert!((5..30).contains(&longest), "{longest}");
}

#[test]
fn links_lose_packets_for_the_whole_test_or_not_at_all() {
    let of = |seed, percent| {
        let network = format!(
            "loss-ppb = 500_000_000, loss-model = \"per-packet\", corrupted-links-percent = {percent}, seed = {seed}"
        );
        lost(&test(1, 100, &network), (1..=100).map(|psn| (1, Requester, DATA, psn, 1000))).len()
    };
    let bad = (0..2_000).filter(|seed| of(*seed, 25) > 0).count() as f64;
    assert!((bad - 500.0).abs() < 4.0 * (500.0_f64 * 0.75).sqrt(), "{bad}");
    assert!((0..200).all(|seed| of(seed, 100) > 20));
}

/// Copies that an event makes are lost one by one; the packet is lost with the last of them.
#[test]
fn each_copy_is_lost_for_itself() {
    let text = "traffic = { num-msgs-per-qp = 1000 }\n\
        network = { loss-ppb = 500_000_000, loss-model = \"per-packet\" }\n\
        event = [{ qpn = 1, psn = 1, every = 1, type = \"duplicate\", copies = 3 }]";
    let config = config(text);
    let initial = Psn::new(77);
    let connections = connections(1, initial);
    let mut pipeline = Pipeline::new(translate(&config, &connections).unwrap(), ports());
    let flow = pipeline.flow("10.0.0.2".parse().unwrap(), 0x201);
    let mut leaving = [0_u32; 5];
    for psn in 1..=10_000 {
        let packet = Packet {
            kind: DATA,
            psn: Psn::from_relative(psn, initial),
            frame_bytes: 1000,
            asks_again: false,
        };
        let verdict = pipeline.process(Requester, flow, packet, Nanos(psn.into()));
        leaving[usize::from(verdict.sent.leaving())] += 1;
        assert_eq!(verdict.sent.actions.drop, verdict.sent.leaving() == 0);
    }
    // Binomial with four trials of one half.
    let expected = [625.0, 2_500.0, 3_750.0, 2_500.0, 625.0];
    let chi_square: f64 =
        leaving.iter().zip(expected).map(|(seen, due)| (f64::from(*seen) - due).powi(2) / due).sum();
    assert!(chi_square < quantile(4), "{leaving:?}: {chi_square}");
}

/// The statistic that a fair generator exceeds once in a million times.
fn quantile(freedom: usize) -> f64 {
    ChiSquared::new(freedom as f64).unwrap().inverse_cdf(1.0 - UNLIKELY)
}

fn chi_square(counts: &[u32]) -> f64 {
    let due = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts.iter().map(|seen| (f64::from(*seen) - due).powi(2) / due).sum()
}

#[test]
fn ten_million_draws_are_uniform_and_neighbours_independent() {
    let mut counts = vec![0_u32; 4096];
    // Draws of keys that differ in one bit, side by side: number, times, link, seed.
    let mut pairs = vec![vec![0_u32; 64 * 64]; 4];
    let top = |draw: u64, bits: u32| (draw >> (64 - bits)) as usize;
    for at in 0..10_000_000_u64 {
        let key = [at, 1 << 48 | 1];
        let drawn = draw(7, Stage::Loss, key);
        counts[top(drawn, 12)] += 1;
        if at < 2_000_000 {
            let neighbours = [
                draw(7, Stage::Loss, [at ^ 1, key[1]]),
                draw(7, Stage::Loss, [at, key[1] + 1]),
                draw(7, Stage::Loss, [at, key[1] ^ 1 << 36]),
                draw(8, Stage::Loss, key),
            ];
            for (pairs, neighbour) in pairs.iter_mut().zip(neighbours) {
                pairs[top(drawn, 6) << 6 | top(neighbour, 6)] += 1;
            }
        }
    }
    assert!(chi_square(&counts) < quantile(4095));
    for pairs in pairs {
        assert!(chi_square(&pairs) < quantile(4095));
    }
    assert_ne!(draw(7, Stage::Loss, [1, 2]), draw(7, Stage::Links, [1, 2]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Another connection, another depth of the send queue, and dummies behind each message move no loss of the first connections'
    /// packets of messages.
    #[test]
    fn nothing_else_moves_a_loss(
        count in 1..6u32,
        more in 1..5u32,
        tx_depth in 1..=5u32,
        dummies in 0..=8u8,
        seed in any::<u32>(),
        order in proptest::collection::vec((1..6u32, 1..50u32), 1..400),
    ) {
        let network = format!("loss-ppb = 200_000_000, seed = {seed}");
        let before = test(count, 50, &network);
        let mut after = test(count + more, 50, &network);
        (after.traffic.tx_depth, after.traffic.dummy_headers) = (tx_depth, dummies);
        // Dummies take PSNs behind the ten packets of each message.
        let with_dummies = |psn: u32| psn + (psn - 1) / 10 * u32::from(dummies);
        let packets: Vec<_> = order
            .iter()
            .map(|(connection, psn)| ((connection - 1) % count + 1, Requester, DATA, *psn, 1082))
            .collect();
        // Packets of the other connections come between.
        let mixed: Vec<_> = packets
            .iter()
            .map(|packet| (packet.0, packet.1, packet.2, with_dummies(packet.3), packet.4))
            .flat_map(|packet| [packet, (count + 1, packet.1, packet.2, packet.3, packet.4)])
            .collect();
        let alone: BTreeSet<usize> = lost(&before, packets).into_iter().collect();
        let among = lost(&after, mixed).into_iter().filter(|at| at % 2 == 0).map(|at| at / 2);
        prop_assert_eq!(alone, among.collect::<BTreeSet<usize>>());
    }
}
