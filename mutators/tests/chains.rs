//! Random tests and long chains of mutants of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

use std::collections::BTreeMap;
use std::path::Path;

use corpus::{Host, Role, TestConfig, config::default_address};
use mutators::{Mutation, SHIPPED, Target, Vocabulary};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const VOCABULARY: Vocabulary<'_> = Vocabulary {
    objectives: &[
        "noisy-neighbor",
        "discards",
        "latency",
        "timeouts",
        "fsm",
        "counters",
        "cnp",
        "goodput",
        "stall",
        "integrity",
    ],
    kinds: &["noisy-neighbor", "gbn-violation"],
};

fn hosts() -> [Host; 2] {
    Role::ALL.map(|role| Host::new("reference", default_address(role)))
}

#[test]
fn chains() {
    for shipped in SHIPPED {
        let target = Target::load(shipped.name, Path::new(""), VOCABULARY).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut seen = BTreeMap::new();
        let mut packets = Vec::new();
        for _ in 0..200 {
            let mut test = target.random(&hosts(), &mut rng);
            packets.push(test.traffic.total_packets());
            assert_eq!(target.admits(&test), Ok(()), "{test}");
            for _ in 0..50 {
                let Mutation::Changed(mutant) = target.mutate(&test, &mut rng) else { panic!("{test}") };
                assert_ne!(mutant.config, test);
                assert_eq!(
                    target.admits(&mutant.config),
                    Ok(()),
                    "{:?}\n{test}\n{}",
                    mutant.operators,
                    mutant.config
                );
                for operator in mutant.operators {
                    *seen.entry(operator).or_insert(0) += 1;
                }
                test = mutant.config;
            }
        }
        packets.sort_unstable();
        println!("{}: median {} p90 {} max {}", shipped.name, packets[100], packets[180], packets[199]);
        println!("{seen:?}");
    }
    let _ = TestConfig::default();
}
