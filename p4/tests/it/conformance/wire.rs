//! Protocol buffers as bytes, so that messages are those of the specification and not those of the code under test.

/// A message that is being written.
#[derive(Clone, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Appends a number; 0 too, which others leave out.
    pub(super) fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field << 3));
        self.varint(value);
        self
    }

    pub(super) fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.varint(u64::from(field << 3 | 2));
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub(super) fn message(self, field: u32, value: Self) -> Self {
        self.bytes(field, &value.into_bytes())
    }

    pub(super) fn messages(self, field: u32, values: impl IntoIterator<Item = Self>) -> Self {
        values.into_iter().fold(self, |message, value| message.message(field, value))
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// A message that was received: its fields in their order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Fields(Vec<(u32, Value)>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Fields {
    pub(super) fn of(mut bytes: &[u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = match key & 7 {
                0 => Value::Number(varint(&mut bytes)),
                2 => {
                    let length = varint(&mut bytes) as usize;
                    let (value, rest) = bytes.split_at(length);
                    bytes = rest;
                    Value::Bytes(value.to_vec())
                }
                other => panic!("wire type {other}"),
            };
            fields.push(((key >> 3) as u32, value));
        }
        Self(fields)
    }

    /// A number; 0 if it is not there.
    pub(super) fn number(&self, field: u32) -> u64 {
        let last = self.0.iter().rev().find(|(number, _)| *number == field);
        last.map_or(0, |(_, value)| match value {
            Value::Number(number) => *number,
            Value::Bytes(_) => panic!("field {field} is no number"),
        })
    }

    /// All byte strings of a field.
    pub(super) fn all(&self, field: u32) -> Vec<&[u8]> {
        let values = self.0.iter().filter(|(number, _)| *number == field);
        values
            .map(|(_, value)| match value {
                Value::Bytes(bytes) => bytes.as_slice(),
                Value::Number(_) => panic!("field {field} is a number"),
            })
            .collect()
    }

    /// A byte string; empty if it is not there.
    pub(super) fn bytes(&self, field: u32) -> &[u8] {
        self.all(field).last().copied().unwrap_or_default()
    }

    pub(super) fn text(&self, field: u32) -> String {
        String::from_utf8(self.bytes(field).to_vec()).unwrap()
    }

    /// All messages of a field.
    pub(super) fn messages(&self, field: u32) -> Vec<Self> {
        self.all(field).into_iter().map(Self::of).collect()
    }

    /// A message; one without fields if it is not there.
    pub(super) fn message(&self, field: u32) -> Self {
        Self::of(self.bytes(field))
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}
