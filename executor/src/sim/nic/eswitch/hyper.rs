//! ScalaCN's scheduler (§4.3): a *hyper mask* with an entry for each flow that was seen lately, in front of all masks, and these in the
//! order of what they are good for.

use std::cmp::Reverse;

use dumper::Nanos;

use super::recent::Recent;

/// Time over which the packets of a mask are counted, in seconds.
const COUNTED_S: usize = 60;

/// Time without packets after which a mask counts as one that found none, in seconds.
const IDLE_S: u64 = 600;

/// Packets after which it is decided anew whether the scheduler acts.
const WINDOW: u64 = 1_000;

/// It acts if it saves more than so many percent of the look-ups.
const SAVES_PERCENT: u64 = 5;

/// Bits of a five-tuple, which the first mask names; each further one names one less.
const FIVE_TUPLE_BITS: u32 = 104;

const SECOND: u64 = 1_000_000_000;

/// The scheduler of one direction.
#[derive(Debug)]
pub(super) struct Hyper {
    /// Flows with an entry of the hyper mask.
    recent: Recent,
    cascade: Cascade,
    gauge: Gauge,
}

/// Look-ups of the last packets, with the scheduler and without.
#[derive(Debug, Default)]
struct Gauge {
    packets: u64,
    with: u64,
    without: u64,
    acts: bool,
}

impl Hyper {
    /// A scheduler whose hyper mask has so many entries.
    pub(super) fn new(entries: u32) -> Self {
        Self { recent: Recent::new(entries), cascade: Cascade::default(), gauge: Gauge::default() }
    }

    /// Masks that a packet of a flow is looked up in: `place` without the scheduler, up to its own.
    pub(super) fn search(&mut self, flow: u32, mask: u32, place: u32, now: Nanos) -> u32 {
        // A flow that was not there has an entry from now on.
        let hit = self.recent.note(flow);
        let behind = if hit { 0 } else { self.cascade.place(mask, place) };
        if !hit {
            self.cascade.found(mask, place, now);
        }
        let (with, acts) = (1 + behind, self.gauge.acts);
        self.gauge.note(with, place);
        if acts { with } else { place }
    }
}

impl Gauge {
    fn note(&mut self, with: u32, without: u32) {
        self.packets += 1;
        self.with += u64::from(with);
        self.without += u64::from(without);
        if self.packets == WINDOW {
            let acts = self.with * 100 < self.without * (100 - SAVES_PERCENT);
            *self = Self { acts, ..Self::default() };
        }
    }
}

/// Masks in the order of LS = PM x LM: the packets that they found in the last minute, times their length in bits.
#[derive(Debug, Default)]
struct Cascade {
    /// Those that found a packet, the best first.
    masks: Vec<Found>,
    /// Second of the last ordering.
    ordered: u64,
}

/// A mask that found packets.
#[derive(Clone, Debug)]
struct Found {
    mask: u32,
    /// Its place without the scheduler.
    place: u32,
    /// Packets in each second of the last minute.
    seconds: [u32; COUNTED_S],
    /// Second of the last packet.
    last: u64,
}

impl Found {
    /// Packets in the minute that ends with a second.
    fn packets(&self, now: u64) -> u64 {
        let first = now.saturating_sub(COUNTED_S as u64 - 1);
        let seconds = first..=now.min(self.last);
        seconds.map(|second| u64::from(self.seconds[second as usize % COUNTED_S])).sum()
    }

    fn score(&self, now: u64) -> u64 {
        let bits = FIVE_TUPLE_BITS.saturating_sub(self.mask - 1).max(1);
        self.packets(now) * u64::from(bits)
    }
}

impl Cascade {
    /// Masks that are looked through up to one: those that found packets come first, in their order, and then the others.
    fn place(&self, mask: u32, place: u32) -> u32 {
        match self.masks.iter().position(|found| found.mask == mask) {
            Some(at) => at as u32 + 1,
            None => place + self.masks.iter().filter(|found| found.place > place).count() as u32,
        }
    }

    /// A mask finds a packet.
    fn found(&mut self, mask: u32, place: u32, now: Nanos) {
        let second = now.0 / SECOND;
        let at = self.masks.iter().position(|found| found.mask == mask).unwrap_or_else(|| {
            self.masks.push(Found { mask, place, seconds: [0; COUNTED_S], last: second });
            self.masks.len() - 1
        });
        let found = &mut self.masks[at];
        // Seconds without packets since the last one.
        for idle in found.last + 1..=second.min(found.last + COUNTED_S as u64) {
            found.seconds[idle as usize % COUNTED_S] = 0;
        }
        found.last = second;
        found.seconds[second as usize % COUNTED_S] += 1;
        if second > self.ordered {
            self.order(second);
        }
    }

