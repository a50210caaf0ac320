//! Damaged captures: what is readable is read, the damage is placed, and nothing panics.

use std::path::{Path, PathBuf};

use dumper::capture::{self, CaptureFormat, ReadError, ReadOptions};
use dumper::{Record, Trace};
use proptest::prelude::*;

use crate::support::{FORMATS, SNAP_LEN, every_opcode, read, two_way, written};

/// Offsets at which the records of a pcap, or the blocks of a pcapng, end; the header is the first.
fn ends(bytes: &[u8], format: CaptureFormat) -> Vec<usize> {
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, step): (usize, &dyn Fn(usize) -> usize) = match format {
        CaptureFormat::PcapNg => (u32_at(4), &|at| u32_at(at + 4)),
        _ => (24, &|at| 16 + u32_at(at + 8)),
    };
    let mut ends = vec![at];
    while at < bytes.len() {
        at += step(at);
        ends.push(at);
    }
    ends
}

/// Records but for the numbers of their flows' side tables.
fn sequences(trace: &Trace) -> Vec<u32> {
    trace.records().iter().map(|record| record.sequence).collect()
}

#[test]
fn a_cut_at_every_byte_keeps_what_came_before_and_says_where() {
    let trace = two_way(4);
    for format in FORMATS {
        let bytes = written(&trace, format, Some(SNAP_LEN));
        let ends = ends(&bytes, format);
        // In pcapng the interface comes before the first packet.
        let not_packets = if format == CaptureFormat::PcapNg { 2 } else { 1 };
        assert_eq!(ends.len(), not_packets + 4);
        for cut in 0..bytes.len() {
            let outcome = read(&bytes[..cut]);
            if cut < ends[0] {
                assert!(matches!(outcome, Err(ReadError::Header { .. } | ReadError::Format { .. })), "{cut}");
                continue;
            }
            let traced = outcome.unwrap().traced;
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let packets = whole.saturating_sub(not_packets) as u32;
            assert_eq!(sequences(&traced.trace), (1..=packets).collect::<Vec<_>>(), "cut at {cut}");
            let damage: Vec<u64> = traced.damage.iter().map(|damage| damage.offset).collect();
            let expected = if ends.contains(&cut) { vec![] } else { vec![ends[whole - 1] as u64] };
            assert_eq!(damage, expected, "cut at {cut}");
        }
    }
}

#[test]
fn a_wrong_length_is_damage_and_never_a_huge_buffer() {
    for format in FORMATS {
        let mut bytes = written(&two_way(6), format, Some(SNAP_LEN));
        let ends = ends(&bytes, format);
        let third_packet = ends[ends.len() - 5];
        let length_at = if format == CaptureFormat::PcapNg { 4 } else { 8 };
        bytes[third_packet + length_at..][..4].fill(0xfc);
        let traced = read(&bytes).unwrap().traced;
        assert_eq!(sequences(&traced.trace), [1, 2], "{format:?}");
        assert_eq!(traced.damage.len(), 1);
        assert_eq!(traced.damage[0].offset, third_packet as u64);
    }
}

/// A block whose length is right and whose contents are not is stepped over.
#[test]
fn a_damaged_block_of_pcapng_costs_only_itself() {
    let mut bytes = written(&two_way(6), CaptureFormat::PcapNg, Some(SNAP_LEN));
    let ends = ends(&bytes, CaptureFormat::PcapNg);
    let third_packet = ends[ends.len() - 5];
    bytes[third_packet + 8..][..4].fill(0xee);
    let traced = read(&bytes).unwrap().traced;
    assert_eq!(sequences(&traced.trace), [1, 2, 4, 5, 6]);
    assert_eq!(traced.damage.len(), 1);
    assert_eq!(traced.damage[0].offset, third_packet as u64);
}

