//! Vectors as files.

use std::fs;
use std::path::Path;

use corpus::Role;
use dumper::wire::Opcode;
use dumper::{Event, Nanos, Psn};
use serde::Deserialize;

use super::{Leaves, Packet, Vector};
use crate::frames::Made;
use crate::support::config;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    test: String,
    #[serde(default = "one")]
    initial_psn: u32,
    order: Option<Vec<usize>>,
    packet: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    #[serde(default = "requester")]
    from: String,
    #[serde(default = "one")]
    connection: u32,
    opcode: String,
    psn: u32,
    #[serde(default = "sequence_error")]
    syndrome: u8,
    #[serde(default)]
    payload: u16,
    #[serde(default = "ect_0")]
    traffic_class: u8,
    #[serde(default = "as_it_came")]
    out: Vec<String>,
    #[serde(default)]
    after_ns: u64,
    #[serde(default = "none")]
    mirror: String,
}

const fn one() -> u32 {
    1
}

fn requester() -> String {
    "requester".to_owned()
}

const fn sequence_error() -> u8 {
    0x60
}

const fn ect_0() -> u8 {
    2
}

fn as_it_came() -> Vec<String> {
    vec!["same".to_owned()]
}

fn none() -> String {
    "none".to_owned()
}

/// Every vector, by its name.
pub(crate) fn all() -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut vectors: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|is| is == "toml"))
        .map(|path| read(&path))
        .collect();
    vectors.sort_by(|a, b| a.name.cmp(&b.name));
    vectors
}

fn read(path: &Path) -> Vector {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let text = fs::read_to_string(path).unwrap();
    let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let packets: Vec<_> = file.packet.iter().map(Entry::packet).collect();
    let mut order: Vec<_> = match file.order {
        Some(order) => order.into_iter().map(|number| number - 1).collect(),
        None => (0..packets.len()).collect(),
    };
    order.retain(|place| !packets[*place].out.is_empty());
    let mut leaving = order.clone();
    leaving.sort_unstable();
    let expected: Vec<_> = (0..packets.len()).filter(|place| !packets[*place].out.is_empty()).collect();
    assert_eq!(leaving, expected, "{name}: `order` has each packet that leaves once");
    Vector { name, test: config(&file.test), initial: Psn::new(file.initial_psn), packets, order }
}

impl Entry {
    fn packet(&self) -> Packet {
        let from = Role::ALL.into_iter().find(|role| role.name() == self.from).unwrap();
        let opcode = *Opcode::KNOWN.iter().find(|opcode| opcode.to_string() == self.opcode).unwrap();
        let made = Made {
            to_responder: from == Role::Requester,
            connection: self.connection,
            opcode,
            psn: self.psn,
            syndrome: self.syndrome,
            payload: self.payload,
            traffic_class: self.traffic_class,
            ..Made::default()
        };
        let frame = made.frame();
        let out = self.out.iter().map(|changes| leaves(&made, changes)).collect();
        Packet {
            from,
            frame,
            out,
            after: Nanos(self.after_ns),
            mirror: Event::from_name(&self.mirror).unwrap(),
        }
    }
}

/// A packet with changes.
fn leaves(made: &Made, changes: &str) -> Leaves {
    let mut made = made.clone();
    let mut corrupt = false;
    for change in changes.split(' ') {
        match change {
            "same" => {}
            "ecn" => made.traffic_class |= 3,
            "mig-req=0" => made.mig_req = false,
            "psn+3" => made.psn = (made.psn + 3) % (1 << 24),
            "corrupt" => corrupt = true,
            other => panic!("{other}"),
        }
    }
    let mut frame = made.frame();
    if corrupt {
        // The last reserved bit before the PSN, behind 14 bytes of Ethernet, 20 of IPv4 and 8 of UDP.
        frame[42 + 8] ^= 1;
    }
    Leaves { frame, changed: changes != "same" }
}
