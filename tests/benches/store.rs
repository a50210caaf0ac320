//! The corpus on disk at 100 000 executions: what an execution costs, how long opening takes, and how memory grows.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use corpus::store::{Archive, Decision, Progress, Store};
use corpus::{Action, ConnectionSet, Evaluation, Event, Lineage, Outcome, Scores, Target, TestConfig};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const EXECUTIONS: u64 = 100_000;
/// Executions between two flushes, as in a campaign.
const BATCH: u64 = 16;
const OBJECTIVES: [&str; 8] =
    ["counters", "discards", "goodput", "latency", "neighbours", "rules", "stall", "timeouts"];

/// An execution with up to seven events and eight objectives.
fn evaluation(number: u64) -> Evaluation {
    let event = |psn| Event {
        connections: ConnectionSet::One(1),
        target: Target::Data { psn, iter: 1 },
        progression: None,
        action: Action::DROP,
    };
    let config = TestConfig { events: (1..=number as u32 % 8).map(event).collect(), ..TestConfig::default() };
    let objectives = OBJECTIVES.map(|name| (name.to_owned(), number as f64 / 1e9));
    let operators = vec!["add-event".to_owned(), "move-event".to_owned()];
    Evaluation {
        number,
        config,
        lineage: Lineage { parent: Some(number / 2), operators, seed: number },
        outcome: Outcome::Scored(Scores { objectives: BTreeMap::from(objectives), ..Scores::default() }),
    }
}

/// Records and decides an execution; one in two is kept.
fn write(store: &Store, evaluation: &Evaluation) {
    let number = evaluation.number;
    store.record(evaluation).expect("there is room");
    let progress = Progress { executions: number, ..Progress::default() };
    let kept = number.is_multiple_of(2).then_some(0.5);
    store
        .decide(&Decision {
            number,
            kept,
            new_references: &[],
            findings: &[],
            situations: &[],
            losses: None,
            progress,
        })
        .expect("there is room");
}

/// Bytes of memory that this process has; none where the system does not say.
fn memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it is new");
    for entry in fs::read_dir(from).expect("it is there").flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &to) } else { drop(fs::copy(entry.path(), to)) }
    }
}

fn store(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("there is room");
    let [path, killed, mended] = ["corpus", "killed", "mended"].map(|name| folder.path().join(name));
    let store = Store::create(&path).expect("there is room");
    for number in 1..=EXECUTIONS {
        write(&store, &evaluation(number));
        if number.is_multiple_of(BATCH) {
            store.flush().expect("there is room");
        }
        if number.is_multiple_of(EXECUTIONS / 4) {
            let memory = memory().map_or("?".to_owned(), |bytes| format!("{:.1} MB", bytes as f64 / 1e6));
            let disk = store.size_on_disk().expect("it is open") as f64 / 1e6;
            eprintln!("{number} executions: {memory} of memory, {disk:.1} MB on disk");
        }
    }
    copy(&path, &killed);

    let mut group = criterion.benchmark_group("store");
    let mut number = EXECUTIONS;
    // The time that writing takes, or flushing every batch of it.
    let mut batches = |batches: u64, flushing: bool| {
        let mut took = Duration::ZERO;
        for _ in 0..batches {
            let evaluations: Vec<_> = (number + 1..=number + BATCH).map(evaluation).collect();
            number += BATCH;
            let began = Instant::now();
            evaluations.iter().for_each(|evaluation| write(&store, evaluation));
            let written = began.elapsed();
            store.flush().expect("there is room");
            took += if flushing { began.elapsed() - written } else { written };
        }
        took
    };
    group.throughput(Throughput::Elements(BATCH));
    group.bench_function("record and decide 16 at 100 000", |bencher| {
        bencher.iter_custom(|times| batches(times, false));
    });
    group.bench_function("flush 16 at 100 000", |bencher| bencher.iter_custom(|times| batches(times, true)));
    drop(store);
    group.throughput(Throughput::Elements(1));
    group.sample_size(10);
    group.bench_function("open and close at 100 000", |bencher| {
        bencher.iter(|| drop(black_box(Store::open(&path).expect("it was closed"))));
    });
    group.bench_function("read the scores of 50 000", |bencher| {
        let (store, _) = Store::open(&path).expect("it was closed");
        bencher.iter(|| store.kept().map(|kept| kept.expect("it is whole").1).sum::<f64>());
    });
    group.bench_function("check at 100 000", |bencher| {
        bencher.iter(|| black_box(Archive::read(&path).expect("it is whole").kept().len()));
    });
    group.bench_function("open at 100 000 after a kill", |bencher| {
        bencher.iter_custom(|times| {
            let mut took = Duration::ZERO;
            for _ in 0..times {
                copy(&killed, &mended);
                let began = Instant::now();
                let opened = Store::open(&mended).expect("it is whole");
                took += began.elapsed();
                drop(opened);
                fs::remove_dir_all(&mended).expect("it is ours");
            }
            took
        });
    });
    group.finish();
}

criterion_group!(benches, store);
criterion_main!(benches);
