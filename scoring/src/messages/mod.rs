//! Message completion times and goodput, where completions were reported (Lumina Table 1, traffic generator log).

pub(crate) mod completions;
pub(crate) mod iterations;
pub(crate) mod ranks;
mod recent;
mod turns;

use std::collections::{BTreeMap, BTreeSet};

use corpus::{TestConfig, Verb};
use dumper::observation::CompletionStatus;
use dumper::{Completion, Nanos, Observation};
use serde::Serialize;

use crate::anomaly::{Anomalies, Anomaly, Evidence, Role, Who};
use crate::known::RnrRetries;
use crate::rewritten::feigns_rnr_for_ever;
use crate::rules::Rule;
use ranks::Ranks;
use recent::Recent;
use turns::{Completed, Turns};

/// Messages of one QP.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QpMessages {
    /// Connection, from 1.
    pub connection: u32,
    /// Messages that completed.
    pub completed: u64,
    /// Messages that ended in an error or were flushed.
    pub failed: u64,
    /// Messages of the test that did neither; 0 where the test is not known.
    pub outstanding: u64,
    /// Mean message completion time.
    pub mean_ns: Nanos,
    /// Median message completion time.
    pub median_ns: Nanos,
    /// 99th percentile of the message completion times (nearest rank).
    pub p99_ns: Nanos,
    /// Longest message completion time.
    pub max_ns: Nanos,
    /// The message that took longest, from 1.
    pub slowest_message: u32,
    /// Bytes of completed messages over the time from first posting to last completion, in bits per second.
    pub goodput_bps: f64,
}

/// One message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct MessageTime {
    /// Connection, from 1.
    pub connection: u32,
    /// Message, from 1.
    pub message: u32,
    /// From posting to completion.
    pub completion_time_ns: Nanos,
    /// Status.
    pub status: CompletionStatus,
}

/// Completion time of every message, in the order of the log.
pub(crate) fn per_message(completions: &[Completion]) -> Vec<MessageTime> {
    let time = |completion: &Completion| MessageTime {
        connection: completion.connection,
        message: completion.message,
        completion_time_ns: completion.completed_ns - completion.posted_ns,
        status: completion.status,
    };
    completions.iter().map(time).collect()
}

/// Status of the first failed request, by connection; flushed requests after it are left out.
pub(crate) fn first_failures(completions: &[Completion]) -> BTreeMap<u32, CompletionStatus> {
    let mut failures = BTreeMap::new();
    for completion in completions {
        if !matches!(completion.status, CompletionStatus::Success | CompletionStatus::Flushed) {
            failures.entry(completion.connection).or_insert(completion.status);
        }
    }
    failures
}

/// Connections of which every message of the test is complete.
pub(crate) fn complete(completions: &[Completion], config: Option<&TestConfig>) -> BTreeSet<u32> {
    let mut done: BTreeMap<u32, u32> = BTreeMap::new();
    for completion in completions.iter().filter(|one| one.status == CompletionStatus::Success) {
        *done.entry(completion.connection).or_default() += 1;
    }
    let all = config.map_or(u32::MAX, |config| config.traffic.num_msgs_per_qp);
    done.into_iter().filter(|(_, count)| *count >= all).map(|(connection, _)| connection).collect()
}

/// Connections of which a dummy may have failed, which no completion tells: those that only dummies are left of, and those whose messages
/// are flushed.
pub(crate) fn where_dummies_may_fail(
    completions: &[Completion],
    config: Option<&TestConfig>,
) -> BTreeSet<u32> {
    let Some(traffic) = config.map(|config| &config.traffic).filter(|traffic| traffic.dummy_headers > 0)
    else {
        return BTreeSet::new();
    };
    let flushed = completions.iter().filter(|one| one.status == CompletionStatus::Flushed);
    let connections = traffic.load.connections();
    let turns = Turns::of(completions, traffic, connections);
    let waiting = (1..=connections).filter(|connection| turns.waits(*connection));
    complete(completions, config)
        .into_iter()
        .chain(flushed.map(|one| one.connection))
        .chain(waiting)
        .collect()
}

