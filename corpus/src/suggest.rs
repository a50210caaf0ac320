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
        .map(|candidate| (distance(&plain, &normalise(candidate)), *candidate))
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

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
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
