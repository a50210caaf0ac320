//! Lengths of traces, which a minimiser keeps short besides the test.

use corpus::TestConfig;

/// Packets of a trace that is short, whatever the test is.
const SHORT: u64 = 65_536;

/// A test's trace, for each of its own packets and of the shortest trace so far.
const TIMES: u64 = 16;

/// Most packets that a smaller test may have to show a signature. Where QPs retransmit in a storm, a smaller test may have thousands of times
/// the packets of a larger one, until its retries are exhausted: it takes seconds, and nobody reads its trace. Until some test shows the
/// signature there is no limit, as all tests that do may have such a storm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceLimit {
    /// Packets of the shortest trace that shows it.
    shortest: u64,
}

impl TraceLimit {
    /// Before a test has shown the signature.
    pub(crate) const NONE: Self = Self { shortest: u64::MAX };

    /// Most packets of a test.
    pub(crate) fn of(self, config: &TestConfig) -> usize {
        let packets = self.shortest.max(config.packets_with_copies()).saturating_mul(TIMES);
        usize::try_from(packets.max(SHORT)).unwrap_or(usize::MAX)
    }

    /// Takes note of so many packets in the runs of a test, if it shows the signature.
    pub(crate) fn learn(&mut self, shows: bool, packets: u64, runs: u64) {
        if shows {
            self.shortest = self.shortest.min(packets / runs.max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_as_long_as_the_test_and_the_shortest_trace_allow() {
        let few = TestConfig::default();
        let mut limit = TraceLimit::NONE;
        assert_eq!(limit.of(&few), usize::MAX, "each may have a storm");
        limit.learn(false, 10, 1);
        assert_eq!(limit.of(&few), usize::MAX, "nothing was seen in it");
        // Five runs.
        limit.learn(true, 500_000, 5);
        assert_eq!(limit.of(&few), 1_600_000);
        limit.learn(true, 200_000, 1);
        assert_eq!(limit.of(&few), 1_600_000, "a longer one than before");
        limit.learn(true, 12, 1);
        assert_eq!(limit.of(&few), 65_536);
        let mut many = few;
        many.traffic.num_msgs_per_qp = 10_000;
        many.traffic.message_size = 1;
        assert_eq!(many.packets_with_copies(), 10_000);
        assert_eq!(limit.of(&many), 160_000);
    }
}
