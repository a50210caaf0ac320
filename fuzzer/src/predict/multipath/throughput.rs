//! Throughput of a reorder engine behind two paths, by formula.
//!
//! The NIC is a server that takes a time for each packet, which its engine is a part of, and flow control has the sender send what it takes. At one packet in
//! `s` ns a connection sends `delay / (s * connections)` packets while one of its packets is delayed. That is the distance of a
//! packet of the short path from the first missing one; a packet of the long path is the first missing one, or next to it. The time of an
//! access grows with the distance, and the distance falls with the time, so that there is one `s` at which both agree.

use executor::profile::{Reorder, ReorderEngine};

use super::Setting;

/// Share of the packets that take the long path, and of those that take the short one.
pub(super) const SHARE: f64 = 0.5;

/// Steps of a bisection, each of which halves the interval: as many as an `f64` has bits.
const STEPS: u32 = 53;

/// Time that an engine takes for a packet in the mean, in ns, once it and its sender agree; at least that of a packet on the cable.
pub(super) fn packet_ns(setting: &Setting, reorder: &Reorder) -> f64 {
    let model = Model { setting, reorder };
    match reorder.engine {
        ReorderEngine::None => setting.packet_ns().max(model.receive()),
        ReorderEngine::Ring => setting.packet_ns().max(model.access()),
        ReorderEngine::Pool => model.agree(|distance| model.in_pool(distance)),
        ReorderEngine::Left => model.left(),
    }
}

struct Model<'a> {
    setting: &'a Setting,
    reorder: &'a Reorder,
}

impl Model<'_> {
    /// Time for a packet at which an access to a bit at the distance that it leaves room for takes just as long. `cost` is the mean time of a
    /// packet of either path, where those of the short one are at this distance, and falls with it.
    fn agree(&self, cost: impl Fn(f64) -> f64) -> f64 {
        let least = self.setting.packet_ns();
        let of = |packet_ns: f64| self.receive() + cost(self.setting.distance(packet_ns));
        let (mut low, mut high) = (least, of(least).max(least));
        for _ in 0..STEPS {
            let middle = f64::midpoint(low, high);
            if of(middle) > middle { low = middle } else { high = middle }
        }
        high
    }

    /// Time before the engine.
    fn receive(&self) -> f64 {
        self.setting.receive_ns.0 as f64
    }

    /// Time of a packet whose bit is found at once.
    fn access(&self) -> f64 {
        self.receive() + self.bit()
    }

    fn bit(&self) -> f64 {
        self.reorder.access_ns as f64
    }

    fn first(&self) -> f64 {
        self.reorder.first_block_ns as f64
    }

    fn next(&self) -> f64 {
        self.reorder.next_block_ns as f64
    }

    fn block(&self) -> f64 {
        self.reorder.block_bits.into()
    }

    /// Walk to a bit: the mean over the places that it may have in its block.
    fn walk(&self, distance: f64) -> f64 {
        let further = distance / self.block() - (self.block() - 1.0) / (2.0 * self.block());
        self.first() + self.next() * further.max(0.0)
    }

    /// Time in which a bitmap that reaches to a distance moves into a cache, or out of it: a walk to its last block, which begins before it.
    fn transfer(&self, distance: f64) -> f64 {
        self.walk((distance - 1.0).max(0.0))
    }

    /// Mean time of a packet where all bitmaps are in the pool.
    fn in_pool(&self, distance: f64) -> f64 {
        if distance < 1.0 {
            return self.bit();
        }
        SHARE * self.first() + SHARE * self.walk(distance)
    }

    /// The same with caches. Bitmaps within the budget stay in the pool.
    fn left(&self) -> f64 {
        let (connections, caches) = (f64::from(self.setting.connections), f64::from(self.reorder.caches));
        if connections <= caches {
            return self.setting.packet_ns().max(self.access());
        }
        let pool = self.agree(|distance| self.in_pool(distance));
        let is_near = |packet_ns: f64| {
            self.next() * self.setting.distance(packet_ns) < self.reorder.budget_ns as f64 * self.block()
        };
        if caches == 0.0 || is_near(pool) {
            return pool;
        }
        // The bitmaps with the most bits stay in their caches; the others, one more than there are caches left, have the last one in turn.
        let others = connections - caches + 1.0;
        // Of the packets of the short path, which come one by one in the order of the connections: those of a connection whose bitmap is there still.
        let again = SHARE * (1.0 - SHARE).powf(others - 1.0) / (1.0 - (1.0 - SHARE).powf(others));
        let cached = caches / connections;
        let near = cached * self.bit() + (1.0 - cached) * self.first();
        self.agree(|distance| {
            let gathered = self.gathered(distance);
            // Several packets at once leave no room for that.
            let missed = others / connections * if gathered > 1.0 { 1.0 } else { 1.0 - again };
            SHARE * near + SHARE * (self.bit() + missed * self.transfer(distance) / gathered)
        })
    }

    /// Packets of a FIFO when it is drained, in the mean: the first one, and those of its connection that come before its time is over.
    fn gathered(&self, distance: f64) -> f64 {
        if self.reorder.fifos == 0 {
            return 1.0;
        }
        let others = SHARE * distance * self.reorder.fifo_timeout_ns as f64 / self.setting.delay_ns.0 as f64;
        (1.0 + others).min(self.reorder.fifo_packets.into())
    }
}

