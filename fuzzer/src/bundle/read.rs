//! Reading a bundle: unpacked in a temporary folder, each member checked before it is written.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::read::GzDecoder;
use tar::{Archive, Entry};
use tempfile::TempDir;

use super::{BundleError, MAX_BYTES, MAX_MEMBERS};
use crate::finding::{self, DOCUMENT, Instead};

/// First bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Folders of a member's path, at most: a result folder's files have three.
const MAX_DEPTH: usize = 8;
/// Bytes after the last member, at most: `tar` fills its last record, of 10 KiB or what the user names.
const MAX_PADDING: u64 = 1 << 20;

/// A path that the user gave, with the folder of the finding if it is a bundle. The folder is removed with this value.
#[derive(Debug)]
pub struct Opened {
    given: PathBuf,
    unpacked: Option<Unpacked>,
}

/// A bundle's contents.
#[derive(Debug)]
struct Unpacked {
    /// The finding's folder, in the temporary one.
    finding: PathBuf,
    temporary: TempDir,
}

/// Temporary folders of bundles that are open, for [`remove_unpacked`].
static OPEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

impl Opened {
    /// The path to read: the folder of the bundle's finding, or the path that the user gave.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.unpacked.as_ref().map_or(&self.given, |unpacked| &unpacked.finding)
    }

    /// Returns true if changes to the files of [`path`](Self::path) are lost.
    #[must_use]
    pub const fn is_bundle(&self) -> bool {
        self.unpacked.is_some()
    }

    /// Name of a file for messages: of one in a bundle, the bundle and the file's path in the finding.
    #[must_use]
    pub fn name_of(&self, path: &Path) -> PathBuf {
        match self.unpacked.as_ref().and_then(|unpacked| path.strip_prefix(&unpacked.finding).ok()) {
            Some(inside) if inside.as_os_str().is_empty() => self.given.clone(),
            Some(inside) => self.given.join(inside),
            None => path.to_owned(),
        }
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).remove(self.temporary.path());
    }
}

/// Removes the folders of all bundles that are open, for a process that ends without dropping them.
pub fn remove_unpacked() {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    for folder in open.iter() {
        // What cannot be removed is left to the system, which empties its folder of temporary files.
        let _ = fs::remove_dir_all(folder);
    }
}

/// Returns true if a path is a file that is called as a bundle is, or begins as one.
#[must_use]
pub fn is_bundle(path: &Path) -> bool {
    // Asked before the file is opened: opening a named pipe would wait for its writer.
    if !path.is_file() {
        return false;
    }
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let mut start = [0; GZIP.len()];
    let mut begins_so =
        || File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == GZIP;
    name.ends_with(b".tar.gz") || name.ends_with(b".tgz") || begins_so()
}

/// Opens a path that a user gave: a bundle is unpacked, anything else stays as it is.
///
/// # Errors
/// It is a bundle that cannot be read, or whose finding cannot be replayed.
pub fn open(path: &Path) -> Result<Opened, BundleError> {
    if !is_bundle(path) {
        return Ok(Opened { given: path.into(), unpacked: None });
    }
    let error = |reason| BundleError::Archive { path: path.into(), reason };
    let temporary = tempfile::Builder::new().prefix("lumina-fuzz-").tempdir();
    let temporary = temporary.map_err(BundleError::io(&std::env::temp_dir(), "cannot hold a bundle"))?;
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).insert(temporary.path().into());
    let mut unpacked = Unpacked { finding: PathBuf::new(), temporary };
    unpack(path, unpacked.temporary.path())?;
    unpacked.finding = finding_in(unpacked.temporary.path())
        .ok_or_else(|| error(format!("it does not hold one folder with a {DOCUMENT}")))?;
    let opened = Opened { given: path.into(), unpacked: Some(unpacked) };
    let kept = finding::read(opened.path());
    match kept.and_then(|kept| kept.testbeds(&Instead::default())) {
        Ok(_) => Ok(opened),
        Err(wrong) => {
            // The user has the bundle, not the temporary folder.
            let inside = format!("{}/", opened.path().display());
            Err(error(wrong.to_string().replace(&inside, "")))
        }
    }
}

/// The folder of the only finding: the one above the members, or its only entry.
fn finding_in(root: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(root).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    if root.join(DOCUMENT).is_file() {
        return Some(root.into());
    }
    let top = entries.next().filter(|top| top.join(DOCUMENT).is_file())?;
    entries.next().is_none().then_some(top)
}