#[test]
fn a_file_of_damaged_blocks_is_given_up() {
    let mut bytes = written(&two_way(200), CaptureFormat::PcapNg, Some(SNAP_LEN));
    for end in ends(&bytes, CaptureFormat::PcapNg).into_iter().skip(1) {
        if let Some(interface) = bytes.get_mut(end + 8..end + 12) {
            interface.fill(0xee);
        }
    }
    let traced = read(&bytes).unwrap().traced;
    assert_eq!(traced.trace.records(), [] as [Record; 0]);
    assert_eq!(traced.damage.len(), 65);
    assert_eq!(traced.damage[64].reason, "too many damaged blocks; the rest is not read");
}

#[test]
fn many_malformed_packets_are_counted_and_few_kept() {
    // Every packet is cut in its headers.
    let bytes = written(&two_way(100), CaptureFormat::PcapNanos, Some(30));
    let options = ReadOptions { origin: Some(dumper::trace::Origin::Mirror), ..Default::default() };
    let traced = capture::read_slices(&[(Path::new("x"), &bytes)], options, &mut |_| ()).unwrap().traced;
    assert_eq!((traced.skipped.malformed, traced.skipped.errors.len()), (100, 16));
    assert_eq!((traced.skipped.errors[15].file, traced.skipped.errors[15].packet), (0, 16));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Bytes of a good file changed, dropped and doubled anywhere.
    #[test]
    fn a_mutilated_file_never_panics(
        format in 0..3usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..8),
    ) {
        let mut bytes = written(&two_way(5), FORMATS[format], Some(SNAP_LEN));
        for (at, byte, kind) in &changes {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = *byte,
                1 => drop(bytes.drain(at..(at + usize::from(*byte)).min(bytes.len() - 1).max(at))),
                _ => bytes.insert(at, *byte),
            }
        }
        if let Ok(captured) = read(&bytes) {
            dumper::integrity::check(&captured.traced.trace, None);
        }
    }
}

fn read_path(path: &Path) -> Result<capture::Captured, ReadError> {
    capture::read(&[path], ReadOptions::default(), &mut |_| ())
}

#[test]
fn files_that_are_no_captures_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    assert!(matches!(read_path(&folder.path().join("none.pcap")), Err(ReadError::Io { .. })));
    assert!(matches!(read_path(folder.path()), Err(ReadError::NotAFile { .. })));
    assert!(matches!(read_path(&file("empty.pcap", b"")), Err(ReadError::Header { .. })));
    assert!(matches!(read_path(&file("text.pcap", b"Dear analyst,\n")), Err(ReadError::Format { .. })));
    assert!(matches!(read_path(&file("short.pcap", b"ab")), Err(ReadError::Format { .. })));
    let mut wifi = written(&two_way(1), CaptureFormat::PcapNanos, None);
    wifi[20] = 105;
    assert!(matches!(read_path(&file("wifi.pcap", &wifi)), Err(ReadError::LinkType { link_type: 105, .. })));
    let mut wifi = written(&two_way(1), CaptureFormat::PcapNg, None);
    let interface = ends(&wifi, CaptureFormat::PcapNg)[0];
    wifi[interface + 8] = 105;
    assert!(matches!(
        read_path(&file("wifi.pcapng", &wifi)),
        Err(ReadError::LinkType { link_type: 105, .. })
    ));
}

/// Opening a named pipe waits for a writer, for ever if there is none.
#[cfg(unix)]
#[test]
fn a_named_pipe_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.pcap");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    assert!(matches!(read_path(&pipe), Err(ReadError::NotAFile { .. })));
}

#[test]
fn one_bad_file_of_several_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good.pcap");
    let bad = folder.path().join("bad.pcap");
    std::fs::write(&good, written(&every_opcode(), CaptureFormat::PcapNanos, None)).unwrap();
    std::fs::write(&bad, "no capture").unwrap();
    let error = capture::read(&[&good, &bad], ReadOptions::default(), &mut |_| ()).unwrap_err();
    assert!(error.to_string().starts_with(&bad.display().to_string()), "{error}");
    let none = capture::read(&[] as &[&Path], ReadOptions::default(), &mut |_| ()).unwrap();
    assert_eq!(none.traced.trace.records(), [] as [Record; 0]);
}
