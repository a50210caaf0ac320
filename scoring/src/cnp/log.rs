//! Log of the marks and CNPs of a notification point, from which its limits are inferred.

use std::collections::BTreeMap;

use dumper::Fate;
use dumper::trace::FlowId;
use dumper::wire::Class;
use dumper::{Nanos, Psn, Record};

use crate::see::prompt::{PromptAnswer, is_undisturbed};
use crate::see::sides::Side;
use crate::see::slowest::{SlowestQueue, on_the_slowest_link};

/// A marked packet of data that left the switch, in order and never repeated: nothing but a limiter excuses a
/// notification point from answering it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) flow: FlowId,
    pub(super) psn: Psn,
    pub(super) sequence: u32,
    pub(super) left: Nanos,
    pub(super) frame_len: u32,
    /// Latest time at which it has reached its host, whatever waited in front of it.
    pub(super) through: Nanos,
}

/// A CNP, on the flow of the marked packets that it answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cnp {
    pub(super) flow: FlowId,
    pub(super) sent: Nanos,
    pub(super) sequence: u32,
    /// Longest time that it may have waited behind packets of its host.
    pub(super) waited: Nanos,
}

/// Packets of a host that a CNP may wait for: the packet that is leaving already, and CNPs.
#[derive(Clone, Copy, Debug, Default)]
struct Sending {
    since: Nanos,
    last: Nanos,
    length: u32,
}

impl Sending {
    /// A packet enters the switch; how long it may have waited, if it is a CNP.
    #[inline]
    fn packet(&mut self, record: &Record, is_cnp: bool) -> Nanos {
        // A switch may stamp packets when they begin or when they end.
        let without_a_break =
            record.time - self.last <= on_the_slowest_link(record.frame_len.max(self.length));
        if !is_cnp {
            self.since = self.last.max(record.time - on_the_slowest_link(record.frame_len));
        } else if !without_a_break {
            self.since = record.time;
        }
        (self.last, self.length) = (record.time, record.frame_len);
        record.time - self.since
    }
}

/// Marks and CNPs of one host.
#[derive(Clone, Debug, Default)]
pub(super) struct HostLog {
    pub(super) cnps: Vec<Cnp>,
    /// Answers of a CNP to a mark of which nothing else makes it doubtful that it is the reason.
    pub(super) answers: Vec<PromptAnswer>,
    /// The same where the marked packet met no queue, even if its link is the slowest.
    pub(super) unqueued: Vec<PromptAnswer>,
    /// Marked packets of data that were delivered.
    pub(super) marked: u64,
    /// A CNP was sent on a connection whose other direction is not known.
    pub(super) stray: bool,
    /// Time at which it last sent anything.
    pub(super) last_sent: Nanos,
    sending: Sending,
    first: Option<FlowId>,
    queue: SlowestQueue,
}

/// Marks of one direction of a QP.
#[derive(Clone, Debug, Default)]
struct FlowLog {
    marks: Vec<Mark>,
    last: Option<Psn>,
    /// Something may have made its receiver ignore marks from here on: a loss, a change of order, a repetition, a NAK.
    disturbed: bool,
    /// Marks since the last CNP: how many, the first, and whether that one met no queue.
    open: u64,
    oldest: Option<(PromptAnswer, bool)>,
    /// It is not certain any more which mark a CNP answers.
    doubtful: bool,
}

/// The logs of both hosts. Fed packet by packet.
#[derive(Debug)]
pub(super) struct Log {
    hosts: [HostLog; 2],
    flows: Vec<FlowLog>,
}

impl Log {
    pub(super) fn new(flows: usize) -> Self {
        Self { hosts: Default::default(), flows: vec![FlowLog::default(); flows] }
    }

    pub(super) const fn host(&self, side: Side) -> &HostLog {
        &self.hosts[side.index()]
    }

