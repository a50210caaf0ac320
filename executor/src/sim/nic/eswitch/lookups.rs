//! Look-ups in one direction: first come, first served, so many at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dumper::Nanos;

use crate::profile::Eswitch;
use crate::sim::agenda::Agenda;

/// Packets `P` that are looked up, or wait for it.
#[derive(Debug)]
pub(super) struct Lookups<P> {
    /// Ends of those that may not be over yet; the others leave room as they are.
    busy: BinaryHeap<Reverse<Nanos>>,
    /// Most of them at a time.
    most: usize,
    in_order: bool,
    /// Latest end of a look-up.
    last: Nanos,
    /// Packets by the end of their look-up.
    done: Agenda<P>,
    /// Number of these.
    packets: usize,
}

impl<P> Lookups<P> {
    pub(super) fn new(eswitch: &Eswitch) -> Self {
        Self {
            busy: BinaryHeap::new(),
            most: eswitch.lookups.max(1) as usize,
            in_order: eswitch.in_order,
            last: Nanos::ZERO,
            done: Agenda::new(),
            packets: 0,
        }
    }

    /// Time from which on another packet can be looked up.
    #[inline]
    pub(super) fn free_at(&self) -> Nanos {
        match self.busy.peek() {
            Some(Reverse(first)) if self.busy.len() >= self.most => *first,
            _ => Nanos::ZERO,
        }
    }

    /// A packet is looked up for a time, from now on or once those before it leave room, and goes on at a time at the earliest; returns
    /// the time at which it does.
    pub(super) fn begin(&mut self, packet: P, takes: Nanos, earliest: Nanos, now: Nanos) -> Nanos {
        let ends = self.free_at().max(now) + takes;
        // Those that are over leave, and the one that this one waits for.
        let is_over = |first: &Reverse<Nanos>| first.0 <= now;
        while self.busy.len() >= self.most || self.busy.peek().is_some_and(is_over) {
            self.busy.pop();
        }
        self.busy.push(Reverse(ends));
        let done = if self.in_order { ends.max(self.last) } else { ends };
        self.last = self.last.max(done);
        // One that waits for something else holds nobody up.
        let done = done.max(earliest);
        self.done.note(done, packet);
        self.packets += 1;
        done
    }

    /// Number of packets that are looked up or wait for it.
    pub(super) const fn packets(&self) -> usize {
        self.packets
    }

    /// Time at which the next look-up ends.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Nanos> {
        self.done.next_at()
    }

    /// A packet whose look-up has ended.
    #[inline]
    pub(super) fn take(&mut self, now: Nanos) -> Option<P> {
        let packet = self.done.take_due(now)?;
        self.packets -= 1;
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The packets, each with the time at which its look-up ends.
    fn ends(lookups: u32, in_order: bool, arrivals: &[(u64, u64)]) -> Vec<(u64, usize)> {
        let mut all = Lookups::new(&Eswitch { lookups, in_order, ..Eswitch::default() });
        for (number, (at, takes)) in arrivals.iter().enumerate() {
            all.begin(number, Nanos(*takes), Nanos::ZERO, Nanos(*at));
        }
        let mut ended = Vec::new();
        while let Some(at) = all.next_at() {
            ended.extend(all.take(at).map(|number| (at.0, number)));
        }
        ended
    }

    #[test]
    fn so_many_packets_are_looked_up_at_a_time() {
        let arrivals = [(0, 10), (0, 10), (1, 10), (30, 5)];
        assert_eq!(ends(1, true, &arrivals), [(10, 0), (20, 1), (30, 2), (35, 3)]);
        assert_eq!(ends(2, true, &arrivals), [(10, 0), (10, 1), (20, 2), (35, 3)]);
        assert_eq!(ends(3, true, &arrivals), [(10, 0), (10, 1), (11, 2), (35, 3)]);
    }

    #[test]
    fn packets_keep_their_order_if_the_nic_keeps_it() {
        let arrivals = [(0, 30), (1, 10), (2, 20)];
        assert_eq!(ends(3, true, &arrivals), [(30, 0), (30, 1), (30, 2)]);
        assert_eq!(ends(3, false, &arrivals), [(11, 1), (22, 2), (30, 0)]);
    }

    proptest! {
        /// Against servers of which each packet takes the one that is free first.
        #[test]
        fn each_packet_takes_the_place_that_is_free_first(
            lookups in 1_u32..6,
            arrivals in vec((0_u64..30, 0_u64..60), 1..100),
        ) {
            let mut all = Lookups::new(&Eswitch { lookups, in_order: false, ..Eswitch::default() });
            let (mut servers, mut now) = (vec![0; lookups as usize], 0);
            for (number, (after, takes)) in arrivals.into_iter().enumerate() {
                now += after;
                servers.sort_unstable();
                prop_assert_eq!(all.free_at().0.max(now), servers[0].max(now));
                servers[0] = servers[0].max(now) + takes;
                let done = all.begin(number, Nanos(takes), Nanos::ZERO, Nanos(now));
                prop_assert_eq!(done.0, servers[0]);
            }
        }
    }
}
