//! Correction for several tests at once.

/// Holm's adjusted probabilities (1979), in the order of `p`: below a level only if the test is significant at that level beside
/// all others.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut before: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        before = before.max(((p.len() - rank) as f64 * p[at]).min(1.0));
        adjusted[at] = before;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As R's `p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")`.
    #[test]
    fn adjusted_probabilities_are_those_of_r() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (one, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((one - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
