//! A target as data.

use std::collections::BTreeMap;
use std::path::Path;

use corpus::{ConfigErrors, Host, TestConfig};
use rand_chacha::ChaCha8Rng;

use crate::Mutation;

/// What other rooms have, and a target may name.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    /// Objectives (`scoring`).
    pub objectives: &'a [&'a str],
    /// Kinds of anomaly (`scoring`).
    pub kinds: &'a [&'a str],
}

/// What a campaign looks for, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Name in reports.
    pub name: String,
    /// One line for `targets list`.
    pub description: String,
    /// Random tests that the search starts with.
    pub pool: u32,
    /// Weight of each objective in the score, by name; those that are absent have 0.
    pub weights: BTreeMap<String, f64>,
    /// Kinds of anomaly that are findings; others are counted in the score only.
    pub oracles: Vec<String>,
}

/// A target that could not be loaded, with everything that is wrong with its text.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TargetError(pub ConfigErrors);

impl Target {
    /// The target that `name` names: a shipped one, or (with a `/`, or ending in `.toml`) a file relative to `folder`.
    pub fn load(name: &str, folder: &Path, vocabulary: Vocabulary<'_>) -> Result<Self, TargetError> {
        todo!("{name:?} {folder:?} {vocabulary:?}")
    }

    /// A target from its text, as [`Self::to_toml`] writes it or a user.
    pub fn from_toml(file: &str, text: &str, vocabulary: Vocabulary<'_>) -> Result<Self, TargetError> {
        todo!("{file} {text} {vocabulary:?}")
    }

    /// Every field, so that the text means the same to a later version.
    pub fn to_toml(&self) -> String {
        todo!()
    }

    /// A random test of the space, between these hosts (their NICs and addresses; the space decides the rest).
    pub fn random(&self, hosts: &[Host; 2], rng: &mut ChaCha8Rng) -> TestConfig {
        todo!("{hosts:?} {rng:?}")
    }

    /// A test changed by one operator or a few.
    pub fn mutate(&self, parent: &TestConfig, rng: &mut ChaCha8Rng) -> Mutation {
        todo!("{parent:?} {rng:?}")
    }

    /// Why a test is outside of the space, if it is (for tests that users give to start from).
    pub fn admits(&self, config: &TestConfig) -> Result<(), String> {
        todo!("{config:?}")
    }
}
