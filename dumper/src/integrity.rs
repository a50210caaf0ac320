//! The integrity check: is the trace complete? (Lumina (preprint) §3.6, conditions 1 to 4; Lumina §3.5)

use std::net::IpAddr;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::Nanos;
use crate::mirror::{MAX_SEQUENCE, steps_forward};
use crate::observation::SwitchCounters;
use crate::trace::{Origin, Trace};

/// Largest step back of the switch time between packets of different directions: the two ingress pipelines
/// stamp before they take a sequence number (the published tool's tolerance).
pub const TIME_STEP_BACK: Nanos = Nanos(50);

/// Outcome of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It does not: the trace is not complete.
    Fail,
    /// The capture cannot tell.
    Unknown,
}

/// One condition with its verdict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Condition {
    /// Short name.
    pub name: &'static str,
    /// Outcome.
    pub verdict: Verdict,
    /// The packet or the count that decided.
    pub detail: String,
}

/// The four conditions, in the order of Lumina (preprint) §3.6.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Integrity {
    /// Consecutive sequence numbers; increasing time; mirrored count; received count.
    pub conditions: [Condition; 4],
}

impl Integrity {
    /// Returns true if a condition failed: the trace is then not analyzed.
    pub fn is_invalid(&self) -> bool {
        self.conditions.iter().any(|condition| condition.verdict == Verdict::Fail)
    }

    /// Takes back the claim that no packet is missing, as a capture file is damaged.
    pub fn doubt(&mut self, why: &str) {
        let consecutive = &mut self.conditions[0];
        if consecutive.verdict == Verdict::Pass {
            consecutive.verdict = Verdict::Unknown;
            consecutive.detail = format!("{}, and {why}", consecutive.detail);
        }
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
    let faults = Faults::of(trace);
    Integrity {
        conditions: [
            consecutive(trace, &faults),
            increasing_time(trace, &faults),
            count("mirrored-count", switch.map(SwitchCounters::mirrored), "mirrored by the switch"),
            count("received-count", switch.map(SwitchCounters::received), "received by the switch"),
        ],
    }
}

/// The first places of a trace that break the first two conditions, found in one pass: a trace of millions of
/// packets is far larger than any cache.
#[derive(Default)]
struct Faults {
    /// Sequence numbers before and after the first one that is out of step.
    gap: Option<(u32, u32)>,
    /// First packet whose time steps back, the distance, and the packet that it is compared with.
    step_back: Option<(u32, Nanos, String)>,
}

impl Faults {
    fn of(trace: &Trace) -> Self {
        let mut faults = Self::default();
        let (sender_of_flow, senders) = number_senders(trace);
        let mut latest_of_sender = vec![Nanos::ZERO; senders.len()];
        let mut latest = Nanos::ZERO;
        let mut before: Option<u32> = None;
        for record in trace.records() {
            if let Some(before) = before.replace(record.sequence)
                && faults.gap.is_none()
                && steps_forward(before, record.sequence) != 1
            {
                faults.gap = Some((before, record.sequence));
            }
            let sender = sender_of_flow[record.flow.index()];
            let own_latest = &mut latest_of_sender[sender];
            let (among_own, overall) = (record.time < *own_latest, record.time + TIME_STEP_BACK < latest);
            if (among_own || overall) && faults.step_back.is_none() {
                let (back, whose) = if among_own {
                    (*own_latest - record.time, format!("among the packets of {}", senders[sender]))
                } else {
                    (latest - record.time, format!("overall, more than {TIME_STEP_BACK}"))
                };
                faults.step_back = Some((record.sequence, back, whose));
            }
            *own_latest = record.time;
            latest = latest.max(record.time);
        }
        faults
    }
}

fn consecutive(trace: &Trace, faults: &Faults) -> Condition {
    let condition = |verdict, detail| Condition { name: "consecutive", verdict, detail };
    let records = trace.records();
    let (Some(first), Some(last)) = (records.first(), records.last()) else {
        return condition(Verdict::Unknown, "no packets".into());
    };
    if trace.origin() == Origin::Plain {
        return condition(Verdict::Unknown, "no mirror sequence numbers in a plain capture".into());
    }
    match faults.gap {
        Some((before, after)) => {
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
fn increasing_time(trace: &Trace, faults: &Faults) -> Condition {
    let condition = |verdict, detail| Condition { name: "increasing-time", verdict, detail };
    let Some((first, last)) = trace.records().first().zip(trace.records().last()) else {
        return condition(Verdict::Unknown, "no packets".into());
    };
    match &faults.step_back {
        Some((packet, back, whose)) => {
            condition(Verdict::Fail, format!("time steps back {back} at packet {packet}, {whose}"))
        }
        None => condition(Verdict::Pass, format!("{} from first packet to last", last.time - first.time)),
    }
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
