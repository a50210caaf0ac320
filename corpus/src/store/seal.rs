//! The seal of a database folder: tells if it was closed properly, and its state then.
//!
//! sled may panic, hang or fill the memory on files that are not as it left them. It never sees such files: a folder
//! is opened only if its seal fits, and else scanned for records (see the `archive` module).

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::error::{Context as _, StoreError};
use super::record::SCHEMA;

/// Name of the file, in the database's folder.
const NAME: &str = "seal";
const PROGRAM: &str = "lumina-fuzz corpus";
/// The file has this size from the beginning: closing must not need room on a full disk.
const SIZE: usize = 128;

/// Contents of a seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seal {
    /// The database is in use, or was when its process died.
    Open,
    /// It was closed after a step, and its files had this digest.
    Closed { step: u64, digest: u32 },
}

impl Seal {
    /// Returns true if a folder has a seal, whatever its contents.
    pub(super) fn is_in(folder: &Path) -> bool {
        folder.join(NAME).is_file()
    }

    /// Copies the seal of a folder, if it has one, to another folder.
    pub(super) fn copy(folder: &Path, to: &Path) -> Result<(), StoreError> {
        if Self::is_in(folder) {
            fs::copy(folder.join(NAME), to.join(NAME)).context(folder, "cannot be copied")?;
        }
        Ok(())
    }

    /// Writes the seal, to the disk.
    pub(super) fn write(self, folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(NAME);
        let text = match self {
            Self::Open => format!("{PROGRAM}\nschema {SCHEMA}\nopen\n"),
            Self::Closed { step, digest } => {
                format!("{PROGRAM}\nschema {SCHEMA}\nclosed after step {step}, files {digest:08x}\n")
            }
        };
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.context(&path, "cannot be opened")?;
        file.write_all_at(format!("{text:<SIZE$}").as_bytes(), 0)
            .and_then(|()| file.sync_all())
            .context(&path, "cannot be written")?;
        sync_folder(folder)
    }

    /// The seal of a folder, none if it has none that can be read.
    ///
    /// # Errors
    /// Another schema.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, StoreError> {
        let mut text = String::new();
        let file = File::open(folder.join(NAME));
        if file.and_then(|file| file.take(SIZE as u64).read_to_string(&mut text)).is_err() {
            return Ok(None);
        }
        let mut lines = text.lines();
        let (Some(PROGRAM), Some(schema), Some(last)) = (lines.next(), lines.next(), lines.next()) else {
            return Ok(None);
        };
        match schema.strip_prefix("schema ") {
            Some(found) if found.parse() == Ok(SCHEMA) => {}
            Some(found) if found.parse::<u8>().is_ok() => {
                return Err(StoreError::Schema { path: folder.to_owned(), found: found.to_owned() });
            }
            _ => return Ok(None),
        }
        let closed = || {
            let (step, digest) = last.strip_prefix("closed after step ")?.split_once(", files ")?;
            let digest = u32::from_str_radix(digest, 16).ok()?;
            Some(Self::Closed { step: step.parse().ok()?, digest })
        };
        Ok(if last == "open" { Some(Self::Open) } else { closed() })
    }
}

/// The database's files: every file in its folder but the seal, in order.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).context(&folder, "cannot be read")? {
            let entry = entry.context(&folder, "cannot be read")?;
            let kind = entry.file_type().context(&entry.path(), "cannot be read")?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if entry.path().is_file() && entry.file_name() != NAME {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// CRC-32 of the names, lengths and contents of all files.
pub(super) fn digest(folder: &Path) -> Result<u32, StoreError> {
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    for path in files(folder)? {
        hasher.update(path.strip_prefix(folder).unwrap_or(&path).as_os_str().as_encoded_bytes());
        let mut file = File::open(&path).context(&path, "cannot be opened")?;
        let mut len = 0_u64;
        loop {
            let n = file.read(&mut buffer).context(&path, "cannot be read")?;
            if n == 0 {
                break;
            }
            len += n as u64;
            hasher.update(&buffer[..n]);
        }
        hasher.update(&len.to_le_bytes());
    }
    Ok(hasher.finalize())
}

/// fsync of a folder: names in it survive a power failure.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder).and_then(|folder| folder.sync_all()).context(folder, "cannot be written to the disk")
}
