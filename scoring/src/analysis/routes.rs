//! Trackers that take the packets of each flow.

use dumper::wire::Class;
use dumper::{Record, Trace};

use crate::go_back_n::ConnectionTracker;
use crate::see::connections::Pair;

/// Index of no tracker.
const NOBODY: u32 = u32::MAX;

/// Trackers that take the requests and the answers on a flow.
#[derive(Clone, Copy)]
struct Route {
    requests: u32,
    answers: u32,
}

/// Packets of a flow: those of a requester, of a responder, or of a connection that is not judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sender {
    Requester,
    Responder,
    Unknown,
}

/// The routes of all flows.
pub(super) struct Routes(Vec<Route>);

impl Routes {
    /// None leads anywhere yet.
    pub(super) fn new(trace: &Trace) -> Self {
        Self(vec![Route { requests: NOBODY, answers: NOBODY }; trace.flows().len()])
    }

    /// A connection's flows lead to a tracker.
    pub(super) fn add(&mut self, pair: &Pair, tracker: u32) {
        self.0[pair.requests.index()].requests = tracker;
        if let Some(answers) = pair.answers {
            self.0[answers.index()].answers = tracker;
        }
    }

    /// The end of its connection that sends the packets of a flow.
    #[inline]
    pub(super) fn sender(&self, record: &Record) -> Sender {
        match self.0[record.flow.index()] {
            Route { requests: NOBODY, answers: NOBODY } => Sender::Unknown,
            Route { requests: NOBODY, .. } => Sender::Responder,
            Route { .. } => Sender::Requester,
        }
    }

    /// Place of the tracker of a packet's connection.
    #[inline]
    pub(super) fn place(&self, record: &Record) -> usize {
        let route = self.0[record.flow.index()];
        let class = record.class();
        let at = if class.is_request() {
            route.requests
        } else if class.is_response() {
            route.answers
        } else {
            NOBODY
        };
        at as usize
    }

    #[inline]
    pub(super) fn tracker<'t>(
        &self,
        record: &Record,
        trackers: &'t mut [ConnectionTracker],
    ) -> Option<&'t mut ConnectionTracker> {
        trackers.get_mut(self.place(record))
    }

    /// The tracker of the connection whose requester a CNP is for.
    #[inline]
    pub(super) fn notified<'t>(
        &self,
        record: &Record,
        trackers: &'t mut [ConnectionTracker],
    ) -> Option<&'t mut ConnectionTracker> {
        let route = self.0[record.flow.index()];
        let at = if record.class() == Class::Cnp { route.answers } else { NOBODY };
        trackers.get_mut(at as usize)
    }
}
