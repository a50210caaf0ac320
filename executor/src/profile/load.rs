//! A profile by name or path.

use std::path::Path;

use super::NicProfile;

/// A profile that could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProfileError(pub String);

/// The profile that `nic` names: a shipped one, or a file, relative to `folder`.
///
/// # Errors
/// There is no such profile, or something is wrong with its text.
pub fn load(nic: &str, folder: &Path) -> Result<NicProfile, ProfileError> {
    if nic == "reference" {
        return Ok(NicProfile { name: "reference".into(), ..NicProfile::default() });
    }
    let path = folder.join(nic);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| ProfileError(format!("{}: cannot be read: {error}", path.display())))?;
    toml::from_str(&text).map_err(|error| ProfileError(format!("{}: {error}", path.display())))
}
