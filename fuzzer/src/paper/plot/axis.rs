//! An axis with labels at round places.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// Room around the points, as a share of their range.
const MARGIN: f64 = 0.06;
/// On a logarithmic axis, as a factor.
const FACTOR: f64 = 1.6;

/// An axis.
pub(super) struct Axis {
    range: Range<f64>,
    log: bool,
    labels: Vec<f64>,
}

impl Axis {
    /// Around some values.
    pub(super) fn around(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = bounds(values).unwrap_or((0.0, 1.0));
        let room = ((high - low) * MARGIN).max(f64::MIN_POSITIVE);
        Self::linear(low - room..high + room)
    }

    /// Around some values and from 0.
    pub(super) fn from_zero(values: impl Iterator<Item = f64>) -> Self {
        let (_, high) = bounds(values).unwrap_or((0.0, 1.0));
        Self::linear(0.0..high.max(f64::MIN_POSITIVE) * (1.0 + MARGIN))
    }

    fn linear(range: Range<f64>) -> Self {
        let step = round_step(&range);
        let first = (range.start / step).ceil() as i64;
        let labels =
            (first..).map(|place| place as f64 * step).take_while(|place| *place <= range.end).collect();
        Self { range, log: false, labels }
    }

    /// Around some positive values, with decades as labels.
    pub(super) fn logarithmic(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = bounds(values.filter(|value| *value > 0.0)).unwrap_or((1.0, 10.0));
        let range = low / FACTOR..high * FACTOR;
        let (first, last) = (range.start.log10().ceil() as i32, range.end.log10().floor() as i32);
        Self { range, log: true, labels: (first..=last).map(|power| 10f64.powi(power)).collect() }
    }

    /// For so many places, which are 1, 2, 3 ...
    pub(super) fn of_places(places: usize) -> Self {
        let labels = (1..=places).map(|place| place as f64).collect();
        Self { range: 0.5..places as f64 + 0.9, log: false, labels }
    }

    /// Its lower end.
    pub(super) const fn low(&self) -> f64 {
        self.range.start
    }

    /// Place of a value, from 0 to 1; a value off the axis is at its end.
    fn place(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.log { value.ln() } else { value };
        let (low, high) = (scale(self.range.start), scale(self.range.end));
        (scale(value.clamp(self.range.start, self.range.end)) - low) / (high - low)
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + (self.place(*value) * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.labels.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.map(|one| (one, one)).reduce(|(low, high), (one, _)| (low.min(one), high.max(one)))
}

/// 1, 2 or 5 times a power of ten, so that the range has 4 to 8 of it.
fn round_step(range: &Range<f64>) -> f64 {
    let rough = (range.end - range.start) / 8.0;
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| rough <= factor * power);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_round() {
        assert_eq!(
            Axis::from_zero([35.0].into_iter()).labels,
            [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0]
        );
        assert_eq!(Axis::logarithmic([3.0, 4_000.0].into_iter()).labels, [10.0, 100.0, 1_000.0]);
        assert_eq!(Axis::of_places(2).labels, [1.0, 2.0]);
    }

    #[test]
    fn values_are_at_their_places() {
        let log = Axis::logarithmic([1.0, 100.0].into_iter());
        assert_eq!(log.map(&10.0, (0, 1_000)), 500);
        assert_eq!(log.map(&0.0, (0, 1_000)), 0, "what has no logarithm is at the end");
        assert_eq!(Axis::of_places(1).map(&1.2, (0, 100)), 50);
    }
}
