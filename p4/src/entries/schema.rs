//! The tables of the injector's pipeline, their fields and actions, and its counters. P4 programs are held to it.
//! [`p4info`](super::p4info()) and the file `p4info/lumina.p4info.txt` are made from it.

use corpus::{Path, Repeat};

use crate::Timing;

/// A match field of a table or a parameter of an action: a number.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Unique in its table or action.
    pub id: u32,
    /// Its name.
    pub name: &'static str,
    /// Its width.
    pub bits: u32,
    /// Description of the parameter or field.
    pub doc: &'static str,
}

/// An action with its parameters.
#[derive(Debug)]
pub struct Action {
    /// P4Runtime's identifier.
    pub id: u32,
    /// Its name.
    pub name: &'static str,
    /// Its parameters.
    pub params: &'static [Field],
    /// Description of the action.
    pub doc: &'static str,
}

/// A table of exact matches, whose entries all have one action.
#[derive(Debug)]
pub struct Table {
    /// P4Runtime's identifier.
    pub id: u32,
    /// Its name.
    pub name: &'static str,
    /// Its key.
    pub keys: &'static [Field],
    /// Its action.
    pub action: &'static Action,
    /// Most entries.
    pub size: usize,
    /// Description of the entries.
    pub doc: &'static str,
}

/// An array of packet counters with a cell for each port.
#[derive(Debug)]
pub struct Counter {
    /// P4Runtime's identifier.
    pub id: u32,
    /// Its name.
    pub name: &'static str,
    /// Description of the count.
    pub doc: &'static str,
}

pub(crate) const fn field(id: u32, name: &'static str, bits: u32, doc: &'static str) -> Field {
    Field { id, name, bits, doc }
}

const FLOW: Field = field(1, "flow", 32, "number of the flow, as set_flow gave it");

/// Says which flow a packet belongs to.
pub const SET_FLOW: Action = Action {
    id: 0x0100_0001,
    name: "ingress.set_flow",
    params: &[
        field(
            1,
            "flow",
            32,
            "number of the flow: 2 * (connection - 1), + 1 towards the responder; without gaps",
        ),
        field(2, "iter_mode", 8, "how rounds of transmission are counted: 0 paper, 1 per message"),
        field(3, "shares_psns", 1, "data of the other direction takes PSNs between the messages"),
        field(4, "initial_psn", 24, "PSN of its first data packet"),
    ],
    doc: "the packet is of this flow, whose registers begin so",
};

/// Performs the actions of an event.
pub const INJECT: Action = Action {
    id: 0x0100_0002,
    name: "ingress.inject",
    params: &INJECT_PARAMS,
    doc: "what is done to the packet",
};

/// [`INJECT`] on some packets of those that match.
pub static INJECT_NTH: Action = Action {
    id: 0x0100_0003,
    name: "ingress.inject_nth",
    params: &INJECT_NTH_PARAMS,
    doc: "what is done to the packet if its number is first, first + every, ... up to last",
};

const INJECT_PARAMS: [Field; 9] = [
    field(1, "drop", 1, "it does not leave"),
    field(2, "ecn", 1, "it leaves with ECN at Congestion Experienced"),
    field(3, "corrupt", 1, "it leaves with a covered bit inverted and the ICRC as it was"),
    field(4, "copies", 8, "copies that leave right after it"),
    field(5, "timing", 8, Timing::CODES),
    field(6, "amount", 64, "of timing; 0 for at once"),
    field(
        7,
        "set_field",
        8,
        "0 none, else the header field that is rewritten, by its place in the list of docs",
    ),
    field(8, "value", 64, "what it is set to, or what is added to it; 0 for none"),
    field(9, "drop_copies", 8, "copies of the network that do not leave, a bit for each"),
];

const INJECT_NTH_PARAMS: [Field; 12] = {
    let [a, b, c, d, e, f, g, h, i] = INJECT_PARAMS;
    [
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        field(10, "first", 32, "first number, from 1"),
        field(11, "every", 32, "distance to the next"),
        field(12, "last", 32, "last number"),
    ]
};

/// Loses packets of a flow at random.
pub static LOSE: Action = Action {
    id: 0x0100_0004,
    name: "ingress.lose",
    params: &[
        field(1, "seed", 64, "seed of the draws"),
        field(2, "ppb", 32, "packets of the reference size that a link loses, of 10^9"),
        field(
            3,
            "reference",
            16,
            "reference size in bytes, with frame check sequence; 0 loses packets of any size alike",
        ),
        field(4, "links", 8, "links, one behind the other"),
        field(5, "corrupted_percent", 8, "probability that a link loses packets at all"),
        field(
            6,
            "kinds",
            8,
            "kinds that can be lost, a bit for each: 1 data, 2 ACK, 4 NAK, 8 CNP, 16 Read request",
        ),
        field(7, "corrupts", 1, "a lost packet leaves with a wrong ICRC"),
        field(8, "packets", 32, "data packets of the connection without retransmissions"),
        field(9, "packets_per_message", 32, "those of one message"),
    ],
    doc: "packets are lost by draws that depend on the seed and the packet alone",
};

/// Sends packets of a kind more than once.
pub const REPEAT: Action = Action {
    id: 0x0100_0005,
    name: "ingress.repeat",
    params: &[
        field(1, "packets", 8, "packets that leave for one, itself included"),
        field(2, "by_connection", 1, "a retransmission is known by connection and PSN, not by its PSN alone"),
    ],
    doc: "the packet leaves more than once",
};