fn unpack(path: &Path, into: &Path) -> Result<(), BundleError> {
    let whole = |reason: &dyn std::fmt::Display| BundleError::Archive {
        path: path.into(),
        reason: reason.to_string(),
    };
    let file = File::open(path).map_err(BundleError::io(path, "cannot be read"))?;
    let mut gzip = GzDecoder::new(BufReader::new(file));
    let mut members = Members { bundle: path, into, count: 0, bytes: 0 };
    // As they stand: a long name or an extended header would be read into memory first, whatever its size.
    let mut archive = Archive::new(&mut gzip);
    for entry in archive.entries().map_err(|error| whole(&error))?.raw(true) {
        let after = members.count;
        members.take(entry.map_err(|error| whole(&format!("after {after} members: {}", reason(&error))))?)?;
    }
    // The checksum of all of it is at the end.
    let rest = io::copy(&mut gzip.take(MAX_PADDING + 1), &mut io::sink());
    match rest.map_err(|error| whole(&reason(&error)))? {
        0..=MAX_PADDING => Ok(()),
        _ => Err(whole(&"it has data after its last member")),
    }
}

/// An error of the decoder, for people.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file is cut short".into(),
        _ => error.to_string(),
    }
}

/// Members of a bundle that were unpacked so far.
struct Members<'a> {
    bundle: &'a Path,
    into: &'a Path,
    count: usize,
    bytes: u64,
}

impl Members<'_> {
    /// Writes a member, if it is a file as a finding has it.
    fn take(&mut self, mut entry: Entry<'_, impl Read>) -> Result<(), BundleError> {
        let name = entry.header().path_bytes().into_owned();
        let member = String::from_utf8_lossy(&name).escape_debug().to_string();
        let refused =
            |reason: String| BundleError::Member { path: self.bundle.into(), member: member.clone(), reason };
        self.count += 1;
        if self.count > MAX_MEMBERS {
            return Err(refused(format!("it is one of more than {MAX_MEMBERS}")));
        }
        let kind = entry.header().entry_type();
        if !kind.is_file() && !kind.is_dir() {
            return Err(refused(format!("it is {}, not a file", name_of_kind(kind))));
        }
        let inside = path_inside(&name).map_err(|reason| refused(reason.into()))?;
        self.bytes = self.bytes.saturating_add(entry.size());
        if self.bytes > MAX_BYTES {
            return Err(refused(format!("the members up to it have more than {MAX_BYTES} bytes")));
        }
        let to = self.into.join(inside);
        let unpacked = if kind.is_dir() {
            fs::create_dir_all(&to)
        } else {
            let folder = to.parent().map_or(Ok(()), fs::create_dir_all);
            // Never a file that is there: a member of the same name, or of another in different case.
            let file = folder.and_then(|()| OpenOptions::new().write(true).create_new(true).open(&to));
            file.and_then(|mut file| io::copy(&mut entry, &mut file)).and_then(|written| {
                if written == entry.size() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
            })
        };
        unpacked.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => refused("it is there twice".into()),
            _ => refused(reason(&error)),
        })
    }
}

/// The path of a member below the bundle's folder, or the reason why it is none.
fn path_inside(name: &[u8]) -> Result<PathBuf, &'static str> {
    let name = std::str::from_utf8(name).map_err(|_| "its name is not UTF-8")?;
    if name.chars().any(|c| c.is_control() || c == '\\') {
        return Err("its name has a backslash or a control character");
    }
    let mut path = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir => return Err("its path leads out of the bundle by `..`"),
            Component::RootDir | Component::Prefix(_) => return Err("its path is absolute"),
        }
    }
    if path.components().count() > MAX_DEPTH { Err("its path is too deep") } else { Ok(path) }
}

fn name_of_kind(kind: tar::EntryType) -> &'static str {
    match kind {
        tar::EntryType::Link | tar::EntryType::Symlink => "a link",
        tar::EntryType::Char | tar::EntryType::Block => "a device",
        tar::EntryType::Fifo => "a named pipe",
        tar::EntryType::XHeader | tar::EntryType::XGlobalHeader => "an extended header",
        tar::EntryType::GNULongName | tar::EntryType::GNULongLink => "a long name",
        _ => "of another kind",
    }
}
