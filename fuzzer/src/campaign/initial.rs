//! The tests that a user gives to start from.

use std::fs;
use std::path::Path;

use corpus::TestConfig;
use mutators::Target;

use super::error::CampaignError;
use super::folder::{self, INITIAL};
use crate::finding::Copied;

/// Tests of a folder, by name, in order.
pub(super) fn read(
    folder: &Path,
    target: &Target,
    notes: &mut Vec<String>,
) -> Result<Vec<(String, TestConfig)>, CampaignError> {
    let mut files = Vec::new();
    let unreadable = |error| CampaignError::Usage(format!("{}: cannot be read: {error}", folder.display()));
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if !["toml", "yaml", "yml"].contains(&extension) {
            continue;
        }
        if path.is_file() {
            files.push(path);
        } else {
            notes.push(format!("{}: is no file, and is left out", path.display()));
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(CampaignError::Usage(format!(
            "{}: holds no tests to start from (.toml, or Lumina's .yaml or .yml)",
            folder.display()
        )));
    }
    let mut tests = Vec::new();
    for path in files {
        let loaded = corpus::load(&path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        notes.extend(loaded.notes.iter().map(|note| format!("{}: {note}", path.display())));
        if let Err(why) = target.admits(&loaded.config) {
            notes.push(format!("{}: is outside of the target's search space: {why}", path.display()));
        }
        tests.push((name, loaded.config));
    }
    Ok(tests)
}

pub(super) fn write(path: &Path, tests: &[(String, TestConfig)]) -> Result<Vec<Copied>, CampaignError> {
    if tests.is_empty() {
        return Ok(Vec::new());
    }
    let folder = path.join(INITIAL);
    fs::create_dir_all(&folder).map_err(folder::io_error(&folder, "cannot be made"))?;
    let mut copies = Vec::new();
    for ((name, config), number) in tests.iter().zip(1..) {
        let file = format!("{INITIAL}/{number:04}.toml");
        let text = config.to_toml();
        folder::write_text(&path.join(&file), &text)?;
        copies.push(Copied::new(name, None, file, &text));
    }
    Ok(copies)
}
