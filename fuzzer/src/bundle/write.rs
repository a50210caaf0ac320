//! Writing a bundle: the same bytes for the same files, wherever they are.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use dumper::observation::write_whole;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};
use walkdir::WalkDir;

use super::paths::MachinePaths;
use super::{BundleError, MAX_BYTES, MAX_MEMBERS};
use crate::finding::{self, Instead, Kept};

/// Writes the bundle of a finding, in the place of a file with this name.
///
/// # Errors
/// The finding is not complete enough to be replayed, one of its files cannot be packed, or the bundle cannot be written.
pub fn write(kept: &Kept, out: &Path) -> Result<(), BundleError> {
    // Copies of NICs that were changed are refused here, not on the machine that the bundle is sent to.
    kept.testbeds(&Instead::default())?;
    let files = files_of(&kept.folder)?;
    let copies = [&kept.document.requester_nic, &kept.document.responder_nic].map(|copy| &*copy.file);
    let paths = MachinePaths::of(kept);
    let top = finding::id_of(&kept.document.signature);
    write_whole(out, |out| -> Result<(), Packing> {
        // Neither a time nor a name in the header.
        let mut archive = Builder::new(GzBuilder::new().write(out, Compression::default()));
        for (name, path) in &files {
            let failed = |source| BundleError::Io { path: path.clone(), what: "cannot be packed", source };
            let member = format!("{top}/{name}");
            // A NIC's copy has a checksum in the document, and names no paths.
            if is_capture(path) || copies.contains(&&**name) {
                let file = File::open(path).map_err(failed)?;
                let size = file.metadata().map_err(failed)?.len();
                pack(&mut archive, &member, size, file.take(size)).map_err(failed)?;
            } else {
                let bytes = fs::read(path).map_err(failed)?;
                let bytes = match String::from_utf8(bytes) {
                    Ok(text) => paths.removed_from(text).into_bytes(),
                    Err(binary) => binary.into_bytes(),
                };
                pack(&mut archive, &member, bytes.len() as u64, &*bytes).map_err(failed)?;
            }
        }
        archive.into_inner()?.finish()?;
        Ok(())
    })
    .map_err(|error| match error {
        Packing::Bundle(error) => error,
        Packing::Io(source) => BundleError::Io { path: out.into(), what: "cannot be written", source },
    })
}

/// Error while a bundle is written: that of a file in it, or of the bundle's own.
enum Packing {
    Bundle(BundleError),
    Io(io::Error),
}

impl From<BundleError> for Packing {
    fn from(error: BundleError) -> Self {
        Self::Bundle(error)
    }
}

impl From<io::Error> for Packing {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Files of a finding's folder, each by its name in the bundle, but for those that an interrupted write left.
fn files_of(folder: &Path) -> Result<BTreeMap<String, PathBuf>, BundleError> {
    let mut files = BTreeMap::new();
    let mut bytes = 0;
    let is_hidden = |entry: &walkdir::DirEntry| {
        entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".")
    };
    for entry in WalkDir::new(folder).into_iter().filter_entry(|entry| !is_hidden(entry)) {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(folder).to_owned();
            BundleError::Io { path, what: "cannot be read", source: error.into() }
        })?;
        if entry.file_type().is_dir() {
            continue;
        }
        let refused = |reason: &str| BundleError::File { path: entry.path().into(), reason: reason.into() };
        if !entry.file_type().is_file() {
            return Err(refused("it is not a regular file"));
        }
        bytes += entry.metadata().map_err(|error| refused(&error.to_string()))?.len();
        if bytes > MAX_BYTES {
            return Err(refused(&format!("the files before it and it have more than {MAX_BYTES} bytes")));
        }
        let name = entry.path().strip_prefix(folder).ok().and_then(Path::to_str);
        let name = name.ok_or_else(|| refused("its name is not UTF-8"))?;
        files.insert(name.to_owned(), entry.path().to_owned());
    }
    if files.len() > MAX_MEMBERS {
        let reason = format!("it has {} files; a bundle has at most {MAX_MEMBERS}", files.len());
        return Err(BundleError::File { path: folder.into(), reason });
    }
    Ok(files)
}

fn is_capture(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "pcapng" || extension == "pcap")
}

/// Packs a member without time, owner and permissions of its file.
fn pack(archive: &mut Builder<impl Write>, name: &str, size: u64, content: impl Read) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_cksum();
    archive.append(&header, content)
}
