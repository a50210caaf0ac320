//! Strategies of a campaign: ways to choose its tests.

use std::fmt;
use std::str::FromStr;

use mutators::{Part, Parts};
use serde::{Deserialize, Serialize};

/// Strategy that chooses tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Strategy {
    /// Mutants of kept tests (Lumina Algorithm 1).
    Genetic,
    /// Fresh tests of the target, each drawn by itself.
    Random,
    /// Chains of tests that each differ from the one before in one thing, by simulated annealing (Collie, NSDI'22).
    Annealing,
    /// Broad tests: many connections, messages and events, with rare combinations of parameters.
    Adaptive(Parts),
}

/// The one that needs the fewest tests (docs/search.md).
impl Default for Strategy {
    fn default() -> Self {
        Self::Adaptive(Parts::default())
    }
}

/// Names of the strategies.
const NAMES: &str = "genetic, random, annealing and adaptive";

impl Strategy {
    /// Returns true if every test is kept, whatever its score. An annealer counts the tests that it does not accept,
    /// and accepts tests by the one before, not by the median of all.
    pub(crate) const fn keeps_every_test(self) -> bool {
        matches!(self, Self::Annealing)
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut words = name.split('-');
        let strategy = match words.next() {
            Some("genetic") => Self::Genetic,
            Some("random") => Self::Random,
            Some("annealing") => Self::Annealing,
            Some("adaptive") => {
                let mut parts = Parts::default();
                for word in words.by_ref() {
                    let Some(part) = Part::ALL.iter().find(|part| part.name() == word) else {
                        let known: Vec<_> = Part::ALL.iter().map(|part| part.name()).collect();
                        return Err(format!(
                            "adaptive has no part `{word}` to leave out; it has {}",
                            known.join(", ")
                        ));
                    };
                    parts = parts.without(*part);
                }
                Self::Adaptive(parts)
            }
            _ => return Err(format!("is no strategy; there are {NAMES}")),
        };
        match words.next() {
            Some(_) => Err(format!("is no strategy; there are {NAMES}")),
            None => Ok(strategy),
        }
    }
}

impl TryFrom<String> for Strategy {
    type Error = String;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse().map_err(|error| format!("`{name}` {error}"))
    }
}

impl From<Strategy> for String {
    fn from(strategy: Strategy) -> Self {
        strategy.to_string()
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Genetic => f.write_str("genetic"),
            Self::Random => f.write_str("random"),
            Self::Annealing => f.write_str("annealing"),
            Self::Adaptive(parts) => {
                f.write_str("adaptive")?;
                let mut without = Part::ALL.iter().filter(|part| !parts.has(**part));
                without.try_for_each(|part| write!(f, "-{}", part.name()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in
            ["genetic", "random", "annealing", "adaptive", "adaptive-covering", "adaptive-covering-rounds"]
        {
            let strategy: Strategy = name.parse().unwrap();
            assert_eq!(strategy.to_string(), name);
            assert_eq!(serde_json::from_str::<Strategy>(&format!("\"{name}\"")).unwrap(), strategy);
        }
        assert_eq!(Strategy::Adaptive(Parts::default()).to_string(), "adaptive");
    }

    #[test]
    fn other_names_are_answered() {
        for name in ["", "genetics", "genetic-covering", "adaptive-", "adaptive-luck"] {
            assert!(name.parse::<Strategy>().is_err(), "{name}");
        }
        assert_eq!(
            "adaptive-luck".parse::<Strategy>().unwrap_err(),
            "adaptive has no part `luck` to leave out; it has covering, many, sizes, events, actions, sets, places, rounds"
        );
    }
}
