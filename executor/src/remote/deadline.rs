//! How long a test may take.

use std::time::Duration;

use corpus::{Action, TestConfig};

/// What every test has: posting, a few packets, emulated hosts.
const BASE: Duration = Duration::from_secs(2);

/// Goodput that an emulated host reaches at the least, in bytes a millisecond: a tenth of what was measured
/// (docs/vm-testbed.md).
const BYTES_PER_MS: u64 = 800;

/// The longest that any test is waited for.
const LONGEST: Duration = Duration::from_secs(60);

/// Time-outs that are waited for in a row, beyond those until a QP fails: each entry of the injector can cost one.
const MAX_TIMEOUTS: u64 = 64;

/// The ACK timer of exponent 0: 4.096 us (IBA vol. 1, 9.7.6.1.3).
const TIMEOUT_UNIT_NS: u64 = 4_096;

/// An ACK timer may expire as late as after four times its setting (IBA vol. 1, 9.7.6.1.3).
const LATEST: u64 = 4;

/// After how long a requester is asked what has not completed, and the messages that have not are outstanding.
/// `entries` are those of the injector.
pub(super) fn of(config: &TestConfig, entries: usize) -> Duration {
    let traffic = &config.traffic;
    let messages = u64::from(traffic.load.connections()) * u64::from(traffic.num_msgs_per_qp);
    let bytes = messages.saturating_mul(traffic.message_size.into());
    let timeout = Duration::from_nanos(TIMEOUT_UNIT_NS << traffic.min_retransmit_timeout.min(31));
    let timeouts = u64::from(traffic.max_retransmit_retry) + 1 + (entries as u64).min(MAX_TIMEOUTS);
    let silent = timeout * u32::try_from(LATEST * timeouts).unwrap_or(u32::MAX);
    let moving = Duration::from_millis(bytes / BYTES_PER_MS);
    (BASE + moving).saturating_add(silent).saturating_add(longest_delay(config)).min(LONGEST)
}

/// The longest that the injector holds a packet of the test.
pub(super) fn longest_delay(config: &TestConfig) -> Duration {
    let delays = config.events.iter().map(|event| match event.action {
        Action::Delay { ns } => ns,
        _ => 0,
    });
    Duration::from_nanos(delays.max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(text: &str) -> TestConfig {
        corpus::from_toml("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
    }

    #[test]
    fn a_test_that_exhausts_its_retries_is_waited_for() {
        let exhausts = test("[traffic]\nmin-retransmit-timeout = 14\nmax-retransmit-retry = 7\n");
        // Eight times 67 ms, each at its latest.
        assert!(of(&exhausts, 0) > BASE + Duration::from_micros(67_108 * 4 * 8));
        assert!(of(&exhausts, 4) > of(&exhausts, 0));
        let endless = test("[traffic]\nmin-retransmit-timeout = 31\n");
        assert_eq!(of(&endless, 0), LONGEST);
    }

    #[test]
    fn a_delay_is_waited_for() {
        let delayed = test("event = [{ qpn = 1, psn = 1, type = \"delay\", delay-us = 3000 }]");
        assert_eq!(longest_delay(&delayed), Duration::from_millis(3));
        assert_eq!(longest_delay(&TestConfig::default()), Duration::ZERO);
    }
}
