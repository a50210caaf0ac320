//! Random tests and mutants of shipped targets on one core: what a campaign draws for each execution.

use std::hint::black_box;
use std::path::Path;

use corpus::{Action, ConnectionSet, Event, Load, Target, TestConfig, Verb};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fuzzer::campaign::vocabulary;
use mutators::{Mutation, SHIPPED};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Generations from the paper's test to the parents that are measured: they have gathered events by then.
const GENERATIONS: usize = 100;

/// The test of Lumina 6.2.2: 36 Reads, of which twelve lose their fifth packet.
fn paper() -> TestConfig {
    let mut test = TestConfig::default();
    test.traffic.load = Load::Same { verb: Verb::Read, connections: 36 };
    test.traffic.message_size = 20_480;
    test.events = vec![Event {
        connections: ConnectionSet::First(12),
        target: Target::Data { psn: 5, iter: 1 },
        progression: None,
        action: Action::DROP,
    }];
    test
}

fn mutate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("mutate");
    for shipped in SHIPPED {
        let target =
            mutators::Target::load(shipped.name, Path::new(""), vocabulary()).expect("it is shipped");
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let paper = paper();
        let hosts = [paper.requester.clone(), paper.responder.clone()];
        group.bench_function(BenchmarkId::new("random", shipped.name), |bencher| {
            bencher.iter(|| black_box(target.random(&hosts, &mut rng)));
        });
        group.bench_function(BenchmarkId::new("mutate", shipped.name), |bencher| {
            bencher.iter(|| black_box(target.mutate(&paper, &mut rng)));
        });
        let mut old = paper.clone();
        for _ in 0..GENERATIONS {
            if let Mutation::Changed(mutant) = target.mutate(&old, &mut rng) {
                old = mutant.config;
            }
        }
        group.bench_function(BenchmarkId::new("mutate-again", shipped.name), |bencher| {
            bencher.iter(|| black_box(target.mutate(&old, &mut rng)));
        });
    }
    group.finish();
}

criterion_group!(benches, mutate);
criterion_main!(benches);
