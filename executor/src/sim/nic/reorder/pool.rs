//! Blocks that the bitmaps of all connections share, chained by pointers: an access walks from the first block to the
//! one that has the bit (LEFT §3.2).

use dumper::Nanos;

use super::Bitmap;
use crate::profile::Reorder;

/// The blocks, and those that each flow has.
#[derive(Debug)]
pub(super) struct Pool {
    first: u64,
    next: u64,
    block_bits: u32,
    /// Longest walk through the further blocks, in ns.
    budget: u64,
    /// Blocks that no flow has.
    free: u32,
    flows: Vec<Chain>,
}

/// Blocks of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    blocks: u32,
    /// Offset of the first missing packet when the pool was exhausted: the flow gets no further block until that packet has come.
    barred_at: Option<u32>,
    /// Offset of the first missing packet, as of the last packet.
    base: u32,
}

impl Pool {
    pub(super) fn new(reorder: &Reorder, flows: usize) -> Self {
        Self {
            first: reorder.first_block_ns,
            next: reorder.next_block_ns,
            block_bits: reorder.block_bits,
            budget: reorder.budget_ns,
            free: reorder.blocks,
            flows: vec![Chain::default(); flows],
        }
    }

    /// Returns true if the walk to a bit is within the budget (T_pool < T_max; algorithm 1).
    #[inline]
    pub(super) const fn is_near(&self, distance: u32) -> bool {
        self.next * (distance as u64) < self.budget * self.block_bits as u64
    }

    /// Time of a walk to a bit: the first block, and each further one.
    const fn walk(&self, distance: u32) -> Nanos {
        Nanos(self.first + self.next * (distance / self.block_bits) as u64)
    }

    /// Time in which a bitmap that reaches so far is moved into a cache, or out of it.
    pub(super) const fn transfer(&self, reach: u32) -> Nanos {
        if reach == 0 { Nanos::ZERO } else { self.walk(reach - 1) }
    }

    /// Time of an access; none if the bit needs a block and the flow gets none.
    pub(super) fn access(&mut self, flow: usize, distance: u32) -> Option<Nanos> {
        let needed = if distance == 0 { 0 } else { distance / self.block_bits + 1 };
        self.reserve(flow, needed).then(|| self.walk(distance))
    }

    /// Gives a flow so many blocks, if it has not as many; false if it gets them not.
    pub(super) fn reserve(&mut self, flow: usize, blocks: u32) -> bool {
        let chain = &mut self.flows[flow];
        let further = blocks.saturating_sub(chain.blocks);
        if further == 0 {
            return true;
        }
        if chain.barred_at.is_some() {
            return false;
        }
        if further > self.free {
            chain.barred_at = Some(chain.base);
            return false;
        }
        self.free -= further;
        chain.blocks += further;
        true
    }

    /// Blocks that a bitmap which reaches so far needs.
    pub(super) const fn blocks(&self, reach: u32) -> u32 {
        reach.div_ceil(self.block_bits)
    }

    /// The bitmap of a flow is in the pool, and as given; blocks that it does not need any more are free.
    pub(super) fn settle(&mut self, flow: usize, base: u32, bitmap: Bitmap) {
        self.keep(flow, base, self.blocks(bitmap.reach));
    }

    /// The bitmap of a flow is not in the pool.
    pub(super) fn release(&mut self, flow: usize, base: u32) {
        self.keep(flow, base, 0);
    }

    fn keep(&mut self, flow: usize, base: u32, blocks: u32) {
        let chain = &mut self.flows[flow];
        self.free += chain.blocks.saturating_sub(blocks);
        chain.blocks = chain.blocks.min(blocks);
        chain.base = base;
        if chain.barred_at.is_some_and(|barred| barred < base) {
            chain.barred_at = None;
        }
    }

    #[cfg(test)]
    pub(super) const fn free(&self) -> u32 {
        self.free
    }
}