/// Has packets take a path.
pub static TAKE_PATH: Action = Action {
    id: 0x0100_0006,
    name: "ingress.take_path",
    params: &[
        field(1, "delay", 64, "ns from the end of its queue, or from its beginning where there is none"),
        field(2, "rate_gbps", 16, "rate at which packets leave the queue; 0 has no queue"),
        field(3, "weight", 8, "share of the packets, of the sum over all paths"),
        field(4, "queue_packets", 32, "packets that wait at most; those that find no room are dropped"),
    ],
    doc: "packets keep their order on a path, not between paths",
};

/// Spreads packets over the paths.
pub static SPRAY: Action = Action {
    id: 0x0100_0007,
    name: "ingress.spray",
    params: &[
        field(1, "way", 8, "0 flow, 1 flowlet, 2 packet, 3 round robin"),
        field(2, "gap", 64, "ns without a packet that begin another flowlet"),
        field(3, "seed", 64, "seed of the draws"),
    ],
    doc: "a packet takes a path by a draw that depends on the seed, its flow and its number there",
};

/// The flows of a test.
pub const FLOWS: Table = Table {
    id: 0x0200_0001,
    name: "ingress.flows",
    keys: &[
        field(1, "destination", 128, "destination address; IPv4 as an IPv4-mapped IPv6 address"),
        field(2, "dest_qpn", 24, "destination QPN of the BTH"),
    ],
    action: &SET_FLOW,
    // Two for each of the 10 000 connections that a test may have.
    size: 20_000,
    doc: "flows: each direction of each connection",
};

/// Events on data packets.
pub const DATA_EVENTS: Table = Table {
    id: 0x0200_0002,
    name: "ingress.data_events",
    keys: &[
        FLOW,
        field(2, "psn", 24, "PSN of the BTH"),
        field(3, "iter", 8, "round of transmission, from 1"),
    ],
    action: &INJECT,
    // Some 100 MB in the memory of the software switch.
    size: 1 << 20,
    doc: "data packets (Send, Write, Read response) that events name",
};

/// Events on control packets.
pub const CONTROL_EVENTS: Table = Table {
    id: 0x0200_0003,
    name: "ingress.control_events",
    keys: &[
        field(1, "flow", 32, "number of the flow that counts them; for CNPs the one towards the requester"),
        field(2, "kind", 8, "0 ACK, 1 NAK, 2 CNP, 3 Read request"),
        field(3, "rule", 32, "rules of one flow and kind apply in this order; several may match"),
    ],
    action: &INJECT_NTH,
    // An event has one for each connection that it names: 4096 events on 16 connections.
    size: 1 << 16,
    doc: "control packets that events name by their number",
};

/// Flows that lose packets at random.
pub static LOSSES: Table = Table {
    id: 0x0200_0004,
    name: "ingress.losses",
    keys: &[FLOW],
    action: &LOSE,
    size: FLOWS.size,
    doc: "flows whose packets are lost at random, behind the events",
};

/// Kinds of packets that leave more than once.
pub static REPEATS: Table = Table {
    id: 0x0200_0005,
    name: "ingress.repeats",
    keys: &[field(
        1,
        "kind",
        8,
        "0 NAKs of a sequence error, 1 the packet that one asks for, 2 the last packet of a message or response",
    )],
    action: &REPEAT,
    size: Repeat::NUMBERS.len(),
    doc: "kinds of packets that leave more than once, behind the events",
};

/// Paths between the hosts.
pub static PATHS: Table = Table {
    id: 0x0200_0006,
    name: "ingress.paths",
    keys: &[field(1, "path", 8, "number of the path, from 0, without gaps")],
    action: &TAKE_PATH,
    size: Path::MOST,
    doc: "paths between the hosts, behind the losses; without an entry there is one without delay",
};

/// How packets are spread over the paths.
pub static SPREAD: Table = Table {
    id: 0x0200_0007,
    name: "ingress.spread",
    keys: &[field(1, "packets", 8, "those that are spread: 0 all, 1 data; the others take path 0")],
    action: &SPRAY,
    size: 1,
    doc: "how packets are spread over the paths; without an entry all take path 0",
};

/// All tables.
pub static TABLES: [&Table; 7] = [&FLOWS, &DATA_EVENTS, &CONTROL_EVENTS, &LOSSES, &REPEATS, &PATHS, &SPREAD];

/// RDMA packets that ports received.
pub static PORT_INGRESS: Counter =
    Counter { id: 0x1200_0001, name: "ingress.port_ingress", doc: "RDMA packets received, by port" };

/// RDMA packets that ports sent.
pub static PORT_EGRESS: Counter =
    Counter { id: 0x1200_0002, name: "egress.port_egress", doc: "RDMA packets sent or mirrored, by port" };

/// All counters.
pub static COUNTERS: [&Counter; 2] = [&PORT_INGRESS, &PORT_EGRESS];

/// Cells of a counter: port numbers of the software switch are below.
pub const COUNTER_SIZE: i64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_unique_and_of_their_kind() {
        let mut ids: Vec<u32> = COUNTERS.iter().map(|counter| counter.id).collect();
        assert!(ids.iter().all(|id| id >> 24 == 0x12));
        for table in TABLES {
            assert_eq!((table.id >> 24, table.action.id >> 24), (0x02, 0x01), "{}", table.name);
            ids.extend([table.id, table.action.id]);
            for fields in [table.keys, table.action.params] {
                assert!(fields.iter().map(|field| field.id).eq(1..=fields.len() as u32), "{}", table.name);
            }
        }
        ids.sort_unstable();
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:x?}");
    }
}
