//! Strategies of a campaign: ways to choose its tests.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Strategy that chooses tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Mutants of kept tests (Lumina Algorithm 1).
    #[default]
    Genetic,
    /// Fresh tests of the target, each drawn by itself.
    Random,
}

impl FromStr for Strategy {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "genetic" => Ok(Self::Genetic),
            "random" => Ok(Self::Random),
            "annealing" | "adaptive" => Err("is not built yet; there are genetic and random"),
            _ => Err("is no strategy; there are genetic and random"),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Genetic => "genetic",
            Self::Random => "random",
        })
    }
}
