//! Answers that a host gives at once: how long its way takes, and by when it has certainly received a packet.

use std::collections::VecDeque;

use dumper::trace::{Fate, FlowId};
use dumper::wire::{Class, Syndrome};
use dumper::{Event, Nanos, Psn, Record, Trace};

use crate::connections::Pair;
use crate::sides::Sides;

/// A packet that a host answered as soon as it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PromptAnswer {
    /// When the packet left the switch, and when the answer entered it.
    pub(crate) left: Nanos,
    pub(crate) answered: Nanos,
    /// Length of the packet's frame.
    pub(crate) frame_len: u32,
}

impl PromptAnswer {
    /// From the switch to the host and back.
    pub(crate) fn took(&self) -> Nanos {
        self.answered - self.left
    }
}

/// A request that asks for an answer, sent once and not answered yet.
#[derive(Clone, Copy, Debug)]
struct Asked {
    psn: Psn,
    left: Nanos,
    frame_len: u32,
}

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
struct Requests {
    asked: VecDeque<Asked>,
    /// The farthest PSN that has left the switch.
    last: Option<Psn>,
    /// Something was done to a packet: an answer may be that to another one than it seems.
    disturbed: bool,
}

/// Gathers prompt answers: the ACK of a request with AckReq, the first response to a Read. Fed packet by packet.
pub(crate) struct PromptAnswers<'a> {
    trace: &'a Trace,
    sides: &'a Sides,
    /// Of the flows that carry answers, the one of their requests.
    requests_of: Vec<Option<FlowId>>,
    flows: Vec<Requests>,
    answers: [Vec<PromptAnswer>; 2],
}

impl<'a> PromptAnswers<'a> {
    pub(crate) fn new(trace: &'a Trace, pairs: &[Pair], sides: &'a Sides) -> Self {
        let mut requests_of = vec![None; trace.flows().len()];
        for pair in pairs {
            if let Some(answers) = pair.answers {
                requests_of[answers.index()].get_or_insert(pair.requests);
            }
        }
        let flows = vec![Requests::default(); requests_of.len()];
        Self { trace, sides, requests_of, flows, answers: Default::default() }
    }

    /// What each host answered at once, in the order of the answers.
    pub(crate) const fn answers(&self) -> &[Vec<PromptAnswer>; 2] {
        &self.answers
    }

    /// A packet enters the switch.
    #[inline]
    pub(crate) fn enters(&mut self, record: &Record, fate: Fate) {
        let class = record.class();
        if class.is_request() {
            let requests = &mut self.flows[record.flow.index()];
            let repeated = requests.last.is_some_and(|last| !record.psn.is_after(last));
            requests.disturbed |= repeated || !is_undisturbed(record, fate);
            requests.last = Some(record.psn);
        } else if class.is_response() {
            self.answered(record, class);
        }
    }

    /// A packet has left the switch.
    #[inline]
    pub(crate) fn leaves(&mut self, record: &Record, left: Nanos) {
        let class = record.class();
        if class.is_request() && (record.ack_req() || class == Class::ReadRequest) {
            let requests = &mut self.flows[record.flow.index()];
            if !requests.disturbed {
                requests.asked.push_back(Asked { psn: record.psn, left, frame_len: record.frame_len });
            }
        }
    }

    fn answered(&mut self, record: &Record, class: Class) {
        let Some(flow) = self.requests_of[record.flow.index()] else { return };
        let requests = &mut self.flows[flow.index()];
        let taken = match class {
            Class::Acknowledge => matches!(record.aeth().syndrome, Syndrome::Ack(_)),
            _ => true,
        };
        if !taken || requests.disturbed {
            requests.asked.clear();
            return;
        }
        while let Some(Asked { psn, left, frame_len }) =
            requests.asked.pop_front_if(|asked| !asked.psn.is_after(record.psn))
        {
            if psn == record.psn
                && let Some(host) = self.sides.of(self.trace.flow(record).source)
            {
                self.answers[host.index()].push(PromptAnswer { left, answered: record.time, frame_len });
            }
        }
    }
}

/// Whether the switch passed a packet on as it was, but for a congestion mark.
#[inline]
pub(crate) fn is_undisturbed(record: &Record, fate: Fate) -> bool {
    matches!(record.event(), Event::None | Event::Ecn)
        && fate == Fate::Delivered { left: record.time, copies: 1 }
}
