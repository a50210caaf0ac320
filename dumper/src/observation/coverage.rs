//! Code of a host's kernel that ran during a test.

use serde::{Deserialize, Serialize};

/// Basic blocks that ran, of code that counts how often its arcs are taken (`gcc -fprofile-arcs`), by the numbers that the
/// testbed gives them. Of a kernel that does not count, none.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Coverage(Vec<u8>);

impl Coverage {
    /// Returns true if no block ran.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }

    /// Number of blocks that ran.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// Returns true if a block ran.
    #[must_use]
    pub fn has(&self, block: usize) -> bool {
        self.0.get(block / 8).is_some_and(|byte| byte & (1 << (block % 8)) != 0)
    }

    /// Adds the blocks of another one; returns the number of those that were not there.
    pub fn add(&mut self, other: &Self) -> usize {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut new = 0;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            new += (theirs & !*mine).count_ones() as usize;
            *mine |= theirs;
        }
        new
    }
}

impl FromIterator<usize> for Coverage {
    fn from_iter<I: IntoIterator<Item = usize>>(blocks: I) -> Self {
        let mut bytes = Vec::new();
        for block in blocks {
            let at = block / 8;
            if bytes.len() <= at {
                bytes.resize(at + 1, 0);
            }
            bytes[at] |= 1 << (block % 8);
        }
        Self(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_added_once() {
        let mut all = Coverage::from_iter([0, 9]);
        assert_eq!(all.add(&Coverage::from_iter([9, 70, 71])), 2);
        assert_eq!(all.add(&Coverage::from_iter([0, 70])), 0);
        assert_eq!((0..100).filter(|block| all.has(*block)).collect::<Vec<_>>(), [0, 9, 70, 71]);
        assert_eq!(all.len(), 4);
        assert!(!all.is_empty() && Coverage::default().is_empty());
    }
}
