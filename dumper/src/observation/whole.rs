//! Files that are there whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes a file under a unique name, in the folder of the one that is meant, and moves it there: no reader
/// ever sees half of it, and the former file stays if anything fails.
///
/// # Errors
/// Those of `fill`, and those of the system.
pub fn write_whole<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&mut fs::File>) -> Result<(), E>,
) -> Result<(), E> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // Usual permissions of a program's files, less those that the user's umask removes.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file: NamedTempFile = builder.tempfile_in(folder)?;
    let mut out = BufWriter::new(file.as_file_mut());
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    file.persist(path).map(drop).map_err(|error| E::from(error.error))
}
