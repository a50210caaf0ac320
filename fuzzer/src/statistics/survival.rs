//! Survival analysis: Kaplan and Meier's estimator (1958) and what is read off it, and the log-rank test (Mantel 1966).

use std::collections::BTreeMap;

use statrs::distribution::{ChiSquared, ContinuousCDF as _};

/// Time to an event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Time {
    /// The time, or the end of the observation.
    pub at: f64,
    /// False if there was no event until then: the time is censored.
    pub reached: bool,
}

/// Numbers of each time: those still observed just before it, and events at it.
fn table(times: &[Time]) -> Vec<(f64, usize, usize)> {
    let mut sorted = times.to_vec();
    sorted.sort_by(|a, b| a.at.total_cmp(&b.at));
    let mut rows = Vec::new();
    let mut from = 0;
    while let Some(first) = sorted.get(from) {
        let same = sorted[from..].partition_point(|time| time.at <= first.at);
        let events = sorted[from..from + same].iter().filter(|time| time.reached).count();
        rows.push((first.at, sorted.len() - from, events));
        from += same;
    }
    rows
}

/// The survival curve: the part without the event after each time with events, by Kaplan and Meier.
#[must_use]
pub fn curve(times: &[Time]) -> Vec<(f64, f64)> {
    let mut left = 1.0;
    let with_events = table(times).into_iter().filter(|(_, _, events)| *events > 0);
    with_events
        .map(|(at, observed, events)| {
            left *= 1.0 - events as f64 / observed as f64;
            (at, left)
        })
        .collect()
}

/// The time by which a part of all have had the event: the first at which at most the rest has not; none if that was not
/// observed.
#[must_use]
pub fn quantile(times: &[Time], part: f64) -> Option<f64> {
    // Rounding must not hide that exactly the rest is left.
    let enough = 1.0 - part + 1e-9;
    curve(times).into_iter().find(|(_, left)| *left <= enough).map(|(at, _)| at)
}

/// Mean time to the event, where all times end at `limit`: the area under the survival curve (Royston and Parmar 2013).
#[must_use]
pub fn restricted_mean(times: &[Time], limit: f64) -> f64 {
    let (mut area, mut since, mut left) = (0.0, 0.0, 1.0);
    for (at, after) in curve(times) {
        let at = at.min(limit);
        area += (at - since) * left;
        (since, left) = (at, after);
    }
    area + (limit - since).max(0.0) * left
}

/// Result of a log-rank test.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LogRank {
    /// Events of the first sample, minus those expected if both had the same curve: above 0 if it is earlier.
    pub excess: f64,
    /// Chi-square of one degree of freedom.
    pub chi_square: f64,
    /// Probability of so large a one if both have the same curve.
    pub p: f64,
}

