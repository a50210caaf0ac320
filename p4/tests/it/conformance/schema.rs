//! Tables and counters, as a P4Info has them.

use super::client::Kind;
use super::wire::{Fields, Message};

/// A field of a key or parameter of an action: its identifier, name and bits.
type Field = (u64, String, u64);

/// A table with the action that its entries have.
#[derive(Clone)]
pub(super) struct Table {
    pub(super) id: u64,
    keys: Vec<Field>,
    action: u64,
    params: Vec<Field>,
}

/// Tables and counters.
pub(super) struct Schema(Fields);

impl Schema {
    pub(super) fn of(p4info: &[u8]) -> Self {
        Self(Fields::of(p4info))
    }

    fn named(&self, kind: u32, name: &str) -> Option<Fields> {
        let all = self.0.messages(kind);
        all.into_iter().find(|object| object.message(1).text(2) == name)
    }

    pub(super) fn table(&self, name: &str) -> Option<Table> {
        let table = self.named(2, name)?;
        // The first: others are default actions.
        let action = table.messages(3)[0].number(1);
        let actions = self.0.messages(3);
        let found = actions.iter().find(|object| object.message(1).number(1) == action).unwrap();
        let fields = |fields: Vec<Fields>, bits| {
            fields.iter().map(|field| (field.number(1), field.text(2), field.number(bits))).collect()
        };
        Some(Table {
            id: table.message(1).number(1),
            keys: fields(table.messages(2), 4),
            action,
            params: fields(found.messages(2), 3),
        })
    }

    pub(super) fn counter(&self, name: &str) -> u64 {
        self.named(5, name).unwrap().message(1).number(1)
    }
}

/// An entry by the names of its fields; those that are not given are 0.
#[derive(Clone)]
pub(super) struct Entry<'a> {
    pub(super) table: &'a Table,
    pub(super) key: &'a [(&'a str, u64)],
    pub(super) params: &'a [(&'a str, u64)],
}

/// A number as P4Runtime has it: big-endian, as short as it can be.
pub(super) fn canonical(value: u64) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
    bytes[start..].to_vec()
}

fn value(given: &[(&str, u64)], name: &str) -> Vec<u8> {
    canonical(given.iter().find(|(known, _)| *known == name).map_or(0, |(_, value)| *value))
}

impl Entry<'_> {
    /// Table and key, which is all that a Read or the deletion needs.
    pub(super) fn named(&self) -> Message {
        let keys = self.table.keys.iter().map(|(id, name, _)| exact(*id, &value(self.key, name)));
        Message::new().number(1, self.table.id).messages(2, keys)
    }

    pub(super) fn entry(&self) -> Message {
        self.named().message(3, Message::new().message(1, self.action(self.table.action)))
    }

    pub(super) fn action(&self, id: u64) -> Message {
        let params = self
            .table
            .params
            .iter()
            .map(|(id, name, _)| Message::new().number(2, *id).bytes(3, &value(self.params, name)));
        Message::new().number(1, id).messages(4, params)
    }

    pub(super) fn update(&self, kind: Kind) -> Message {
        match kind {
            Kind::Delete => update(kind, self.named()),
            _ => update(kind, self.entry()),
        }
    }
}

/// An exact match of a field.
pub(super) fn exact(field: u64, value: &[u8]) -> Message {
    Message::new().number(1, field).message(2, Message::new().bytes(1, value))
}

/// An update of a table entry.
pub(super) fn update(kind: Kind, entry: Message) -> Message {
    Message::new().number(1, kind as u64).message(2, Message::new().message(2, entry))
}

/// Identifier and value of a match field or parameter.
type Given = (u64, Vec<u8>);

/// Table, key and parameters of an entry that was read, without regard to the order of fields.
pub(super) fn content(entry: &Fields) -> (u64, Vec<Given>, Vec<Given>) {
    let mut keys: Vec<_> =
        entry.messages(2).iter().map(|key| (key.number(1), key.message(2).bytes(1).to_vec())).collect();
    let params = entry.message(3).message(1).messages(4);
    let mut params: Vec<_> = params.iter().map(|param| (param.number(2), param.bytes(3).to_vec())).collect();
    keys.sort();
    params.sort();
    (entry.number(1), keys, params)
}