    /// A packet other than a CNP enters the switch.
    #[inline]
    pub(super) fn enters(&mut self, record: &Record, class: Class, fate: Fate, sender: Option<Side>) {
        if let Some(sender) = sender {
            let host = &mut self.hosts[sender.index()];
            host.last_sent = record.time;
            host.sending.packet(record, false);
        }
        if class.is_data() {
            let flow = &mut self.flows[record.flow.index()];
            if flow.last.is_some_and(|last| !record.psn.is_after(last)) {
                flow.forget_from(record.psn);
            }
            flow.last = Some(record.psn);
            flow.disturbed |= !is_undisturbed(record, fate);
        }
    }

    /// The receiver of a flow shows that it has not taken the packets on it from a PSN on.
    pub(super) fn missing(&mut self, flow: FlowId, from: Psn) {
        self.flows[flow.index()].forget_from(from);
    }

    /// A packet other than a CNP has left the switch towards a host.
    #[inline]
    pub(super) fn leaves(&mut self, record: &Record, left: Nanos, marked: bool, receiver: Side) {
        let host = &mut self.hosts[receiver.index()];
        let (through, alone) = host.queue.take(left, record.frame_len);
        if !marked {
            return;
        }
        let flow = &mut self.flows[record.flow.index()];
        host.first.get_or_insert(record.flow);
        flow.open += 1;
        let (sequence, psn, frame_len) = (record.sequence, record.psn, record.frame_len);
        let unanswered = PromptAnswer { flow: record.flow, left, answered: left, frame_len };
        flow.oldest.get_or_insert((unanswered, alone));
        if record.class().is_data() {
            host.marked += 1;
            if !flow.disturbed {
                flow.marks.push(Mark { flow: record.flow, psn, sequence, left, frame_len, through });
            }
        }
    }

    /// A host sends a CNP for a packet that it received on a flow, if that is known. Returns the longest time
    /// that it may have waited to be sent.
    pub(super) fn cnp(&mut self, record: &Record, reason: Option<FlowId>, sender: Side) -> Nanos {
        let host = &mut self.hosts[sender.index()];
        host.last_sent = record.time;
        let waited = host.sending.packet(record, true);
        let Some(at) = reason else {
            host.stray = true;
            return waited;
        };
        let flow = &mut self.flows[at.index()];
        // The first mark of all meets no limiter.
        let first_of_all = host.cnps.is_empty() && host.first == Some(at);
        if let Some((mark, alone)) = flow.oldest.take()
            && !flow.doubtful
            && !flow.disturbed
            && (flow.open == 1 || first_of_all)
        {
            let answer = PromptAnswer { answered: record.time, ..mark };
            host.answers.push(answer);
            host.unqueued.extend(alone.then_some(answer));
        }
        flow.doubtful |= flow.open != 1;
        flow.open = 0;
        host.cnps.push(Cnp { flow: at, sent: record.time, sequence: record.sequence, waited });
        waited
    }

    /// Unanswered marks of the flows that `counts` selects, in the order in which they left.
    pub(super) fn marks(&self, counts: impl Fn(FlowId) -> bool) -> Vec<Mark> {
        let flows = self.flows.iter().filter(|flow| flow.marks.first().is_some_and(|mark| counts(mark.flow)));
        let mut marks: Vec<Mark> = flows.flat_map(|flow| flow.marks.iter().copied()).collect();
        marks.sort_by_key(|mark| (mark.left, mark.sequence));
        marks
    }
}

impl FlowLog {
    fn forget_from(&mut self, psn: Psn) {
        while self.marks.pop_if(|mark| !mark.psn.is_before(psn)).is_some() {}
        self.disturbed = true;
    }
}

/// Times of the CNPs of each scope.
pub(super) fn by_scope<K: Ord>(cnps: &[Cnp], key: impl Fn(&Cnp) -> K) -> BTreeMap<K, Vec<Cnp>> {
    let mut scopes: BTreeMap<K, Vec<Cnp>> = BTreeMap::new();
    for cnp in cnps {
        scopes.entry(key(cnp)).or_default().push(*cnp);
    }
    scopes
}
