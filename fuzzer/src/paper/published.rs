//! Values that the paper gives, and the agreement of a measurement with them.

use statrs::distribution::{DiscreteCDF, Poisson};

use super::{PingPong, Verdict};
use crate::measure::{Shown, Value};

/// Agreement that is asked for where the paper gives a number, in percent of it.
const PERCENT: f64 = 15.0;

/// Value that the paper gives.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Published {
    /// A number, to be met within 15 %.
    About(f64),
    /// Numbers, each to be met within 15 %.
    Each(&'static [f64]),
    /// A number to be met within another percentage, where the paper leaves its basis open.
    Near {
        /// The number.
        value: f64,
        /// Percent of it.
        percent: f64,
    },
    /// A number to be met within a factor, likewise.
    WithinFactor {
        /// The number.
        value: f64,
        /// The factor.
        factor: f64,
    },
    /// A number to be met within as much above and below it, in its unit.
    PlusMinus {
        /// The number.
        value: f64,
        /// The largest difference.
        by: f64,
    },
    /// A range, bounds included.
    Between(f64, f64),
    /// More than this.
    Above(f64),
    /// Less than this.
    Below(f64),
    /// A count.
    Exactly(u64),
    /// Counts.
    Counts(&'static [u64]),
    /// A word, or a sequence of packets.
    Words(&'static str),
    /// As many time-outs as the paper's theory, without its approximations, expects of a setting: a count in the middle 99.9 % of
    /// Poisson's distribution.
    TimeOuts(PingPong),
    /// No number.
    Open,
}

impl Published {
    /// Measured over published, where that says something, and the verdict.
    pub fn judge(&self, measured: Option<&Value>) -> (Option<f64>, Verdict) {
        let Some(measured) = measured else {
            return (None, if *self == Self::Open { Verdict::Open } else { Verdict::Off });
        };
        let (ratio, agrees) = match (self, measured) {
            (Self::Open, _) => return (None, Verdict::Open),
            (Self::About(value), Value::Number(measured)) => near(&[*value], &[*measured], PERCENT),
            (Self::Near { value, percent }, Value::Number(measured)) => {
                near(&[*value], &[*measured], *percent)
            }
            (Self::Each(values), Value::Numbers(measured)) => near(values, measured, PERCENT),
            (Self::WithinFactor { value, factor }, Value::Number(measured)) => {
                let ratio = measured / value;
                (Some(ratio), (1.0 / factor..=*factor).contains(&ratio))
            }
            (Self::PlusMinus { value, by }, Value::Number(measured)) => {
                (Some(measured / value), (measured - value).abs() <= *by)
            }
            (Self::Between(low, high), Value::Number(measured)) => (None, (*low..=*high).contains(measured)),
            (Self::Above(bound), Value::Number(measured)) => (None, measured > bound),
            (Self::Below(bound), Value::Number(measured)) => (None, measured < bound),
            (Self::Exactly(count), Value::Number(measured)) => (None, *measured == *count as f64),
            (Self::Counts(counts), Value::Numbers(measured)) => {
                (None, counts.iter().map(|count| *count as f64).eq(measured.iter().copied()))
            }
            (Self::TimeOuts(of), Value::Number(measured)) => {
                let expected = of.expected();
                (Some(measured / expected), is_likely(*measured as u64, expected))
            }
            (Self::Words(words), Value::Words(measured)) => (None, words == measured),
            _ => (None, false),
        };
        (ratio, if agrees { Verdict::Ok } else { Verdict::Off })
    }
}

/// Returns true if a count is not in the tails of Poisson's distribution with this mean, which have 0.05 % each.
fn is_likely(count: u64, mean: f64) -> bool {
    const TAIL: f64 = 0.000_5;
    let Ok(poisson) = Poisson::new(mean) else { return count == 0 };
    let fewer = count.checked_sub(1).map_or(0.0, |fewer| poisson.cdf(fewer));
    poisson.cdf(count) >= TAIL && 1.0 - fewer >= TAIL
}

/// The ratio that is farthest from 1, and whether all are within so many percent.
fn near(values: &[f64], measured: &[f64], percent: f64) -> (Option<f64>, bool) {
    let ratios = values.iter().zip(measured).map(|(value, measured)| measured / value);
    let worst = ratios.max_by(|one, other| (one - 1.0).abs().total_cmp(&(other - 1.0).abs()));
    let agrees = worst.is_some_and(|ratio| (ratio - 1.0).abs() <= percent / 100.0);
    (worst, agrees && values.len() == measured.len())
}

impl Published {
    /// The value with its unit, for people.
    pub fn with_unit(&self, unit: &str) -> String {
        let numbers = |text: &dyn Fn(Shown<'_>) -> String, of: &[f64]| {
            let shown = Shown::of(of.iter().copied(), unit);
            shown.with_unit(&text(shown))
        };
        match self {
            Self::About(value) | Self::Near { value, .. } | Self::WithinFactor { value, .. } => {
                numbers(&|shown| shown.number(*value), &[*value])
            }
            Self::Each(values) => numbers(&|shown| shown.numbers(values), values),
            Self::PlusMinus { value, by } => {
                numbers(&|shown| format!("{} ± {}", shown.number(*value), shown.number(*by)), &[*value, *by])
            }
            Self::Between(low, high) => {
                numbers(&|shown| format!("{} to {}", shown.number(*low), shown.number(*high)), &[*low, *high])
            }
            Self::Above(bound) => numbers(&|shown| format!("> {}", shown.number(*bound)), &[*bound]),
            Self::Below(bound) => numbers(&|shown| format!("< {}", shown.number(*bound)), &[*bound]),
            Self::Exactly(count) => Value::count(*count).with_unit(unit),
            Self::Counts(counts) => Value::counts(counts.iter().copied()).with_unit(unit),
            Self::Words(words) => (*words).to_owned(),
            Self::TimeOuts(of) => {
                let expected = of.expected();
                let text = numbers(&|shown| shown.number(expected), &[expected]);
                format!("{text} by theory")
            }
            Self::Open => "no number".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(published: Published, measured: &Value) -> Verdict {
        published.judge(Some(measured)).1
    }

    #[test]
    fn numbers_agree_within_fifteen_percent() {
        for (measured, agrees) in [(84.9, false), (85.1, true), (100.0, true), (114.9, true), (115.1, false)]
        {
            let expected = if agrees { Verdict::Ok } else { Verdict::Off };
            assert_eq!(verdict(Published::About(100.0), &Value::Number(measured)), expected, "{measured}");
            let several = Value::Numbers(vec![10.0, measured]);
            assert_eq!(verdict(Published::Each(&[10.0, 100.0]), &several), expected, "{measured}");
        }
        let worst = Published::Each(&[1.0, 1.0]).judge(Some(&Value::Numbers(vec![1.05, 0.9]))).0.unwrap();
        assert!((worst - 0.9).abs() < 1e-9);
        assert_eq!(verdict(Published::Each(&[1.0, 1.0]), &Value::Numbers(vec![1.0])), Verdict::Off);
    }

    #[test]
    fn ranges_bounds_and_factors() {
        for (published, inside, outside) in [
            (Published::Between(2.0, 6.0), 6.0, 6.01),
            (Published::Above(1.0), 1.01, 1.0),
            (Published::Below(1.0), 0.99, 1.0),
            (Published::WithinFactor { value: 107.0, factor: 3.0 }, 36.0, 35.0),
            (Published::Near { value: 160.0, percent: 25.0 }, 199.0, 201.0),
            (Published::PlusMinus { value: 50.5, by: 5.0 }, 45.5, 45.4),
            (Published::PlusMinus { value: 50.5, by: 5.0 }, 55.5, 55.6),
            (Published::Exactly(7), 7.0, 8.0),
        ] {
            assert_eq!(verdict(published, &Value::Number(inside)), Verdict::Ok, "{published:?}");
            assert_eq!(verdict(published, &Value::Number(outside)), Verdict::Off, "{published:?}");
        }
    }

    #[test]
    fn counts_and_words_are_exact() {
        let counts = Published::Counts(&[2, 0, 0]);
        assert_eq!(verdict(counts, &Value::counts([2, 0, 0])), Verdict::Ok);
        assert_eq!(verdict(counts, &Value::counts([2, 0])), Verdict::Off);
        assert_eq!(verdict(Published::Words("port"), &Value::Words("port".into())), Verdict::Ok);
        assert_eq!(verdict(Published::Words("port"), &Value::Words("qp".into())), Verdict::Off);
    }

    #[test]
    fn counts_are_likely_within_the_middle_of_poissons_distribution() {
        // Tables: of a mean of 10, P(X <= 1) = 0.0004994, P(X <= 2) = 0.00277; P(X >= 22) = 0.00070, P(X >= 23) = 0.00030.
        for (count, mean, likely) in [
            (1, 10.0, false),
            (2, 10.0, true),
            (22, 10.0, true),
            (23, 10.0, false),
            (0, 0.1, true),
            (0, 0.0, true),
            (1, 0.0, false),
        ] {
            assert_eq!(is_likely(count, mean), likely, "{count} of {mean}");
        }
    }

    #[test]
    fn what_was_not_seen_is_off_and_no_number_is_open() {
        assert_eq!(Published::About(1.0).judge(None), (None, Verdict::Off));
        assert_eq!(Published::Open.judge(None), (None, Verdict::Open));
        assert_eq!(verdict(Published::Open, &Value::Number(3.0)), Verdict::Open);
        assert_eq!(verdict(Published::About(1.0), &Value::Words("x".into())), Verdict::Off);
    }
}
