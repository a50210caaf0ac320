//! The campaign: executions a second on simulated NICs, what the engine itself costs at a large corpus, how long a
//! large campaign takes to resume, and its memory.
//!
//! The engine's own cost is measured on a testbed that has nothing but a counter to show, different for every test, so
//! that what is left is drawing, scoring, recording and deciding. `cargo bench -p tests --bench campaign -- adaptive` measures
//! the engine with that strategy alone.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run says so")]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use corpus::TestConfig;
use dumper::observation::Counters;
use dumper::{HostCounters, Observation};
use executor::{Testbed, TestbedError};
use fuzzer::campaign::{Campaign, Lifted, Limits, Request, Stop};
use fuzzer::strategy::Strategy;

/// Executions on simulated NICs.
const SIMULATED: u64 = 2_000;

/// The corpus at which the engine is measured.
const CORPUS: u64 = 100_000;

/// Executions of the search from there.
const SEARCHED: u64 = 100_000;

/// A testbed on which nothing happens but discarded packets, more or fewer of them.
struct Nothing;

impl Testbed for Nothing {
    fn capabilities(&self) -> corpus::Capabilities {
        corpus::Capabilities::all()
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        let traffic = &black_box(config).traffic;
        let mixed = u64::from(traffic.message_size).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ u64::from(traffic.load.connections()).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
            ^ (config.events.len() as u64).wrapping_mul(0x1656_67b1_9e37_79f9);
        let at = |value| Counters {
            ethtool_counters: [("rx_discards_phy".into(), value)].into(),
            ..Counters::default()
        };
        let counters = HostCounters { start: at(0), finish: at(mixed >> 52) };
        Ok(Observation { requester: Some(counters), ..Observation::default() })
    }
}

fn main() {
    // `cargo test --benches` asks for a test; these are measurements.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let named: Vec<Strategy> =
        std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    if named.is_empty() {
        simulated();
    }
    println!("strategy    executions  corpus   µs an execution  resident MiB");
    let all = ["genetic", "random", "annealing", "adaptive"].map(|name| name.parse().unwrap());
    for strategy in all.into_iter().filter(|strategy| named.is_empty() || named.contains(strategy)) {
        engine(strategy);
    }
}

fn request(target: &str, nic: &str, strategy: Strategy, executions: u64) -> Request {
    Request {
        target: Some(target.into()),
        nics: [Some(nic.into()), Some(nic.into())],
        seed: Some(1),
        strategy: Some(strategy),
        limits: Limits { executions: Some(executions), ..Limits::default() },
        lifted: Lifted { max_corpus: true, ..Lifted::default() },
        ..Request::default()
    }
}

/// Executions a second of the noisy-neighbour campaign, with one job and with as many as there are cores.
fn simulated() {
    for jobs in [1, 0] {
        let folder = tempfile::tempdir().unwrap();
        let campaign = Campaign::begin(
            folder.path(),
            &request("noisy-neighbor", "cx4-lx", Strategy::Genetic, SIMULATED),
        )
        .unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().unwrap();
        let began = Instant::now();
        let (_, status) = pool.install(|| campaign.run(&Stop::new(), &|_| {})).unwrap();
        let seconds = began.elapsed().as_secs_f64();
        let progress = status.progress;
        let all = progress.executions + progress.reference_executions + progress.minimizer_executions;
        println!(
            "noisy-neighbor on cx4-lx, {} jobs: {:.0} executions/s, {:.0} tests/s with references and minimiser",
            pool.current_num_threads(),
            progress.executions as f64 / seconds,
            all as f64 / seconds,
        );
    }
}

/// Cost of the engine itself at a corpus of [`CORPUS`]: an initial pool of that size, and then the search.
fn engine(strategy: Strategy) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target.toml");
    std::fs::write(&target, format!("base = \"noisy-neighbor\"\npool = {CORPUS}\n")).unwrap();
    let target = target.to_str().unwrap();
    let mut before = 0;
    for executions in [CORPUS / 4, CORPUS / 2, CORPUS, CORPUS + SEARCHED / 2, CORPUS + SEARCHED] {
        let (corpus, elapsed) = run_on_nothing(folder.path(), target, strategy, executions);
        println!(
            "{:<10}  {executions:>10}  {corpus:>6}  {:>16.1}  {:>12.0}",
            strategy.to_string(),
            elapsed.as_secs_f64() * 1e6 / (executions - before) as f64,
            resident_mib(),
        );
        before = executions;
    }
    let (corpus, elapsed) = run_on_nothing(folder.path(), target, strategy, CORPUS + SEARCHED);
    println!("{strategy}, resuming a corpus of {corpus}: {:.0} ms", elapsed.as_secs_f64() * 1e3);
}

/// Runs a campaign on a testbed that costs nothing, up to an execution; the size of its corpus, and how long it took.
fn run_on_nothing(folder: &Path, target: &str, strategy: Strategy, executions: u64) -> (u64, Duration) {
    let path = folder.join("campaign");
    let request = request(target, "reference", strategy, executions);
    let began = Instant::now();
    let campaign =
        if path.exists() { Campaign::resume(&path, &request) } else { Campaign::begin(&path, &request) }
            .unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let ran = pool.install(|| campaign.run_on(&|| Box::new(Nothing), &Stop::new(), &|_| {}));
    (ran.unwrap().1.corpus_size, began.elapsed())
}

fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: f64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(f64::NAN);
    kib / 1024.0
}
