//! The P4Info of the injector's pipeline: its tables, their fields and actions, its counters. P4 programs are held to
//! it. `p4info/lumina.p4info.txt` is the same for people and for other controllers.

use std::fmt::Write;

use crate::proto::config::{
    self, Action as ActionInfo, ActionRef, Counter as CounterInfo, CounterSpec, Documentation, MatchField,
    P4Info, PkgInfo, Preamble, Table as TableInfo, action::Param, counter_spec::Unit, match_field,
};

/// A match field of a table or a parameter of an action: a number.
#[derive(Debug)]
pub struct Field {
    /// Unique in its table or action.
    pub id: u32,
    /// Its name.
    pub name: &'static str,
    /// Its width.
    pub bits: u32,
    /// What it says.
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
    /// What it does.
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
    /// What its entries are.
    pub doc: &'static str,
}

/// An array of packet counters with a cell for each port.
#[derive(Debug)]
pub struct Counter {
    /// P4Runtime's identifier.
    pub id: u32,
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub doc: &'static str,
}

const fn field(id: u32, name: &'static str, bits: u32, doc: &'static str) -> Field {
    Field { id, name, bits, doc }
}

const FLOW: Field = field(1, "flow", 32, "number of the flow, as set_flow gave it");

/// Says which flow a packet belongs to.
pub static SET_FLOW: Action = Action {
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

/// Does what an event says.
pub static INJECT: Action = Action {
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

const INJECT_PARAMS: [Field; 8] = [
    field(1, "drop", 1, "it does not leave"),
    field(2, "ecn", 1, "it leaves with ECN at Congestion Experienced"),
    field(3, "corrupt", 1, "it leaves with a covered bit inverted and the ICRC as it was"),
    field(4, "copies", 8, "copies that leave right after it"),
    field(5, "timing", 8, "0 at once, 1 later by amount ns, 2 after amount later packets of its flow"),
    field(6, "amount", 64, "of timing; 0 for at once"),
    field(
        7,
        "set_field",
        8,
        "0 none, else the header field that is rewritten, by its place in the list of docs",
    ),
    field(8, "value", 64, "what it is set to, or what is added to it; 0 for none"),
];

const INJECT_NTH_PARAMS: [Field; 11] = {
    let [a, b, c, d, e, f, g, h] = INJECT_PARAMS;
    [
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        field(9, "first", 32, "first number, from 1"),
        field(10, "every", 32, "distance to the next"),
        field(11, "last", 32, "last number"),
    ]
};

/// The flows of a test.
pub static FLOWS: Table = Table {
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
pub static DATA_EVENTS: Table = Table {
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
pub static CONTROL_EVENTS: Table = Table {
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

/// All tables.
pub static TABLES: [&Table; 3] = [&FLOWS, &DATA_EVENTS, &CONTROL_EVENTS];

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

/// The P4Info as a message.
#[must_use]
pub fn p4info() -> P4Info {
    let mut actions: Vec<&Action> = TABLES.iter().map(|table| table.action).collect();
    actions.sort_unstable_by_key(|action| action.id);
    P4Info {
        pkg_info: Some(PkgInfo {
            name: "lumina-injector".to_owned(),
            version: "1".to_owned(),
            doc: doc("event injector of lumina-fuzz"),
            arch: "lumina-switch".to_owned(),
        }),
        tables: TABLES.iter().map(|table| table_info(table)).collect(),
        actions: actions.into_iter().map(action_info).collect(),
        counters: COUNTERS
            .iter()
            .map(|counter| CounterInfo {
                preamble: preamble(counter.id, counter.name, counter.doc),
                spec: Some(CounterSpec { unit: Unit::Packets.into() }),
                size: COUNTER_SIZE,
            })
            .collect(),
    }
}

fn table_info(table: &Table) -> TableInfo {
    let exact = match_field::Match::MatchType(match_field::MatchType::Exact.into());
    let keys = table.keys.iter().map(|key| MatchField {
        id: key.id,
        name: key.name.to_owned(),
        bitwidth: key.bits as i32,
        r#match: Some(exact),
        doc: doc(key.doc),
    });
    TableInfo {
        preamble: preamble(table.id, table.name, table.doc),
        match_fields: keys.collect(),
        action_refs: vec![ActionRef { id: table.action.id }],
        size: table.size as i64,
    }
}

fn action_info(action: &Action) -> ActionInfo {
    let params = action.params.iter().map(|param| Param {
        id: param.id,
        name: param.name.to_owned(),
        bitwidth: param.bits as i32,
        doc: doc(param.doc),
    });
    ActionInfo { preamble: preamble(action.id, action.name, action.doc), params: params.collect() }
}

fn preamble(id: u32, name: &str, brief: &str) -> Option<Preamble> {
    let alias = name.rsplit('.').next().unwrap_or(name).to_owned();
    Some(Preamble { id, name: name.to_owned(), alias, doc: doc(brief) })
}

fn doc(brief: &str) -> Option<Documentation> {
    Some(Documentation { brief: brief.to_owned() })
}

/// The P4Info in the text form of protocol buffers, which other controllers read.
#[must_use]
pub fn text() -> String {
    let info = p4info();
    let mut out = Text::default();
    if let Some(package) = &info.pkg_info {
        out.block("pkg_info", |out| {
            out.string("name", &package.name);
            out.string("version", &package.version);
            out.doc(package.doc.as_ref());
            out.string("arch", &package.arch);
        });
    }
    for table in &info.tables {
        out.block("tables", |out| {
            out.preamble(table.preamble.as_ref());
            for key in &table.match_fields {
                out.block("match_fields", |out| {
                    out.named(key.id, &key.name, key.bitwidth);
                    out.line("match_type: EXACT");
                    out.doc(key.doc.as_ref());
                });
            }
            for action in &table.action_refs {
                out.block("action_refs", |out| out.line(&format!("id: {}", action.id)));
            }
            out.line(&format!("size: {}", table.size));
        });
    }
    for action in &info.actions {
        out.block("actions", |out| {
            out.preamble(action.preamble.as_ref());
            for param in &action.params {
                out.block("params", |out| {
                    out.named(param.id, &param.name, param.bitwidth);
                    out.doc(param.doc.as_ref());
                });
            }
        });
    }
    for counter in &info.counters {
        out.block("counters", |out| {
            out.preamble(counter.preamble.as_ref());
            out.block("spec", |out| out.line("unit: PACKETS"));
            out.line(&format!("size: {}", counter.size));
        });
    }
    out.text
}

/// Lines of the text form.
#[derive(Default)]
struct Text {
    text: String,
    depth: usize,
}

impl Text {
    fn line(&mut self, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:width$}{line}", "", width = 2 * self.depth);
    }

    fn block(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        self.line(&format!("{name} {{"));
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.line("}");
    }

    fn string(&mut self, name: &str, value: &str) {
        self.line(&format!("{name}: {value:?}"));
    }

    fn doc(&mut self, doc: Option<&config::Documentation>) {
        if let Some(doc) = doc {
            self.block("doc", |out| out.string("brief", &doc.brief));
        }
    }

    fn named(&mut self, id: u32, name: &str, bits: i32) {
        self.line(&format!("id: {id}"));
        self.string("name", name);
        self.line(&format!("bitwidth: {bits}"));
    }

    fn preamble(&mut self, preamble: Option<&Preamble>) {
        if let Some(preamble) = preamble {
            self.block("preamble", |out| {
                out.line(&format!("id: {}", preamble.id));
                out.string("name", &preamble.name);
                out.string("alias", &preamble.alias);
                out.doc(preamble.doc.as_ref());
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file is written by `UPDATE_DOCS=1`, as all generated documents are.
    #[test]
    fn the_file_for_other_controllers_is_this() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/p4info/lumina.p4info.txt");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, text()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), text(), "UPDATE_DOCS=1 writes it anew");
    }

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
