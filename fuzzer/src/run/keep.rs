//! The folder that keeps a test: the test as it was run, its script, the NIC profiles, a result folder, the verdicts.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use corpus::{Role, TestConfig};
use dumper::Observation;
use dumper::observation::folder::{self, WriteFolderError};
use dumper::observation::write_whole;
use executor::{Nic, TestbedName, Testbeds};
use serde::Serialize;

use super::{Test, is_script};
use crate::finding::Instead;

/// The test as it was run.
pub const CONFIG: &str = "config.toml";
/// The same for the published tool, where the test came from a file of its language.
const LUMINA: &str = "lumina.yml";
/// The document that `run --format json` prints.
pub const VERDICTS: &str = "verdicts.json";

/// A folder, or a script, that cannot keep a test.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// Something is in it.
    #[error("{}: is not empty; name a new folder or an empty one", .0.display())]
    NotEmpty(PathBuf),
    /// A script that is there already: it may be a user's work.
    #[error("{}: is there already; name a new file", .0.display())]
    Exists(PathBuf),
    /// A script without the extension of scripts.
    #[error("{}: is not the name of a packet script; it must end in .rds", .0.display())]
    NotScript(PathBuf),
    /// It, or a file in it, cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// Error of the operating system.
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

/// Looks whether a script can be written, before a test is run for it.
///
/// # Errors
/// Its name is that of something else, it is there, or its folder is not.
pub fn prepare_script(path: &Path) -> Result<(), KeepError> {
    if !is_script(path) {
        return Err(KeepError::NotScript(path.into()));
    }
    if path.symlink_metadata().is_ok() {
        return Err(KeepError::Exists(path.into()));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::read_dir(folder).map(drop).map_err(|source| KeepError::Io { path: folder.into(), source })
}

/// Writes everything about a test into its folder: each file whole or not at all, the capture last, whose frames are
/// cut to `snap_len` bytes where given.
///
/// # Errors
/// A file cannot be written.
pub fn keep(
    test: &Test,
    observation: &Observation,
    verdicts: &impl Serialize,
    snap_len: Option<u32>,
    path: &Path,
) -> Result<(), KeepError> {
    let write = |name: &str, text: &str| {
        let path = path.join(name);
        write_whole(&path, |out| out.write_all(text.as_bytes()))
            .map_err(|source| KeepError::Io { path, source })
    };
    write(CONFIG, &config_of(test))?;
    if let Some(Ok(lumina)) = is_yaml(&test.file).then(|| test.config.to_lumina(&test.lab)) {
        write(LUMINA, &lumina)?;
    }
    if let (Some(script), Some(name)) = (&test.script, test.file.file_name()) {
        write(&name.to_string_lossy(), &script.text)?;
    }
    for (role, nic) in Role::ALL.into_iter().zip(&test.nics) {
        write(&copy_of(role), &nic.text_on(&test.testbed, role))?;
    }
    let verdicts = serde_json::to_string_pretty(verdicts)
        .map_err(|error| KeepError::Io { path: path.join(VERDICTS), source: error.into() })?;
    write(VERDICTS, &format!("{verdicts}\n"))?;
    Ok(folder::write(observation, snap_len, path)?)
}

/// Testbeds on which the test of such a folder can be run again: with the NICs of which it has copies, under the names that
/// the test has for them, or with others in their place.
///
/// # Errors
/// A copy is not there or cannot be used, in a phrase; or a NIC is not of the testbed.
pub fn testbeds_of(folder: &Path, config: &TestConfig, instead: &Instead) -> Result<Testbeds, String> {
    let load = |role: Role| {
        if let Some((_, nic)) = &instead.nics[role as usize] {
            return Ok(nic.clone());
        }
        let copy = copy_of(role);
        if !folder.join(&copy).is_file() {
            return Err(format!(
                "the folder has no {copy}, so that the NIC of the {} is not known",
                role.name()
            ));
        }
        Nic::load(&copy, folder).map_err(|_| format!("{copy} is not a profile that can be used"))
    };
    let (requester, responder) = (load(Role::Requester)?, load(Role::Responder)?);
    let kept = || Nic::testbed_in(&folder.join(copy_of(Role::Requester)));
    let testbed = instead.testbed.clone().or_else(kept).or_else(|| TestbedName::of(&requester));
    let testbed =
        testbed.ok_or("the folder does not say which testbed its NICs are of; --testbed FILE names it")?;
    let nics = [(&*config.requester.nic, &requester), (&*config.responder.nic, &responder)];
    Testbeds::new(&testbed, folder, nics).map_err(|error| error.to_string())
}

/// Returns true if a file has a name of Lumina's.
fn is_yaml(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "yml" || extension == "yaml")
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
        if !Nic::is_shipped(&host.nic) {
            let nic = std::mem::replace(&mut host.nic, copy_of(role));
            text += &format!("# {} is a copy of {}\n", host.nic, nic.escape_debug());
        }
    }
    text.push('\n');
    text + &config.to_toml()
}
