//! The integrity check: is the trace complete? (000 §3.6, conditions 1 to 4; 001 §3.5)

use std::net::IpAddr;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::Nanos;
use crate::mirror::{MAX_SEQUENCE, steps_forward};
use crate::observation::SwitchCounters;
use crate::trace::{Origin, Trace};

/// How far switch time may step back between packets of different directions: the two ingress pipelines
/// stamp before they take a sequence number (the published tool's tolerance).
pub const TIME_STEP_BACK: Nanos = Nanos(50);

/// Whether a condition holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It does not: the trace is not complete.
    Fail,
    /// What was captured cannot tell.
    Unknown,
}

/// One condition with its verdict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Condition {
    /// Short name.
    pub name: &'static str,
    /// Whether it holds.
    pub verdict: Verdict,
    /// The packet or the count that decided.
    pub detail: String,
}

/// The four conditions, in the order of 000 §3.6.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Integrity {
    /// Consecutive sequence numbers; increasing time; mirrored count; received count.
    pub conditions: [Condition; 4],
}

impl Integrity {
    /// Whether a condition failed, so that no analysis of the trace means anything.
    pub fn is_invalid(&self) -> bool {
        self.conditions.iter().any(|condition| condition.verdict == Verdict::Fail)
    }

    /// Whether every packet between the first and the last is there.
    pub fn is_gapless(&self) -> bool {
        self.conditions[0].verdict == Verdict::Pass
    }
}

/// Checks the four conditions.
pub fn check(trace: &Trace, switch: Option<&SwitchCounters>) -> Integrity {
    let packets = trace.records().len() as u64;
    let count = |name, counted: Option<u64>, what: &str| {
        let (verdict, detail) = match counted {
            None => (Verdict::Unknown, "no switch counters".to_owned()),
            Some(n) if n == packets => (Verdict::Pass, format!("{packets} packets {what} and in the trace")),
            Some(n) => (Verdict::Fail, format!("{n} packets {what}, {packets} in the trace")),
        };
        Condition { name, verdict, detail }
    };
    Integrity {
        conditions: [
            consecutive(trace),
            increasing_time(trace),
            count("mirrored-count", switch.map(SwitchCounters::mirrored), "mirrored by the switch"),
            count("received-count", switch.map(SwitchCounters::received), "received by the switch"),
        ],
    }
}

fn consecutive(trace: &Trace) -> Condition {
    let condition = |verdict, detail| Condition { name: "consecutive", verdict, detail };
    let records = trace.records();
    let (Some(first), Some(last)) = (records.first(), records.last()) else {
        return condition(Verdict::Unknown, "no packets".into());
    };
    if trace.origin() == Origin::Plain {
        return condition(Verdict::Unknown, "no mirror sequence numbers in a plain capture".into());
    }
    let broken = records.windows(2).find(|pair| steps_forward(pair[0].sequence, pair[1].sequence) != 1);
    match broken {
        Some(pair) => {
            let (before, after) = (pair[0].sequence, pair[1].sequence);
            let detail = match steps_forward(before, after) {
                0 => format!("packet {after} is there twice"),
                2 => format!("packet {} is missing", next_sequence(before)),
                gap => format!("{} packets are missing after packet {before}", gap - 1),
            };
            condition(Verdict::Fail, detail)
        }
        None => condition(Verdict::Pass, format!("packets {} to {}", first.sequence, last.sequence)),
    }
}

const fn next_sequence(sequence: u32) -> u32 {
    if sequence == MAX_SEQUENCE { 1 } else { sequence + 1 }
}

/// Time may step back a little overall, and not at all among the packets of one sender.
fn increasing_time(trace: &Trace) -> Condition {
    let condition = |verdict, detail| Condition { name: "increasing-time", verdict, detail };
    let Some((first, last)) = trace.records().first().zip(trace.records().last()) else {
        return condition(Verdict::Unknown, "no packets".into());
    };
    let (sender_of_flow, senders) = number_senders(trace);
    let mut latest_of_sender = vec![Nanos::ZERO; senders.len()];
    let mut latest = Nanos::ZERO;
    for record in trace.records() {
        let sender = sender_of_flow[record.flow.index()];
        let own_latest = &mut latest_of_sender[sender];
        if record.time < *own_latest || record.time + TIME_STEP_BACK < latest {
            let (whose, back) = if record.time < *own_latest {
                (format!("among the packets of {}", senders[sender]), *own_latest - record.time)
            } else {
                (format!("overall, more than {TIME_STEP_BACK}"), latest - record.time)
            };
            let detail = format!("time steps back {back} at packet {}, {whose}", record.sequence);
            return condition(Verdict::Fail, detail);
        }
        *own_latest = record.time;
        latest = latest.max(record.time);
    }
    condition(Verdict::Pass, format!("{} from first packet to last", last.time - first.time))
}

/// Numbers the source addresses: the number of each flow's, and the addresses.
fn number_senders(trace: &Trace) -> (Vec<usize>, Vec<IpAddr>) {
    let mut numbers: FxHashMap<IpAddr, usize> = FxHashMap::default();
    let mut senders = Vec::new();
    let of_flow = trace.flows().iter().map(|flow| {
        *numbers.entry(flow.source).or_insert_with(|| {
            senders.push(flow.source);
            senders.len() - 1
        })
    });
    (of_flow.collect(), senders)
}
