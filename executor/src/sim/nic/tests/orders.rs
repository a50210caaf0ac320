//! Reorder engines against a set of PSNs: in whatever order packets arrive, the same packet is expected next, each byte is written
//! once, and every block is free at the end.

use std::collections::HashSet;

use corpus::Verb;
use dumper::Psn;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::super::reorder::Engine;
use super::{MTU, NACK, Setup, T};
use crate::profile::{LossBy, Reorder, ReorderEngine};
use crate::sim::packet::Packet;

/// Packets of a message.
const PACKETS: u32 = 24;

/// Arrival orders.
const ORDERS: u64 = 100_000;

/// A drawn engine.
fn drawn(rng: &mut ChaCha8Rng) -> Reorder {
    let engines = [ReorderEngine::Ring, ReorderEngine::Pool, ReorderEngine::Left];
    let evidence = [LossBy::Psn, LossBy::Span, LossBy::Timer];
    Reorder {
        engine: engines[rng.random_range(0..3)],
        span_packets: rng.random_range(1..=2 * PACKETS),
        access_ns: rng.random_range(0..20),
        first_block_ns: rng.random_range(0..20),
        next_block_ns: rng.random_range(0..20),
        block_bits: rng.random_range(1..=9),
        blocks: rng.random_range(1..=12),
        budget_ns: rng.random_range(1..=60),
        caches: rng.random_range(0..=3),
        cache_bits: rng.random_range(1..=PACKETS),
        fifos: rng.random_range(0..=3),
        fifo_packets: rng.random_range(1..=4),
        fifo_timeout_ns: rng.random_range(0..=500),
        loss_by: evidence[rng.random_range(0..3)],
        loss_span_packets: rng.random_range(1..=PACKETS),
        ..Reorder::default()
    }
}

/// Packets in any order, some of them twice and some not at all.
fn shuffled(packets: &[Packet], rng: &mut ChaCha8Rng) -> Vec<Packet> {
    let times = |rng: &mut ChaCha8Rng| [1, 1, 1, 1, 0, 2][rng.random_range(0..6)];
    let mut order: Vec<Packet> = packets.iter().flat_map(|packet| vec![*packet; times(rng)]).collect();
    order.shuffle(rng);
    order
}

#[test]
fn whatever_the_order_each_packet_is_taken_once() {
    for seed in 0..ORDERS {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let reorder = drawn(&mut rng);
        let setup = Setup { message_size: PACKETS * MTU, ..Setup::selective(2, reorder) };
        // Near the end of the PSNs, so that some tests wrap.
        let first = Psn::SPACE - rng.random_range(1..2 * PACKETS);
        let (mut nic, mut peer) = (setup.end([first, 0]), setup.end([0, first]));
        let first_psn = Psn::new(first);
        for qp in 0..2 {
            nic.posts_on(qp, Verb::Write, PACKETS * MTU);
        }
        let packets = nic.packets();
        let mut expected = [0; 2];
        let mut arrived = [HashSet::new(), HashSet::new()];
        let has_room = reorder.engine == ReorderEngine::Ring && reorder.span_packets >= PACKETS;
        for packet in shuffled(&packets, &mut rng) {
            let qp = packet.qp as usize;
            arrived[qp].insert(packet.psn.since(first_psn));
            peer.receives([packet]);
            // A ring takes less.
            peer.waits(rng.random_range(20..1_000));
            while arrived[qp].contains(&expected[qp]) {
                expected[qp] += 1;
            }
            let (base, bitmap) = peer.nic.qps()[qp].responder.bitmap().unwrap();
            assert!(base as i32 <= expected[qp], "seed {seed}: {base} is beyond {}", expected[qp]);
            if has_room {
                assert_eq!(base as i32, expected[qp], "seed {seed}");
                let beyond = arrived[qp].iter().filter(|offset| **offset >= expected[qp]).count();
                assert_eq!(bitmap.kept as usize, beyond, "seed {seed}");
            }
        }
        // What was lost or dropped comes again, as often as it takes.
        for round in 0.. {
            peer.waits(T + NACK);
            peer.packets();
            let missing = |packet: &&Packet| {
                packet.psn.since(peer.nic.qps()[packet.qp as usize].responder.expected_psn()) >= 0
            };
            let missing: Vec<Packet> = packets.iter().filter(missing).copied().collect();
            if missing.is_empty() {
                break;
            }
            assert!(
                round < 2 * PACKETS,
                "seed {seed}: {} packets are never taken with {reorder:?}",
                missing.len()
            );
            for packet in missing {
                peer.receives([packet]);
                peer.waits(500);
            }
        }
        for qp in peer.nic.qps() {
            let written = qp.responder.memory().written();
            let bytes: Vec<_> = written.iter().map(|message| (message.bytes, message.wrong)).collect();
            assert!(bytes.ends_with(&[(u64::from(PACKETS * MTU), false)]), "seed {seed}: {bytes:?}");
        }
        peer.waits(T);
        let free = peer.nic.reorder.as_deref().and_then(Engine::free_blocks);
        assert_eq!(
            free.unwrap_or(reorder.blocks),
            reorder.blocks,
            "seed {seed}: blocks leak with {reorder:?}"
        );
        assert_eq!(peer.nic.receive_buffer().bytes, 0, "seed {seed}: packets are left in the buffer");
    }
}
