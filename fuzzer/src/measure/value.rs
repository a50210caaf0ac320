//! Value of a measurement.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Value of a measurement; its unit is beside it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// Several, in the order that the measurement names.
    Numbers(Vec<f64>),
    /// A word, or a sequence of packets.
    Words(String),
}

impl Value {
    /// A count.
    pub fn count(count: u64) -> Self {
        Self::Number(count as f64)
    }

    /// Several counts.
    pub fn counts(counts: impl IntoIterator<Item = u64>) -> Self {
        Self::Numbers(counts.into_iter().map(|count| count as f64).collect())
    }

    /// The mean of some numbers; none of no number.
    pub fn mean(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        mean(numbers).map(Self::Number)
    }
}

/// The mean of some numbers; none of no number.
pub fn mean(numbers: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = numbers.into_iter().fold((0.0, 0u64), |(sum, count), one| (sum + one, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// A number with three significant digits, with an exponent if it is small; whole numbers as they are.
pub fn digits(number: f64) -> String {
    let magnitude = number.abs();
    if number.fract() == 0.0 || magnitude >= 100.0 {
        return format!("{number:.0}");
    }
    if magnitude < 1e-3 {
        return format!("{number:.2e}");
    }
    // Digits after the point that three significant ones leave; 0.0041 has two zeros ahead of them.
    let after = (2 - magnitude.log10().floor() as i32).clamp(0, 5) as usize;
    let text = format!("{number:.after$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A unit that numbers are shown in, and the factor from the unit that they are in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shown<'u> {
    unit: &'u str,
    factor: f64,
}

/// Units of time, each with its nanoseconds, from the smallest.
const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

impl<'u> Shown<'u> {
    /// The unit for numbers that are in `unit`: of times the one in which the largest is one to a thousand, of others their
    /// own.
    pub fn of(numbers: impl IntoIterator<Item = f64>, unit: &'u str) -> Self {
        let largest = numbers.into_iter().fold(0.0, |largest: f64, number| largest.max(number.abs()));
        let of_time = TIMES.iter().find(|(name, _)| *name == unit).map(|(_, ns)| ns);
        let Some(ns) = of_time.filter(|_| largest > 0.0) else { return Self { unit, factor: 1.0 } };
        // What rounds to a thousand is one of the next unit.
        let fits = |(_, size): &&(&str, f64)| largest * ns / size >= 0.9995;
        let (unit, size) = TIMES.iter().rev().find(fits).unwrap_or(&TIMES[0]);
        Self { unit, factor: ns / size }
    }

    /// A number without its unit.
    pub fn number(self, number: f64) -> String {
        digits(number * self.factor)
    }

    /// Several numbers without their unit.
    pub fn numbers(self, numbers: &[f64]) -> String {
        numbers.iter().map(|number| self.number(*number)).collect::<Vec<_>>().join(", ")
    }

    /// A text of numbers with their unit.
    pub fn with_unit(self, text: &str) -> String {
        if self.unit.is_empty() { text.to_owned() } else { format!("{text} {}", self.unit) }
    }
}

impl Value {
    /// The value with its unit, for people.
    pub fn with_unit(&self, unit: &str) -> String {
        match self {
            Self::Number(number) => {
                let shown = Shown::of([*number], unit);
                shown.with_unit(&shown.number(*number))
            }
            Self::Numbers(numbers) => {
                let shown = Shown::of(numbers.iter().copied(), unit);
                shown.with_unit(&shown.numbers(numbers))
            }
            Self::Words(words) => words.clone(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.with_unit(""))
    }
}

#[cfg(test)]
mod tests {
    use super::{Value, digits};

    #[test]
    fn three_significant_digits() {
        for (number, text) in [
            (0.0, "0"),
            (13.0, "13"),
            (0.004_123, "0.00412"),
            (0.0041, "0.0041"),
            (1.0963, "1.1"),
            (150.02, "150"),
            (82_997.4, "82997"),
            (47.18, "47.2"),
            (0.000_024_31, "2.43e-5"),
        ] {
            assert_eq!(digits(number), text);
        }
    }

    #[test]
    fn times_have_a_fitting_unit() {
        let of = |number, unit| Value::Number(number).with_unit(unit);
        assert_eq!(of(82_997.4, "µs"), "83 ms");
        assert_eq!(of(486_972.0, "µs"), "487 ms");
        assert_eq!(of(999.96, "µs"), "1 ms");
        assert_eq!(of(0.4, "µs"), "400 ns");
        assert_eq!(of(4.21, "µs"), "4.21 µs");
        assert_eq!(of(0.0, "µs"), "0 µs");
        assert_eq!(of(81_234.0, ""), "81234");
        assert_eq!(of(53.2, "%"), "53.2 %");
        let waits = Value::Numbers(vec![67_108_864.0, 1_073_741_824.0]);
        assert_eq!(waits.with_unit("ns"), "0.0671, 1.07 s");
    }
}
