//! Random streams of the search. Each is named by its purpose, so that neither the number of jobs nor an
//! interruption changes the draws.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Purpose of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Choice of the entry of the pool that is mutated.
    Parent = 0,
    /// The seed of the stream that makes the test.
    Test = 1,
    /// Decision to keep a test below the median all the same.
    Retention = 2,
    /// Decision to draw a test at random.
    Fresh = 3,
}

/// Bits of a stream's number that name its purpose.
const PURPOSE_BITS: u32 = 2;

/// The stream of an execution (from 1) for a purpose.
pub(super) fn stream(seed: u64, execution: u64, purpose: Purpose) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(execution << PURPOSE_BITS | purpose as u64);
    rng
}

/// The seed of the stream that makes the test of an execution; kept with the test.
pub(super) fn test_seed(seed: u64, execution: u64) -> u64 {
    stream(seed, execution, Purpose::Test).next_u64()
}

/// The stream that makes a test.
pub(super) fn test_stream(test_seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(test_seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A campaign that is resumed by a later version must draw the same.
    #[test]
    fn streams_do_not_change() {
        assert_eq!(
            [
                stream(1, 1, Purpose::Parent).next_u64(),
                stream(1, 1, Purpose::Retention).next_u64(),
                test_stream(test_seed(1, 2)).next_u64(),
            ],
            [12_212_852_551_396_965_246, 9_345_421_689_931_614_251, 3_126_162_592_446_992_426]
        );
    }
}
