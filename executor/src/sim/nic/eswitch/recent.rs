//! The flows with the latest packets, so many of them.

use std::num::NonZeroUsize;

use lru::LruCache;

/// Flows of which the one without packets for the longest time makes room for another one.
#[derive(Debug)]
pub(super) struct Recent(LruCache<u32, ()>);

impl Recent {
    /// Room for so many flows, one at least.
    pub(super) fn new(most: u32) -> Self {
        Self(LruCache::new(NonZeroUsize::new(most as usize).unwrap_or(NonZeroUsize::MIN)))
    }

    /// A flow has a packet; returns true if it was there.
    pub(super) fn note(&mut self, flow: u32) -> bool {
        let is_there = self.0.get(&flow).is_some();
        if !is_there {
            self.0.put(flow, ());
        }
        is_there
    }

    /// A flow is gone.
    pub(super) fn forget(&mut self, flow: u32) {
        self.0.pop(&flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_without_packets_for_the_longest_time_goes() {
        let mut recent = Recent::new(2);
        assert_eq!([1, 2, 1, 2].map(|flow| recent.note(flow)), [false, false, true, true]);
        assert_eq!([1, 3, 1, 2].map(|flow| recent.note(flow)), [true, false, true, false]);
        recent.forget(1);
        assert_eq!([2, 1].map(|flow| recent.note(flow)), [true, false]);
    }
}
