//! What came of the losses of a campaign, in the form that its store keeps.

use scoring::losses::Losses;

/// Nothing for no losses: most tests have none.
pub(crate) fn encode(losses: &Losses) -> Vec<u8> {
    if losses.is_empty() {
        return Vec::new();
    }
    postcard::to_allocvec(losses).expect("plain data, whose maps know their lengths")
}

/// What was kept; none if nothing was, or another version of this program has written it.
pub(crate) fn decode(kept: &[u8]) -> Losses {
    if kept.is_empty() { Losses::default() } else { postcard::from_bytes(kept).unwrap_or_default() }
}
