//! A target as data.

mod axes;
mod contradictions;
mod fields;
mod load;
mod read;
mod report;
mod shipped;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use corpus::{Capabilities, ConfigErrors, Host, TestConfig};
use rand_chacha::ChaCha8Rng;

pub use fields::{Field, fields};
pub use load::load_with_base;
pub use read::Loaded;
pub use shipped::{SHIPPED, Shipped, is_shipped};
pub use write::{Change, Line};

use crate::operators::{MOST, Race};
use crate::space::Space;
use crate::{Covered, Mutation, Parts, admit, broad, draw};

/// Words of other crates that a target may name.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    /// Objectives (`scoring`).
    pub objectives: &'a [&'a str],
    /// Kinds of anomaly (`scoring`).
    pub kinds: &'a [&'a str],
    /// Of these kinds, those that only targets which name them look for: `all` does not stand for them.
    pub named_only: &'a [&'a str],
}

impl Vocabulary<'_> {
    /// The kinds that `all` stands for.
    fn all(&self) -> Vec<String> {
        let kinds = self.kinds.iter().filter(|kind| !self.named_only.contains(kind));
        kinds.map(|kind| (*kind).to_owned()).collect()
    }
}

/// Purpose of a campaign: the anomalies it looks for, and the space it searches.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Name in reports.
    pub name: String,
    /// One line for `targets list`.
    pub description: String,
    /// Random tests that a genetic search starts with.
    pub pool: u32,
    /// Percent of the tests after these that are random ones too, and not mutated.
    pub fresh: u32,
    /// Weight of each objective in the score, by name; those that are absent have 0.
    pub weights: BTreeMap<String, f64>,
    /// Kinds of anomaly that are findings; others are counted in the score only.
    pub oracles: Vec<String>,
    /// Weight of each operator, by name: how often it is drawn, against the others.
    pub operators: BTreeMap<String, f64>,
    /// Search space.
    pub space: Space,
    /// Of `operators`, to draw from.
    race: Race,
}

/// A target that could not be loaded, with everything that is wrong with its text.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TargetError(pub ConfigErrors);

impl Target {
    /// The target that `name` names: a shipped one, or (with a `/`, or ending in `.toml`) a file relative to `folder`.
    ///
    /// # Errors
    /// There is no such target, it cannot be read, or something is wrong with its text.
    pub fn load(name: &str, folder: &Path, vocabulary: Vocabulary<'_>) -> Result<Self, TargetError> {
        load_with_base(name, folder, vocabulary).map(|loaded| loaded.target)
    }

    /// A target from its text, as [`Self::to_toml`] writes it or a user.
    ///
    /// # Errors
    /// Everything that is wrong with the text.
    pub fn from_toml(file: &str, text: &str, vocabulary: Vocabulary<'_>) -> Result<Self, TargetError> {
        read::from_text(file, text, vocabulary).map(|loaded| loaded.target)
    }

    /// A random test of the space, between these hosts (their NICs and addresses; the space decides the
    /// rest). Valid, if the hosts are.
    pub fn random(&self, hosts: &[Host; 2], rng: &mut ChaCha8Rng) -> TestConfig {
        draw::test(&self.space, hosts, rng)
    }

    /// A broad test of the space: many connections, messages and events, and parameters whose levels were seldom combined in
    /// the tests that `covered` has; as far as it has these parts.
    pub fn broad(
        &self,
        hosts: &[Host; 2],
        covered: &Covered,
        parts: Parts,
        rng: &mut ChaCha8Rng,
    ) -> TestConfig {
        broad::test(&self.space, hosts, covered, parts, rng)
    }

    /// A test changed by one operator or a few. The parent is a valid test; where it is outside of the space, the child
    /// is inside nevertheless.
    pub fn mutate(&self, parent: &TestConfig, rng: &mut ChaCha8Rng) -> Mutation {
        self.race.mutate(&self.space, parent, MOST, rng)
    }

    /// A test changed by one operator.
    pub fn mutate_once(&self, parent: &TestConfig, rng: &mut ChaCha8Rng) -> Mutation {
        self.race.mutate(&self.space, parent, 1, rng)
    }

    /// The target on a testbed with these capabilities: its tests stay within them.
    ///
    /// # Errors
    /// Needs of the target that the testbed cannot meet at all.
    pub fn within(&self, can: &Capabilities) -> Result<Self, String> {
        Ok(Self { space: self.space.within(can)?, ..self.clone() })
    }

    /// Reason why a test is outside of the space, if it is (for tests that users give to start from).
    ///
    /// # Errors
    /// The first reason that was found.
    pub fn admits(&self, config: &TestConfig) -> Result<(), String> {
        admit::admit(&self.space, config)
    }
}
