//! Calendar of events, by time; entries of the same time come in the order in which they were added.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dumper::Nanos;

/// Things to do, each at its time.
#[derive(Debug)]
pub(super) struct Agenda<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    noted: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Nanos,
    order: u64,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl<T> Agenda<T> {
    pub(super) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), noted: 0 }
    }

    /// Adds an entry for a time.
    pub(super) fn note(&mut self, at: Nanos, what: T) {
        self.heap.push(Reverse(Entry { at, order: self.noted, what }));
        self.noted += 1;
    }

    /// The time of the next thing to do.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// The next thing to do, if its time has come.
    #[inline]
    pub(super) fn take_due(&mut self, now: Nanos) -> Option<T> {
        if self.next_at()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry.what)
    }
}
