//! Enhanced transmission selection (IEEE 802.1Qaz): strict classes first, then weighted shares of the
//! remaining bandwidth.

use dumper::Nanos;

use crate::sim::nic::congestion::Pacer;

/// Traffic classes.
const CLASSES: usize = 8;

/// Bytes of an Ethernet frame besides the payload of its packet, at most: with it the smallest quantum is a
/// full packet.
const LARGEST_HEADERS: u32 = 128;

/// A class that has its part of the link.
#[derive(Clone, Copy, Debug)]
struct Share {
    class: usize,
    /// Bytes that are added to its allowance in each of its turns.
    quantum: i64,
    /// Bytes that it may send in this turn; an excess is taken from the next.
    deficit: i64,
    /// The most that it gets, in bit/s; none where only the link limits it.
    ceiling: Option<u64>,
    pacer: Pacer,
}

/// Whose turn it is among traffic classes.
#[derive(Debug)]
pub(in crate::sim::nic) struct Selection {
    /// Strict classes, the most important first.
    strict: Vec<usize>,
    /// Weighted classes, in turn (deficit round robin).
    shares: Vec<Share>,
    /// The one whose turn it is.
    at: usize,
    /// Rate of the link in bit/s.
    link: u64,
}

impl Selection {
    /// Classes of a host; a weighted one gets at most so many percent of its part, or, with 0, all that is
    /// left.
    pub(in crate::sim::nic) fn new(
        ets: &corpus::Ets,
        ceiling_percent: u32,
        mtu: u32,
        link_gbps: u32,
    ) -> Self {
        let link = u64::from(link_gbps) * 1_000_000_000;
        let is_strict = |class: &usize| ets.strict.iter().any(|strict| usize::from(*strict) == *class);
        let weight = |class: &usize| ets.weights.get(*class).copied().map_or(0, u64::from);
        let weighted: Vec<usize> =
            (0..CLASSES).filter(|class| !is_strict(class) && weight(class) > 0).collect();
        let total: u64 = weighted.iter().map(weight).sum();
        let least = weighted.iter().map(weight).min().unwrap_or(1);
        let full = u64::from(mtu + LARGEST_HEADERS);
        let share = |class: &usize| Share {
            class: *class,
            quantum: (full * weight(class) / least) as i64,
            deficit: 0,
            ceiling: (ceiling_percent > 0)
                .then(|| link / 100 * weight(class) * u64::from(ceiling_percent) / total),
            pacer: Pacer::default(),
        };
        let shares = weighted.iter().map(share).collect();
        Self { strict: (0..CLASSES).rev().filter(is_strict).collect(), shares, at: 0, link }
    }

    /// The class that sends next, of those that wait; none if its ceiling holds each of them.
    pub(in crate::sim::nic) fn select(&mut self, waits: impl Fn(usize) -> bool, now: Nanos) -> Option<usize> {
        if let Some(class) = self.strict.iter().copied().find(|class| waits(*class)) {
            return Some(class);
        }
        let may_send = |share: &Share| waits(share.class) && share.pacer.holds_until(now).is_none();
        if !self.shares.iter().any(may_send) {
            return None;
        }
        loop {
            let share = &mut self.shares[self.at];
            if !may_send(share) {
                // Bandwidth that it does not use goes to others.
                share.deficit = share.deficit.min(0);
            } else if share.deficit > 0 {
                return Some(share.class);
            }
            self.at = (self.at + 1) % self.shares.len();
            let next = &mut self.shares[self.at];
            next.deficit += next.quantum;
        }
    }

    /// Time at which a class may send next, of those that wait.
    pub(in crate::sim::nic) fn next_at(&self, waits: impl Fn(usize) -> bool, now: Nanos) -> Option<Nanos> {
        if self.strict.iter().any(|class| waits(*class)) {
            return Some(now);
        }
        let shares = self.shares.iter().filter(|share| waits(share.class));
        shares.map(|share| share.pacer.holds_until(now).unwrap_or(now)).min()
    }

    /// A class has sent a packet of so many bytes on the cable.
    pub(in crate::sim::nic) fn sent(&mut self, class: usize, bytes: u32, now: Nanos) {
        let Some(share) = self.shares.iter_mut().find(|share| share.class == class) else { return };
        share.deficit -= i64::from(bytes);
        if let Some(ceiling) = share.ceiling {
            share.pacer.sent(now, bytes, ceiling, self.link);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Nanos = Nanos::ZERO;

    fn selection(weights: &[u8]) -> Selection {
        Selection::new(&corpus::Ets { weights: weights.to_vec(), strict: Vec::new() }, 0, 1_024, 100)
    }

    /// Bytes of each class after so many packets, where the packets of each class have one size.
    fn sent(selection: &mut Selection, sizes: &[u32], packets: u32) -> Vec<u64> {
        let mut bytes = vec![0; sizes.len()];
        for _ in 0..packets {
            let class = selection.select(|class| class < sizes.len(), NOW).unwrap();
            selection.sent(class, sizes[class], NOW);
            bytes[class] += u64::from(sizes[class]);
        }
        bytes
    }

    #[test]
    fn shares_are_of_bytes_and_not_of_packets() {
        for (weights, sizes) in [([1, 1], [1_110, 84]), ([1, 3], [1_110, 84]), ([3, 1], [600, 1_100])] {
            let bytes = sent(&mut selection(&weights), &sizes, 100_000);
            let (left, right) = (bytes[0] * u64::from(weights[1]), bytes[1] * u64::from(weights[0]));
            assert!(left.abs_diff(right) * 200 < left, "{weights:?} {sizes:?}: {bytes:?}");
        }
    }

    /// A class gains no credit while it has nothing to send.
    #[test]
    fn a_class_saves_nothing_up() {
        let mut selection = selection(&[50, 50]);
        for _ in 0..1_000 {
            assert_eq!(selection.select(|class| class == 0, NOW), Some(0));
            selection.sent(0, 1_110, NOW);
        }
        let bytes = sent(&mut selection, &[1_110, 1_110], 1_000);
        assert!(bytes[0].abs_diff(bytes[1]) < 5_000, "{bytes:?}");
    }

    #[test]
    fn without_anything_that_waits_nothing_is_selected() {
        let mut selection = selection(&[1, 0, 5]);
        assert_eq!(selection.select(|_| false, NOW), None);
        assert_eq!(selection.next_at(|_| false, NOW), None);
        assert_eq!(selection.select(|class| class == 1, NOW), None, "a class that is not served");
    }
}
