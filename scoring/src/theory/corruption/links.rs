//! Links that damage packets.

use statrs::distribution::{Binomial, Discrete as _};

/// Shortest Ethernet frame in bytes, with frame check sequence (IEEE 802.3).
const SHORTEST_FRAME: u32 = 64;

/// Links of one direction, one behind the other; those of the other direction are alike, and damaged independently.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Links {
    /// Probability that a link that damages packets damages one of `of_bytes`: β, at least 0 and below 1.
    pub loss: f64,
    /// Bytes of a packet, with frame check sequence, that `loss` is of.
    pub of_bytes: u32,
    /// Links: L.
    pub links: u8,
    /// Probability that a link damages packets at all: ω, from 0 to 1.
    pub corrupted: f64,
}

/// Probability that a bit is damaged, where a packet of so many bytes is damaged with probability `loss` (theorem 1): α.
#[must_use]
pub fn per_bit(loss: f64, bytes: u32) -> f64 {
    -((-loss).ln_1p() / (8.0 * f64::from(bytes))).exp_m1()
}

impl Links {
    /// Probability that a packet of so many bytes, with frame check sequence, does not pass, where so many links damage packets.
    #[must_use]
    pub fn loss_of(&self, bytes: u32, corrupted: u64) -> f64 {
        let times = f64::from(bytes.max(SHORTEST_FRAME)) / f64::from(self.of_bytes) * corrupted as f64;
        -(times * (-self.loss).ln_1p()).exp_m1()
    }

    /// Numbers of links that damage packets on the way there and on the way back, with the probability of both.
    #[must_use]
    pub fn states(&self) -> Vec<(u64, u64, f64)> {
        let links = u64::from(self.links);
        let drawn = Binomial::new(self.corrupted.clamp(0.0, 1.0), links).expect("a probability");
        let shares: Vec<(u64, f64)> =
            (0..=links).map(|corrupted| (corrupted, drawn.pmf(corrupted))).collect();
        let pairs = shares.iter().flat_map(|(there, share)| {
            shares.iter().map(move |(back, of_those)| (*there, *back, share * of_those))
        });
        pairs.filter(|(_, _, share)| *share > 0.0).collect()
    }

    /// Probability that a packet of so many bytes does not pass.
    #[must_use]
    pub fn mean_loss_of(&self, bytes: u32) -> f64 {
        self.states().into_iter().map(|(there, _, share)| share * self.loss_of(bytes, there)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(links: u8, corrupted: f64) -> Links {
        Links { loss: 1.0 / 128.0, of_bytes: 1086, links, corrupted }
    }

    #[test]
    fn loss_is_of_bits() {
        assert!((per_bit(1.0 / 128.0, 1086) - 9.0276e-7).abs() < 1e-11);
        let one = links(1, 1.0);
        assert!((one.loss_of(1086, 1) - 1.0 / 128.0).abs() < 1e-15);
        // Two packets pass as one of twice the size does, and two links as one link twice.
        let pass = |bytes, corrupted| 1.0 - one.loss_of(bytes, corrupted);
        assert!((pass(1086, 1).powi(2) - pass(2172, 1)).abs() < 1e-12);
        assert!((pass(1086, 2) - pass(2172, 1)).abs() < 1e-12);
        assert_eq!(one.loss_of(1086, 0), 0.0);
        assert_eq!(one.loss_of(20, 1), one.loss_of(64, 1));
    }

    #[test]
    fn states_are_a_distribution() {
        for (count, omega) in [(1, 1.0), (4, 0.25), (3, 0.0), (8, 0.5)] {
            let of = links(count, omega);
            let states = of.states();
            let mean = |number: fn(&(u64, u64, f64)) -> f64| -> f64 {
                states.iter().map(|state| number(state) * state.2).sum()
            };
            assert!((mean(|_| 1.0) - 1.0).abs() < 1e-12);
            assert!((mean(|(there, ..)| *there as f64) - f64::from(count) * omega).abs() < 1e-12);
            assert!((mean(|(_, back, _)| *back as f64) - f64::from(count) * omega).abs() < 1e-12);
        }
        // Ways there and back are drawn for themselves.
        let product: f64 =
            links(4, 0.25).states().iter().map(|(there, back, share)| (there * back) as f64 * share).sum();
        assert!((product - 1.0).abs() < 1e-12, "{product}");
    }
}
