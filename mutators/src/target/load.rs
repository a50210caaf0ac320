//! A target by name or path.

use std::collections::BTreeMap;
use std::path::Path;

use corpus::{ConfigErrors, nearest};

use super::read::read;
use super::{Target, TargetError, Vocabulary, fields};
use crate::operators;
use crate::operators::Wheel;
use crate::space::Space;

/// A target that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Every target that comes with the program.
pub const SHIPPED: &[Shipped] = &[
    Shipped { name: "general", text: include_str!("../../targets/general.toml") },
    Shipped { name: "noisy-neighbor", text: include_str!("../../targets/noisy-neighbor.toml") },
    Shipped { name: "retransmission", text: include_str!("../../targets/retransmission.toml") },
    Shipped { name: "timeouts", text: include_str!("../../targets/timeouts.toml") },
    Shipped { name: "cnp", text: include_str!("../../targets/cnp.toml") },
    Shipped { name: "ets", text: include_str!("../../targets/ets.toml") },
    Shipped { name: "interop", text: include_str!("../../targets/interop.toml") },
    Shipped { name: "counters", text: include_str!("../../targets/counters.toml") },
    Shipped { name: "malformed", text: include_str!("../../targets/malformed.toml") },
];

/// A target with its sources.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The target, every field of it.
    pub target: Target,
    /// The shipped target that it starts from, if it does.
    pub base: Option<Target>,
}

/// Returns true if this is the name of a target that comes with the program, not a path.
#[must_use]
pub fn is_shipped(name: &str) -> bool {
    SHIPPED.iter().any(|shipped| shipped.name == name)
}

/// [`Target::load`], and the target that it starts from.
///
/// # Errors
/// Those of [`Target::load`].
pub fn load_with_base(name: &str, folder: &Path, vocabulary: Vocabulary<'_>) -> Result<Loaded, TargetError> {
    let ends_in_toml = Path::new(name).extension().is_some_and(|extension| extension == "toml");
    if name.contains('/') || ends_in_toml {
        let path = folder.join(name);
        let text = corpus::read_text(&path).map_err(TargetError)?;
        return from_text(&path.display().to_string(), &text, vocabulary);
    }
    match SHIPPED.iter().find(|shipped| shipped.name == name) {
        Some(shipped) => from_text(name, shipped.text, vocabulary),
        None => {
            let help = format!("{}; the path of a file has a `/` or ends in .toml", others(name));
            Err(TargetError(ConfigErrors::whole_file(name, "there is no target of this name", help)))
        }
    }
}

/// Help for a name that no target has: the nearest name, if any, and all shipped ones.
pub(super) fn others(name: &str) -> String {
    let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
    let meant = nearest(name, names.iter().copied()).map(|name| format!("did you mean `{name}`? "));
    format!("{}shipped: {}", meant.unwrap_or_default(), names.join(", "))
}

/// A target from its text, called as its file is where it has no name of its own.
pub(super) fn from_text(file: &str, text: &str, vocabulary: Vocabulary<'_>) -> Result<Loaded, TargetError> {
    let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
    read(file, text, &stem, vocabulary).map_err(TargetError)
}

/// A target that lists nothing.
pub(super) fn empty(vocabulary: Vocabulary<'_>) -> Target {
    let operators: BTreeMap<String, f64> =
        operators().map(|operator| (operator.name.to_owned(), operator.weight)).collect();
    Target {
        wheel: Wheel::new(&operators),
        name: String::new(),
        description: String::new(),
        pool: fields::POOL.default as u32,
        fresh: fields::FRESH.default as u32,
        weights: BTreeMap::new(),
        oracles: vocabulary.kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        operators,
        space: Space::default(),
    }
}
