//! What came of the losses of a campaign, in the form that its store keeps.

use corpus::store::{Archive, StoreError};
use scoring::losses::Losses;

/// Nothing for no losses: most campaigns have none.
pub(crate) fn encode(losses: &Losses) -> Vec<u8> {
    if losses.is_empty() {
        return Vec::new();
    }
    postcard::to_allocvec(losses).expect("plain data, whose maps know their lengths")
}

/// None if they are not what was written.
pub(crate) fn decode(bytes: &[u8]) -> Option<Losses> {
    if bytes.is_empty() { Some(Losses::default()) } else { postcard::from_bytes(bytes).ok() }
}

/// Those of a campaign; none if it has none, or another version of this program has written them.
///
/// # Errors
/// The file cannot be read any more.
pub(crate) fn read(archive: &Archive) -> Result<Losses, StoreError> {
    Ok(archive.losses()?.and_then(|bytes| decode(&bytes)).unwrap_or_default())
}
