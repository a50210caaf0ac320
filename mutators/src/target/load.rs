//! A target by name or path.

use std::path::Path;

use corpus::ConfigErrors;

use super::read::{Loaded, from_text};
use super::shipped::{SHIPPED, others};
use super::{TargetError, Vocabulary};

/// [`Target::load`](super::Target::load), and the target that it starts from.
///
/// # Errors
/// Those of [`Target::load`](super::Target::load).
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
