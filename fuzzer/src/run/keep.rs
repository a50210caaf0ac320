//! The folder that keeps a test: the test as it was run, the NIC profiles, a result folder, the verdicts.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use corpus::Role;
use dumper::Observation;
use dumper::observation::folder::{self, WriteFolderError};
use dumper::observation::write_whole;
use serde::Serialize;

use super::Test;

/// The test as it was run.
pub const CONFIG: &str = "config.toml";
/// The document that `run --format json` prints.
pub const VERDICTS: &str = "verdicts.json";

/// A folder that cannot keep a test.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// Something is in it.
    #[error("{}: is not empty; name a new folder or an empty one", .0.display())]
    NotEmpty(PathBuf),
    /// It, or a file in it, cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The result folder cannot be written.
    #[error(transparent)]
    Folder(#[from] WriteFolderError),
}

/// Makes the folder, before a test is run that it could not keep.
///
/// # Errors
/// Something is in it, or it cannot be made.
pub fn prepare(path: &Path) -> Result<(), KeepError> {
    let error = |source| KeepError::Io { path: path.into(), source };
    fs::create_dir_all(path).map_err(error)?;
    if fs::read_dir(path).map_err(error)?.next().is_some() {
        return Err(KeepError::NotEmpty(path.into()));
    }
    Ok(())
}

/// Writes everything about a test into its folder: each file whole or not at all, the capture last.
///
/// # Errors
/// A file cannot be written.
pub fn keep(
    test: &Test,
    observation: &Observation,
    verdicts: &impl Serialize,
    path: &Path,
) -> Result<(), KeepError> {
    let write = |name: &str, text: &str| {
        let path = path.join(name);
        write_whole(&path, |out| out.write_all(text.as_bytes()))
            .map_err(|source| KeepError::Io { path, source })
    };
    write(CONFIG, &config_of(test))?;
    for (role, profile) in Role::ALL.into_iter().zip(&test.profiles) {
        write(&copy_of(role), &profile.to_toml())?;
    }
    let verdicts = serde_json::to_string_pretty(verdicts)
        .map_err(|error| KeepError::Io { path: path.join(VERDICTS), source: error.into() })?;
    write(VERDICTS, &format!("{verdicts}\n"))?;
    Ok(folder::write(observation, None, path)?)
}

/// Name of a host's profile in the folder.
fn copy_of(role: Role) -> String {
    format!("nic-{}.toml", role.name())
}

/// The test as it was run, which can be run again from its new place: profiles that are files are the copies.
fn config_of(test: &Test) -> String {
    let mut config = test.config.clone();
    let mut text = format!("# {}, as it was run.\n", test.file.display().to_string().escape_debug());
    for one in &test.overridden {
        text += &format!("# {}\n", one.to_string().escape_debug());
    }
    for role in Role::ALL {
        let host = config.host_mut(role);
        if !executor::profile::is_shipped(&host.nic) {
            let nic = std::mem::replace(&mut host.nic, copy_of(role));
            text += &format!("# {} is a copy of {}\n", host.nic, nic.escape_debug());
        }
    }
    text.push('\n');
    text + &config.to_toml()
}
