//! Draws that depend on nothing but a seed and a key: whatever else is drawn, and in whatever order, a packet's draw stays the
//! same.

/// A stage that draws, so that no two stages have the same draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Choice of the links that lose packets.
    Links = 1,
    /// Choice of the packets that a link loses.
    Loss = 2,
    /// Choice of the path that a packet takes.
    Paths = 3,
}

/// The draws of a stage whose keys begin with some words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64, stage: Stage) -> Self {
        Self(mix(seed.wrapping_add(GOLDEN.wrapping_mul(stage as u64))))
    }

    /// Those whose keys go on with a word.
    #[inline]
    pub(crate) const fn with(self, word: u64) -> Self {
        Self(mix(self.0.wrapping_add(GOLDEN) ^ word))
    }

    /// The number of 64 bits of the key so far, uniform over keys.
    #[inline]
    pub(crate) const fn number(self) -> u64 {
        self.0
    }
}

/// A number of 64 bits, uniform over keys: one draw of a stage (docs/network.md).
#[must_use]
pub fn draw(seed: u64, stage: Stage, key: [u64; 2]) -> u64 {
    key.into_iter().fold(Draws::new(seed, stage), Draws::with).number()
}

/// 2^64 divided by the golden ratio: the increment of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64: each bit of the argument turns over half of the result's.
#[inline]
const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
