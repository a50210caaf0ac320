//! The one pass over a trace: which packet goes to which machine, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dumper::Fate;
use dumper::{Event, Nanos, Record, Trace};

use crate::cnp::CnpAnalyzer;
use crate::connections::Pair;
use crate::events::EventLog;
use crate::gbn::{ConnectionTracker, Findings};
use crate::prompt::PromptAnswers;

/// Index of no tracker.
const NOBODY: u32 = u32::MAX;

/// Trackers that take the requests and the answers on a flow.
#[derive(Clone, Copy)]
struct Route {
    requests: u32,
    answers: u32,
}

/// The routes of all flows.
pub(crate) struct Routes(Vec<Route>);

impl Routes {
    /// None leads anywhere yet.
    pub(crate) fn new(trace: &Trace) -> Self {
        Self(vec![Route { requests: NOBODY, answers: NOBODY }; trace.flows().len()])
    }

    /// A connection's flows lead to a tracker.
    pub(crate) fn add(&mut self, pair: &Pair, tracker: u32) {
        self.0[pair.requests.index()].requests = tracker;
        if let Some(answers) = pair.answers {
            self.0[answers.index()].answers = tracker;
        }
    }

    #[inline]
    fn of(&self, record: &Record) -> Route {
        self.0[record.flow.index()]
    }

    #[inline]
    fn tracker<'a>(
        &self,
        record: &Record,
        trackers: &'a mut [ConnectionTracker],
    ) -> Option<&'a mut ConnectionTracker> {
        let route = self.of(record);
        let class = record.class();
        let at = if class.is_request() {
            route.requests
        } else if class.is_response() {
            route.answers
        } else {
            NOBODY
        };
        trackers.get_mut(at as usize)
    }
}

/// Feeds every packet to its connection's machines: once as it enters, once as it leaves, in the order of
/// these moments.
pub(crate) fn pass(
    trace: &Trace,
    routes: &Routes,
    trackers: &mut [ConnectionTracker],
    cnp: &mut CnpAnalyzer<'_>,
    prompt: &mut PromptAnswers<'_>,
    events: &mut EventLog,
    findings: &mut Findings<'_>,
) {
    // Packets that left later than they entered: departure time, and index among the records.
    let mut held: BinaryHeap<Reverse<(Nanos, usize)>> = BinaryHeap::new();
    let leave = |at: usize,
                 left,
                 trackers: &mut [ConnectionTracker],
                 cnp: &mut CnpAnalyzer<'_>,
                 findings: &mut Findings<'_>| {
        let record = &trace.records()[at];
        cnp.leaves(record, left);
        if let Some(tracker) = routes.tracker(record, trackers) {
            tracker.leaves(record, left, findings);
        }
    };
    for (at, record) in trace.records().iter().enumerate() {
        let fate = trace.fate(record);
        let copies = if let Fate::Delivered { copies, .. } = fate { copies } else { 1 };
        while let Some(Reverse((left, held_at))) =
            held.peek().copied().filter(|Reverse((left, _))| *left < record.time)
        {
            held.pop();
            leave(held_at, left, trackers, cnp, findings);
        }
        if routes.of(record).requests != NOBODY {
            findings.shared_path.request(record, copies);
        } else if routes.of(record).answers != NOBODY {
            findings.shared_path.answer(record, copies);
        }
        if record.event() != Event::None {
            events.add(record);
        }
        cnp.enters(record, fate, findings.anomalies);
        prompt.enters(record, fate);
        if let Some(tracker) = routes.tracker(record, trackers) {
            tracker.enters(record, fate, findings);
        }
        match fate {
            Fate::Delivered { left, copies } => {
                for _ in 0..copies {
                    if left <= record.time {
                        leave(at, left, trackers, cnp, findings);
                    } else {
                        held.push(Reverse((left, at)));
                    }
                }
            }
            // It left at an unknown time; its connection is not judged any more.
            Fate::Unknown => leave(at, record.time, trackers, cnp, findings),
            Fate::Lost => {}
        }
    }
    while let Some(Reverse((left, at))) = held.pop() {
        leave(at, left, trackers, cnp, findings);
    }
}
