//! Random tests with selective repeat on random reorder engines, with losses and several paths: every message is delivered exactly once,
//! or its QP has ended in an error, and nothing anomalous is found.
//!
//! `LUMINA_CASES` sets the number of cases (1,000 otherwise), `LUMINA_SEED` the first one.

use corpus::LossRecovery;
use executor::profile::ReorderEngine;
use rand::RngExt;

use super::environment::number;
use super::{Case, no_anomalies, profiles};

/// A random case whose NICs have reorder engines.
fn draw(seed: u64) -> Case {
    let mut case = Case::draw(seed);
    let rng = &mut profiles::stream(seed, "selective");
    for profile in &mut case.profiles {
        let engines = [ReorderEngine::Ring, ReorderEngine::Pool, ReorderEngine::Left];
        let reorder = &mut profile.reorder;
        reorder.engine = engines[rng.random_range(0..3)];
        // One connection takes no blocks from another, nor much of its time, nor the buffer for what is gathered: that would be a noisy neighbour
        // indeed.
        reorder.blocks = 65_536;
        reorder.block_bits = reorder.block_bits.max(64);
        profile.receive.buffer_bytes = profile.receive.buffer_bytes.max(1 << 20);
    }
    for host in [&mut case.config.requester, &mut case.config.responder] {
        host.roce.loss_recovery = LossRecovery::SelectiveRepeat;
    }
    // One packet for each expiry: long ones take a test beyond all time.
    case.config.traffic.min_retransmit_timeout = case.config.traffic.min_retransmit_timeout.min(20);
    case
}

#[test]
fn engines_deliver_each_message_once() {
    no_anomalies(number("LUMINA_CASES", 1_000), draw);
}
