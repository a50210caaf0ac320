//! Conforming worlds with random delays, habits and faults: the analyzers say nothing.

use scoring::Options;
use tests::synthetic::{self, random};

use crate::common::{config_of, for_all, scope_of, silent};

/// Worlds of the main property.
const CASES: u64 = 10_000;

#[test]
fn conforming_worlds_are_silent() {
    for_all("conforming", CASES, |seed| {
        let world = random::world(seed);
        let outcome = synthetic::run(&world);
        let config = config_of(&world);
        let options = Options { config: Some(&config), cnp_scope: scope_of(&world) };
        silent(&outcome.observation, options).map_err(|failure| format!("{failure}{world:#?}"))
    });
}
