use std::path::Path;

use dumper::capture::{self, CaptureFormat, Captured, ReadOptions};
use dumper::trace::{Extra, Origin};
use dumper::{Flow, FlowId, Record, Trace, integrity};

/// The first bytes of a little-endian pcap with microseconds.
const PCAP_MAGIC: [u8; 4] = [0xd4, 0xc3, 0xb2, 0xa1];
/// The first bytes of a pcapng section.
const PCAPNG_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Reads a classic pcap file, checks it, and writes and reads it again.
///
/// # Panics
/// When it is another trace then.
pub(crate) fn pcap(data: &[u8]) {
    if !data.starts_with(&PCAPNG_MAGIC) {
        read_and_write(data, CaptureFormat::PcapNanos);
    }
}

/// Reads a pcapng file, checks it, and writes and reads it again.
///
/// # Panics
/// When it is another trace then.
pub(crate) fn pcapng(data: &[u8]) {
    if !data.starts_with(&PCAP_MAGIC) {
        read_and_write(data, CaptureFormat::PcapNg);
    }
}

fn read(data: &[u8], origin: Option<Origin>) -> Option<Captured> {
    let options = ReadOptions { origin, ..ReadOptions::default() };
    capture::read_slices(&[(Path::new("input"), data)], options, &mut |_| ()).ok()
}

fn read_and_write(data: &[u8], format: CaptureFormat) {
    let Some(captured) = read(data, None) else { return };
    let trace = &captured.traced.trace;
    let verdicts = integrity::check(trace, None).conditions.map(|condition| condition.verdict);
    for damage in &captured.traced.damage {
        assert!(damage.offset < data.len() as u64, "{damage:?}");
    }
    let mut bytes = Vec::new();
    // A packet as long as IP allows may need a longer pad when it is written.
    if capture::write(trace, &captured.connections, format, None, &mut bytes).is_err() {
        return;
    }
    let again = read(&bytes, Some(trace.origin())).expect("a capture that was just written");
    assert_eq!(again.traced.damage, []);
    assert_eq!(again.traced.skipped, Default::default());
    assert_eq!(again.traced.icrc.wrong, 0);
    assert_eq!(facts(&again.traced.trace, format), facts(trace, format));
    let verdicts_again = integrity::check(&again.traced.trace, None).conditions;
    assert_eq!(verdicts_again.map(|condition| condition.verdict), verdicts);
    if format == CaptureFormat::PcapNg {
        assert_eq!(again.connections, captured.connections);
    }
}

/// Facts of a trace, packet by packet, apart from the order in which flows were first seen and the length of
/// the frame, which may have had options or other tags.
fn facts(trace: &Trace, format: CaptureFormat) -> Vec<(Flow, String, Option<Extra>)> {
    let facts_of = |record: &Record| {
        let mut plain = *record;
        plain.flow = FlowId(0);
        plain.frame_len = 0;
        let mut extra = trace.extra(record);
        if format != CaptureFormat::PcapNg {
            // Only a packet comment can say how a packet left.
            extra =
                extra.map(|extra| Extra { exit: None, ..extra }).filter(|extra| *extra != Extra::default());
        }
        // Debug shows every field; the place of the rare facts does not count.
        let text = format!("{plain:?}");
        let text =
            text.split(", ").filter(|field| !field.starts_with("extra:")).collect::<Vec<_>>().join(", ");
        (*trace.flow(record), text, extra)
    };
    trace.records().iter().map(facts_of).collect()
}
