//! Streams of packets that are in order, merged into one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is ahead of several streams, by its sequence number.
#[derive(Debug, Default)]
pub(super) struct Merge(BinaryHeap<Reverse<(u32, usize)>>);

impl Merge {
    /// The next packet of a stream has this number.
    pub(super) fn put(&mut self, stream: usize, sequence: u32) {
        self.0.push(Reverse((sequence, stream)));
    }

    /// The stream whose packet is next; its following one is to be put.
    pub(super) fn next(&mut self) -> Option<usize> {
        self.0.pop().map(|Reverse((_, stream))| stream)
    }
}
