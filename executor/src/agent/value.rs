//! Values in the kernel's files: one number or a short text in each. Errors name the file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

/// Longest text that is read: a firmware version has at most 32 bytes (`ETHTOOL_FWVERS_LEN`, include/uapi/linux/ethtool.h), a
/// number of 64 bits 20.
const MAX_TEXT: u64 = 64;

/// The text of a file, without white space around it.
///
/// # Errors
/// The file cannot be read, or is empty, too long or no text.
pub(super) fn text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_TEXT + 1).read_to_end(&mut bytes))
        .map_err(|error| of(path, error))?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(of(path, format!("more than {MAX_TEXT} bytes")));
    }
    let text = str::from_utf8(&bytes).map_err(|_| of(path, "not UTF-8"))?.trim();
    if text.is_empty() {
        return Err(of(path, "empty"));
    }
    if text.contains(char::is_control) {
        return Err(of(path, format!("no text: {text:?}")));
    }
    Ok(text.to_owned())
}

/// The number in a file, decimal or hexadecimal behind 0x.
///
/// # Errors
/// The file has no text, or another than such a number.
pub(super) fn number(path: &Path) -> Result<u64, String> {
    let text = text(path)?;
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| of(path, format!("{text:?} is no number of 64 bits")))
}

/// Writes a text to a file that is there.
///
/// # Errors
/// There is no such file, or it cannot be written.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(text.as_bytes())
}

/// A message about a file.
pub(super) fn of(path: &Path, what: impl std::fmt::Display) -> String {
    format!("{}: {what}", path.display())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use nix::unistd::geteuid;

    use super::*;

    #[test]
    fn numbers_are_read_and_everything_else_is_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("value");
        for (bytes, expected) in [
            (&b"4\n"[..], Ok(4)),
            (b"0x32\n", Ok(50)),
            (b"18446744073709551615\n", Ok(u64::MAX)),
            (b"18446744073709551616\n", Err("is no number")),
            (b"-1\n", Err("is no number")),
            (b"4 5\n", Err("is no number")),
            (b"N/A (no PMA)\n", Err("is no number")),
            (b"0x\n", Err("is no number")),
            (b"4\n5\n", Err("no text")),
            (b"\xff\xfe", Err("not UTF-8")),
            (b"", Err("empty")),
            (b" \n", Err("empty")),
            (&[b'1'; 4096], Err("more than 64 bytes")),
        ] {
            fs::write(&path, bytes).unwrap();
            match (number(&path), expected) {
                (Ok(found), Ok(number)) => assert_eq!(found, number),
                (Err(error), Err(what)) => {
                    assert!(
                        error.starts_with(&path.display().to_string()) && error.contains(what),
                        "{error}"
                    );
                }
                (found, _) => panic!("{bytes:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_file_or_cannot_be_opened_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let (missing, closed) = (folder.path().join("missing"), folder.path().join("closed"));
        assert!(number(folder.path()).unwrap_err().contains("directory"));
        assert!(number(&missing).unwrap_err().contains("No such file"));
        assert_eq!(write(&missing, "1").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!missing.exists(), "nothing is created");
        fs::write(&closed, "1").unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        // Nothing is closed to root.
        if !geteuid().is_root() {
            assert!(number(&closed).unwrap_err().contains("Permission denied"));
        }
    }
}
