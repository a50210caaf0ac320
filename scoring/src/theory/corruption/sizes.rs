//! Distributions of the sizes of messages.

/// Points of a distribution: bytes, and percent of the messages that are as large or smaller.
type Points = [(f64, f64)];

/// WebSearch, as the simulations of HPCC (SIGCOMM'19) have it: bytes, and percent of flows that are as large or smaller.
pub const WEB_SEARCH: &Points = &[
    (0.0, 0.0),
    (10e3, 15.0),
    (20e3, 20.0),
    (30e3, 30.0),
    (50e3, 40.0),
    (80e3, 53.0),
    (200e3, 60.0),
    (1e6, 70.0),
    (2e6, 80.0),
    (5e6, 90.0),
    (10e6, 97.0),
    (30e6, 100.0),
];

/// Most packets of a message: half of the PSNs, beyond which a requester cannot tell new ones from old ones.
const MOST: usize = 1 << 23;

/// How many packets messages have.
#[derive(Clone, PartialEq, Debug)]
pub struct Sizes {
    /// Messages of more than no packet, than one, and so on to the most.
    beyond: Vec<Part>,
}

/// A distribution that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SizesError {
    /// A point does not come after the one before it, or is no number; its place, from 1.
    #[error("point {0} is no number, or smaller than the one before it: bytes and percent must not decrease")]
    Order(usize),
    /// It does not go from 0 to 100 percent.
    #[error("it must begin at 0 percent, and end at 100")]
    Ends,
    /// A message has more packets than a connection has PSNs.
    #[error("its largest message has more than {MOST} packets")]
    Large,
}

/// Part of a distribution.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Part {
    /// Probability of it.
    pub(super) share: f64,
    /// Expected packets of a message, of the others none.
    pub(super) packets: f64,
    /// Expected value of one over the packets, of the others 0.
    pub(super) of_packets: f64,
}

impl Sizes {
    /// Messages by points of their distribution, linear between them, cut into packets of so many bytes of payload.
    ///
    /// # Errors
    /// Bytes or percent decrease or are no numbers, or do not go from 0 to 100 percent; a message is too large.
    pub fn of(points: &Points, mtu: u32) -> Result<Self, SizesError> {
        let is_number = |(bytes, percent): (f64, f64)| bytes >= 0.0 && percent >= 0.0 && bytes.is_finite();
        for (at, point) in points.iter().enumerate() {
            let before = at.checked_sub(1).map_or((0.0, 0.0), |before| points[before]);
            if !is_number(*point) || point.0 < before.0 || point.1 < before.1 {
                return Err(SizesError::Order(at + 1));
            }
        }
        let (Some((_, 0.0)), Some((largest, 100.0))) = (points.first().copied(), points.last().copied())
        else {
            return Err(SizesError::Ends);
        };
        let packets = (largest / f64::from(mtu)).ceil().max(1.0);
        if packets > MOST as f64 {
            return Err(SizesError::Large);
        }
        let mut part = Part::default();
        let mut beyond = vec![part];
        let up_to = |packets: usize| part_up_to(points, packets as f64 * f64::from(mtu));
        // From the largest on, as sums of what is rare are exact then.
        let mut behind = 1.0;
        for size in (1..=packets as usize).rev() {
            let before = up_to(size - 1);
            // Messages without a byte are of one packet.
            let share = behind - if size == 1 { 0.0 } else { before };
            behind = before;
            let number = size as f64;
            part.share += share;
            part.packets += share * number;
            part.of_packets += share / number;
            beyond.push(part);
        }
        beyond.reverse();
        Ok(Self { beyond })
    }

    /// Sizes of up to so many packets, with their probabilities.
    pub(super) fn up_to(&self, packets: u64) -> impl Iterator<Item = (u64, f64)> {
        let shares = self.beyond.windows(2).map(|two| two[0].share - two[1].share);
        (1..).zip(shares).take(packets as usize)
    }

    /// Sizes of more packets, put together where they differ by a 16th part: their mean, and their probability. What grows smoothly with
    /// the size differs by less than a thousandth part.
    pub(super) fn about(&self, beyond: u64) -> impl Iterator<Item = (u64, f64)> {
        let mut from = beyond as usize;
        std::iter::from_fn(move || {
            let most = self.beyond.len() - 1;
            let before = self.beyond.get(from).filter(|_| from < most)?;
            let to = (from + 1 + from / 16).min(most);
            let behind = self.beyond[to];
            let share = before.share - behind.share;
            let mean = if share > 0.0 { (before.packets - behind.packets) / share } else { to as f64 };
            from = to;
            Some((mean.round() as u64, share))
        })
    }

