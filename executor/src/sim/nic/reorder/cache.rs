//! Caches of bitmaps before the pool: a bit that is far away in the pool has its bitmap moved into a cache (LEFT §3.2,
//! algorithm 1).

use dumper::Nanos;

use super::Bitmap;
use super::pool::Pool;
use crate::profile::Reorder;

/// The caches.
#[derive(Debug)]
pub(super) struct Caches {
    /// The flow whose bitmap each one has.
    caches: Vec<Option<usize>>,
    /// Bits of each.
    bits: u32,
    /// The cache of each flow, and its bitmap as of its last packet.
    flows: Vec<(Option<usize>, Bitmap)>,
}

impl Caches {
    pub(super) fn new(reorder: &Reorder, flows: usize) -> Self {
        Self {
            caches: vec![None; reorder.caches as usize],
            bits: reorder.cache_bits,
            flows: vec![(None, Bitmap::default()); flows],
        }
    }

    /// Time of an access that takes `access` in a cache; none if there is no room for the bit.
    pub(super) fn access(
        &mut self,
        flow: usize,
        distance: u32,
        bitmap: Bitmap,
        access: Nanos,
        pool: &mut Pool,
    ) -> Option<Nanos> {
        let cached = self.flows[flow].0;
        if distance >= self.bits {
            // No cache has that bit: the bitmap is, or moves, into the pool.
            let moves = cached.map_or(Nanos::ZERO, |_| pool.transfer(bitmap.reach));
            let walk = pool.access(flow, distance)?;
            self.leave(flow);
            return Some(moves + walk);
        }
        if cached.is_some() {
            return Some(access);
        }
        if let Some(empty) = self.caches.iter().position(Option::is_none)
            && bitmap.reach <= self.bits
        {
            self.enter(flow, empty);
            return Some(access);
        }
        if pool.is_near(distance) || bitmap.reach > self.bits {
            return pool.access(flow, distance);
        }
        let Some((cache, other)) = self.least_occupied() else { return pool.access(flow, distance) };
        let out = self.flows[other].1;
        if !pool.reserve(other, pool.blocks(out.reach)) {
            return None;
        }
        self.leave(other);
        self.enter(flow, cache);
        Some(pool.transfer(out.reach).max(pool.transfer(bitmap.reach)) + access)
    }

    /// The bitmap of a flow is this now; returns true if it is in a cache. One without a bit gives its cache back.
    pub(super) fn settle(&mut self, flow: usize, bitmap: Bitmap) -> bool {
        self.flows[flow].1 = bitmap;
        if bitmap.kept == 0 {
            self.leave(flow);
        }
        self.flows[flow].0.is_some()
    }

    /// The cache whose bitmap has the fewest bits set, and its flow.
    fn least_occupied(&self) -> Option<(usize, usize)> {
        let taken = self.caches.iter().enumerate().filter_map(|(cache, flow)| Some((cache, (*flow)?)));
        taken.min_by_key(|(_, flow)| self.flows[*flow].1.kept)
    }

    fn enter(&mut self, flow: usize, cache: usize) {
        self.caches[cache] = Some(flow);
        self.flows[flow].0 = Some(cache);
    }

    fn leave(&mut self, flow: usize) {
        if let Some(cache) = self.flows[flow].0.take() {
            self.caches[cache] = None;
        }
    }
}
