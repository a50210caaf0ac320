//! Entries that are deleted while their connections use them (ScalaCN, table 1, S1 and S5).

use std::collections::BTreeMap;

use corpus::{Offload, TestConfig};
use dumper::observation::{ControlEvent, ControlRecord};
use dumper::{Completion, Nanos};

use crate::anomaly::{Anomaly, Evidence, Who};
use crate::rules::Rule;

/// Share of the time after which an entry is idle, in percent: one that had a message within it is in use. The rest is for the way of
/// the message, and for the time until the host looks.
const IN_USE_PERCENT: u64 = 90;

/// So many times as long as an entry may be idle, a connection is to be in use before it shows that its entry stays.
const SHOWS_AFTER_PERCENT: u64 = 250;

/// A deletion of the entry of a connection in use.
struct Deletion {
    connection: u32,
    at: Nanos,
    /// Time since its last message.
    idle: Nanos,
}

/// The anomaly of a host's log, if it shows one.
pub(super) fn judge(
    config: &TestConfig,
    offload: &Offload,
    records: &[ControlRecord],
    completions: &[Completion],
    who: Who,
) -> Option<Anomaly> {
    let may_idle = Nanos(u64::from(offload.max_idle_ms) * 1_000_000);
    let messages = messages_of(completions);
    let in_use = |record: &ControlRecord| {
        let connection = record.of.filter(|_| record.event == ControlEvent::EntryDeleted)?;
        // The host decided when it asked for the deletion.
        let decided = record.at_ns.0.checked_sub(record.took_ns.0)?.checked_sub(record.waited_ns.0)?;
        if config.stops(connection) {
            return None;
        }
        let times = messages.get(&connection)?;
        let idle = Nanos(decided - times.iter().rev().find(|time| time.0 <= decided)?.0);
        (idle.0 * 100 < may_idle.0 * IN_USE_PERCENT).then_some(Deletion {
            connection,
            at: record.at_ns,
            idle,
        })
    };
    let deletions: Vec<Deletion> = records.iter().filter_map(in_use).collect();
    let first = deletions.first()?;
    let lasting = messages.iter().filter(|(_, times)| {
        let span = times.last().map_or(0, |last| (*last - times[0]).0);
        let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]).0);
        span * 100 > may_idle.0 * SHOWS_AFTER_PERCENT && gaps.max().is_some_and(|gap| gap < may_idle.0)
    });
    let lasting: Vec<u32> = lasting.map(|(connection, _)| *connection).collect();
    let loses = |connection: &u32| deletions.iter().any(|one| one.connection == *connection);
    let all = !lasting.is_empty() && lasting.iter().all(loses);
    let mut losing: Vec<u32> = deletions.iter().map(|one| one.connection).collect();
    losing.sort_unstable();
    losing.dedup();
    let rule = if all { Rule::EntriesInUseDeleted } else { Rule::EntryInUseDeleted };
    let what = format!(
        "deletes {} of {} in use, the first {} after a message, where they may be idle for {}",
        corpus::plural(deletions.len() as u64, "entry").replace("entrys", "entries"),
        corpus::plural(losing.len() as u64, "connection"),
        first.idle,
        may_idle
    );
    let mut evidence = Evidence::default()
        .with_number("deletions", deletions.len() as u64)
        .with_number("flows", offload.flows.into())
        .with_time("first-deletion", first.at)
        .with_time("idle", first.idle)
        .with_time("may-idle", may_idle);
    evidence.connections.insert("losing", losing);
    Some(Anomaly { rule, who, state: "".into(), what, evidence })
}

/// Times at which messages of each connection were posted or completed, in order.
fn messages_of(completions: &[Completion]) -> BTreeMap<u32, Vec<Nanos>> {
    let mut times: BTreeMap<u32, Vec<Nanos>> = BTreeMap::new();
    for one in completions {
        times.entry(one.connection).or_default().extend([one.posted_ns, one.completed_ns]);
    }
    times.values_mut().for_each(|times| times.sort_unstable());
    times
}
