//! Digests of random tests: a change of structure changes none of them.

use std::thread;

use dumper::{HostCounters, Observation};
use sha2::{Digest as _, Sha256};

use super::Case;

/// Random tests whose digests are kept.
pub(crate) const TESTS: u64 = 1_000;

/// Digest of an observation: packets, counters, completions and deliveries.
pub(crate) fn of(observation: &Observation) -> String {
    let mut hasher = Sha256::new();
    hasher.update(observation.trace.digest().to_string());
    for host in [&observation.requester, &observation.responder] {
        let moved = |counters: &HostCounters| -> Vec<String> {
            counters.names().map(|name| format!("{name} {:?}\n", counters.moved(name))).collect()
        };
        hasher.update(host.as_ref().map(moved).unwrap_or_default().concat());
    }
    for one in observation.completions() {
        let times = [one.posted_ns, one.completed_ns].map(|time| time.0);
        let status = serde_json::to_string(&one.status).unwrap();
        let (connection, message) = (one.connection, one.message);
        hasher.update(format!("{connection} {message} {times:?} {} {status}\n", one.bytes));
    }
    for one in observation.deliveries() {
        hasher.update(format!("{} {} {} {}\n", one.connection, one.message, one.bytes, one.intact));
    }
    hasher.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn random_tests_give_what_they_gave() {
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let line = |seed: u64| format!("{seed} {}\n", of(&Case::draw(seed).run().unwrap()));
    let share =
        |first: u64| (first..TESTS).step_by(threads as usize).map(|seed| (seed, line(seed))).collect();
    let mut lines: Vec<(u64, String)> = thread::scope(|scope| {
        let running: Vec<_> =
            (0..threads).map(|first| scope.spawn(move || -> Vec<(u64, String)> { share(first) })).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    lines.sort_unstable();
    let text: String = lines.into_iter().map(|(_, line)| line).collect();
    insta::assert_snapshot!(text);
}
