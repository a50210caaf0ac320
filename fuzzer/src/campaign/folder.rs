//! The folder of a campaign: made when one begins, checked when one is resumed.
//!
//! ```text
//! DIR/campaign.toml                    the settings of the campaign, exactly
//! DIR/target.toml                      the target, every field of it
//! DIR/nic-{requester,responder}.toml   the NICs' profiles, every field of them
//! DIR/initial/                         the tests to start from, if any were given
//! DIR/corpus/                          the store
//! DIR/findings/<id>/                   one folder for each finding
//! DIR/summary.json                     how far it is, rewritten as it goes
//! DIR/starts.jsonl                     when it was started and resumed, by which commands
//! DIR/report.html, report.md           everything to look at, written when it ends
//! ```

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use corpus::store::free_space;
use dumper::observation::write_whole;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::CampaignError;
use super::settings::Settings;
use crate::finding::Copied;

/// File of the settings. Written last when a campaign begins: a folder without it holds none.
pub const SETTINGS: &str = "campaign.toml";
/// The target's copy.
pub(super) const TARGET: &str = "target.toml";
/// The copies of the requester's and the responder's NIC profiles.
pub(super) const NICS: [&str; 2] = ["nic-requester.toml", "nic-responder.toml"];
/// Copies of the tests to start from.
pub(super) const INITIAL: &str = "initial";
/// The store.
pub const CORPUS: &str = "corpus";
/// File of the summary.
pub const SUMMARY: &str = "summary.json";

/// Room on the disk below which a campaign stops, in bytes: the writes of the store between two checks, a
/// finding with its trace, and the summary, with a margin.
const RESERVE: u64 = 6 << 20;

/// Held locked by the process that works in the folder.
pub(crate) const LOCK: &str = ".lock";
/// There while a campaign is being made: the files beside it are of an attempt that did not get as far as
/// [`SETTINGS`].
const BEGINNING: &str = ".beginning";

