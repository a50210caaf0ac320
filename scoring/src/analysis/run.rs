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

/// A packet that left later than it entered: departure time, index among the records, and which of its copies.
type Leaving = Reverse<(Nanos, usize, u8)>;
type Held = BinaryHeap<Leaving>;

/// Returns true if another held packet of the flow leaves in the same moment as this one, and an event has brought one of them
/// there out of order, so that the trace does not show which was first.
fn ties(trace: &Trace, held: &Held, (left, at): (Nanos, usize)) -> bool {
    if held.peek().is_none_or(|Reverse((next, ..))| *next != left) {
        return false;
    }
    let record = &trace.records()[at];
    held.iter().filter(|Reverse((other, ..))| *other == left).any(|Reverse((_, other, _))| {
        let other = &trace.records()[*other];
        let is_other = other.sequence != record.sequence && other.flow == record.flow;
        is_other && (overtakes(record.event()) || overtakes(other.event()))
    })
}

/// The last moment in which packets of a flow entered.
#[derive(Clone, Copy, Default)]
struct Moment {
    time: Option<Nanos>,
    /// A reordered one of them left in that moment.
    overtook: bool,
}

impl Moment {
    /// A packet of the flow enters; returns true if one of its flow may have left before it or after it, for all that the trace
    /// shows: in a moment in which several enter, a reordered one leaves. `leaves` says if one that is held leaves now.
    fn enters(&mut self, record: &Record, fate: Fate, leaves: impl FnOnce() -> bool) -> bool {
        let again = self.time.replace(record.time) == Some(record.time);
        let unknown = again && (self.overtook || leaves());
        let left_at_once = matches!(fate, Fate::Delivered { left, .. } if left == record.time);
        self.overtook = again && self.overtook || left_at_once && overtakes(record.event());
        unknown
    }
}

/// Runs every analyzer: on each packet as it enters the switch and as it leaves, in the order of these moments, and when
/// the trace has ended.
pub(super) fn run(mut judging: Judging<'_>) -> Analysis {
    let enters: Vec<_> = ANALYZERS.iter().filter_map(|entry| entry.enters).collect();
    let leaves: Vec<_> = ANALYZERS.iter().filter_map(|entry| entry.leaves).collect();
    let trace = &judging.observation.trace;
    let leave = |judging: &mut Judging<'_>, at: usize, left: Nanos, copy: u8| {
        for leaves in &leaves {
            leaves(judging, &trace.records()[at], left, copy);
        }
    };
    let mut held = Held::new();
    let mut moments = vec![Moment::default(); trace.flows().len()];
    for (at, record) in trace.records().iter().enumerate() {
        let fate = trace.fate(record);
        while let Some(Reverse((left, held_at, copy))) =
            held.peek().copied().filter(|Reverse((left, ..))| *left < record.time)
        {
            held.pop();
            if ties(trace, &held, (left, held_at)) {
                judging.give_up(&trace.records()[held_at]);
            }
            leave(&mut judging, held_at, left, copy);
        }
        let leaves_now = |Reverse((left, held_at, _)): &Leaving| {
            let held = &trace.records()[*held_at];
            *left == record.time && held.flow == record.flow && overtakes(held.event())
        };
        // The first one that is held is the first to leave.
        let leaves = || {
            held.peek().is_some_and(|Reverse((left, ..))| *left == record.time) && held.iter().any(leaves_now)
        };
        if moments[record.flow.index()].enters(record, fate, leaves) {
            judging.give_up(record);
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
                for copy in 0..copies {
                    if left <= record.time {
                        leave(&mut judging, at, left, copy);
                    } else {
                        held.push(Reverse((left, at, copy)));
                    }
                }
            }
            // It left at an unknown time; its connection is not judged any more.
            Fate::Unknown => leave(&mut judging, at, record.time, 0),
            Fate::Lost => {}
        }
    }
    while let Some(Reverse((left, at, copy))) = held.pop() {
        if ties(trace, &held, (left, at)) {
            judging.give_up(&trace.records()[at]);
        }
        leave(&mut judging, at, left, copy);
    }
    for entry in ANALYZERS {
        (entry.ends)(&mut judging);
    }
    judging.conclude()
}
