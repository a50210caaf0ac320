//! The numbers behind a finding: tests of our own on its NICs and parameters bring them to light.

use corpus::config::fields;
use corpus::{Action, FindingRecord, Role, TestConfig, TrafficClass, Verb};
use dumper::timers::ack_timeout;
use executor::Testbed;
use scoring::{Anomaly, Kind, Rule};
use serde::{Deserialize, Serialize};

use super::probe::Probe;
use super::reordering::{self, Limits};
use super::{Phase, Value, digits, setups, threshold};
use crate::judge::{JudgeError, Judged};

/// A number behind a finding.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Name of the measured quantity.
    pub what: String,
    /// Measured value.
    pub value: Value,
    /// Its unit; empty for counts, ratios and words.
    pub unit: String,
    /// The same in multiples of T = 4.096 µs x 2^timeout, where the timeout configures it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub in_t: Option<Value>,
}

impl Measured {
    fn new(what: impl Into<String>, value: Value, unit: &str) -> Self {
        Self { what: what.into(), value, unit: unit.into(), in_t: None }
    }
}

/// Everything that was measured for a finding.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measurements {
    /// The numbers.
    pub measured: Vec<Measured>,
    /// Tests that were run for them, references included. They are executions neither of the campaign nor of
    /// the minimiser.
    pub executions: u64,
}

/// Packets of the messages that lose one each: the last packets of a message are among few as among many.
const LOSS_PACKETS: u32 = 20;
/// Messages of 1 MB that show an interval of CNPs; where they are over before a second CNP, so many.
const INTERVAL_MESSAGES: [u32; 2] = [10, 100];
/// Short messages of each QP that show its scope, at least and at most, and for each µs of the interval: a
/// message takes some 2 µs, and several intervals have to pass.
const SCOPE_MESSAGES: (u32, u32) = (500, 10_000);
const SCOPE_MESSAGES_PER_US: f64 = 5.0;
/// Weights, in percent, of the class whose ceiling is looked for, and the part of the link that a class fills which its ceiling
/// does not hold.
const CLASS_WEIGHTS: [u8; 4] = [50, 20, 5, 1];
const FILLS_THE_LINK: f64 = 0.95;

/// Measures the numbers behind the anomaly of a finding's reproducer. The same finding, NICs and parameters
/// give the same numbers.
///
/// # Errors
/// The testbed fails.
pub fn measure(
    finding: &FindingRecord,
    judged: &Judged,
    testbed: &mut dyn Testbed,
) -> Result<Measurements, JudgeError> {
    let Some(anomaly) = judged.anomaly(&finding.signature) else { return Ok(Measurements::default()) };
    let mut probe = Probe::new(&finding.reproducer, testbed);
    let measured = match anomaly.kind() {
        Kind::CnpGeneration => cnps(anomaly, &mut probe)?,
        _ if anomaly.rule == Rule::RnrWaitShort => rnr_wait(anomaly),
        Kind::UnexpectedTimeout => timers(anomaly, &mut probe)?,
        Kind::RetryCount => retries(anomaly, &mut probe)?,
        Kind::SlowRetransmission => phase(anomaly, &mut probe)?,
        Kind::NonWorkConserving => ceiling(anomaly, &mut probe)?,
        Kind::NoisyNeighbor => {
            let connections = Value::count(threshold::guilty(&mut probe)?.into());
            vec![Measured::new(
                "smallest number of connections with events that stalls others",
                connections,
                "",
            )]
        }
        Kind::InteropDiscard => {
            let connections = Value::count(threshold::connections(&mut probe)?.into());
            vec![Measured::new("connections from which packets are discarded", connections, "")]
        }
        Kind::CounterMismatch => counters(anomaly),
        Kind::ReorderCollapse => reorder(anomaly, finding, &mut probe)?,
        _ => Vec::new(),
    };
    Ok(Measurements { measured, executions: probe.executions })
}

