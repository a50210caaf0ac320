//! Connections that have nothing to post until another one goes on.

use std::collections::BTreeMap;

use corpus::Traffic;
use dumper::Completion;
use dumper::observation::CompletionStatus;

/// Completions of a connection.
#[derive(Clone, Copy, Default)]
pub(super) struct Completed {
    /// How many messages completed, in any way.
    pub(super) count: u32,
    /// One of them failed.
    pub(super) failed: bool,
}

/// Progress of the connections of a test.
pub(super) struct Turns<'t> {
    traffic: &'t Traffic,
    completed: BTreeMap<u32, Completed>,
    /// Where all wait for each other (`barrier-sync`): the round that the slowest one is in, and if one of them failed.
    slowest: u32,
    any_failed: bool,
}

impl<'t> Turns<'t> {
    /// Of a test with so many connections.
    pub(super) fn of(completions: &[Completion], traffic: &'t Traffic, connections: u32) -> Self {
        let mut completed: BTreeMap<u32, Completed> = BTreeMap::new();
        for completion in completions {
            let Completed { count, failed } = completed.entry(completion.connection).or_default();
            *count += 1;
            *failed |= completion.status != CompletionStatus::Success;
        }
        let any_failed = completed.values().any(|completed| completed.failed);
        let mut turns = Self { traffic, completed, slowest: 0, any_failed };
        let rounds = (1..=connections).map(|connection| turns.round(connection));
        turns.slowest = rounds.min().unwrap_or_default();
        turns
    }

    pub(super) fn of_connection(&self, connection: u32) -> Completed {
        self.completed.get(&connection).copied().unwrap_or_default()
    }

    fn round(&self, connection: u32) -> u32 {
        self.of_connection(connection).count / self.traffic.tx_depth
    }

    /// Returns true if a connection has nothing to post until another one goes on, which may never be, as a connection of which a request
    /// failed posts no more.
    pub(super) fn waits(&self, connection: u32) -> bool {
        match self.traffic.paired_with(connection) {
            Some(pair) => self.waits_for_pair(connection, self.of_connection(pair)),
            None => self.traffic.barrier_sync && (self.any_failed || self.round(connection) > self.slowest),
        }
    }

    /// The first of a pair has one message more than the second until that is answered.
    fn waits_for_pair(&self, connection: u32, pair: Completed) -> bool {
        let count = self.of_connection(connection).count;
        let answers = connection.is_multiple_of(2);
        pair.failed || if answers { count >= pair.count } else { count > pair.count }
    }
}

#[cfg(test)]
mod tests {
    use corpus::{Load, Pattern, TestConfig, Verb};
    use dumper::Nanos;

    use super::super::where_dummies_may_fail;
    use super::*;

    fn test(pattern: Pattern) -> TestConfig {
        let load = Load::Same { verb: Verb::Write, connections: 2 };
        let traffic = Traffic { load, pattern, num_msgs_per_qp: 5, dummy_headers: 1, ..Traffic::default() };
        TestConfig { traffic, ..TestConfig::default() }
    }

    /// So many completions of either connection; the last of one fails.
    fn completions(counts: [u32; 2], fails: Option<u32>) -> Vec<Completion> {
        let of = |(connection, count): (u32, u32)| {
            (1..=count).map(move |message| Completion {
                connection,
                message,
                posted_ns: Nanos::ZERO,
                completed_ns: Nanos::ZERO,
                bytes: 1,
                status: match fails {
                    Some(failed) if failed == connection && message == count => {
                        CompletionStatus::RetryExceeded
                    }
                    _ => CompletionStatus::Success,
                },
            })
        };
        (1..).zip(counts).flat_map(of).collect()
    }

    fn waiting(pattern: Pattern, counts: [u32; 2], fails: Option<u32>) -> [bool; 2] {
        let test = test(pattern);
        let completions = completions(counts, fails);
        let turns = Turns::of(&completions, &test.traffic, 2);
        [1, 2].map(|connection| turns.waits(connection))
    }

    #[test]
    fn of_a_pair_the_one_that_has_posted_is_to_blame() {
        for (counts, waits) in [
            ([0, 0], [false, true]),
            ([3, 3], [false, true]),
            ([3, 2], [true, false]),
            // The completion of the first is lost, and its message was answered.
            ([3, 4], [false, true]),
        ] {
            assert_eq!(waiting(Pattern::PingPong, counts, None), waits, "{counts:?}");
            assert_eq!(waiting(Pattern::OneWay, counts, None), [false, false], "{counts:?}");
        }
        assert!(waiting(Pattern::PingPong, [1, 1], Some(1))[1], "a failure ends both");
        assert!(waiting(Pattern::PingPong, [1, 1], Some(2))[0], "a failure ends both");
    }

    /// A campaign took the end of such a QP for one that neither retransmits nor fails.
    #[test]
    fn of_a_connection_that_waits_only_dummies_are_left() {
        let may_fail = |pattern, counts, fails| {
            where_dummies_may_fail(&completions(counts, fails), Some(&test(pattern))).into_iter().collect()
        };
        let of = |pattern, counts, fails| -> Vec<u32> { may_fail(pattern, counts, fails) };
        assert_eq!(of(Pattern::PingPong, [2, 1], Some(2)), [1]);
        assert_eq!(of(Pattern::PingPong, [2, 1], None), [1]);
        assert!(of(Pattern::OneWay, [2, 1], Some(2)).is_empty());
        assert_eq!(of(Pattern::OneWay, [5, 1], None), [1]);
    }
}