/// The log-rank test that two samples have the same survival curve, over strata: pairs of samples that are compared with
/// each other only. Samples without events that could differ have p = 1.
#[must_use]
pub fn log_rank(strata: &[(&[Time], &[Time])]) -> LogRank {
    let (mut excess, mut variance) = (0.0, 0.0);
    for (first, second) in strata {
        let rows = |times: &[Time]| -> BTreeMap<u64, (usize, usize)> {
            // Times are not negative: their bits have their order.
            table(times)
                .into_iter()
                .map(|(at, observed, events)| (at.to_bits(), (observed, events)))
                .collect()
        };
        let (first, second) = (rows(first), rows(second));
        let observed = |rows: &BTreeMap<u64, (usize, usize)>, at: &u64| {
            rows.range(at..).next().map_or(0, |(_, (observed, _))| *observed) as f64
        };
        let events =
            |rows: &BTreeMap<u64, (usize, usize)>, at: &u64| rows.get(at).map_or(0, |row| row.1) as f64;
        let mut all: Vec<u64> = first.keys().chain(second.keys()).copied().collect();
        all.sort_unstable();
        all.dedup();
        for at in &all {
            let (of_first, of_both) = (observed(&first, at), observed(&first, at) + observed(&second, at));
            let happened = events(&first, at) + events(&second, at);
            let share = of_first / of_both;
            excess += events(&first, at) - happened * share;
            if of_both > 1.0 {
                variance += happened * share * (1.0 - share) * (of_both - happened) / (of_both - 1.0);
            }
        }
    }
    let chi_square = if variance > 0.0 { excess * excess / variance } else { 0.0 };
    let distribution = ChiSquared::new(1.0).expect("one degree of freedom is one that there is");
    LogRank { excess, chi_square, p: distribution.sf(chi_square) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Times with a `+` are censored.
    fn times(text: &str) -> Vec<Time> {
        let time = |word: &str| Time {
            at: word.trim_end_matches('+').parse().unwrap(),
            reached: !word.ends_with('+'),
        };
        text.split(' ').map(time).collect()
    }

    /// Weeks of remission of leukaemia with 6-mercaptopurine and without (Freireich and others 1963), on which textbooks
    /// and R's `survdiff` show the test.
    const TREATED: &str = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+";
    const PLACEBO: &str = "1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23";

    #[test]
    fn the_remissions_of_leukaemia_give_the_published_numbers() {
        let (treated, placebo) = (times(TREATED), times(PLACEBO));
        let test = log_rank(&[(&treated, &placebo)]);
        assert!((test.chi_square - 16.79).abs() < 0.01, "{test:?}");
        assert!((test.p - 4.17e-5).abs() < 1e-6, "{test:?}");
        // 9 events, and 19.3 are expected.
        assert!((test.excess + 10.25).abs() < 0.01, "{test:?}");
        assert_eq!((quantile(&treated, 0.5), quantile(&placebo, 0.5)), (Some(23.0), Some(8.0)));
        assert_eq!(quantile(&treated, 0.9), None, "that many were not observed");
        let curve = curve(&treated);
        let left: Vec<_> = curve.iter().map(|(at, left)| (*at, (left * 1e4).round() / 1e4)).collect();
        assert_eq!(
            left,
            [
                (6.0, 0.8571),
                (7.0, 0.8067),
                (10.0, 0.7529),
                (13.0, 0.6902),
                (16.0, 0.6275),
                (22.0, 0.5378),
                (23.0, 0.4482)
            ]
        );
        assert!(
            (restricted_mean(&placebo, 35.0) - 182.0 / 21.0).abs() < 1e-9,
            "the mean, as none is censored"
        );
    }

    #[test]
    fn strata_are_compared_by_themselves() {
        // In each stratum both are the same, but one stratum is slower.
        let (fast, slow) = (times("1 2 3 4"), times("100 200 300 400"));
        let strata: [(&[Time], &[Time]); 2] = [(&fast, &fast), (&slow, &slow)];
        assert!((log_rank(&strata).p - 1.0).abs() < 1e-9);
        let early: [(&[Time], &[Time]); 2] = [(&fast, &slow), (&fast, &slow)];
        assert!(log_rank(&early).p < log_rank(&early[..1]).p);
        assert!(log_rank(&early).excess > 0.0);
    }

    #[test]
    fn nothing_is_compared_with_nothing() {
        let none = times("10+ 10+");
        let test = log_rank(&[(&none, &none)]);
        assert_eq!((test.chi_square, test.p), (0.0, 1.0));
        assert_eq!((quantile(&none, 0.5), restricted_mean(&none, 10.0)), (None, 10.0));
    }

    proptest! {
        /// With one limit for all, the restricted mean is the mean of what was observed.
        #[test]
        fn the_restricted_mean_is_the_mean_up_to_the_limit(drawn in prop::collection::vec(1..200_u32, 1..30)) {
            let limit = 100.0;
            let times: Vec<Time> =
                drawn.iter().map(|at| Time { at: f64::from(*at).min(limit), reached: f64::from(*at) <= limit }).collect();
            let mean = times.iter().map(|time| time.at).sum::<f64>() / times.len() as f64;
            prop_assert!((restricted_mean(&times, limit) - mean).abs() < 1e-9);
        }
    }
}
