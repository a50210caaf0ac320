//! Counts, and what they say of the probability behind them.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use dumper::Nanos;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Beta, ContinuousCDF as _};

/// How many of so many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Share {
    /// Trials.
    pub of: u64,
    /// Those in which it happened.
    pub yes: u64,
}

/// Which end of the interval of a probability.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Confidence {
    /// The lower end of the interval.
    Least,
    /// The share that was seen.
    Seen,
    /// The upper end.
    Most,
}

impl Share {
    /// Probability that an interval does not hold what is behind the share, on either side.
    const ERROR: f64 = 0.025;

    pub(super) fn count(&mut self, happened: bool) {
        *self += Self { of: 1, yes: happened.into() };
    }

    /// The share; `otherwise` where there was no trial.
    #[must_use]
    pub fn or(self, otherwise: f64) -> f64 {
        if self.of == 0 { otherwise } else { self.yes as f64 / self.of as f64 }
    }

    /// The share or an end of the interval that holds its probability with 95 % (Clopper and Pearson, 1934), as if it came from
    /// `times` as many trials; without trials nothing is known of it.
    #[must_use]
    pub fn at(self, confidence: Confidence, times: f64) -> f64 {
        let (of, yes) = (self.of as f64 * times, self.yes as f64 * times);
        let quantile = |a: f64, b: f64, at: f64| Beta::new(a, b).map_or(at, |beta| beta.inverse_cdf(at));
        match confidence {
            Confidence::Seen => self.or(0.0),
            Confidence::Least if self.yes == 0 => 0.0,
            Confidence::Most if self.yes == self.of => 1.0,
            // Where the formula has a form of its own, the search for a quantile of the distribution has none.
            Confidence::Least if self.yes == self.of => Self::ERROR.powf(1.0 / of),
            Confidence::Most if self.yes == 0 => 1.0 - Self::ERROR.powf(1.0 / of),
            Confidence::Least => quantile(yes, of - yes + 1.0, Self::ERROR),
            Confidence::Most => quantile(yes + 1.0, of - yes, 1.0 - Self::ERROR),
        }
    }
}

impl AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        self.of += other.of;
        self.yes += other.yes;
    }
}

/// Largest number of packets that is told apart from the next one, and then each half of a power of two.
const EXACT: u32 = 16;
/// All larger numbers are one.
const LARGEST: u32 = 65;

/// Shares by the number of packets that arrived behind a loss; numbers beyond 16 are put together.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ByPackets(BTreeMap<u32, Share>);

impl ByPackets {
    /// The least number that a number is put together with.
    fn least(packets: u32) -> u32 {
        match packets {
            0..=EXACT => packets,
            17..=24 => 17,
            25..=32 => 25,
            33..=48 => 33,
            49..LARGEST => 49,
            LARGEST.. => LARGEST,
        }
    }

    pub(super) fn count(&mut self, packets: u32, happened: bool) {
        self.0.entry(Self::least(packets)).or_default().count(happened);
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (packets, share) in &other.0 {
            *self.0.entry(*packets).or_default() += *share;
        }
    }

    /// All together.
    #[must_use]
    pub fn total(&self) -> Share {
        let mut total = Share::default();
        self.0.values().for_each(|share| total += *share);
        total
    }

    /// Shares from so many packets on, the least number first, put together where they do not grow with the packets: more of them
    /// never make an answer less probable, and what is less is chance (pool adjacent violators).
    #[must_use]
    pub fn growing(&self) -> Vec<(u32, Share)> {
        let mut blocks: Vec<(u32, Share)> = Vec::new();
        for (packets, share) in &self.0 {
            let mut block = (*packets, *share);
            while let Some((from, before)) = blocks.last()
                && before.or(0.0) >= block.1.or(0.0)
            {
                block.1 += *before;
                block.0 = *from;
                blocks.pop();
            }
            blocks.push(block);
        }
        blocks
    }
}

/// Times, added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// Their sum in nanoseconds.
    pub sum_ns: u64,
    /// The shortest in nanoseconds; 0 if there is none.
    pub least_ns: u64,
    /// The longest in nanoseconds.
    pub most_ns: u64,
}