/// Reordering that the NIC takes.
fn reorder(
    anomaly: &Anomaly,
    finding: &FindingRecord,
    probe: &mut Probe<'_>,
) -> Result<Vec<Measured>, JudgeError> {
    let sprayed = finding.over_paths();
    // What a NIC takes depends on the test: one over paths may come through a longer delay than a single packet of the reproducer.
    let is_other = sprayed.is_some_and(|sprayed| *sprayed != finding.reproducer);
    let (own, other) =
        if is_other { (", in the reproducer", ", in the test of paths.toml") } else { Default::default() };
    let limits = match sprayed {
        Some(sprayed) => reordering::limits(sprayed, probe)?,
        None => Limits::default(),
    };
    let count =
        |what: &str, of, value: u64| Measured::new(format!("{what}{of}"), Value::count(value), "packets");
    let micros =
        |what: &str, of, ns: u64| Measured::new(format!("{what}{of}"), Value::Number(ns as f64 / 1e3), "µs");
    let delays = finding.reproducer.events.iter().filter_map(|event| match event.action {
        Action::Delay { ns } => Some(ns),
        _ => None,
    });
    Ok([
        reordering::extent_of(anomaly)
            .map(|extent| count("extent of reordering at which it collapses", own, extent)),
        delays.max().map(|ns| micros("longest delay of a packet at which it collapses", own, ns)),
        limits.extent.map(|extent| count("largest extent of reordering that it takes", other, extent)),
        limits.delay_ns.map(|ns| micros("largest delay of the slowest path that it takes", other, ns)),
        limits.connections.map(|number| {
            let what =
                format!("fewest connections that were seen to collapse with the finding's delay{other}");
            Measured::new(what, Value::count(number.into()), "")
        }),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// Scope and interval of CNPs.
fn cnps(anomaly: &Anomaly, probe: &mut Probe<'_>) -> Result<Vec<Measured>, JudgeError> {
    let host = probe.host(anomaly);
    // Who receives data answers marks.
    let verb = if host == Role::Requester { Verb::Read } else { Verb::Write };
    let mut measured = Vec::new();
    let mut interval = None;
    for messages in INTERVAL_MESSAGES {
        let run = probe.run(setups::interval(verb, messages))?;
        interval = run.and_then(|run| run.seen().shortest_cnp_gap());
        if let Some(interval) = interval {
            measured.push(Measured::new("shortest interval of CNPs to a QP", Value::Number(interval), "µs"));
            break;
        }
    }
    let Some(interval) = interval else { return Ok(measured) };
    let messages = (interval * SCOPE_MESSAGES_PER_US) as u32;
    let messages = messages.clamp(SCOPE_MESSAGES.0, SCOPE_MESSAGES.1);
    let run = probe.run(setups::scope(verb, messages))?;
    let scope = run.and_then(|run| run.seen().cnp_scope(host));
    measured.extend(scope.map(|scope| Measured::new("scope of the interval", scope, "")));
    Ok(measured)
}

/// Waits of the ACK timer and number of retries, message by message: those before it are lost as often as
/// retries are configured and recover, then it is lost until the QP fails (Lumina (preprint) §6.3).
fn timers(anomaly: &Anomaly, probe: &mut Probe<'_>) -> Result<Vec<Measured>, JudgeError> {
    let verb = probe.verb(anomaly);
    let timeout = probe.of.traffic.min_retransmit_timeout;
    // Without any retries a timer shows no schedule.
    let retries = match probe.of.traffic.max_retransmit_retry {
        0 => fields::MAX_RETRANSMIT_RETRY.default as u8,
        configured => configured,
    };
    let mut counts = Vec::new();
    let mut waits: Vec<(u32, u32, Vec<f64>)> = Vec::new();
    for message in 1..=setups::TAILS {
        let before = (1..message).map(|_| u32::from(retries));
        let mut config = setups::tails(verb, before.chain([setups::FATAL_LOSSES]));
        config.traffic.min_retransmit_timeout = timeout;
        config.traffic.max_retransmit_retry = retries;
        let seen = probe.run(config)?.map(|run| run.seen().waits()).unwrap_or_default();
        // Each of the messages gets stuck once; else one before it failed, which was measured then.
        let Some(last) = seen.get(message as usize - 1) else { break };
        counts.push(last.len() as u64);
        match waits.last_mut().filter(|(_, _, known)| same(known, last)) {
            Some((_, to, _)) => *to = message,
            None => waits.push((message, message, last.clone())),
        }
    }
    let t = ack_timeout(timeout).map(dumper::Nanos::as_secs_f64);
    let mut measured: Vec<Measured> = waits
        .into_iter()
        .map(|(from, to, waits)| {
            let in_t = t.map(|t| Value::Numbers(waits.iter().map(|wait| wait / t).collect()));
            let ns = Value::Numbers(waits.iter().map(|wait| (wait * 1e9).round()).collect());
            Measured {
                in_t,
                ..Measured::new(format!("waits of the ACK timer, {}", range(from, to)), ns, "ns")
            }
        })
        .collect();
    if !counts.is_empty() {
        let what = format!("retries where {retries} are configured, {}", range(1, counts.len() as u32));
        measured.push(Measured::new(what, Value::counts(counts), ""));
    }
    Ok(measured)
}

/// Returns true if two schedules are the same to three digits.
fn same(one: &[f64], other: &[f64]) -> bool {
    one.iter().copied().map(digits).eq(other.iter().copied().map(digits))
}

fn range(from: u32, to: u32) -> String {
    if from == to { format!("message {from}") } else { format!("messages {from} to {to}") }
}

/// Latency of the phase that is slow, over losses of each packet of a message.
fn phase(anomaly: &Anomaly, probe: &mut Probe<'_>) -> Result<Vec<Measured>, JudgeError> {
    let verb = probe.verb(anomaly);
    let (what, of): (_, fn(&Phase) -> f64) = if anomaly.state.starts_with("generation") {
        ("NACK generation", |phase| phase.generation_us)
    } else {
        ("NACK reaction", |phase| phase.reaction_us)
    };
    // A responder's NACK of Reads is the NAK of a lost request, not of a lost response.
    let setup = match (anomaly.who.role, anomaly.state.as_ref()) {
        (scoring::Role::Responder, "generation-read") => setups::lost_requests(),
        _ => setups::losses(verb, LOSS_PACKETS),
    };
    let run = probe.run(setup)?;
    let seen = run.map(|run| run.seen().phases()).unwrap_or_default();
    let mut times: Vec<f64> = seen.iter().map(of).collect();
    times.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (times.first(), times.last()) else { return Ok(Vec::new()) };
    let rows = [("smallest", *least), ("median", times[times.len() / 2]), ("largest", *most)];
    let row = |(which, time)| {
        Measured::new(format!("{what}, {which} of {} losses", times.len()), Value::Number(time), "µs")
    };
    Ok(rows.map(row).into())
}

/// Bandwidth of a class while its peer has nothing to send. A class of a large weight may fill the link below its ceiling, so
/// that smaller ones are tried then.
fn ceiling(anomaly: &Anomaly, probe: &mut Probe<'_>) -> Result<Vec<Measured>, JudgeError> {
    let verb = if probe.host(anomaly) == Role::Requester { Verb::Write } else { Verb::Read };
    let mut goodput = |config: TestConfig| {
        let run = probe.run(config)?;
        Ok::<_, JudgeError>(run.and_then(|run| run.seen().goodputs().first().copied()))
    };
    let alone = setups::bulk(verb, 1, "");
    let Some(free) = goodput(alone.clone())? else { return Ok(Vec::new()) };
    let mut measured = Vec::new();
    for weight in CLASS_WEIGHTS {
        let config = setups::in_classes(alone.clone(), &TrafficClass::Same(0), &[weight, 100 - weight]);
        let Some(shared) = goodput(config)? else { break };
        let percent = shared / free * 10_000.0 / f64::from(weight);
        let class = format!("goodput in a class of weight {weight} of 100, the other idle");
        measured = vec![
            Measured::new("goodput of one QP without classes", Value::Number(free), "Gb/s"),
            Measured::new(class, Value::Number(shared), "Gb/s"),
            Measured::new("the same, of the share that its weight guarantees", Value::Number(percent), "%"),
        ];
        if shared < free * FILLS_THE_LINK {
            break;
        }
    }
    Ok(measured)
}

/// Retries and waits of time-outs; of retries after RNR NAKs those of the reproducer.
fn retries(anomaly: &Anomaly, probe: &mut Probe<'_>) -> Result<Vec<Measured>, JudgeError> {
    let number = |name| anomaly.evidence.numbers.get(name).copied();
    if let (Some(configured), Some(retries)) = (number("rnr-retry"), number("retries")) {
        let what = format!("RNR retries where {configured} are configured");
        return Ok(vec![Measured::new(what, Value::count(retries), "")]);
    }
    timers(anomaly, probe)
}

/// Part of the wait that an RNR NAK requires.
fn rnr_wait(anomaly: &Anomaly) -> Vec<Measured> {
    let time = |name| anomaly.evidence.times_ns.get(name).map(|time| time.as_secs_f64());
    let (Some(waited), Some(required)) = (time("waited"), time("required")) else { return Vec::new() };
    vec![
        Measured::new("wait that the RNR NAK requires", Value::Number(required * 1e6), "µs"),
        Measured::new("wait after the RNR NAK", Value::Number(waited * 1e6), "µs"),
        Measured::new("the same, of the required wait", Value::Number(waited / required * 100.0), "%"),
    ]
}

/// Increase of the counters for each time that they should have increased.
fn counters(anomaly: &Anomaly) -> Vec<Measured> {
    let rows = anomaly.evidence.counters.iter().map(|counter| match counter.expected {
        0 => Measured::new(format!("{} without cause", counter.name), Value::count(counter.moved), ""),
        expected => Measured::new(
            format!("{} for each time in the trace", counter.name),
            Value::Number(counter.moved as f64 / expected as f64),
            "",
        ),
    });
    rows.collect()
}

/// The numbers as lines of a report: name, and value with unit.
pub fn lines(measured: &[Measured]) -> impl Iterator<Item = (&str, String)> {
    measured.iter().map(|one| {
        let value = one.value.with_unit(&one.unit);
        let in_t = one.in_t.as_ref().map(|in_t| format!(" ({in_t} T)")).unwrap_or_default();
        (one.what.as_str(), value + &in_t)
    })
}