pub(crate) fn io_error(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> CampaignError {
    let path = path.to_owned();
    move |source| CampaignError::Io { path, what, source }
}

/// Writes a file whole or not at all.
pub(super) fn write_text(path: &Path, text: &str) -> Result<(), CampaignError> {
    write_whole(path, |out| out.write_all(text.as_bytes())).map_err(io_error(path, "cannot be written"))
}

/// Writes a document whole or not at all.
pub(super) fn write_json(path: &Path, document: &impl Serialize) -> Result<(), CampaignError> {
    write_whole(path, |out| {
        serde_json::to_writer_pretty(&mut *out, document)?;
        out.write_all(b"\n")
    })
    .map_err(io_error(path, "cannot be written"))
}

/// Returns true if a folder holds a campaign.
pub(super) fn holds_campaign(path: &Path) -> bool {
    path.join(SETTINGS).is_file()
}

/// The lock of a campaign's folder, which is made if it is not there. Dropping it lets others in.
pub(crate) fn lock(path: &Path) -> Result<fs::File, CampaignError> {
    fs::create_dir_all(path).map_err(io_error(path, "cannot be made"))?;
    let name = path.join(LOCK);
    let file = fs::File::create(&name).map_err(io_error(&name, "cannot be written"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(CampaignError::Usage(format!(
            "{}: another process is at work in it; wait for that to end, or name another folder",
            path.display()
        ))),
        Err(fs::TryLockError::Error(source)) => Err(io_error(&name, "cannot be locked")(source)),
    }
}

/// Makes sure that a locked folder can take a campaign that begins. The files of an earlier attempt that did
/// not get as far as writing [`SETTINGS`] are removed if `may_clear`; any other file stays, and is an error.
pub(super) fn prepare(path: &Path, may_clear: bool) -> Result<(), CampaignError> {
    if holds_campaign(path) {
        return Err(CampaignError::Usage(format!(
            "{}: holds a campaign already; --resume goes on with it, and --out names another folder",
            path.display()
        )));
    }
    let mut left = Vec::new();
    for entry in fs::read_dir(path).map_err(io_error(path, "cannot be read"))? {
        let entry = entry.map_err(io_error(path, "cannot be read"))?;
        if entry.file_name() != LOCK {
            left.push(entry.path());
        }
    }
    let begins = path.join(BEGINNING);
    let name = |entry: &PathBuf| entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Files being written have names that begin so: one that was interrupted before it wrote its first file has left that.
    let is_half = |entry: &PathBuf| name(entry).starts_with(".tmp");
    let ours = [BEGINNING, TARGET, NICS[0], NICS[1], INITIAL, CORPUS];
    let is_ours = |entry: &PathBuf| ours.contains(&&*name(entry)) || is_half(entry);
    let is_attempt = (begins.is_file() && left.iter().all(is_ours)) || left.iter().all(is_half);
    match (left.is_empty(), is_attempt, may_clear) {
        (true, ..) => {}
        (false, true, true) => {
            // The marker last: until then this is an attempt that may be cleared.
            left.retain(|entry| *entry != begins);
            for entry in left {
                let removed =
                    if entry.is_dir() { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
                removed.map_err(io_error(&entry, "cannot be removed"))?;
            }
        }
        (false, true, false) => {
            return Err(CampaignError::Usage(format!(
                "{}: a campaign was interrupted there before it began; --resume begins it, and --out names another folder",
                path.display()
            )));
        }
        (false, false, _) => {
            return Err(CampaignError::Usage(format!(
                "{}: is not empty, and has no {SETTINGS}; name a new folder or, if it was a campaign, put that file back \
                 (`corpus export` saves the tests)",
                path.display()
            )));
        }
    }
    write_text(&begins, "a campaign is being made\n")
}

/// Says that everything of a campaign is there.
pub(super) fn begun(path: &Path) -> Result<(), CampaignError> {
    match fs::remove_file(path.join(BEGINNING)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io_error(&path.join(BEGINNING), "cannot be removed")(error))
        }
        _ => Ok(()),
    }
}

/// Reads the settings of a campaign.
///
/// # Errors
/// There is none in the folder, or they were changed.
pub fn read_settings(path: &Path) -> Result<Settings, CampaignError> {
    let file = path.join(SETTINGS);
    let settings: Settings = read_toml(&file)?;
    settings.check().map_err(|what| {
        CampaignError::Usage(format!("{}: {what}; it is not meant to be edited: put it back", file.display()))
    })?;
    Ok(settings)
}

/// Writes the settings of a campaign, so that a power failure does not lose them.
pub(super) fn write_settings(path: &Path, settings: &Settings) -> Result<(), CampaignError> {
    let file = path.join(SETTINGS);
    let text = toml::to_string(settings)
        .map_err(|error| io_error(&file, "cannot be written")(io::Error::other(error)))?;
    write_text(&file, &text)?;
    fs::File::open(&file).and_then(|file| file.sync_all()).map_err(io_error(&file, "cannot be made safe"))
}

fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T, CampaignError> {
    let text = corpus::read_text(path)?;
    toml::from_str(&text).map_err(|error| {
        let at = error.span().map(|span| text[..span.start.min(text.len())].lines().count().max(1));
        let line = at.map(|line| format!(":{line}")).unwrap_or_default();
        CampaignError::Usage(format!(
            "{}{line}: {}; it is written by the program and is not meant to be edited",
            path.display(),
            error.message()
        ))
    })
}

/// The text of a copy.
///
/// # Errors
/// It cannot be read, or differs from the copied text.
pub(super) fn read_copy(folder: &Path, copy: &Copied) -> Result<String, CampaignError> {
    let path = folder.join(&copy.file);
    let text = corpus::read_text(&path)?;
    if !copy.is(&text) {
        return Err(CampaignError::Usage(format!(
            "{}: was changed since the campaign began, so that going on would mix two of them; put it back, or begin \
             a new campaign",
            path.display()
        )));
    }
    Ok(text)
}

/// Bytes of everything in a folder.
pub(super) fn size(folder: &Path) -> Result<u64, CampaignError> {
    let mut bytes = 0;
    let mut folders: Vec<PathBuf> = vec![folder.into()];
    while let Some(folder) = folders.pop() {
        let error = || io_error(&folder, "cannot be read");
        for entry in fs::read_dir(&folder).map_err(error())? {
            let entry = entry.map_err(error())?;
            // A file that is being replaced at this moment is gone.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                bytes += metadata.len();
            }
        }
    }
    Ok(bytes)
}

/// Shortage on the disk, if a campaign had better stop.
pub(super) fn shortage(folder: &Path) -> Result<Option<String>, CampaignError> {
    let free = free_space(folder)?;
    let mib = |bytes: u64| bytes >> 20;
    Ok((free < RESERVE)
        .then(|| format!("{} MiB are left of the {} that are kept free", mib(free), mib(RESERVE))))
}
