//! Combinations of values that a space must not have.

use corpus::{Offload, TestConfig, Traffic};

use super::fields::PACKET_CAP;
use super::report::{Report, Spans};
use crate::admit::admit;
use crate::axis::Axis;
use crate::settle::settle;
use crate::space::Space;
use crate::tables;
use crate::words;

/// Verbs with ACKs, and verbs with Read requests.
const ACKNOWLEDGED: &[u64] = &[words::WRITE, words::SEND, words::ALTERNATING, words::SPLIT];
const READING: &[u64] = &[words::READ, words::ALTERNATING, words::SPLIT];

/// A contradiction: the fields that it rests on, the first of them the one that it is reported for, its
/// description, and the remedy.
struct Contradiction {
    axes: &'static [Axis],
    holds: fn(&Space) -> bool,
    message: &'static str,
    help: &'static str,
}

/// Returns true if it is the only value.
fn only(space: &Space, axis: Axis, value: u64) -> bool {
    space[axis].smallest() == value && space[axis].largest() == value
}

fn one_connection(space: &Space) -> bool {
    space[Axis::Connections].largest() == 1
}

fn any(space: &Space, axis: Axis, values: &[u64]) -> bool {
    values.iter().any(|value| space[axis].contains(*value))
}

/// Returns true if some event of the space can be part of a valid test.
fn has_events(space: &Space) -> bool {
    let packets = &space[Axis::Packet];
    (0..=packets.largest()).filter(|packet| packets.contains(*packet)).any(|packet| match packet {
        words::ACK => any(space, Axis::Verb, ACKNOWLEDGED),
        words::READ_REQUEST => any(space, Axis::Verb, READING),
        // A CNP cannot be the first event: it answers marks on data.
        words::CNP => false,
        _ => true,
    })
}

/// Returns true if no table of the space has an entry for each connection and mask.
fn has_too_few_flows(space: &Space) -> bool {
    let [egress_masks, ingress_masks] =
        [Axis::EgressMasks, Axis::IngressMasks].map(|axis| space[axis].smallest() as u32);
    let connections = space[Axis::Connections].smallest() as u32;
    let places = (0..words::PLACES.len() as u64).filter(|place| space[Axis::Place].contains(*place));
    let least = places.map(|word| {
        let place = tables::place(word);
        Offload { egress_masks, ingress_masks, place, ..Offload::default() }.least_flows(connections)
    });
    least.min().is_some_and(|least| u64::from(least) > space[Axis::Flows].largest())
}

/// Returns true if even the longest traffic of the space ends before its first operation.
fn operates_too_late(space: &Space) -> bool {
    let traffic = Traffic {
        num_msgs_per_qp: space[Axis::Messages].largest() as u32,
        tx_depth: space[Axis::TxDepth].smallest() as u32,
        gap_ns: space[Axis::Gap].largest(),
        ..Traffic::default()
    };
    space[Axis::OperationAt].smallest() > traffic.last_operation_ms()
}