    fn order(&mut self, second: u64) {
        self.ordered = second;
        self.masks.retain(|found| second - found.last < IDLE_S);
        self.masks.sort_by_key(|found| (Reverse(found.score(second)), found.place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Masks in their order after a trace of masks that find packets, each with its second.
    fn order(trace: &[(u32, u64)]) -> Vec<u32> {
        let mut cascade = Cascade::default();
        for (mask, second) in trace {
            cascade.found(*mask, *mask, Nanos(second * SECOND));
        }
        cascade.order(trace.last().unwrap().1);
        cascade.masks.iter().map(|found| found.mask).collect()
    }

    /// By hand: packets of the last minute times bits, which are 104 for mask 1, 103 for mask 2, and so on.
    #[test]
    fn masks_are_ordered_by_packets_times_bits() {
        // 104, 103, 102: one packet each.
        assert_eq!(order(&[(3, 0), (2, 0), (1, 1)]), [1, 2, 3]);
        // 104 against 2 x 102.
        assert_eq!(order(&[(1, 0), (3, 0), (3, 1)]), [3, 1]);
        // 3 x 35 = 105 (mask 70) against 104, and 2 x 35 = 70 against it.
        assert_eq!(order(&[(1, 0), (70, 0), (70, 0), (70, 1)]), [70, 1]);
        assert_eq!(order(&[(1, 0), (70, 0), (70, 1)]), [1, 70]);
    }

    #[test]
    fn packets_count_for_a_minute_and_a_mask_for_ten() {
        // Two packets of mask 3 at second 0 count at 59, and not at 60.
        assert_eq!(order(&[(3, 0), (3, 0), (1, 59)]), [3, 1]);
        assert_eq!(order(&[(3, 0), (3, 0), (1, 60)]), [1, 3]);
        // One of each in the last minute, after a pause in which seconds come again.
        assert_eq!(order(&[(3, 5), (3, 5), (3, 65), (1, 65)]), [1, 3]);
        assert_eq!(order(&[(3, 0), (1, 599)]), [1, 3]);
        assert_eq!(order(&[(3, 0), (1, 600)]), [1]);
    }

    #[test]
    fn masks_without_packets_come_behind_those_with_some() {
        let mut cascade = Cascade::default();
        cascade.found(7, 7, Nanos(0));
        let places = [1, 6, 7, 8].map(|mask| cascade.place(mask, mask));
        assert_eq!(places, [2, 7, 1, 8]);
    }

    /// Flows that find an entry of the hyper mask, and those that do not.
    #[test]
    fn the_least_recently_used_entry_goes() {
        let mut hyper = Hyper::new(2);
        hyper.gauge.acts = true;
        let mut hits = |flow: u32| hyper.search(flow, flow, flow * 10, Nanos(0)) == 1;
        assert_eq!([1, 2, 1, 2].map(&mut hits), [false, false, true, true]);
        // Flow 3 takes the entry of flow 1, and flow 1 that of flow 3.
        assert_eq!([3, 2, 1].map(&mut hits), [false, true, false]);
        assert_eq!([1, 2, 3].map(&mut hits), [true, true, false]);
    }

    #[test]
    fn it_acts_where_it_saves_more_than_a_twentieth() {
        // So many flows in turn, all with the last of so many masks; the look-ups of the second thousand packets.
        let searched = |entries: u32, flows: u32, masks: u32| {
            let mut hyper = Hyper::new(entries);
            let mut search = |packet: u32| hyper.search(packet % flows, masks, masks, Nanos(0));
            (0..1_000).for_each(|packet| assert_eq!(search(packet), masks));
            (1_000..2_000).map(&mut search).sum::<u32>()
        };
        assert_eq!(searched(8, 8, 10), 1_000);
        // Each flow has lost its entry when it comes again; but its mask is the only one that finds packets.
        assert_eq!(searched(8, 9, 10), 2_000);
        assert_eq!(searched(8, 9, 2), 2_000);
        assert_eq!(searched(8, 8, 1), 1_000);
    }
}
