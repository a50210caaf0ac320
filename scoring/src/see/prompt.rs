//! Answers that a host gives at once: how long its way takes, and by when it has certainly received a packet.

use std::collections::{BTreeSet, VecDeque};

use dumper::Fate;
use dumper::trace::FlowId;
use dumper::wire::{Class, NakCode, Syndrome};
use dumper::{Leaves, Nanos, Psn, Record, Trace};

use crate::see::connections::Pair;
use crate::see::sides::Sides;

/// A packet that a host answered as soon as it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PromptAnswer {
    /// The flow of the packet.
    pub(crate) flow: FlowId,
    /// Time at which the packet left the switch, and time at which the answer entered it.
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
    /// First and last address of the data of the last new Read.
    read: Option<(u64, u64)>,
    /// The PSN of the last sequence NAK, until it is repeated.
    nak: Option<Psn>,
    /// PSNs of which nothing that was sent last has left the switch.
    lost: BTreeSet<u32>,
    /// The switch changed the order of packets.
    reordered: bool,
    /// True if the repeated packets were never taken before: the first of them was lost, and the rest follows
    /// it.
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

    /// Prompt answers of each host, in order.
    pub(crate) const fn answers(&self) -> &[Vec<PromptAnswer>; 2] {
        &self.answers
    }

    /// The same, when the trace has ended.
    pub(crate) fn into_answers(self) -> [Vec<PromptAnswer>; 2] {
        self.answers
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
                && let Some(host) = self.sides.at(self.trace.flow(record).source)
            {
                let answered = record.time;
                self.answers[host.index()].push(PromptAnswer { flow, left, answered, frame_len });
            }
        }
    }
}

impl Requests {
    /// Returns true unless a Read is issued again for the rest of its data: responders may take their time
    /// for that.
    fn reads_anew(&mut self, record: &Record) -> bool {
        let begins = record.virtual_address;
        let ends = begins.wrapping_add(u64::from(record.dma_length));
        let again = self.read.is_some_and(|(first, last)| ends == last && begins != first);
        if !again {
            self.read = Some((begins, ends));
        }
        !again
    }

    fn sent(&mut self, record: &Record, class: Class, fate: Fate) {
        let psn = record.psn;
        let new = self.farthest.is_none_or(|farthest| psn.is_after(farthest));
        if new {
            self.farthest = Some(psn);
        } else if self.last.is_none_or(|last| !psn.is_after(last)) {
            // It retransmits: an answer belongs to a certain copy only if the others were refused.
            while self.asked.pop_back_if(|asked| !asked.psn.is_before(psn)).is_some() {}
            self.anew = self.nak.take() == Some(psn) && self.lost.contains(&psn.value()) && !self.reordered;
        }
        self.last = Some(psn);
        let undisturbed = is_undisturbed(record, fate);
        if fate == Fate::Lost {
            self.lost.insert(psn.value());
        } else {
            self.lost.remove(&psn.value());
            self.reordered |= !undisturbed;
        }
        let asks = match class {
            Class::ReadRequest => new && self.reads_anew(record),
            _ => record.ack_req() && (new || self.anew),
        };
        if asks && undisturbed {
            self.asked.push_back(Asked { psn, left: record.time, frame_len: record.frame_len });
        }
    }
}

/// Returns true if the switch passed a packet on unchanged, but for a congestion mark.
#[inline]
pub(crate) fn is_undisturbed(record: &Record, fate: Fate) -> bool {
    matches!(record.event().leaves(), None | Some(Leaves::Marked))
        && fate == Fate::Delivered { left: record.time, copies: 1 }
}
