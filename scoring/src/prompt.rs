//! Answers that a host gives at once: how long its way takes, and by when it has certainly received a packet.

use std::collections::VecDeque;

use dumper::trace::{Fate, FlowId};
use dumper::wire::{Class, NakCode, Syndrome};
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

/// A request that asks for an answer and has none yet.
#[derive(Clone, Copy, Debug)]
struct Asked {
    psn: Psn,
    left: Nanos,
    frame_len: u32,
}

/// Requests of a connection.
#[derive(Clone, Debug, Default)]
struct Requests {
    asked: VecDeque<Asked>,
    /// The farthest PSN, and the one that was sent last.
    farthest: Option<Psn>,
    last: Option<Psn>,
    /// The PSN of the last sequence NAK, until it is repeated.
    nak: Option<Psn>,
    /// What is repeated now has never been taken: a NAK says so of its first packet, and what follows comes after it.
    anew: bool,
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
            self.flows[record.flow.index()].sent(record, class, fate);
        } else if class.is_response() {
            self.answered(record, class);
        }
    }

    fn answered(&mut self, record: &Record, class: Class) {
        let Some(flow) = self.requests_of[record.flow.index()] else { return };
        let requests = &mut self.flows[flow.index()];
        if class == Class::Acknowledge {
            match record.aeth().syndrome {
                Syndrome::Ack(_) => {}
                Syndrome::Nak(NakCode::PsnSequenceError) => {
                    requests.nak = Some(record.psn);
                    return;
                }
                _ => return,
            }
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

impl Requests {
    fn sent(&mut self, record: &Record, class: Class, fate: Fate) {
        let psn = record.psn;
        let new = self.farthest.is_none_or(|farthest| psn.is_after(farthest));
        if new {
            self.farthest = Some(psn);
        } else if self.last.is_none_or(|last| !psn.is_after(last)) {
            // It goes back: which copy an answer is to is certain only if the others were refused.
            while self.asked.pop_back_if(|asked| !asked.psn.is_before(psn)).is_some() {}
            self.anew = self.nak.take() == Some(psn);
        }
        self.last = Some(psn);
        // A Read that is issued again is no matter of course.
        let asks = match class {
            Class::ReadRequest => new,
            _ => record.ack_req() && (new || self.anew),
        };
        if asks && is_undisturbed(record, fate) {
            self.asked.push_back(Asked { psn, left: record.time, frame_len: record.frame_len });
        }
    }
}

/// Whether the switch passed a packet on as it was, but for a congestion mark.
#[inline]
pub(crate) fn is_undisturbed(record: &Record, fate: Fate) -> bool {
    matches!(record.event(), Event::None | Event::Ecn)
        && fate == Fate::Delivered { left: record.time, copies: 1 }
}
