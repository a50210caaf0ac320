//! The loop that runs every analyzer over a trace.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dumper::Fate;
use dumper::{ActionKind, Event, Nanos, Record, Trace};

use super::Analysis;
use super::judging::Judging;
use super::list::ANALYZERS;

/// Returns true if the injector lets a packet with this event go right behind a packet that enters.
const fn overtakes(event: Event) -> bool {
    matches!(event, Event::Action(ActionKind::Reorder) | Event::Several)
}

/// Packets of the same flow that have entered at the same time. A reordered packet that leaves then may have left before this
/// one or after it: the trace does not show their order.
fn at_the_same_time(trace: &Trace, at: usize) -> impl Iterator<Item = &Record> {
    let records = trace.records();
    let now = records[..at].iter().rev().take_while(move |before| before.time == records[at].time);
    now.filter(move |before| before.flow == records[at].flow)
}

/// Runs every analyzer: on each packet as it enters the switch and as it leaves, in the order of these moments, and when
/// the trace has ended.
pub(super) fn run(mut judging: Judging<'_>) -> Analysis {
    let enters: Vec<_> = ANALYZERS.iter().filter_map(|entry| entry.enters).collect();
    let leaves: Vec<_> = ANALYZERS.iter().filter_map(|entry| entry.leaves).collect();
    let trace = &judging.observation.trace;
    let leave = |judging: &mut Judging<'_>, at: usize, left: Nanos| {
        for leaves in &leaves {
            leaves(judging, &trace.records()[at], left);
        }
    };
    // Packets that left later than they entered: departure time, and index among the records.
    let mut held: BinaryHeap<Reverse<(Nanos, usize)>> = BinaryHeap::new();
    for (at, record) in trace.records().iter().enumerate() {
        let fate = trace.fate(record);
        while let Some(Reverse((left, held_at))) =
            held.peek().copied().filter(|Reverse((left, _))| *left < record.time)
        {
            held.pop();
            leave(&mut judging, held_at, left);
        }
        if at > 0 && record.time == trace.records()[at - 1].time {
            let leaves_now = |Reverse((left, held_at)): &Reverse<(Nanos, usize)>| {
                let held = &trace.records()[*held_at];
                *left == record.time && held.flow == record.flow && overtakes(held.event())
            };
            let mut others = at_the_same_time(trace, at);
            let unknown = if held.iter().any(leaves_now) {
                others.next().is_some()
            } else {
                others.any(|other| {
                    let now =
                        matches!(trace.fate(other), Fate::Delivered { left, .. } if left == record.time);
                    now && overtakes(other.event())
                })
            };
            if unknown {
                judging.give_up(record);
            }
        }
        if record.event() != Event::None {
            judging.events.add(record);
        }
        judging.prompt.enters(record, fate);
        for enters in &enters {
            enters(&mut judging, at, record, fate);
        }
        match fate {
            Fate::Delivered { left, copies } => {
                for _ in 0..copies {
                    if left <= record.time {
                        leave(&mut judging, at, left);
                    } else {
                        held.push(Reverse((left, at)));
                    }
                }
            }
            // It left at an unknown time; its connection is not judged any more.
            Fate::Unknown => leave(&mut judging, at, record.time),
            Fate::Lost => {}
        }
    }
    while let Some(Reverse((left, at))) = held.pop() {
        leave(&mut judging, at, left);
    }
    for entry in ANALYZERS {
        (entry.ends)(&mut judging);
    }
    judging.conclude()
}