/// Judges that every message completes, with success or with an error; `completions` are reported for the test as a
/// whole or not at all.
///
/// Only where each QP is bound to come to an end by itself: its ACK timer runs, and it does not retry for ever after
/// RNR NAKs; and not where the test was stopped while its packets, or a timer, were still under way. A connection of which a
/// request failed posts no more, and those that wait for another one are not to blame.
pub(crate) fn judge(observation: &Observation, config: Option<&TestConfig>, anomalies: &mut Anomalies) {
    let Some(config) = config.filter(|_| observation.completions.is_some()) else { return };
    if may_wait_for_ever(config).is_some() {
        return;
    }
    let traffic = &config.traffic;
    let turns = Turns::of(observation.completions(), traffic, observation.connections.len() as u32);
    let recent = Recent::of(observation, config);
    for (connection, ends) in (1..).zip(&observation.connections) {
        let Completed { count, failed } = turns.of_connection(connection);
        let missing = traffic.num_msgs_per_qp.saturating_sub(count);
        if missing > 0
            && !failed
            && !config.stops(connection)
            && !turns.waits(connection)
            && !recent.has(ends)
        {
            let who = Who {
                role: Role::Requester,
                address: Some(ends.requester.ip),
                connection: Some(connection as usize),
            };
            let what = format!("never completes {missing} of {} messages", traffic.num_msgs_per_qp);
            let evidence = Evidence::default().with_number("missing", missing.into());
            anomalies.push(Anomaly { rule: Rule::CompletionMissing, who, state: "".into(), what, evidence });
        }
    }
}

/// Reason why a QP of a test may wait for ever, if it may.
pub(crate) fn may_wait_for_ever(config: &TestConfig) -> Option<&'static str> {
    let traffic = &config.traffic;
    let sends = (1..=traffic.load.connections())
        .any(|connection| traffic.load.carries(connection, traffic.num_msgs_per_qp, Verb::Send));
    let unlimited = RnrRetries::from_attribute(traffic.rnr_retry) == RnrRetries::Unlimited;
    if traffic.min_retransmit_timeout == 0 {
        Some("the ACK timer is disabled (min-retransmit-timeout = 0), so that a QP may wait for ever")
    } else if (sends && unlimited) || feigns_rnr_for_ever(config) {
        Some("RNR retries are unlimited (rnr-retry = 7), so that a QP may wait for ever")
    } else {
        None
    }
}

/// Messages that each connection of the test has to complete, where the test is known and completions are reported.
fn expected(completions: Option<&[Completion]>, config: Option<&TestConfig>) -> Option<(u32, u64)> {
    let traffic = &completions.and(config)?.traffic;
    Some((traffic.load.connections(), traffic.num_msgs_per_qp.into()))
}

/// Times and goodput of every QP, by connection. With the test also of those of which no message completed.
pub(crate) fn per_qp(completions: Option<&[Completion]>, config: Option<&TestConfig>) -> Vec<QpMessages> {
    let expected = expected(completions, config);
    let completions = completions.unwrap_or_default();
    let mut by_connection: BTreeMap<u32, Vec<&Completion>> = BTreeMap::new();
    if let Some((connections, _)) = expected {
        by_connection.extend((1..=connections).map(|connection| (connection, Vec::new())));
    }
    for completion in completions {
        by_connection.entry(completion.connection).or_default().push(completion);
    }
    let messages = expected.map(|(_, messages)| messages);
    let of = |(connection, completions): (u32, Vec<&Completion>)| of_qp(connection, &completions, messages);
    by_connection.into_iter().map(of).collect()
}

