//! Numbers that whoever starts the tests gives.

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

/// A number from the environment.
pub(crate) fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Number of kills, `LUMINA_KILLS` or so many, and which: those of `LUMINA_SEED`, or random ones.
pub(crate) fn kills(number: u64) -> (u64, ChaCha8Rng) {
    let kills = given("LUMINA_KILLS").unwrap_or(number);
    let seed = given("LUMINA_SEED").unwrap_or_else(|| rand::random::<u32>().into());
    println!("{kills} kills with LUMINA_SEED={seed}");
    (kills, ChaCha8Rng::seed_from_u64(seed))
}
