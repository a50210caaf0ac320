//! Finds records in files, whatever has happened to the database around them.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use memchr::memmem;

use super::error::{Context as _, StoreError};
use super::record::{FrameError, Framed, HEADER, MAGIC};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;

/// Result of a scan at one place.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "what is found lives for a moment, and nobody has many")]
pub(super) enum Found {
    /// A whole frame.
    Frame { offset: u64, len: usize, framed: Framed<'static> },
    /// The beginning of a frame of another schema.
    Schema(u8),
}

/// Visits every record in a file, in order of its bytes. Memory stays below one frame and one chunk.
///
/// # Errors
/// The file cannot be opened or read.
pub(super) fn scan(path: &Path, visit: &mut dyn FnMut(Found)) -> Result<(), StoreError> {
    let mut file = File::open(path).context(path, "cannot be opened")?;
    let finder = memmem::Finder::new(MAGIC);
    let mut window = Vec::new();
    let mut base = 0_u64;
    loop {
        let before = window.len();
        let chunk = (&mut file).take(CHUNK as u64).read_to_end(&mut window);
        chunk.context(path, "cannot be read")?;
        let last = window.len() == before;
        let mut at = 0;
        let rest = loop {
            // The magic may begin at the end of this chunk.
            let Some(begin) = finder.find(&window[at..]) else {
                break at.max(window.len().saturating_sub(HEADER));
            };
            at += begin;
            match Framed::decode(&window[at..]) {
                Ok((framed, len)) => {
                    visit(Found::Frame { offset: base + at as u64, len, framed });
                    at += len;
                }
                Err(FrameError::Short { .. }) if !last => break at,
                Err(error) => {
                    if let FrameError::Schema(schema) = error {
                        visit(Found::Schema(schema));
                    }
                    at += 1;
                }
            }
        };
        if last {
            return Ok(());
        }
        window.drain(..rest);
        base += rest as u64;
    }
}

/// Reads a frame again where a scan has found it.
pub(super) fn read(path: &Path, offset: u64, len: usize) -> Result<Framed<'static>, StoreError> {
    let mut bytes = vec![0; len];
    let mut file = File::open(path).context(path, "cannot be opened")?;
    file.seek(SeekFrom::Start(offset)).context(path, "cannot be read")?;
    file.read_exact(&mut bytes).context(path, "cannot be read")?;
    Framed::decode(&bytes).map(|(framed, _)| framed).map_err(|error| StoreError::Damaged {
        path: path.to_owned(),
        reason: format!("the record at byte {offset} is not what it was a moment ago: {error}"),
    })
}
