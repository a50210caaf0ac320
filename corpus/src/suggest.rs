//! "Did you mean": the known word nearest to an unknown one.

/// The candidate within a third of the word's length (at least one slip), the nearest first; else
/// the only one that has the word as one of its parts (`verb`: `rdma-verb`).
#[must_use]
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // Nobody mistypes a word this long; a hostile file might contain one.
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let plain = normalise(word);
    let allowed = (plain.chars().count() / 3).max(1);
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let near = candidates
        .iter()
        .map(|candidate| (strsim::osa_distance(&plain, &normalise(candidate)), *candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate);
    let mut with_part = candidates.iter().filter(|candidate| candidate.split('-').any(|part| part == plain));
    near.or_else(|| with_part.next().filter(|_| with_part.next().is_none()).copied())
}

/// `num_QPs` and `num-qps` differ in habit, not in meaning.
fn normalise(word: &str) -> String {
    word.to_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_only_slips() {
        let keys = ["mtu", "tx-depth", "message-size", "num-connections"];
        assert_eq!(nearest("mut", keys), Some("mtu"));
        assert_eq!(nearest("tx_depth", keys), Some("tx-depth"));
        assert_eq!(nearest("mesage-sise", keys), Some("message-size"));
        assert_eq!(nearest("depth", keys), Some("tx-depth"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest(&"m".repeat(1000), keys), None);
    }
}
