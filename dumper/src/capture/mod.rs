//! Capture files: pcap (µs and ns) and pcapng, in and out.

mod comment;
mod origin;
mod pcap;
mod pcapng;
mod write;

use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use rustc_hash::FxHashSet;

pub use write::{CaptureFormat, WriteError, write, write_with_notes};

use crate::Connection;
use crate::trace::{Origin, TraceBuilder, Traced};
use crate::wire::frame::UdpPorts;

/// Options for reading captures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadOptions {
    /// Mirrored or plain; `None` finds out from the packets.
    pub origin: Option<Origin>,
    /// UDP ports that are RoCEv2.
    pub ports: UdpPorts,
}

/// A capture that could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened or mapped.
    #[error("{}: cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// Not a regular file.
    #[error("{}: is not a regular file; captures are read from files", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A capture with the packets of another.
    #[error("{} and {}: are the same capture; name it once", first.display(), second.display())]
    Twice {
        /// The first of the two.
        first: PathBuf,
        /// The second.
        second: PathBuf,
    },
    /// The file's first bytes are of no capture format.
    #[error("{}: is not a capture: it starts with {start}, where pcap and pcapng files start with their magic number", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its first bytes in hexadecimal.
        start: String,
    },
    /// The file's header is damaged.
    #[error("{}: the capture's header is damaged: {reason}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// Reason why the file is not a capture.
        reason: String,
    },
    /// The capture is of another link layer.
    #[error("{}: link type {link_type} is not Ethernet (1), which is all that is read", path.display())]
    LinkType {
        /// The file.
        path: PathBuf,
        /// Its link type by number.
        link_type: u32,
    },
}

/// Captures as read: the trace, and the connections that a pcapng file names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Captured {
    /// The trace, the packets left out of it, and damage.
    pub traced: Traced,
    /// Connections from pcapng comments; empty where there are none.
    pub connections: Vec<Connection>,
}

/// Progress of reading, for a progress bar.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Bytes read of all files.
    pub bytes: u64,
    /// Bytes of all files.
    pub total_bytes: u64,
    /// RoCEv2 packets so far.
    pub packets: usize,
}

/// Packets between two progress reports.
const PROGRESS_EVERY: u64 = 1 << 18;

/// Reads any number of capture files into one trace, ordered by mirror sequence number (plain captures: by
/// time). Files are mapped and read as a stream: memory grows by 64 bytes a packet.
///
/// A file that is cut short or damaged is read up to there; [`Traced::damage`] says where.
///
/// # Errors
/// When a file cannot be opened, is not an Ethernet capture, or is there twice.
pub fn read(
    paths: &[impl AsRef<Path>],
    options: ReadOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Captured, ReadError> {
    let files = paths.iter().map(|path| map(path.as_ref())).collect::<Result<Vec<_>, _>>()?;
    let slices: Vec<(&Path, &[u8])> = paths
        .iter()
        .zip(&files)
        .map(|(path, file)| (path.as_ref(), file.as_deref().unwrap_or_default()))
        .collect();
    // Its packets would be there twice, which looks as if the mirror had sent them twice.
    for (at, (first, bytes)) in slices.iter().enumerate() {
        if let Some((second, _)) = slices[at + 1..].iter().find(|(_, other)| other == bytes) {
            return Err(ReadError::Twice { first: (*first).into(), second: (*second).into() });
        }
    }
    read_slices(&slices, options, progress)
}

/// Reads captures that are in memory; `Path`s only name them in errors. See [`read`].
///
/// # Errors
/// When one is not an Ethernet capture.
pub fn read_slices(
    captures: &[(&Path, &[u8])],
    options: ReadOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Captured, ReadError> {
    let parsers =
        captures.iter().map(|(path, bytes)| FileFormat::of(path, bytes)).collect::<Result<Vec<_>, _>>()?;
    let origin = options.origin.unwrap_or_else(|| {
        origin::detect(
            captures.iter().zip(&parsers).map(|((_, bytes), format)| (*format, *bytes)),
            options.ports,
        )
    });
    let total_bytes = captures.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let mut builder = TraceBuilder::new(origin, options.ports);
    let mut connections = ConnectionSet::default();
    let mut bytes_before = 0;
    for (file, ((path, bytes), format)) in captures.iter().zip(parsers).enumerate() {
        let mut report = |offset: usize, packets: usize| {
            progress(Progress { bytes: bytes_before + offset as u64, total_bytes, packets });
        };
        match format {
            FileFormat::Pcap => pcap::read(path, bytes, file, &mut builder, &mut report)?,
            FileFormat::PcapNg => {
                pcapng::read(path, bytes, file, &mut builder, &mut connections, &mut report)?;
            }
        }
        bytes_before += bytes.len() as u64;
    }
    Ok(Captured { traced: builder.finish(), connections: connections.in_order })
}

/// Connections in order of first appearance, each once: every capture of a test may name all of them.
#[derive(Default)]
struct ConnectionSet {
    in_order: Vec<Connection>,
    seen: FxHashSet<Connection>,
}

impl ConnectionSet {
    fn add(&mut self, connection: Connection) {
        if self.seen.insert(connection) {
            self.in_order.push(connection);
        }
    }
}

/// An error with its causes in one line: the capture library's outermost error says little.
fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// Capture file formats, distinguished by their first four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileFormat {
    Pcap,
    PcapNg,
}

impl FileFormat {
    fn of(path: &Path, bytes: &[u8]) -> Result<Self, ReadError> {
        let start = &bytes[..bytes.len().min(4)];
        match start {
            [0xa1, 0xb2, 0xc3, 0xd4] | [0xd4, 0xc3, 0xb2, 0xa1] => Ok(Self::Pcap),
            [0xa1, 0xb2, 0x3c, 0x4d] | [0x4d, 0x3c, 0xb2, 0xa1] => Ok(Self::Pcap),
            [0x0a, 0x0d, 0x0d, 0x0a] => Ok(Self::PcapNg),
            [] => Err(ReadError::Header { path: path.into(), reason: "the file is empty".into() }),
            _ => {
                let start = start.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
                Err(ReadError::Format { path: path.into(), start })
            }
        }
    }
}

/// Maps a file; `None` for an empty one, which cannot be mapped.
fn map(path: &Path) -> Result<Option<Mmap>, ReadError> {
    let error = |source| ReadError::Io { path: path.into(), source };
    // Asked before the file is opened: opening a named pipe would wait for its writer.
    let metadata = std::fs::metadata(path).map_err(error)?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile { path: path.into() });
    }
    if metadata.len() == 0 {
        return Ok(None);
    }
    let file = File::open(path).map_err(error)?;
    // SAFETY: the map is only read, as bytes of any value. The one thing that the type system cannot hold is
    // that nobody truncates the file meanwhile, which would end the process with SIGBUS; captures are
    // finished files, and copying them first would double the memory and halve the speed.
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(&file) }.map_err(error)?;
    #[cfg(unix)]
    // Read-ahead is only advice: a kernel that refuses it reads all the same.
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(Some(map))
}
