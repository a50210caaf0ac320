//! Shared parts of the tests.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use corpus::TestConfig;
use dumper::trace::{Origin, Record};
use dumper::{Observation, Trace};
use scoring::{Options, analyze};
use tests::synthetic::{self, World};

/// Runs `check` on the seeds of all cases on all cores; `LUMINA_SEED` runs one,
/// `LUMINA_CASES` another number of them.
pub(crate) fn for_all(name: &str, cases: u64, check: impl Fn(u64) -> Result<(), String> + Sync) {
    if let Some(seed) = std::env::var("LUMINA_SEED").ok().and_then(|seed| seed.parse().ok()) {
        if let Err(failure) = check(seed) {
            panic!("{name}, seed {seed}:\n{failure}");
        }
        return;
    }
    let wanted = std::env::var("LUMINA_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = wanted.unwrap_or(cases);
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let failures: Vec<(u64, String)> = std::thread::scope(|scope| {
        let work = || {
            let mut failures = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= cases || failures.len() >= 20 {
                    return failures;
                }
                if let Err(failure) = check(seed) {
                    failures.push((seed, failure));
                }
            }
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("a check returns its failure")).collect()
    });
    if let Some((seed, failure)) = failures.iter().min_by_key(|(_, failure)| failure.len()) {
        let mut others = String::new();
        for (seed, failure) in &failures {
            let _ = writeln!(others, "{seed:>6} {}", failure.lines().next().unwrap_or_default());
        }
        panic!("{name}, LUMINA_SEED={seed}:\n{failure}\nfirst remarks by seed:\n{others}");
    }
}

/// The configuration of a world, as far as the analyzers read it.
pub(crate) fn config_of(world: &World) -> TestConfig {
    let mut config = TestConfig::default();
    config.traffic.mtu = *corpus::Mtu::ALL.iter().find(|mtu| mtu.bytes() == world.mtu).expect("an MTU");
    config.traffic.min_retransmit_timeout = world.timeout;
    let sizes = world.connections.iter().flat_map(|one| &one.messages).map(|message| message.bytes);
    config.traffic.message_size = sizes.max().unwrap_or(0);
    let messages = world.connections.iter().map(|one| one.messages.len() as u32);
    config.traffic.num_msgs_per_qp = messages.min().unwrap_or(0);
    let retries = world.connections.iter().map(|connection| connection.habits.requester.retry_count);
    config.traffic.max_retransmit_retry = retries.min().unwrap_or(7) as u8;
    let rnr_retries = world.connections.iter().filter_map(|one| one.habits.requester.rnr_retries);
    config.traffic.rnr_retry = rnr_retries.min().unwrap_or(7) as u8;
    for host in [&mut config.requester, &mut config.responder] {
        host.roce.dcqcn_np_enable = world.notifications.is_some();
        host.roce.min_time_between_cnps = world.notifications.map_or(0, |np| np.interval_us);
    }
    config
}

/// No remark at all, or the remarks and the trace.
pub(crate) fn silent(observation: &Observation, options: Options<'_>) -> Result<(), String> {
    let analysis = analyze(observation, options);
    if analysis.anomalies.is_empty() {
        return Ok(());
    }
    Err(format!("{}{}", synthetic::anomalies(&analysis), synthetic::trace(observation)))
}

/// Part of a trace; `bare` without metadata.
pub(crate) fn part(
    observation: &Observation,
    range: Range<usize>,
    origin: Origin,
    bare: bool,
) -> Observation {
    let trace = copied(&observation.trace, origin, |at, _| range.contains(&at));
    let connections = if bare { Vec::new() } else { observation.connections.clone() };
    Observation { trace, connections, ..Observation::default() }
}

/// The packets of a trace that are to be kept, by index and record.
pub(crate) fn only(trace: &Trace, keep: impl Fn(usize, &Record) -> bool) -> Trace {
    copied(trace, trace.origin(), keep)
}

fn copied(whole: &Trace, origin: Origin, keep: impl Fn(usize, &Record) -> bool) -> Trace {
    let mut trace = Trace::new(origin);
    for flow in whole.flows() {
        trace.add_flow(*flow);
    }
    for (_, record) in whole.records().iter().enumerate().filter(|(at, record)| keep(*at, record)) {
        match whole.extra(record) {
            Some(extra) => trace.push_with(*record, extra),
            None => trace.push(*record),
        }
    }
    trace
}
