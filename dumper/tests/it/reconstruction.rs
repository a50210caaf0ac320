//! One trace from several files: any order of files and packets, wraps of sequence and time, duplicates.

use dumper::capture::CaptureFormat;
use dumper::integrity::{self, Verdict};
use dumper::mirror::{MAX_SEQUENCE, TIME_SPAN};
use dumper::trace::Origin;
use dumper::wire::Opcode;
use dumper::{Event, Flow, FlowId, Nanos, Record, Trace};
use proptest::prelude::*;

use crate::support::{FORMATS, flow, push, read_all, two_way, with_records, written};

/// The trace dealt out to as many dumpers as `deal` names, each a file.
fn dealt(trace: &Trace, format: CaptureFormat, deal: impl Fn(usize) -> usize) -> Vec<Vec<u8>> {
    let dumpers = (0..trace.records().len()).map(&deal).max().map_or(0, |last| last + 1);
    (0..dumpers)
        .map(|dumper| {
            let part = with_records(trace, |records| {
                let mut at = 0;
                records.retain(|_| {
                    at += 1;
                    deal(at - 1) == dumper
                });
            });
            written(&part, format, Some(128))
        })
        .collect()
}

fn sequences(trace: &Trace) -> Vec<u32> {
    trace.records().iter().map(|record| record.sequence).collect()
}

/// Records with the flow spelled out: flow numbers depend on which file is read first.
fn facts(trace: &Trace) -> Vec<(Flow, Record)> {
    let unnumbered = |mut record: Record| {
        record.flow = FlowId(0);
        record
    };
    trace.records().iter().map(|record| (*trace.flow(record), unnumbered(*record))).collect()
}

fn assert_reconstructs(trace: &Trace, files: &[Vec<u8>]) {
    let slices: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let read = read_all(&slices).unwrap().traced;
    assert_eq!(read.trace.origin(), Origin::Mirror);
    assert_eq!(facts(&read.trace), facts(trace));
}

#[test]
fn files_in_any_order() {
    let trace = two_way(60);
    for format in FORMATS {
        let mut files = dealt(&trace, format, |at| (at * 7 + at / 5) % 3);
        for _ in 0..3 {
            files.rotate_left(1);
            assert_reconstructs(&trace, &files);
            let mut swapped = files.clone();
            swapped.swap(0, 1);
            assert_reconstructs(&trace, &swapped);
        }
    }
}

#[test]
fn files_of_different_formats_together() {
    let trace = two_way(60);
    let deal = |at: usize| at % 3;
    let files: Vec<_> = FORMATS
        .iter()
        .enumerate()
        .map(|(dumper, format)| dealt(&trace, *format, deal).swap_remove(dumper))
        .collect();
    assert_reconstructs(&trace, &files);
}

