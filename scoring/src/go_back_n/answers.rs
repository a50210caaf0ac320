//! The responder's second machine: how it answers Reads and atomics.

use std::collections::VecDeque;

use dumper::Psn;
use dumper::wire::{Class, Position};

use super::ledger::Ledger;
use super::packet::Packet;
use super::tables::answers::{Event, State};
use crate::anomaly::Role;

/// A Read or atomic that was delivered and is not answered.
#[derive(Clone, Copy, Debug)]
struct Request {
    first: Psn,
    end: Psn,
    /// Bytes that it asks for, as a Read.
    bytes: Option<u32>,
    /// It repeats an earlier one or part of it, or one before it was repeated since: its response need not
    /// come before the next one's.
    repeated: bool,
}

/// Unanswered requests that are remembered. A QP has at most 255 Reads and atomics outstanding (8 bits of
/// `max_rd_atomic`); the rest are repetitions that were not answered. With more of them it is unknown which one a response
/// belongs to, as a requester that issues a Read again from a later PSN leaves two of the same first PSN and of other lengths.
pub(crate) const REMEMBERED_REQUESTS: usize = 4096;

/// The response under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    request: Request,
    next: Psn,
    /// Bytes that are still to come, where none was left out.
    left: Option<u32>,
}

/// Requests that a responder has still to answer, and the response under way.
#[derive(Debug)]
pub(super) struct Answers {
    state: State,
    asked: VecDeque<Request>,
    now: Option<UnderWay>,
    /// More requests were unanswered at once than are remembered: responses are no longer judged.
    gave_up: bool,
}

impl Answers {
    pub(super) const fn none() -> Self {
        Self { state: State::Idle, asked: VecDeque::new(), now: None, gave_up: false }
    }

    /// Returns true if more requests were unanswered at once than are remembered.
    pub(super) const fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// A Read or atomic is delivered; `new` tells whether the responder takes it for the first time.
    pub(super) fn asked(&mut self, packet: &Packet, new: bool) {
        if self.gave_up {
            return;
        }
        if self.asked.len() == REMEMBERED_REQUESTS {
            *self = Self { gave_up: true, ..Self::none() };
            return;
        }
        if !new {
            // The requester repeats whatever follows, too, so the responder may push it aside and wait for that.
            for request in self.asked.iter_mut().filter(|request| request.end.is_after(packet.psn)) {
                request.repeated = true;
            }
        }
        let bytes = (packet.opcode.class() == Class::ReadRequest).then_some(packet.read.length);
        self.asked.push_back(Request { first: packet.psn, end: packet.end(), bytes, repeated: !new });
    }

    /// First PSN at or before `psn` of an unanswered request whose response is still missing.
    pub(super) fn unanswered_up_to(&self, psn: Psn) -> Option<Psn> {
        let under_way = self.now.filter(|now| !now.request.repeated).map(|now| now.next);
        let waiting = self.asked.iter().find(|request| !request.repeated).map(|request| request.first);
        under_way.or(waiting).filter(|first| !first.is_after(psn))
    }

    /// Returns true if a response at or before `psn`, repeated or not, is still to come: an ACK of `psn`
    /// waits for it.
    pub(super) fn holds_back(&self, psn: Psn) -> bool {
        self.gave_up || self.now.is_some() || self.asked.iter().any(|request| !request.first.is_after(psn))
    }

    /// The responder expects `psn`, as its answer shows: it has not taken the packets delivered from there
    /// on.
    pub(super) fn forget_from(&mut self, psn: Psn) {
        self.asked.retain(|request| request.first.is_before(psn));
    }

    /// A Read response or an atomic acknowledgement enters the switch.
    #[inline]
    pub(super) fn responds(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        if self.gave_up {
            return;
        }
        let psn = packet.psn;
        if let Some(now) = &mut self.now
            && now.next == psn
            && !(starts_response(packet) && self.asked.iter().any(|request| request.first == psn))
        {
            let last = psn.add(1) == now.request.end;
            now.next = psn.add(1);
            let left = now.left;
            now.left = left.map(|left| left.saturating_sub(packet.payload));
            let expected = if last { Position::Last } else { Position::Middle };
            let placed = position(packet).is_none_or(|position| position == expected);
            if last {
                self.now = None;
            }
            if placed {
                // The usual packet: no words needed.
                let event = if last { Event::Finish } else { Event::Continue };
                self.state = self.state.step(event, ledger.transitions).state(self.state);
            } else {
                self.misplaced(packet, ledger);
                self.state = if last { State::Idle } else { State::Answering };
            }
            if last && placed {
                self.ends_with(left, packet, ledger);
            }
            return;
        }
        self.responds_elsewhere(packet, ledger);
    }