fn of_qp(connection: u32, completions: &[&Completion], messages: Option<u64>) -> QpMessages {
    let good: Vec<&&Completion> =
        completions.iter().filter(|completion| completion.status == CompletionStatus::Success).collect();
    let times = || good.iter().map(|one| (one.completed_ns - one.posted_ns, one.message));
    let ranks: Ranks = times().map(|(time, _)| time).collect();
    let (max, slowest) = times().max().unwrap_or_default();
    let start = good.iter().map(|completion| completion.posted_ns).min().unwrap_or_default();
    let end = good.iter().map(|completion| completion.completed_ns).max().unwrap_or_default();
    let bytes: u64 = good.iter().map(|completion| completion.bytes).sum();
    let seconds = (end - start).as_secs_f64();
    QpMessages {
        connection,
        completed: good.len() as u64,
        failed: (completions.len() - good.len()) as u64,
        outstanding: messages.map_or(0, |messages| messages.saturating_sub(completions.len() as u64)),
        mean_ns: ranks.mean(),
        median_ns: ranks.of_thousand(500),
        p99_ns: ranks.of_thousand(990),
        max_ns: max,
        slowest_message: slowest,
        goodput_bps: if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion(
        connection: u32,
        message: u32,
        posted: u64,
        completed: u64,
        status: CompletionStatus,
    ) -> Completion {
        Completion {
            connection,
            message,
            posted_ns: Nanos(posted),
            completed_ns: Nanos(completed),
            bytes: 1000,
            status,
        }
    }

    #[test]
    fn times_and_goodput_of_a_hand_computed_log() {
        let log = [
            completion(2, 1, 0, 100, CompletionStatus::Success),
            completion(1, 1, 0, 4_000, CompletionStatus::Success),
            completion(1, 2, 4_000, 6_000, CompletionStatus::Success),
            completion(1, 3, 6_000, 16_000, CompletionStatus::Success),
            completion(1, 4, 16_000, 99_000, CompletionStatus::RetryExceeded),
        ];
        let qps = per_qp(Some(&log), None);
        assert_eq!(qps.iter().map(|qp| qp.connection).collect::<Vec<_>>(), [1, 2]);
        let qp = &qps[0];
        assert_eq!((qp.completed, qp.failed, qp.slowest_message), (3, 1, 3));
        assert_eq!((qp.mean_ns, qp.median_ns, qp.max_ns), (Nanos(5_333), Nanos(4_000), Nanos(10_000)));
        assert_eq!(qp.p99_ns, Nanos(10_000));
        // 3000 bytes in 16 µs.
        assert!((qp.goodput_bps - 1.5e9).abs() < 1.0, "{}", qp.goodput_bps);
    }

    #[test]
    fn nothing_completed_is_no_division_by_zero() {
        let qps = per_qp(Some(&[completion(1, 1, 5, 5, CompletionStatus::Flushed)]), None);
        assert_eq!((qps[0].completed, qps[0].failed), (0, 1));
        assert!(qps[0].goodput_bps == 0.0);
    }

    #[test]
    fn what_did_not_complete_is_outstanding() {
        let config =
            corpus::from_toml("t.toml", "[traffic]\nnum-connections = 2\nnum-msgs-per-qp = 3\n").unwrap();
        let log = [completion(2, 1, 0, 100, CompletionStatus::Success)];
        let outstanding = |completions: Option<&[Completion]>, config| {
            let qps = per_qp(completions, config);
            qps.iter().map(|qp| (qp.connection, qp.completed, qp.outstanding)).collect::<Vec<_>>()
        };
        assert_eq!(outstanding(Some(&log), Some(&config)), [(1, 0, 3), (2, 1, 2)]);
        assert_eq!(outstanding(Some(&log), None), [(2, 1, 0)]);
        assert_eq!(outstanding(Some(&[]), Some(&config)), [(1, 0, 3), (2, 0, 3)]);
        assert_eq!(outstanding(None, Some(&config)), []);
    }
}
