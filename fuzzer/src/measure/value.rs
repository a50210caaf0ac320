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

/// A number with three significant digits; whole numbers as they are.
pub fn digits(number: f64) -> String {
    let magnitude = number.abs();
    if number.fract() == 0.0 || magnitude >= 100.0 {
        return format!("{number:.0}");
    }
    // Digits after the point that three significant ones leave; 0.0041 has two zeros ahead of them.
    let after = (2 - magnitude.log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{number:.after$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => f.pad(&digits(*number)),
            Self::Numbers(numbers) => {
                f.pad(&numbers.iter().copied().map(digits).collect::<Vec<_>>().join(", "))
            }
            Self::Words(words) => f.pad(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::digits;

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
        ] {
            assert_eq!(digits(number), text);
        }
    }
}
