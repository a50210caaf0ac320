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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn streams_in_order_become_one_in_order(
            mut streams in prop::collection::vec(prop::collection::vec(1_u32..50, 0..20), 0..6),
        ) {
            streams.iter_mut().for_each(|stream| stream.sort_unstable());
            let mut merge = Merge::default();
            let mut next = vec![0; streams.len()];
            let put = |merge: &mut Merge, next: &[usize], stream: usize| {
                streams[stream].get(next[stream]).into_iter().for_each(|one| merge.put(stream, *one));
            };
            (0..streams.len()).for_each(|stream| put(&mut merge, &next, stream));
            let mut merged = Vec::new();
            while let Some(stream) = merge.next() {
                merged.push(streams[stream][next[stream]]);
                next[stream] += 1;
                put(&mut merge, &next, stream);
            }
            let mut all = streams.concat();
            all.sort_unstable();
            prop_assert_eq!(merged, all);
        }
    }
}
