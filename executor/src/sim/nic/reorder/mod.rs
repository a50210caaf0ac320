//! The reorder engine of a NIC: the time that its bitmaps take, and the packets that they have no room for.
//!
//! The engine knows distances only, never PSNs. A *distance* is that of a packet from the first missing one of its
//! connection, which has 0; [`Bitmap`] says how many bits of a connection are set.

mod cache;
mod gather;
mod pool;

use dumper::Nanos;

use crate::profile::{Reorder, ReorderEngine};
use crate::sim::packet::Packet;
use cache::Caches;
use gather::Gather;
use pool::Pool;

/// Bits of a connection beyond the first missing packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::sim::nic) struct Bitmap {
    /// Bits that are set.
    pub(in crate::sim::nic) kept: u32,
    /// Distance of the last one, counted from 1; 0 if none is set.
    pub(in crate::sim::nic) reach: u32,
}

/// The reorder engine of a NIC.
#[derive(Debug)]
pub(in crate::sim::nic) struct Engine {
    access: Nanos,
    bitmaps: Bitmaps,
    /// FIFOs of packets that are gathered, where there are some.
    pub(in crate::sim::nic) gather: Option<Gather<Packet>>,
}

#[derive(Debug)]
enum Bitmaps {
    /// Rings take the same time for every bit.
    Rings,
    Pool(Pool),
    Cached(Pool, Caches),
}

impl Engine {
    /// The engine of a profile, for so many flows of data; none for go-back-N.
    pub(in crate::sim::nic) fn new(reorder: &Reorder, flows: usize) -> Option<Self> {
        let pool = || Pool::new(reorder, flows);
        let bitmaps = match reorder.engine {
            ReorderEngine::None => return None,
            ReorderEngine::Ring => Bitmaps::Rings,
            ReorderEngine::Pool => Bitmaps::Pool(pool()),
            ReorderEngine::Left => Bitmaps::Cached(pool(), Caches::new(reorder, flows)),
        };
        let gathers = reorder.engine == ReorderEngine::Left && reorder.fifos > 0;
        Some(Self {
            access: Nanos(reorder.access_ns),
            bitmaps,
            gather: gathers.then(|| Gather::new(reorder, flows)),
        })
    }

    /// Returns true if a packet at a distance is to be gathered first (algorithm 3, with the factor of algorithm 1).
    #[inline]
    pub(in crate::sim::nic) fn gathers(&self, distance: u32) -> bool {
        match &self.bitmaps {
            Bitmaps::Cached(pool, _) => self.gather.is_some() && !pool.is_near(distance),
            Bitmaps::Rings | Bitmaps::Pool(_) => false,
        }
    }

    /// Time of the access of a packet at a distance to the bitmap of its flow; none if there is no room for its bit.
    pub(in crate::sim::nic) fn access(
        &mut self,
        flow: usize,
        distance: u32,
        bitmap: Bitmap,
    ) -> Option<Nanos> {
        if distance == 0 && bitmap.kept == 0 {
            return Some(self.access);
        }
        match &mut self.bitmaps {
            Bitmaps::Rings => Some(self.access),
            Bitmaps::Pool(pool) => pool.access(flow, distance),
            Bitmaps::Cached(pool, caches) => caches.access(flow, distance, bitmap, self.access, pool),
        }
    }

    /// A packet of a flow was taken or dropped: its bitmap is this now, and its first missing packet at this offset.
    pub(in crate::sim::nic) fn settle(&mut self, flow: usize, base: u32, bitmap: Bitmap) {
        match &mut self.bitmaps {
            Bitmaps::Rings => {}
            Bitmaps::Pool(pool) => pool.settle(flow, base, bitmap),
            Bitmaps::Cached(pool, caches) => {
                if caches.settle(flow, bitmap) {
                    pool.release(flow, base);
                } else {
                    pool.settle(flow, base, bitmap);
                }
            }
        }
    }

    /// Blocks of the pool that no flow has, where there is one.
    #[cfg(test)]
    pub(in crate::sim::nic) const fn free_blocks(&self) -> Option<u32> {
        match &self.bitmaps {
            Bitmaps::Rings => None,
            Bitmaps::Pool(pool) | Bitmaps::Cached(pool, _) => Some(pool.free()),
        }
    }
}
