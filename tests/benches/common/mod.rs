//! Traffic for benchmarks: a large mirrored capture, made once and kept under `target/bench-data`.

mod traffic;

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use dumper::capture::{self, CaptureFormat};

pub(crate) use traffic::{connections, trace};

/// Packets in the capture, unless the environment sets another number.
const DEFAULT_PACKETS: usize = 10_000_000;

/// The variable of the environment that says otherwise.
const PACKETS_VARIABLE: &str = "LUMINA_BENCH_PACKETS";

/// Bytes of each packet that the published dumper keeps.
const SNAP_LEN: u32 = 128;

/// Changes with the generator, so that no capture of an older one is reused.
const GENERATION: u32 = 1;

/// Packets in the benchmark capture.
///
/// # Panics
/// When the value in the environment is not a number.
pub(crate) fn packets() -> usize {
    std::env::var(PACKETS_VARIABLE).map_or(DEFAULT_PACKETS, |text| {
        text.replace('_', "").parse().expect("LUMINA_BENCH_PACKETS is a number")
    })
}

/// The capture with `packets` packets, made when it is not there yet.
///
/// # Panics
/// When it cannot be written.
pub(crate) fn capture_file(packets: usize) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench-data");
    let path = folder.join(format!("write-{packets}-v{GENERATION}.pcap"));
    if !path.exists() {
        eprintln!("writing {}", path.display());
        fs::create_dir_all(&folder).expect("target/ is writable");
        // Under another name until it is whole: an interrupted run must not leave half a capture.
        let unfinished = path.with_extension("unfinished");
        let out = BufWriter::new(File::create(&unfinished).expect("target/bench-data is writable"));
        capture::write(&trace(packets), &connections(), CaptureFormat::PcapNanos, Some(SNAP_LEN), out)
            .expect("generated packets have a wire form, and the disk has room");
        fs::rename(&unfinished, &path).expect("the file was just written");
    }
    path
}
