//! The `expect` lines of a script.

use std::collections::BTreeMap;

use corpus::TestConfig;
use dumper::observation::CompletionStatus;
use dumper::script::{Anomalies, Delivered, Expected, Found, FoundAnomaly, Host, Messages, STATUSES, Script};
use dumper::{HostCounters, Observation};

use super::mismatch::Mismatch;

/// Most things that are listed in one message.
const MAX_LISTED: usize = 5;

/// The expectations that do not hold.
pub(super) fn expectations(
    script: &Script,
    config: &TestConfig,
    observation: &Observation,
    found: &Found,
) -> Vec<Mismatch> {
    let broken = script.expectations.iter().filter_map(|expectation| {
        let seen = match &expectation.expected {
            Expected::Anomaly(expected) => anomaly(expected, &found.anomalies),
            Expected::Counter { host, name, moved } => counter(counters(observation, *host), name, *moved),
            Expected::Completion { qp, messages, status } => {
                completions(*qp, *messages, *status, config, observation)
            }
            Expected::Delivered(expected) => delivered(expected, config, observation),
            Expected::Packets(expected) => {
                let packets = observation.trace.records().len() as u64;
                (packets != *expected).then(|| format!("the trace has {packets}"))
            }
            Expected::TimeOuts { cause, number } => time_outs(cause, *number, &found.timeouts),
        }?;
        Some(Mismatch {
            file: script.file.clone(),
            at: expectation.at,
            what: format!("expected {}: {seen}", expectation.expected),
            expected: None,
            seen: None,
            trace: Vec::new(),
        })
    });
    broken.collect()
}

/// The first items, and how many more there are.
fn listed(items: impl IntoIterator<Item = String>) -> String {
    let mut items: Vec<String> = items.into_iter().collect();
    let more = items.len().saturating_sub(MAX_LISTED);
    items.truncate(MAX_LISTED);
    if more > 0 {
        items.push(format!("and {more} more"));
    }
    items.join(", ")
}

fn anomaly(expected: &Anomalies, found: &[FoundAnomaly]) -> Option<String> {
    let list = || listed(found.iter().map(|found| format!("{} {} ({})", found.kind, found.rule, found.text)));
    match expected {
        Anomalies::No if found.is_empty() => None,
        Anomalies::No => Some(format!("found {}", list())),
        Anomalies::Some { kind, rule } => {
            let is =
                |one: &FoundAnomaly| one.kind == *kind && rule.as_ref().is_none_or(|rule| one.rule == *rule);
            match found {
                _ if found.iter().any(is) => None,
                [] => Some("found none".to_owned()),
                _ => Some(format!("found {}", list())),
            }
        }
    }
}

fn time_outs(cause: &str, expected: u64, found: &[String]) -> Option<String> {
    let of_this = found.iter().filter(|one| *one == cause).count() as u64;
    let others = || match found {
        [] => "there was no time-out".to_owned(),
        _ => format!("the causes are {}", listed(found.iter().cloned())),
    };
    (of_this != expected).then(others)
}

const fn counters(observation: &Observation, host: Host) -> Option<&HostCounters> {
    match host {
        Host::Requester => observation.requester.as_ref(),
        Host::Responder => observation.responder.as_ref(),
    }
}

fn counter(counters: Option<&HostCounters>, name: &str, expected: u64) -> Option<String> {
    let Some(counters) = counters else { return Some("the host's counters were not read".to_owned()) };
    match counters.moved(name) {
        Some(moved) if moved == expected => None,
        Some(moved) => Some(format!("it moved by {moved}")),
        None => {
            let near = dumper::script::nearest(name, counters.names());
            let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            Some(format!("the host has no such counter{hint}"))
        }
    }
}

fn status_name(status: CompletionStatus) -> &'static str {
    STATUSES.iter().find(|(_, known)| *known == status).map_or("", |(name, _)| *name)
}

/// Mismatch of the completions of the named messages: none of the messages may be without one.
fn completions(
    qp: Option<u32>,
    messages: Option<Messages>,
    expected: CompletionStatus,
    config: &TestConfig,
    observation: &Observation,
) -> Option<String> {
    if observation.completions.is_none() {
        return Some("no completions were reported".to_owned());
    }
    let connections = match qp {
        Some(qp) => qp..=qp,
        None => 1..=config.traffic.load.connections(),
    };
    let Messages { first, last } =
        messages.unwrap_or(Messages { first: 1, last: config.traffic.num_msgs_per_qp });
    let ends: BTreeMap<(u32, u32), _> =
        observation.completions().iter().map(|one| ((one.connection, one.message), one.status)).collect();
    let mut broken = Vec::new();
    let mut more = 0;
    for (qp, message) in connections.flat_map(|qp| (first..=last).map(move |message| (qp, message))) {
        let seen = match ends.get(&(qp, message)) {
            Some(status) if *status == expected => None,
            Some(status) => Some(status_name(*status)),
            None => Some("not completed"),
        };
        match seen {
            None => {}
            Some(_) if broken.len() >= MAX_LISTED => more += 1,
            Some(seen) => broken.push(format!("qp {qp} message {message} {seen}")),
        }
    }
    if more > 0 {
        broken.push(format!("and {more} more"));
    }
    (!broken.is_empty()).then(|| broken.join(", "))
}

/// Messages of a test, and those that arrived exactly once and intact. A message without bytes leaves nothing in
/// memory, and arrived when nothing else is said of it.
pub(super) fn arrivals(config: &TestConfig, observation: &Observation) -> (u64, u64) {
    let size = u64::from(config.traffic.message_size);
    let all = u64::from(config.traffic.load.connections()) * u64::from(config.traffic.num_msgs_per_qp);
    let whole = observation.deliveries().iter().filter(|one| one.bytes == size && one.intact).count() as u64;
    let silent = if size == 0 { all.saturating_sub(observation.deliveries().len() as u64) } else { 0 };
    (whole + silent, all)
}

fn delivered(expected: &Delivered, config: &TestConfig, observation: &Observation) -> Option<String> {
    let (arrived, all) = arrivals(config, observation);
    let wanted = match expected {
        Delivered::All => all,
        Delivered::Some { arrived, .. } => *arrived,
    };
    if arrived == wanted {
        return None;
    }
    let size = u64::from(config.traffic.message_size);
    let odd = observation.deliveries().iter().filter(|one| one.bytes != size || !one.intact);
    let odd = listed(odd.map(|one| {
        let state = if one.intact { "intact" } else { "damaged" };
        format!("qp {} message {} {} bytes {state}", one.connection, one.message, one.bytes)
    }));
    let odd = if odd.is_empty() { odd } else { format!("; others: {odd}") };
    Some(format!("{arrived} of {all} arrived exactly once and intact{odd}"))
}
