//! Seeds of long runs.

use std::ops::RangeInclusive;

/// The seeds of a long run, or those of `LUMINA_SEEDS`, as in `3-5` or `3`: a part of them, where it is run in parts.
pub(crate) fn seeds(all: RangeInclusive<u64>) -> RangeInclusive<u64> {
    let Ok(named) = std::env::var("LUMINA_SEEDS") else { return all };
    let (first, last) = named.split_once('-').unwrap_or((&named, &named));
    first.parse().unwrap()..=last.parse().unwrap()
}
