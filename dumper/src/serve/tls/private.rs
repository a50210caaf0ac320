//! Files that nobody else may read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Most bytes of a key or certificate: some hundred are usual.
pub(super) const MOST_BYTES: u64 = 64 << 10;

/// Permissions of group and others.
const OTHERS: u32 = 0o077;

/// Writes a file that is not there yet, which only its owner may read.
pub(super) fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Puts a file in the place of one that may be there.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let _ = fs::remove_file(&fresh);
    write_new(&fresh, text)?;
    fs::rename(&fresh, path)
}

/// Reads a file of keys; its permissions, too.
pub(super) fn read(path: &Path) -> io::Result<(Vec<u8>, u32)> {
    // A pipe would be waited for.
    let file = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    File::take(file, MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("it has more than {MOST_BYTES} bytes")));
    }
    Ok((bytes, metadata.permissions().mode() & OTHERS))
}