#[cfg(test)]
mod tests {
    use dumper::Nanos;

    use super::*;

    /// LEFT's figure 6 at an RTT ratio of 32.
    const FIGURE_6: Setting = Setting {
        rate_gbps: 216,
        mtu: 1_024,
        delay_ns: Nanos(186_000),
        connections: 5,
        receive_ns: Nanos::ZERO,
    };

    fn of(engine: ReorderEngine, change: impl Fn(&mut Reorder)) -> f64 {
        after(0, engine, change)
    }

    /// In a NIC that takes so long before its engine.
    fn after(receive_ns: u64, engine: ReorderEngine, change: impl Fn(&mut Reorder)) -> f64 {
        let mut reorder = Reorder { engine, ..Reorder::default() };
        change(&mut reorder);
        packet_ns(&Setting { receive_ns: Nanos(receive_ns), ..FIGURE_6 }, &reorder)
    }

    /// The root of s = b + A / s, with A = next x delay / (2 block x connections) and b = first - next (block - 1) / (4 block).
    #[test]
    fn the_pool_has_its_closed_form() {
        for (first, next, block) in [(15, 5, 8), (40, 20, 8), (0, 10, 1), (30, 7, 32)] {
            let packet_ns = of(ReorderEngine::Pool, |reorder| {
                (reorder.first_block_ns, reorder.next_block_ns, reorder.block_bits) = (first, next, block);
            });
            let (first, next, block) = (first as f64, next as f64, f64::from(block));
            let a = next * 186_000.0 / (2.0 * block * 5.0);
            let b = first - next * (block - 1.0) / (4.0 * block);
            let root = f64::midpoint(b, (b * b + 4.0 * a).sqrt());
            assert!((packet_ns / root - 1.0).abs() < 1e-9, "{packet_ns} and {root}");
        }
    }

    /// Three connections of five have one cache in turn, and find it theirs in one of seven cases: 3/5 x 6/7 = 18/35 of the packets of the short path
    /// move two bitmaps.
    #[test]
    fn left_without_gathering_moves_bitmaps() {
        let packet_ns = of(ReorderEngine::Left, |reorder| reorder.fifos = 0);
        let distance = 186_000.0 / (5.0 * packet_ns);
        let moves = 15.0 + 5.0 * (distance / 8.0 - 9.0 / 16.0);
        let mean = 0.5 * (0.6 * 10.0 + 0.4 * 15.0) + 0.5 * (10.0 + 18.0 / 35.0 * moves);
        assert!((packet_ns / mean - 1.0).abs() < 1e-9, "{packet_ns} and {mean}");
    }

    /// What comes before the engine is a part of the first block's time to the pool, and of the bit's to a ring.
    #[test]
    fn the_time_before_the_engine_counts() {
        let later = of(ReorderEngine::Pool, |reorder| reorder.first_block_ns += 50);
        assert!((after(50, ReorderEngine::Pool, |_| ()) / later - 1.0).abs() < 1e-9);
        assert_eq!(after(50, ReorderEngine::Ring, |_| ()), 60.0);
        assert_eq!(after(50, ReorderEngine::Left, |reorder| reorder.caches = 5), 60.0);
        assert_eq!(after(50, ReorderEngine::None, |_| ()), 50.0);
        let all = after(50, ReorderEngine::Left, |_| ());
        assert!(all > 60.0 && all < 50.0 + of(ReorderEngine::Left, |_| ()), "{all}");
    }

    #[test]
    fn engines_are_in_order() {
        let cable = FIGURE_6.packet_ns();
        let left = |change: fn(&mut Reorder)| of(ReorderEngine::Left, change);
        let [pool, no_gather, short, long] = [
            of(ReorderEngine::Pool, |_| ()),
            left(|reorder| reorder.fifos = 0),
            left(|reorder| reorder.fifo_timeout_ns = 500),
            left(|_| ()),
        ];
        assert!(pool > no_gather && no_gather > short && short > long && long >= cable);
        assert_eq!(left(|reorder| reorder.caches = 5), cable, "a cache for each");
        assert_eq!(left(|reorder| reorder.caches = 0), pool, "no cache at all");
        assert_eq!(left(|reorder| reorder.budget_ns = 100_000), pool, "no bitmap ever moves");
        assert_eq!(of(ReorderEngine::Ring, |reorder| reorder.access_ns = 100), 100.0);
    }
}
