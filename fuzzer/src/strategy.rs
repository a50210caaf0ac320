//! Strategies of a campaign: ways to choose its tests.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Strategy that chooses tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Strategy {
    /// Mutants of kept tests (Lumina Algorithm 1).
    #[default]
    Genetic,
    /// Fresh tests of the target, each drawn by itself.
    Random,
    /// Chains of tests that each differ from the one before in one thing, by simulated annealing (Collie, NSDI'22).
    Annealing,
    /// Broad tests with rare combinations of parameters, and mutants of those that behave in rare ways.
    Adaptive(Parts),
}

/// Parts of the adaptive strategy, which can be left out to see what each of them is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parts([bool; Part::ALL.len()]);

macro_rules! parts {
    ($($(#[$doc:meta])* $part:ident $name:literal,)*) => {
        /// A part of the adaptive strategy.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Part {
            $($(#[$doc])* $part,)*
        }

        impl Part {
            /// Every part.
            pub const ALL: &[Self] = &[$(Self::$part),*];

            /// Its name, as in `adaptive-covering`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$part => $name,)*
                }
            }
        }
    };
}

parts! {
    /// Fresh tests are broad: many connections, messages and events.
    Broad "broad",
    /// Of several fresh tests the one with the rarest combinations of parameters is taken.
    Covering "covering",
    /// Tests that behave in rare ways are kept, and mutated.
    Archive "archive",
    /// Two of those are crossed.
    Crossover "crossover",
    /// The ways to make tests are chosen by what they have brought.
    Bandit "bandit",
}

impl Default for Parts {
    fn default() -> Self {
        Self([true; Part::ALL.len()])
    }
}

impl Parts {
    /// Returns true if a part is there.
    #[must_use]
    pub const fn has(self, part: Part) -> bool {
        self.0[part as usize]
    }
}

/// Names of the strategies.
const NAMES: &str = "genetic, random, annealing and adaptive";

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
                    parts.0[*part as usize] = false;
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
            ["genetic", "random", "annealing", "adaptive", "adaptive-covering", "adaptive-broad-covering"]
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
            "adaptive has no part `luck` to leave out; it has broad, covering, archive, crossover, bandit"
        );
    }
}