proptest! {
    #[test]
    fn any_deal_and_any_order_within_a_file(
        dealt_to in proptest::collection::vec(0usize..4, 30),
        order in Just((0..30usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let trace = two_way(30);
        let shuffled = with_records(&trace, |records| {
            *records = order.iter().map(|at| records[*at]).collect();
        });
        let files = dealt(&shuffled, CaptureFormat::PcapNanos, |at| dealt_to[at]);
        assert_reconstructs(&trace, &files);
    }
}

/// `count` packets from sequence number `first` and switch time `start` on, `step` ns apart, both wrapping.
fn wrapping(first: u32, start: u64, step: u64, count: u32) -> Trace {
    let mut trace = Trace::new(Origin::Mirror);
    let flow = trace.add_flow(flow("10.0.0.1", "10.0.0.2", 5));
    for at in 0..count {
        let sequence = (first - 1 + at) % MAX_SEQUENCE + 1;
        push(&mut trace, flow, sequence, Opcode::WriteMiddle, Event::None);
    }
    with_records(&trace, |records| {
        for (record, at) in records.iter_mut().zip(0u64..) {
            record.time = Nanos(start + at * step);
        }
    })
}

#[test]
fn sequence_numbers_wrap_to_one() {
    let trace = wrapping(MAX_SEQUENCE - 4, 1000, 100, 10);
    assert_eq!(sequences(&trace)[4..6], [MAX_SEQUENCE, 1]);
    for offset in 0..3 {
        let files = dealt(&trace, CaptureFormat::PcapNanos, |at| (at + offset) % 3);
        assert_reconstructs(&trace, &files);
    }
    let read = read_all(&[&written(&trace, CaptureFormat::PcapNanos, None)]).unwrap().traced.trace;
    assert_eq!(integrity::check(&read, None).conditions[0].verdict, Verdict::Pass);
    assert_eq!(read.find(1).unwrap().time, Nanos(1500));
    assert_eq!(read.find(MAX_SEQUENCE).unwrap().time, Nanos(1400));
    assert!(read.find(7).is_none());
}

#[test]
fn time_wraps_at_48_bits() {
    // Written times are taken modulo 2^48; reading must go on counting.
    let trace = wrapping(1, TIME_SPAN - 450, 100, 10);
    assert!(trace.records()[9].time.0 > TIME_SPAN);
    for format in FORMATS {
        for offset in 0..3 {
            let mut files = dealt(&trace, format, |at| (at + offset) % 3);
            assert_reconstructs(&trace, &files);
            files.reverse();
            assert_reconstructs(&trace, &files);
        }
        // The file with everything after the wrap is read first.
        let mut files = dealt(&trace, format, |at| at / 5);
        files.reverse();
        assert_reconstructs(&trace, &files);
    }
    let read = read_all(&[&written(&trace, CaptureFormat::PcapNg, None)]).unwrap().traced.trace;
    assert_eq!(integrity::check(&read, None).conditions[1].verdict, Verdict::Pass);
}

#[test]
fn time_and_sequence_wrap_together() {
    let trace = wrapping(MAX_SEQUENCE - 2, TIME_SPAN - 50, 100, 10);
    let mut files = dealt(&trace, CaptureFormat::PcapMicros, |at| at % 2);
    files.reverse();
    assert_reconstructs(&trace, &files);
}

/// A packet of the other pipeline, stamped just before the wrap, with a later sequence number.
#[test]
fn a_small_step_back_across_the_wrap_stays_small() {
    let mut trace = wrapping(1, TIME_SPAN - 100, 40, 6);
    trace = with_records(&trace, |records| records[3].time = Nanos(TIME_SPAN - 10));
    let read = read_all(&[&written(&trace, CaptureFormat::PcapNanos, None)]).unwrap().traced.trace;
    assert_eq!(facts(&read), facts(&trace));
}

#[test]
fn a_step_back_at_the_very_start_does_not_go_below_zero() {
    let trace = wrapping(1, 5, 40, 3);
    let stepped = with_records(&trace, |records| records[1].time = Nanos(TIME_SPAN - 10));
    let read = read_all(&[&written(&stepped, CaptureFormat::PcapNanos, None)]).unwrap().traced.trace;
    let times: Vec<_> = read.records().iter().map(|record| record.time.0).collect();
    assert_eq!(times, [15, 0, 95], "all moved up by the same 10 ns");
}

#[test]
fn duplicates_stay_side_by_side() {
    let trace = two_way(9);
    let again = with_records(&trace, |records| records.retain(|record| record.sequence == 4));
    let files = [&trace, &again].map(|trace| written(trace, CaptureFormat::PcapNanos, None));
    for order in [[0, 1], [1, 0]] {
        let read = read_all(&order.map(|at| files[at].as_slice())).unwrap().traced.trace;
        assert_eq!(sequences(&read), [1, 2, 3, 4, 4, 5, 6, 7, 8, 9]);
        assert_eq!(read.find(4).unwrap().sequence, 4);
    }
}

/// Numbers spread over more than half of the ring, as damage makes them: one order, from the
/// largest gap on, whatever was read first.
#[test]
fn the_order_does_not_depend_on_which_packet_was_read_first() {
    let mut trace = Trace::new(Origin::Mirror);
    let flow = trace.add_flow(flow("10.0.0.1", "10.0.0.2", 5));
    for sequence in [989_855_826, 1_325_400_064, 77, 78, 79] {
        push(&mut trace, flow, sequence, Opcode::WriteMiddle, Event::None);
    }
    for _ in 0..5 {
        trace = with_records(&trace, |records| records.rotate_left(1));
        let read = read_all(&[&written(&trace, CaptureFormat::PcapNanos, None)]).unwrap().traced.trace;
        assert_eq!(sequences(&read), [989_855_826, 1_325_400_064, 77, 78, 79]);
        let missing = integrity::check(&read, None).conditions[0].detail.clone();
        assert_eq!(missing, "335544237 packets are missing after packet 989855826");
    }
    // Every step is forward, and together they are more than a whole round.
    for sequence in [1_000_000_000, 2_000_000_000, 800_000_000] {
        push(&mut trace, flow, sequence, Opcode::WriteMiddle, Event::None);
    }
    let read = read_all(&[&written(&trace, CaptureFormat::PcapNanos, None)]).unwrap().traced.trace;
    assert_eq!(
        sequences(&read),
        [800_000_000, 989_855_826, 1_000_000_000, 1_325_400_064, 2_000_000_000, 77, 78, 79]
    );
}
