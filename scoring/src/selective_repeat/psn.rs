//! The PSNs of a connection that are not done with.

use std::collections::VecDeque;

use dumper::Nanos;

use super::tables::{receiver, sender};

/// One PSN of a requester.
#[derive(Clone, Copy, Debug)]
pub(super) struct One {
    pub(super) sender: sender::State,
    pub(super) receiver: receiver::State,
    /// Of a Read's PSN its response, at the requester.
    pub(super) response: Option<receiver::State>,
    /// Earliest time at which its timer can have started.
    pub(super) timed_since: Nanos,
    /// Time at which its acknowledgement left the switch.
    pub(super) acknowledged_at: Nanos,
}

/// PSNs by their offset from the connection's first one.
#[derive(Clone, Debug, Default)]
pub(super) struct Psns {
    /// Offset of the first one that is kept: those before it were delivered, and acknowledged to the requester.
    first: u32,
    kept: VecDeque<One>,
}

impl Psns {
    /// Offset after the last one that was sent.
    pub(super) fn end(&self) -> u32 {
        self.first + self.kept.len() as u32
    }

    /// Sends the next one.
    pub(super) fn push(&mut self, one: One) {
        self.kept.push_back(one);
    }

    /// The one at an offset, if it was sent and is not done with.
    #[inline]
    pub(super) fn get(&mut self, offset: u32) -> Option<&mut One> {
        self.kept.get_mut(offset.checked_sub(self.first)? as usize)
    }

    /// Returns true if the one at an offset is done with.
    pub(super) const fn is_done(&self, offset: u32) -> bool {
        offset < self.first
    }

    /// Those before an offset are done with; returns how many these are.
    pub(super) fn done_before(&mut self, offset: u32) -> u32 {
        let before = self.first;
        while self.first < offset && self.kept.pop_front().is_some() {
            self.first += 1;
        }
        self.first - before
    }
}
