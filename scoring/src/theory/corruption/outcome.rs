//! Time-outs of a message or a part of one: their expected number, and how probable each number is.

use super::time_outs::TimeOuts;

/// Time-outs of something.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Outcome {
    /// Expected ones.
    pub(super) time_outs: TimeOuts,
    /// Probabilities of none, of one, and so on, as far as they are told apart.
    pub(super) numbers: Vec<f64>,
}

impl Outcome {
    /// No time-out; numbers up to `allowed` are told apart.
    pub(super) fn none(allowed: usize) -> Self {
        let mut numbers = vec![0.0; allowed + 1];
        numbers[0] = 1.0;
        Self { time_outs: TimeOuts::default(), numbers }
    }

    /// One with a probability, and after each another one with a probability.
    pub(super) fn repeated(time_outs: TimeOuts, first: f64, more: f64, allowed: usize) -> Self {
        let later = (1..=allowed).scan(first, |reached, _| {
            let ends = *reached * (1.0 - more);
            *reached *= more;
            Some(ends)
        });
        Self { time_outs, numbers: std::iter::once(1.0 - first).chain(later).collect() }
    }

    /// This and another one, which does not depend on it.
    pub(super) fn and(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.add(other);
        both
    }

    /// Another one, which does not depend on it.
    pub(super) fn add(&mut self, other: &Self) {
        self.time_outs += other.time_outs;
        // Each number takes those below it as they were.
        for number in (0..self.numbers.len()).rev() {
            let others = other.numbers[..=number].iter().rev();
            self.numbers[number] = self.numbers.iter().zip(others).map(|(one, other)| one * other).sum();
        }
    }

    /// So many of the kind.
    pub(super) fn times(&self, count: u64) -> Self {
        Powers::of(self.clone()).times(count)
    }

    /// Probability of more than are told apart.
    pub(super) fn beyond(&self) -> f64 {
        (1.0 - self.numbers.iter().sum::<f64>()).max(0.0)
    }
}

/// Many of one kind.
pub(super) struct Powers {
    /// One, two, four, and so on, as far as was asked for.
    doubled: Vec<Outcome>,
}

impl Powers {
    pub(super) fn of(one: Outcome) -> Self {
        Self { doubled: vec![one] }
    }

    /// So many.
    pub(super) fn times(&mut self, count: u64) -> Outcome {
        let bits = (u64::BITS - count.leading_zeros()) as usize;
        while self.doubled.len() < bits {
            let last = &self.doubled[self.doubled.len() - 1];
            self.doubled.push(last.and(last));
        }
        let mut all = Outcome::none(self.doubled[0].numbers.len() - 1);
        for (_, power) in self.doubled.iter().enumerate().filter(|(bit, _)| count >> bit & 1 == 1) {
            all.add(power);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_independent_ones_add_up() {
        let one = Outcome::repeated(TimeOuts::default(), 0.25, 0.5, 3);
        assert_eq!(one.numbers, [0.75, 0.125, 0.0625, 0.03125]);
        assert_eq!(one.beyond(), 0.03125);
        let five = one.times(5);
        let by_hand = (0..5).fold(Outcome::none(3), |all, _| all.and(&one));
        assert!((five.beyond() - by_hand.beyond()).abs() < 1e-15);
        assert!((five.numbers[0] - 0.75_f64.powi(5)).abs() < 1e-15);
        assert!((five.numbers[1] - 5.0 * 0.75_f64.powi(4) * 0.125).abs() < 1e-15);
        assert_eq!(one.times(0), Outcome::none(3));
    }
}