impl Waits {
    pub(super) fn count(&mut self, wait: Nanos) {
        self.add(&Self { count: 1, sum_ns: wait.0, least_ns: wait.0, most_ns: wait.0 });
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.least_ns = match (self.count, other.count) {
            (0, _) => other.least_ns,
            (_, 0) => self.least_ns,
            _ => self.least_ns.min(other.least_ns),
        };
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.most_ns = self.most_ns.max(other.most_ns);
    }

    /// Their mean; none if there is none.
    #[must_use]
    pub fn mean(&self) -> Option<Nanos> {
        self.sum_ns.checked_div(self.count).map(Nanos)
    }
}

/// Times, counted by their power of two: a few that are long do not hide most.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ByMagnitude(BTreeMap<u32, u64>);

impl ByMagnitude {
    pub(super) fn count(&mut self, wait: Nanos) {
        *self.0.entry(wait.0.max(1).ilog2()).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (power, count) in &other.0 {
            *self.0.entry(*power).or_default() += count;
        }
    }

    /// The largest power of two of nanoseconds that at least half of them reach; none if there is none.
    #[must_use]
    pub fn half_reach(&self) -> Option<Nanos> {
        let all: u64 = self.0.values().sum();
        let mut reach = 0;
        let power = self.0.iter().rev().find(|(_, count)| {
            reach += *count;
            reach >= all.div_ceil(2)
        });
        power.map(|(power, _)| Nanos(1_u64.checked_shl(*power).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_clopper_and_pearson() {
        let is_near = |share: Share, least: f64, most: f64| {
            let ends = [share.at(Confidence::Least, 1.0), share.at(Confidence::Most, 1.0)];
            assert!((ends[0] - least).abs() < 2e-4 && (ends[1] - most).abs() < 2e-4, "{ends:?}");
        };
        // Tables of the binomial distribution have these.
        is_near(Share { of: 10, yes: 0 }, 0.0, 0.3085);
        is_near(Share { of: 10, yes: 10 }, 0.6915, 1.0);
        is_near(Share { of: 10, yes: 3 }, 0.0667, 0.6525);
        is_near(Share { of: 100, yes: 50 }, 0.3983, 0.6017);
        is_near(Share { of: 0, yes: 0 }, 0.0, 1.0);
        // As from ten times as many.
        let tenfold = Share { of: 10, yes: 3 }.at(Confidence::Least, 10.0);
        assert!((tenfold - Share { of: 100, yes: 30 }.at(Confidence::Least, 1.0)).abs() < 1e-12);
    }

    #[test]
    fn shares_that_do_not_grow_are_put_together() {
        let mut shares = ByPackets::default();
        for (packets, yes) in
            [(1, false), (2, false), (4, true), (5, true), (5, false), (6, true), (70, true), (900, true)]
        {
            shares.count(packets, yes);
        }
        let expected =
            [(1, Share { of: 2, yes: 0 }), (4, Share { of: 3, yes: 2 }), (6, Share { of: 3, yes: 3 })];
        assert_eq!(shares.growing(), expected);
        assert_eq!(shares.total(), Share { of: 8, yes: 5 });
    }

    #[test]
    fn waits_have_their_extremes() {
        let mut waits = Waits::default();
        assert_eq!(waits.mean(), None);
        [5, 3, 10].into_iter().for_each(|ns| waits.count(Nanos(ns)));
        waits.add(&Waits::default());
        assert_eq!(waits, Waits { count: 3, sum_ns: 18, least_ns: 3, most_ns: 10 });
        assert_eq!(waits.mean(), Some(Nanos(6)));
    }

    #[test]
    fn half_of_the_times_reach_a_power_of_two() {
        let mut times = ByMagnitude::default();
        assert_eq!(times.half_reach(), None);
        [3, 5, 1 << 40].into_iter().for_each(|ns| times.count(Nanos(ns)));
        assert_eq!(times.half_reach(), Some(Nanos(4)));
        let mut more = ByMagnitude::default();
        [0, 2, 2].into_iter().for_each(|ns| more.count(Nanos(ns)));
        times.add(&more);
        assert_eq!(times.half_reach(), Some(Nanos(2)));
    }
}
