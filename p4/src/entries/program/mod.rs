//! The tables of the P4 programs in `programs/`: those of the [schema](super::schema) that a switch in hardware can have, with what
//! the ports of such a switch need. Both programs, and the file `p4info/event_injector.p4info.txt`, are held to it.

mod compiled;
mod items;

use super::schema::{
    Action, CONTROL_EVENTS, Counter, DATA_EVENTS, FLOWS, Field, INJECT, PORT_EGRESS, PORT_INGRESS, REPEAT,
    SET_FLOW, Table, field,
};
pub use compiled::{Compiled, P4InfoError};
pub use items::{Unsupported, Wiring, items};

/// Says which flow a packet belongs to.
static SET_PROGRAM_FLOW: Action = Action {
    id: SET_FLOW.id,
    name: SET_FLOW.name,
    params: &[
        SET_FLOW.params[0],
        SET_FLOW.params[1],
        SET_FLOW.params[2],
        field(
            4,
            "psn_offset",
            32,
            "added to a PSN, counts it from its first data packet, 1, in the low 24 bits",
        ),
        field(
            5,
            "asked_tag",
            32,
            "marks PSNs that NAKs have asked for: those of the test, or of the connection where a retransmission is known by \
             connection and PSN; not 0",
        ),
    ],
    doc: SET_FLOW.doc,
};

/// Performs the actions of an event.
static INJECT_SOME: Action = Action {
    id: INJECT.id,
    name: INJECT.name,
    params: &[INJECT.params[0], INJECT.params[1], INJECT.params[2], INJECT.params[3], INJECT.params[8]],
    doc: INJECT.doc,
};

const COPIES: &[Field] = &[field(1, "copies", 8, "copies that are made of the packet, a bit for each")];

static COPY: Action = Action { id: 0x0100_0008, name: "ingress.copy", params: COPIES, doc: REPEAT.doc };

static COPY_DATA: Action =
    Action { id: 0x0100_0009, name: "ingress.copy_data", params: COPIES, doc: REPEAT.doc };

static FORWARD_TO: Action = Action {
    id: 0x0100_000a,
    name: "ingress.forward_to",
    params: &[
        field(1, "port", 9, "the other host's port"),
        field(2, "epoch", 32, "number of the test, from 1: registers that another test has left begin again"),
        field(
            3,
            "group",
            16,
            "multicast group that sends a packet once to that port; behind it, twice, and so on",
        ),
        field(4, "turn", 32, "the last turn of the dumpers, before turn 0"),
    ],
    doc: "the packet goes to the other host",
};

static MIRROR_TO: Action = Action {
    id: 0x0100_000b,
    name: "ingress.mirror_to",
    params: &[field(1, "session", 16, "clone session of the dumper's port")],
    doc: "the mirrored packet goes to this dumper",
};

/// The flows of a test.
pub static PROGRAM_FLOWS: Table = Table { action: &SET_PROGRAM_FLOW, ..FLOWS };

/// Events on data packets.
pub static PROGRAM_DATA_EVENTS: Table = Table {
    action: &INJECT_SOME,
    // As many as the paper's injector has (Lumina section 4).
    size: 100_000,
    ..DATA_EVENTS
};

/// Events on control packets, one entry for each number: a table in hardware is looked up once.
pub static CONTROL_PACKETS: Table = Table {
    id: 0x0200_0008,
    name: "ingress.control_packets",
    keys: &[
        CONTROL_EVENTS.keys[0],
        CONTROL_EVENTS.keys[1],
        field(3, "nth", 32, "number among those of its flow and kind, from 1"),
    ],
    action: &INJECT_SOME,
    size: 16_384,
    doc: CONTROL_EVENTS.doc,
};

/// Copies of NAKs.
pub static NAK_COPIES: Table = Table {
    id: 0x0200_0009,
    name: "ingress.nak_copies",
    keys: &[field(1, "asks_again", 1, "it is a NAK of a sequence error")],
    action: &COPY,
    size: 2,
    doc: "copies of NAKs that ask for a packet again, behind the events",
};

/// Copies of data packets.
pub static DATA_COPIES: Table = Table {
    id: 0x0200_000a,
    name: "ingress.data_copies",
    keys: &[
        field(1, "is_asked", 1, "a NAK has asked for the packet"),
        field(2, "ends", 1, "it is the last packet of a message or response"),
    ],
    action: &COPY_DATA,
    size: 4,
    doc: "copies of data packets, behind the events",
};

/// Ports of the hosts.
pub static FORWARD: Table = Table {
    id: 0x0200_000b,
    name: "ingress.forward",
    keys: &[field(1, "port", 9, "port at which a packet enters")],
    action: &FORWARD_TO,
    size: 16,
    doc: "ports of the hosts; packets of other ports are dropped",
};

/// Turns of the dumpers.
pub static DUMPERS: Table = Table {
    id: 0x0200_000c,
    name: "ingress.dumpers",
    keys: &[field(1, "turn", 32, "turn, from 0: mirrored packets take the turns round and round")],
    action: &MIRROR_TO,
    size: 1024,
    doc: "turns of the dumpers, each as many as its weight",
};

/// All tables of the programs.
pub static PROGRAM_TABLES: [&Table; 7] =
    [&PROGRAM_FLOWS, &PROGRAM_DATA_EVENTS, &CONTROL_PACKETS, &NAK_COPIES, &DATA_COPIES, &FORWARD, &DUMPERS];

/// All counters of the programs.
pub static PROGRAM_COUNTERS: [&Counter; 2] = [&PORT_INGRESS, &PORT_EGRESS];

/// Cells of a counter: switches in hardware number their ports with 9 bits.
pub const PROGRAM_COUNTER_SIZE: i64 = 512;
