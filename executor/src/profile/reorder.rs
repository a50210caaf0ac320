//! Reordering: the bitmaps of a receiver of data that keeps packets out of order (LEFT, APNET'24, §3).

use serde::{Deserialize, Serialize};

/// Form of the bitmaps that note the packets which arrived beyond a missing one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReorderEngine {
    /// No bitmaps: go-back-N.
    #[default]
    None,
    /// A ring of bits for each connection, all alike.
    Ring,
    /// Blocks that connections share, chained: the time of an access grows with the distance (MELO).
    Pool,
    /// Such a pool behind caches, with FIFOs that gather the packets of a connection (LEFT).
    Left,
}

/// Evidence by which a missing packet counts as lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossBy {
    /// Any packet beyond it (IRN).
    Psn,
    /// A packet that is far beyond it.
    #[default]
    Span,
    /// The ACK timer alone.
    Timer,
}

/// The reorder engine of a NIC, where it receives data: a responder the requests, a requester the responses to Reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reorder {
    /// Form of its bitmaps.
    pub engine: ReorderEngine,
    /// Widest distance to the expected PSN, counted from 1, at which a packet is kept.
    pub span_packets: u32,
    /// Access to a ring or a cache, and for a packet in order without a bitmap, in ns.
    pub access_ns: u64,
    /// First block of a chain, in ns.
    pub first_block_ns: u64,
    /// Each further block, in ns.
    pub next_block_ns: u64,
    /// Bits of a block.
    pub block_bits: u32,
    /// Blocks of the pool.
    pub blocks: u32,
    /// Longest walk through the further blocks before a bitmap is moved into a cache, in ns (T_max).
    pub budget_ns: u64,
    /// Caches.
    pub caches: u32,
    /// Bits of a cache.
    pub cache_bits: u32,
    /// FIFOs that gather packets whose walk would be longer; 0 for none.
    pub fifos: u32,
    /// Packets with which a FIFO is drained.
    pub fifo_packets: u32,
    /// Time after its first packet after which it is drained, in ns.
    pub fifo_timeout_ns: u64,
    /// Evidence by which a missing packet counts as lost.
    pub loss_by: LossBy,
    /// Distance from a missing packet to one that arrives, counted from 1, at which it counts as lost by its span.
    pub loss_span_packets: u32,
    /// State of a connection besides blocks and caches, in bytes, for [`Reorder::memory_bytes`] alone.
    pub connection_bytes: u64,
    /// The pool with its pointers and its list of free blocks, in bytes, likewise.
    pub fixed_bytes: u64,
    /// A FIFO, in bytes, likewise.
    pub fifo_bytes: u64,
}

/// Bitmaps that a NIC with a ring for each connection has of it (IRN, SIGCOMM'18, as LEFT §2.2 and §4.3 count them).
const RINGS: u64 = 5;

impl Reorder {
    /// Returns true if packets out of order are kept.
    pub fn keeps_packets(&self) -> bool {
        self.engine != ReorderEngine::None
    }

    /// Memory on the NIC, in bytes, with so many connections: of rings five of `span_packets` bits for each connection; of a pool what the profile
    /// says, whatever its blocks; of caches their bits (LEFT §4.3, figure 7).
    #[must_use]
    pub const fn memory_bytes(&self, connections: u64) -> u64 {
        let pool = self.connection_bytes * connections + self.fixed_bytes;
        match self.engine {
            ReorderEngine::None => 0,
            ReorderEngine::Ring => RINGS * bytes(self.span_packets) * connections,
            ReorderEngine::Pool => pool,
            ReorderEngine::Left => {
                pool + self.caches as u64 * bytes(self.cache_bits) + self.fifos as u64 * self.fifo_bytes
            }
        }
    }
}

/// Bytes of so many bits.
const fn bytes(bits: u32) -> u64 {
    bits.div_ceil(8) as u64
}

impl Default for Reorder {
    fn default() -> Self {
        Self {
            engine: ReorderEngine::None,
            span_packets: 512,
            access_ns: 10,
            first_block_ns: 15,
            next_block_ns: 5,
            block_bits: 8,
            blocks: 256,
            budget_ns: 40,
            caches: 3,
            cache_bits: 256,
            fifos: 8,
            fifo_packets: 8,
            fifo_timeout_ns: 2_000,
            loss_by: LossBy::Span,
            loss_span_packets: 512,
            connection_bytes: 5,
            fixed_bytes: 342,
            fifo_bytes: 180,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arithmetic of figure 7: 5,000 connections, caches of 2,304 bits, and rings of 512.
    #[test]
    fn memory_is_that_of_the_parts() {
        let of = |engine, fifos| {
            Reorder { engine, fifos, cache_bits: 2_304, ..Reorder::default() }.memory_bytes(5_000)
        };
        assert_eq!(of(ReorderEngine::None, 8), 0);
        assert_eq!(of(ReorderEngine::Ring, 8), 5_000 * 5 * 64);
        assert_eq!(of(ReorderEngine::Pool, 8), 25_342);
        assert_eq!(of(ReorderEngine::Left, 0), 25_342 + 3 * 288);
        assert_eq!(of(ReorderEngine::Left, 8), 25_342 + 3 * 288 + 8 * 180);
    }
}
