//! The integrity check: each kind of damage fails its own condition, and no other.

use std::collections::BTreeMap;

use dumper::integrity::Verdict::{Fail, Pass, Unknown};
use dumper::integrity::{self, Integrity, Verdict};
use dumper::trace::Origin;
use dumper::wire::Opcode;
use dumper::{Event, Nanos, Record, SwitchCounters, Trace};

use crate::support::{flow, push, two_way, with_records};

const PACKETS: u32 = 12;

/// Counters of a switch whose ports 1 and 2 are the hosts' and 3 and 4 the dumpers'.
fn counters(received: [u64; 2], mirrored: [u64; 2]) -> SwitchCounters {
    let ports = |hosts: [u64; 2], dumpers: [u64; 2]| {
        BTreeMap::from([(1, hosts[0]), (2, hosts[1]), (3, dumpers[0]), (4, dumpers[1])])
    };
    SwitchCounters {
        ingress: ports(received, [0, 0]),
        // What left towards the hosts is not mirrored traffic, whatever its number.
        egress: ports([999, 999], mirrored),
        host_ports: vec![1, 2, 1, 2],
    }
}

fn right() -> SwitchCounters {
    counters([8, 4], [7, 5])
}

fn verdicts(integrity: &Integrity) -> [Verdict; 4] {
    integrity.conditions.each_ref().map(|condition| condition.verdict)
}

/// Checks the changed two-way trace, and asserts the verdicts and what the first failing condition says.
fn check(
    change: impl FnOnce(&mut Vec<Record>),
    switch: Option<&SwitchCounters>,
    expected: [Verdict; 4],
    says: &str,
) {
    let trace = with_records(&two_way(PACKETS), change);
    let integrity = integrity::check(&trace, switch);
    assert_eq!(verdicts(&integrity), expected, "{integrity:#?}");
    assert_eq!(integrity.is_invalid(), expected.contains(&Fail));
    let failed = integrity.conditions.iter().find(|condition| condition.verdict == Fail);
    assert_eq!(failed.map_or("", |condition| &condition.detail), says);
}

#[test]
fn a_complete_trace_passes() {
    check(|_| (), Some(&right()), [Pass; 4], "");
    let integrity = integrity::check(&two_way(PACKETS), Some(&right()));
    let details = integrity.conditions.map(|condition| (condition.name, condition.detail));
    assert_eq!(
        details.each_ref().map(|(name, detail)| (*name, detail.as_str())),
        [
            ("consecutive", "packets 1 to 12"),
            ("increasing-time", "13.6 µs from first packet to last"),
            ("mirrored-count", "12 packets mirrored by the switch and in the trace"),
            ("received-count", "12 packets received by the switch and in the trace"),
        ]
    );
}

#[test]
fn without_switch_counters_the_counts_are_unknown() {
    check(|_| (), None, [Pass, Pass, Unknown, Unknown], "");
}

#[test]
fn nothing_is_known_of_an_empty_trace() {
    check(Vec::clear, None, [Unknown; 4], "");
    check(Vec::clear, Some(&counters([0, 0], [0, 0])), [Unknown, Unknown, Pass, Pass], "");
    let says = "3 packets mirrored by the switch, 0 in the trace";
    check(Vec::clear, Some(&counters([0, 0], [3, 0])), [Unknown, Unknown, Fail, Pass], says);
}

#[test]
fn order_is_unknown_of_a_plain_capture() {
    let mut plain = Trace::new(Origin::Plain);
    let flow = plain.add_flow(flow("10.0.0.1", "10.0.0.2", 5));
    for sequence in 1..4 {
        push(&mut plain, flow, sequence, Opcode::SendOnly, Event::None);
    }
    assert_eq!(verdicts(&integrity::check(&plain, None)), [Unknown, Pass, Unknown, Unknown]);
}

#[test]
fn missing_packets_are_named() {
    let sequence_only = [Fail, Pass, Unknown, Unknown];
    check(
        |records| {
            records.remove(4);
        },
        None,
        sequence_only,
        "packet 5 is missing",
    );
    check(
        |records| {
            records.drain(4..7);
        },
        None,
        sequence_only,
        "3 packets are missing after packet 4",
    );
    // A packet that the dumpers lost is missing from the counts' point of view too.
    check(
        |records| {
            records.remove(4);
        },
        Some(&right()),
        [Fail, Pass, Fail, Fail],
        "packet 5 is missing",
    );
    // The last packet leaves no gap: only the counters know of it.
    check(
        |records| {
            records.pop();
        },
        Some(&right()),
        [Pass, Pass, Fail, Fail],
        "12 packets mirrored by the switch, 11 in the trace",
    );
}

#[test]
fn a_packet_that_is_there_twice_is_named() {
    let again = |records: &mut Vec<Record>| records.insert(4, records[4]);
    check(again, None, [Fail, Pass, Unknown, Unknown], "packet 5 is there twice");
    let thirteen = counters([8, 5], [7, 6]);
    check(again, Some(&thirteen), [Fail, Pass, Pass, Pass], "packet 5 is there twice");
}

#[test]
fn a_sequence_that_wraps_is_consecutive_and_a_gap_at_the_wrap_is_named() {
    let renumber = |records: &mut Vec<Record>| {
        for (record, at) in records.iter_mut().zip(0u32..) {
            record.sequence = if at < 5 { 0x7fff_ffff - 4 + at } else { at - 4 };
        }
    };
    check(renumber, None, [Pass, Pass, Unknown, Unknown], "");
    check(
        |records| {
            renumber(records);
            records.remove(5);
        },
        None,
        [Fail, Pass, Unknown, Unknown],
        "packet 1 is missing",
    );
}

#[test]
fn time_may_not_step_back_among_the_packets_of_one_sender() {
    // Packets 4 and 5 are both the requester's.
    let back = |by: u64| move |records: &mut Vec<Record>| records[4].time = Nanos(records[3].time.0 - by);
    check(back(0), None, [Pass, Pass, Unknown, Unknown], "");
    let says = "time steps back 1 ns at packet 5, among the packets of 10.0.0.1";
    check(back(1), Some(&right()), [Pass, Fail, Pass, Pass], says);
}

#[test]
fn time_may_step_back_50_ns_between_senders() {
    // Packet 6 is the responder's, packet 5 the requester's.
    let back = |by: u64| move |records: &mut Vec<Record>| records[5].time = Nanos(records[4].time.0 - by);
    check(back(1), None, [Pass, Pass, Unknown, Unknown], "");
    check(back(50), None, [Pass, Pass, Unknown, Unknown], "");
    let says = "time steps back 51 ns at packet 6, overall, more than 50 ns";
    check(back(51), Some(&right()), [Pass, Fail, Pass, Pass], says);
}

#[test]
fn each_count_fails_alone() {
    let (fewer, more) = (counters([8, 4], [7, 4]), counters([8, 4], [8, 5]));
    let says = "11 packets mirrored by the switch, 12 in the trace";
    check(|_| (), Some(&fewer), [Pass, Pass, Fail, Pass], says);
    let says = "13 packets mirrored by the switch, 12 in the trace";
    check(|_| (), Some(&more), [Pass, Pass, Fail, Pass], says);
    let says = "13 packets received by the switch, 12 in the trace";
    check(|_| (), Some(&counters([9, 4], [7, 5])), [Pass, Pass, Pass, Fail], says);
    let says = "11 packets received by the switch, 12 in the trace";
    check(|_| (), Some(&counters([8, 3], [7, 5])), [Pass, Pass, Pass, Fail], says);
}
