//! Iterations of hosts that post in turn: a message, its answer, and the completion of the message.

use std::collections::BTreeMap;

use corpus::{Pattern, Role, TestConfig};
use dumper::{Completion, Nanos};
use serde::Serialize;

use super::ranks::Ranks;

/// Iterations of a pair of connections. As by perftest's latency tests, one takes from the posting of a message to that of the next
/// one, so that the last has no time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PairIterations {
    /// The connection whose requester begins, from 1; the next one has the answers.
    pub connection: u32,
    /// Iterations whose time is known.
    pub known: usize,
    /// Mean time.
    pub mean_ns: Nanos,
    /// Median time; it and the others are nearest ranks.
    pub median_ns: Nanos,
    /// 99th percentile.
    pub p99_ns: Nanos,
    /// 99.9th percentile.
    pub p999_ns: Nanos,
    /// Longest time.
    pub max_ns: Nanos,
}

/// Iterations of each pair of connections of a test whose hosts post in turn; none of another.
pub(crate) fn of_pairs(completions: &[Completion], config: Option<&TestConfig>) -> Vec<PairIterations> {
    let Some(traffic) = config.map(|config| &config.traffic) else { return Vec::new() };
    if traffic.pattern != Pattern::PingPong {
        return Vec::new();
    }
    let mut posted: BTreeMap<u32, BTreeMap<u32, Nanos>> = BTreeMap::new();
    for one in completions {
        if traffic.end_at(Role::Requester, one.connection) == Role::Requester {
            posted.entry(one.connection).or_default().insert(one.message, one.posted_ns);
        }
    }
    let of = |(connection, posted): (u32, BTreeMap<u32, Nanos>)| {
        let next = posted.iter().skip(1);
        let times: Ranks = posted.iter().zip(next).filter_map(time).collect();
        (!times.is_empty()).then(|| PairIterations {
            connection,
            known: times.len(),
            mean_ns: times.mean(),
            median_ns: times.of_thousand(500),
            p99_ns: times.of_thousand(990),
            p999_ns: times.of_thousand(999),
            max_ns: times.longest(),
        })
    };
    posted.into_iter().filter_map(of).collect()
}

/// The time between two messages, if one follows the other.
fn time(((message, posted), (next, then)): ((&u32, &Nanos), (&u32, &Nanos))) -> Option<Nanos> {
    (*next == message + 1 && then >= posted).then(|| *then - *posted)
}

#[cfg(test)]
mod tests {
    use dumper::observation::CompletionStatus;

    use super::*;

    fn completion(connection: u32, message: u32, posted: u64) -> Completion {
        Completion {
            connection,
            message,
            posted_ns: Nanos(posted),
            completed_ns: Nanos(posted + 1),
            bytes: 1,
            status: CompletionStatus::Success,
        }
    }

    #[test]
    fn an_iteration_ends_when_the_next_message_is_posted() {
        let config = |pattern: &str| {
            let text = format!(
                "[traffic]\nnum-connections = 4\nnum-msgs-per-qp = 5\nmessage-size = 1\npattern = \"{pattern}\"\n"
            );
            corpus::from_toml("t.toml", &text).unwrap_or_else(|errors| panic!("{errors}"))
        };
        let log = [
            completion(1, 1, 100),
            completion(2, 1, 140),
            completion(1, 2, 200),
            completion(2, 2, 250),
            completion(1, 3, 350),
            // The completion of message 4 is missing.
            completion(1, 5, 999),
            completion(3, 1, 7),
        ];
        let of = |pattern| of_pairs(&log, Some(&config(pattern)));
        let pairs = of("ping-pong");
        assert_eq!(pairs.len(), 1, "connection 3 has no iteration with a time");
        let PairIterations { connection, known, mean_ns, median_ns, max_ns, .. } = pairs[0];
        assert_eq!((connection, known), (1, 2));
        assert_eq!((mean_ns, median_ns, max_ns), (Nanos(125), Nanos(100), Nanos(150)));
        assert_eq!((of("one-way"), of_pairs(&log, None)), (vec![], vec![]));
    }
}
