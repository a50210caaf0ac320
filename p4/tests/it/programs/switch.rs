//! A switch with an interpreted program.

use std::collections::BTreeMap;

use p4::source::{Expression, Type};

use super::load::Loaded;
use super::machine::Machine;
use super::value::Value;

/// A switch, with what its controller has made of its traffic manager.
pub(crate) struct Switch<'a> {
    pub(crate) machine: Machine<'a>,
    architecture: Architecture,
    /// Parsers and controls of the program, in the order of the architecture.
    pub(super) blocks: Vec<String>,
    /// Ports and instances of multicast groups.
    pub(crate) groups: BTreeMap<u128, Vec<(u128, u128)>>,
    /// Ports of clone and mirror sessions.
    pub(crate) sessions: BTreeMap<u128, u128>,
}

#[derive(Clone, Copy)]
enum Architecture {
    V1model,
    Tofino,
}

/// A frame that left at a port.
pub(crate) type Left = (u128, Vec<u8>);

impl<'a> Switch<'a> {
    pub(crate) fn new(program: &'a Loaded) -> Self {
        let main = &program.instances["main"];
        let (architecture, blocks) = match &main.r#type {
            Type::Named(name, _) if name == "V1Switch" => (Architecture::V1model, &main.arguments),
            Type::Named(name, _) if name == "Switch" => {
                (Architecture::Tofino, &program.instances["pipe"].arguments)
            }
            other => panic!("{other:?} is no architecture that is known here"),
        };
        let blocks = blocks.iter().map(|block| match block {
            Expression::Call(name, _) => match name.as_ref() {
                Expression::Name(name) => name.clone(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        });
        Self {
            machine: Machine::new(program),
            architecture,
            blocks: blocks.collect(),
            groups: BTreeMap::new(),
            sessions: BTreeMap::new(),
        }
    }

    /// The first value of a named type.
    pub(super) fn named(&self, name: &str) -> Value {
        Value::zero(&Type::Named(name.to_owned(), Vec::new()), self.machine.program)
    }

    /// Parses a packet: headers, metadata, the architecture's metadata, and what no header has read.
    pub(super) fn parsed(&mut self, parser: &str, packet: &[u8], metadata: Value) -> ([Value; 3], Vec<u8>) {
        let mut parsed = [Value::Packet, self.named("headers_t"), self.named("metadata_t"), metadata];
        (self.machine.input, self.machine.read) = (packet.to_vec(), 0);
        // A packet that is too short goes on with the headers that it has.
        let _ = self.machine.parse(parser, parser, &mut parsed);
        let [_, headers, meta, metadata] = parsed;
        ([headers, meta, metadata], packet[self.machine.read / 8..].to_vec())
    }

    /// Ports and instances of the replicas of a packet.
    pub(super) fn replicas(&self, group: u128, fate: &Value) -> &[(u128, u128)] {
        let members = self.groups.get(&group).unwrap_or_else(|| panic!("there is no group {group}"));
        let is_original = fate.get("originals").number() == 1;
        assert!(members.len() > 1 || !is_original, "a packet that leaves once takes no group");
        members
    }

    /// A frame enters at a port: the frames that leave, mirrored ones first.
    pub(crate) fn receive(&mut self, port: u128, frame: &[u8], time: u128) -> Vec<Left> {
        match self.architecture {
            Architecture::V1model => self.receive_v1model(port, frame, time),
            Architecture::Tofino => self.receive_tofino(port, frame, time),
        }
    }
}