    /// A response that does not go on with the one under way.
    fn responds_elsewhere(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let psn = packet.psn;
        let relative = ledger.relative(psn);
        let awaited = self.now.map(|now| ledger.relative(now.next));
        let starts = self.asked.iter().position(|request| request.first == psn);
        let covers = |request: &Request| !psn.is_before(request.first) && psn.is_before(request.end);
        if let Some(at) = starts {
            let request = self.asked[at];
            // A repeated Read may push aside later ones that were not answered yet: they will be repeated, too.
            let earlier = |other: &Request| !other.repeated && other.first.is_before(psn);
            let left_out = self.asked.iter().take(at).any(earlier);
            self.answered(at);
            let only = request.first.add(1) == request.end;
            let event = match (request.repeated, only) {
                _ if left_out => Event::Skip,
                (true, true) => Event::RestartAnswer,
                (true, false) => Event::Restart,
                (false, true) => Event::Answer,
                (false, false) => Event::Begin,
            };
            self.step(event, packet, ledger, || match awaited {
                Some(next) => {
                    format!("starts a response at PSN {relative} and leaves out PSN {next}")
                }
                None => {
                    format!("starts a response at PSN {relative} and leaves out an earlier request")
                }
            });
            let left = request.bytes.map(|bytes| bytes.saturating_sub(packet.payload));
            self.now = (!only).then_some(UnderWay { request, next: psn.add(1), left });
            self.state = if only { State::Idle } else { State::Answering };
            let expected = if only { Position::Only } else { Position::First };
            if position(packet).is_some_and(|position| position != expected) {
                self.misplaced(packet, ledger);
            } else if only {
                self.ends_with(request.bytes, packet, ledger);
            }
        } else if let Some(now) = self.now.filter(|now| covers(&now.request) && psn.is_after(now.next)) {
            let next = ledger.relative(now.next);
            self.step(Event::Skip, packet, ledger, || {
                format!("sends response PSN {relative} and leaves out PSN {next}")
            });
            self.resume(now.request, psn);
        } else if let Some(at) = self.asked.iter().position(covers) {
            let request = self.asked[at];
            self.answered(at);
            self.step(Event::Skip, packet, ledger, || {
                format!("starts a response in its middle, at PSN {relative}")
            });
            self.resume(request, psn);
        } else {
            self.step(Event::Unrequested, packet, ledger, || {
                format!("sends a response with PSN {relative}, which belongs to no delivered request")
            });
        }
    }

    /// The request at an index is being answered: those before it will not be, except that later PSNs may have
    /// been pushed aside only for a while.
    fn answered(&mut self, at: usize) {
        let request = self.asked[at];
        let mut index = 0;
        self.asked.retain(|other| {
            index += 1;
            index > at + 1 || index <= at && other.first.is_after(request.first)
        });
    }

    /// Goes on with a response after `psn`.
    fn resume(&mut self, request: Request, psn: Psn) {
        let next = psn.add(1);
        let ended = next == request.end;
        self.now = (!ended).then_some(UnderWay { request, next, left: None });
        self.state = if ended { State::Idle } else { State::Answering };
    }

    /// The packet that ends a response, by its opcode, must bring the rest of it; `None` where the rest is
    /// not known.
    fn ends_with(&mut self, left: Option<u32>, packet: &Packet, ledger: &mut Ledger<'_>) {
        let Some(left) = left.filter(|left| *left != packet.payload) else { return };
        let (relative, payload) = (ledger.relative(packet.psn), packet.payload);
        self.step(Event::WrongLength, packet, ledger, || {
            format!("ends a response at PSN {relative} with {payload} bytes where {left} are due")
        });
    }

    fn misplaced(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let relative = ledger.relative(packet.psn);
        let opcode = packet.opcode;
        self.step(Event::Misplaced, packet, ledger, || {
            format!("sends {opcode} with PSN {relative} in the wrong place of the response")
        });
    }

    fn step(
        &mut self,
        event: Event,
        packet: &Packet,
        ledger: &mut Ledger<'_>,
        what: impl FnOnce() -> String,
    ) {
        let next = self.state.step(event, ledger.transitions);
        ledger.judge(Role::Responder, next, self.state.name(), [packet.sequence], what);
        self.state = next.state(self.state);
    }
}

/// Returns true if a packet starts a response; an atomic acknowledgement always does.
#[inline]
fn starts_response(packet: &Packet) -> bool {
    position(packet).is_none_or(Position::starts)
}

/// Position of a Read response packet; an atomic acknowledgement has none.
#[inline]
fn position(packet: &Packet) -> Option<Position> {
    match packet.opcode.class() {
        Class::ReadResponse(position) => Some(position),
        _ => None,
    }
}
