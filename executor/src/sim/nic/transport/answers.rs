//! Answers that a responder has still to send, in their order: no ACK passes a Read response.

use std::collections::VecDeque;

use dumper::Nanos;
use dumper::wire::{Position, Syndrome};

use super::opcodes;
use crate::sim::agenda::Timer;

/// An answer to a request.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Answer {
    /// An acknowledgement of everything up to an offset.
    Ack { offset: u32, msn: u32 },
    /// A refusal of the request at an offset.
    Nak { offset: u32, msn: u32, syndrome: Syndrome },
    /// A Read response.
    Read(ReadAnswer),
}

/// A Read response, some of it sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct ReadAnswer {
    /// Offset of its first packet.
    pub(super) first: u32,
    /// Offset of the next packet.
    pub(super) next: u32,
    /// Offset after the last packet.
    pub(super) end: u32,
    /// Address of the first byte.
    pub(super) address: u64,
    /// Bytes that were asked for.
    pub(super) bytes: u32,
    /// MSN when the request was taken.
    pub(super) msn: u32,
    /// Messages that had begun then.
    pub(super) message: u32,
}

impl ReadAnswer {
    /// Position of the next packet.
    pub(super) const fn position(&self) -> Position {
        opcodes::position(self.next == self.first, self.next + 1 == self.end)
    }
}

/// Answers, each with the time from which it may be sent.
#[derive(Debug, Default)]
pub(in crate::sim) struct Answers {
    queue: VecDeque<(Nanos, Answer)>,
    /// Runs until the first one may be sent.
    pub(in crate::sim) ready: Timer,
    /// Counts of response packets and responses, for quirks that come at every n-th.
    pub(super) gaps: u32,
    pub(super) surplus: u32,
}

impl Answers {
    pub(super) fn push(&mut self, answer: Answer, ready: Nanos) {
        self.queue.push_back((ready, answer));
    }

    pub(super) fn push_front(&mut self, answer: Answer, ready: Nanos) {
        self.queue.push_front((ready, answer));
    }

    /// Lets an answer pass the Read responses that wait, and nothing else.
    pub(super) fn push_past_reads(&mut self, answer: Answer, ready: Nanos) {
        let other = self.queue.iter().rposition(|(_, answer)| !matches!(answer, Answer::Read(_)));
        self.queue.insert(other.map_or(0, |at| at + 1), (ready, answer));
    }

    /// Replaces an ACK that waits behind all other answers; false if none waits there.
    pub(super) fn merge(&mut self, answer: Answer) -> bool {
        match self.queue.back_mut() {
            Some((_, last @ Answer::Ack { .. })) => {
                *last = answer;
                true
            }
            _ => false,
        }
    }

    /// Lets the NAK that waits be sent from a time on, if it would have to wait longer.
    pub(super) fn hasten_nak(&mut self, ready: Nanos) {
        let is_nak = |(_, answer): &&mut (Nanos, Answer)| matches!(answer, Answer::Nak { .. });
        if let Some((at, _)) = self.queue.iter_mut().rev().find(is_nak) {
            *at = ready.min(*at);
        }
    }

    /// Takes the first one out.
    pub(super) fn pop(&mut self) -> Option<(Nanos, Answer)> {
        self.queue.pop_front()
    }

    /// The first one.
    pub(in crate::sim) fn first(&self) -> Option<&Answer> {
        self.queue.front().map(|(_, answer)| answer)
    }

    /// Time at which the first one may be sent.
    #[inline]
    pub(super) fn ready_at(&self) -> Option<Nanos> {
        self.queue.front().map(|(ready, _)| *ready)
    }
}
