//! Random tests that give a NIC something to do: losses that it can recover from, and marks.

use corpus::{Action, ConnectionSet, Event, Progression, Target, TestConfig};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The test of a seed.
pub(crate) fn test(seed: u64) -> TestConfig {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut config = corpus::testing::configs().new_tree(&mut runner).unwrap().current();
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    try_to(&mut config, |config| {
        let traffic = &mut config.traffic;
        traffic.min_retransmit_timeout = rng.random_range(8..=16);
        traffic.max_retransmit_retry = 7;
        traffic.recv_depth = 128;
        traffic.message_size = traffic.message_size.max(3_000);
        for host in [&mut config.requester, &mut config.responder] {
            host.roce.dcqcn_np_enable = true;
            host.roce.min_time_between_cnps = rng.random_range(0..50);
        }
    });
    for _ in 0..rng.random_range(0..3) {
        try_to(&mut config, |config| config.events.push(event(config, rng)));
    }
    config
}

/// Edits a test, unless that makes it an invalid one.
fn try_to(config: &mut TestConfig, edit: impl FnOnce(&mut TestConfig)) {
    let mut edited = config.clone();
    edit(&mut edited);
    if edited.is_valid() {
        *config = edited;
    }
}

/// Some packets of one connection or of all are lost or marked.
fn event(config: &TestConfig, rng: &mut ChaCha8Rng) -> Event {
    let packets = config.traffic.shape().packets() as u32;
    let one = rng.random_range(1..=config.traffic.load.connections());
    let every = rng.random_range(1..=packets);
    Event {
        connections: if rng.random_bool(0.5) { ConnectionSet::All } else { ConnectionSet::One(one) },
        target: Target::Data { psn: rng.random_range(1..=packets), iter: 1 },
        progression: rng.random_bool(0.5).then_some(Progression { every, count: None }),
        action: if rng.random_bool(0.7) { Action::DROP } else { Action::Ecn },
    }
}
