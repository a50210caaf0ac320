use std::fmt::Write as _;

use corpus::TestConfig;
use mutators::{Mutation, Target, Vocabulary};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

/// Words that the targets of the corpus may name.
const VOCABULARY: Vocabulary<'_> = Vocabulary {
    objectives: &["fsm", "latency", "discards"],
    kinds: &["stall", "gbn-violation"],
    named_only: &["gbn-violation"],
};

/// Tests drawn and mutated from a space.
const TESTS: u64 = 4;

/// Reads a target of a campaign; what is accepted survives its canonical form, and its tests and their
/// mutants are valid.
///
/// # Panics
/// When one of them is not.
pub(crate) fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let target = match Target::from_toml("input.toml", text, VOCABULARY) {
        Ok(target) => target,
        Err(errors) => {
            let mut shown = errors.to_string();
            let _ = write!(shown, "{:?}", miette::Report::new(errors.0.into_diagnostic()));
            return;
        }
    };
    let canonical = target.to_toml();
    match Target::from_toml("canonical.toml", &canonical, VOCABULARY) {
        Ok(again) => assert_eq!(again, target, "{canonical}"),
        Err(errors) => panic!("{errors}\n{canonical}"),
    }
    let defaults = TestConfig::default();
    let hosts = [defaults.requester, defaults.responder];
    for seed in 0..TESTS {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let test = target.random(&hosts, &mut rng);
        assert_eq!(test.violations(), [], "{test}");
        assert_eq!(target.admits(&test), Ok(()), "{test}");
        if let Mutation::Changed(mutant) = target.mutate(&test, &mut rng) {
            assert_eq!(mutant.config.violations(), [], "{}", mutant.config);
            assert_ne!(mutant.config, test);
        }
    }
}
