//! Paired samples: the sign test.

use statrs::distribution::{Binomial, DiscreteCDF as _};

/// How often the second of a pair is less than the first, and more, with the exact probability of so uneven numbers if neither
/// is likelier (two-sided). Pairs that are equal say nothing.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Signs {
    /// Pairs whose second one is less.
    pub less: u64,
    /// Pairs whose second one is more.
    pub more: u64,
    /// Probability of that by chance.
    pub p: f64,
}

/// The sign test of some pairs.
pub fn signs<T: PartialOrd>(pairs: impl IntoIterator<Item = (T, T)>) -> Signs {
    let (mut less, mut more) = (0, 0);
    for (first, second) in pairs {
        less += u64::from(second < first);
        more += u64::from(second > first);
    }
    let coin = Binomial::new(0.5, less + more).expect("a half is a probability");
    Signs { less, more, p: (2.0 * coin.cdf(less.min(more))).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_coins() {
        let of = |less: usize, more: usize, equal: usize| {
            let pairs = std::iter::repeat_n((2, 1), less).chain(std::iter::repeat_n((1, 2), more));
            signs(pairs.chain(std::iter::repeat_n((1, 1), equal)))
        };
        assert_eq!(of(0, 0, 5), Signs { less: 0, more: 0, p: 1.0 });
        // 2 / 2^10, and 2 (1 + 10) / 2^10.
        assert!((of(10, 0, 3).p - 2.0 / 1024.0).abs() < 1e-12);
        assert!((of(1, 9, 0).p - 22.0 / 1024.0).abs() < 1e-12);
        assert_eq!(of(4, 4, 0).p, 1.0);
    }
}