const CONTRADICTIONS: &[Contradiction] = &[
    Contradiction {
        axes: &[Axis::Innocent, Axis::Connections],
        holds: |space| space.innocent() && one_connection(space),
        message: "with one connection, none can stay without events",
        help: "allow more in traffic.num-connections, or set it to false",
    },
    Contradiction {
        axes: &[Axis::Innocent, Axis::Sets],
        holds: |space| space.innocent() && only(space, Axis::Sets, words::ALL),
        message: "where every event is on all connections, none stays without events",
        help: "allow another form in events.qpn, or set it to false",
    },
    Contradiction {
        axes: &[Axis::Verb, Axis::Connections],
        holds: |space| only(space, Axis::Verb, words::SPLIT) && one_connection(space),
        message: "one connection cannot be divided into some that send and others that read",
        help: "allow more in traffic.num-connections, or another verb",
    },
    Contradiction {
        axes: &[Axis::BarrierSync, Axis::Connections],
        holds: |space| only(space, Axis::BarrierSync, 1) && one_connection(space),
        message: "with one connection, nothing waits for anything",
        help: "allow more in traffic.num-connections, or false",
    },
    Contradiction {
        axes: &[Axis::MultiGid, Axis::Addresses],
        holds: |space| only(space, Axis::MultiGid, 1) && space[Axis::Addresses].largest() == 1,
        message: "with one address, there is nothing to spread connections over",
        help: "allow more in hosts.addresses, or false",
    },
    Contradiction {
        axes: &[Axis::StrictClasses, Axis::Classes],
        holds: |space| space[Axis::StrictClasses].smallest() > space[Axis::Classes].largest(),
        message: "so many classes are never strict: there are fewer",
        help: "allow less, or more in hosts.classes",
    },
    Contradiction {
        axes: &[Axis::TxDepth, Axis::Messages],
        holds: |space| space[Axis::TxDepth].smallest() > space[Axis::Messages].largest(),
        message: "so many requests are never outstanding: there are fewer messages",
        help: "allow less, or more in traffic.num-msgs-per-qp",
    },
    Contradiction {
        axes: &[Axis::LossPackets, Axis::LossPpb],
        holds: |space| space.loses() && !any(space, Axis::LossPackets, &[words::ANY_KIND, words::LOST_DATA]),
        message: "not every test has such packets, and those without them must lose others",
        help: "allow \"all\" or \"data\" too",
    },
    Contradiction {
        axes: &[Axis::LossDirection, Axis::LossPpb],
        holds: |space| space.loses() && !any(space, Axis::LossDirection, &[0]),
        message: "not every test has packets in this direction that can be lost, and those without them must lose others",
        help: "allow \"both\" too",
    },
    Contradiction {
        axes: &[Axis::Links, Axis::LossPpb],
        holds: |space| space.loses() && space[Axis::Links].smallest() == 0,
        message: "without links nothing is lost",
        help: "begin with 1; tests without losses have network.loss-ppb = 0",
    },
    Contradiction {
        axes: &[Axis::CorruptedLinks, Axis::LossPpb],
        holds: |space| space.loses() && space[Axis::CorruptedLinks].smallest() == 0,
        message: "where no link loses packets, nothing is lost",
        help: "begin with 1; tests without losses have network.loss-ppb = 0",
    },
    Contradiction {
        axes: &[Axis::Packet, Axis::Verb, Axis::MaxEntries],
        holds: |space| space.max_entries() > 0 && !has_events(space),
        message: "no test of the space has such a packet",
        help: "allow data packets too, or verbs that have them: ACKs belong to Writes and Sends, Read requests to Reads, CNPs to marked data",
    },
    Contradiction {
        axes: &[Axis::Flows, Axis::EgressMasks, Axis::IngressMasks, Axis::Connections],
        holds: |space| space.always_offloads() && has_too_few_flows(space),
        message: "so few flows have no entry for each connection and each mask",
        help: "allow more, or fewer in offload.egress-masks, offload.ingress-masks or traffic.num-connections",
    },
    Contradiction {
        axes: &[Axis::OperationAt, Axis::Gap, Axis::Messages],
        holds: |space| space[Axis::Operations].largest() > 0 && operates_too_late(space),
        message: "no test of the space is so long",
        help: "allow sooner, or longer pauses in traffic.gap-ns, or more in traffic.num-msgs-per-qp",
    },
];

/// Reports them; else a cap that the smallest test is above.
pub(super) fn contradictions(space: &Space, spans: &Spans, report: &mut Report<'_>) {
    let place = |paths: &[&str]| paths.iter().find_map(|path| spans.get(path)).cloned();
    for Contradiction { axes, message, help, .. } in CONTRADICTIONS.iter().filter(|one| (one.holds)(space)) {
        let paths: Vec<&str> = axes.iter().map(|axis| axis.entry().path).collect();
        let span = place(&paths);
        report.note(span, axes[0].entry().path, *message, *help);
    }
    if !report.is_empty() {
        return;
    }
    let mut smallest = TestConfig::default();
    settle(space, &mut smallest);
    if let Err(reason) = admit(space, &smallest) {
        let sizes = [Axis::Connections, Axis::Messages, Axis::MessageSize, Axis::Mtu];
        let mut paths = vec![PACKET_CAP.key];
        paths.extend(sizes.map(|axis| axis.entry().path));
        let span = place(&paths);
        report.note(
            span,
            PACKET_CAP.key,
            format!("the space has no valid test; of the smallest: {reason}"),
            "raise it, or allow fewer or smaller messages, or fewer connections",
        );
    }
}