    /// Those with more packets.
    pub(super) fn beyond(&self, packets: u64) -> Part {
        self.beyond.get(packets as usize).copied().unwrap_or_default()
    }

    /// Mean number of packets: E(S).
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.beyond(0).packets
    }

    /// Mean of one over the number of packets: E(1/S).
    #[must_use]
    pub fn mean_inverse(&self) -> f64 {
        self.beyond(0).of_packets
    }
}

/// Part of the messages that have so many bytes or fewer.
fn part_up_to(points: &Points, bytes: f64) -> f64 {
    let behind = points.partition_point(|(at, _)| *at <= bytes);
    let percent = match (points.get(behind.wrapping_sub(1)), points.get(behind)) {
        (Some((from, low)), Some((to, high))) => low + (high - low) * (bytes - from) / (to - from),
        (Some((_, percent)), None) => *percent,
        (None, _) => 0.0,
    };
    percent / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_search_has_the_means_that_the_paper_works_with() {
        let sizes = Sizes::of(WEB_SEARCH, 1024).unwrap();
        assert!((sizes.up_to(u64::MAX).map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((sizes.mean_inverse() - 0.0576).abs() < 0.0001, "{}", sizes.mean_inverse());
        assert!((sizes.mean_inverse() / 0.055 - 1.0).abs() < 0.05);
        let of_1000 = Sizes::of(WEB_SEARCH, 1000).unwrap().mean_inverse();
        assert!((of_1000 - 0.0566).abs() < 0.0001, "{of_1000}");
        // The mean of the points themselves, with half a packet more for the last one.
        let mean: f64 = WEB_SEARCH
            .windows(2)
            .map(|two| (two[1].1 - two[0].1) / 100.0 * (two[0].0 + two[1].0) / 2.0)
            .sum();
        assert!((sizes.mean() - (mean / 1024.0 + 0.5)).abs() < 0.01, "{} {mean}", sizes.mean());
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for (points, error) in [
            (&[][..], SizesError::Ends),
            (&[(0.0, 0.0)], SizesError::Ends),
            (&[(0.0, 0.0), (10.0, 99.0)], SizesError::Ends),
            (&[(0.0, 5.0), (10.0, 100.0)], SizesError::Ends),
            (&[(0.0, 0.0), (10.0, 50.0), (5.0, 100.0)], SizesError::Order(3)),
            (&[(0.0, 0.0), (10.0, 50.0), (20.0, 40.0), (30.0, 100.0)], SizesError::Order(3)),
            (&[(-1.0, 0.0), (10.0, 100.0)], SizesError::Order(1)),
            (&[(0.0, 0.0), (f64::NAN, 100.0)], SizesError::Order(2)),
            (&[(0.0, 0.0), (f64::INFINITY, 100.0)], SizesError::Order(2)),
            (&[(0.0, 0.0), (10.0, f64::NAN)], SizesError::Order(2)),
            (&[(0.0, 0.0), (1e12, 100.0)], SizesError::Large),
        ] {
            assert_eq!(Sizes::of(points, 1024).unwrap_err(), error, "{points:?}");
        }
    }

    #[test]
    fn sizes_that_are_put_together_keep_their_number_and_their_mean() {
        let sizes = Sizes::of(WEB_SEARCH, 1024).unwrap();
        let about: Vec<_> = sizes.about(10).collect();
        let share: f64 = about.iter().map(|(_, share)| share).sum();
        let packets: f64 = about.iter().map(|(packets, share)| *packets as f64 * share).sum();
        let beyond = sizes.beyond(10);
        assert!((share - beyond.share).abs() < 1e-12 && (packets / beyond.packets - 1.0).abs() < 1e-4);
        assert!(about.len() < 200 && about.is_sorted_by_key(|(packets, _)| *packets), "{}", about.len());
        assert_eq!(sizes.about(u64::from(u32::MAX)).next(), None);
        let step = Sizes::of(&[(1_024_000.0, 0.0), (1_024_000.0, 100.0)], 1024).unwrap();
        assert_eq!(step.about(1).find(|(_, share)| *share > 0.5), Some((1000, 1.0)));
    }

    #[test]
    fn a_step_is_one_size() {
        let sizes = Sizes::of(&[(2048.0, 0.0), (2048.0, 100.0)], 1024).unwrap();
        assert_eq!(sizes.up_to(9).collect::<Vec<_>>(), [(1, 0.0), (2, 1.0)]);
        assert_eq!((sizes.mean(), sizes.mean_inverse()), (2.0, 0.5));
    }
}
