//! An entry of a table with its numbers, and the errors in one.

use tonic::Code;

use super::schema::{Field, TABLES, Table};
use crate::proto::runtime::{
    Action, FieldMatch, TableAction, TableEntry, action::Param, field_match::Exact,
    field_match::FieldMatchType, table_action::Type,
};

/// Refusal of a request, with its gRPC code.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Kind of refusal, in gRPC's terms.
    pub code: Code,
    /// Description of the error, and the allowed values.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }
}

impl From<Refusal> for tonic::Status {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code, refusal.message)
    }
}

/// Numbers in the order of the schema's fields.
pub(crate) type Numbers = Vec<u128>;

/// The table of an entry.
pub(crate) fn table(entry: &TableEntry) -> Result<&'static Table, Refusal> {
    TABLES.into_iter().find(|table| table.id == entry.table_id).ok_or_else(|| {
        let known: Vec<_> = TABLES.iter().map(|table| format!("{:#010x} {}", table.id, table.name)).collect();
        Refusal::new(
            Code::NotFound,
            format!("there is no table {:#010x}; there are {}", entry.table_id, known.join(", ")),
        )
    })
}

/// Reads the key of an entry.
pub(crate) fn key(table: &Table, entry: &TableEntry) -> Result<Numbers, Refusal> {
    for (given, what) in [
        (entry.priority != 0, "a priority, which exact matches have not"),
        (entry.is_default_action, "is_default_action; a packet that no entry matches passes as it came"),
        (entry.idle_timeout_ns != 0, "an idle timeout; entries stay until they are deleted"),
    ] {
        if given {
            return Err(Refusal::invalid(format!("table {}: the entry has {what}", table.name)));
        }
    }
    let given = entry.r#match.iter().map(|field| {
        let value =
            field.field_match_type.as_ref().map(|FieldMatchType::Exact(exact)| exact.value.as_slice());
        (field.field_id, value)
    });
    numbers(table.keys, given, &format!("table {}: match field", table.name))
}

/// Reads the parameters of an entry's action.
pub(crate) fn params(table: &Table, entry: &TableEntry) -> Result<Numbers, Refusal> {
    let Some(Type::Action(action)) = entry.action.as_ref().and_then(|action| action.r#type.as_ref()) else {
        return Err(Refusal::invalid(format!("table {}: the entry has no action", table.name)));
    };
    if action.action_id != table.action.id {
        let (given, known) = (action.action_id, table.action);
        return Err(Refusal::invalid(format!(
            "table {}: action {given:#010x} is not one of its; allowed: {:#010x} {}",
            table.name, known.id, known.name
        )));
    }
    let given = action.params.iter().map(|param| (param.param_id, Some(param.value.as_slice())));
    numbers(table.action.params, given, &format!("action {}: parameter", table.action.name))
}

/// Puts numbers into the order of their fields, each of which must be given once.
fn numbers<'a>(
    fields: &[Field],
    given: impl Iterator<Item = (u32, Option<&'a [u8]>)>,
    what: &str,
) -> Result<Numbers, Refusal> {
    let mut numbers: Vec<Option<u128>> = vec![None; fields.len()];
    for (id, value) in given {
        let Some(at) = fields.iter().position(|field| field.id == id) else {
            return Err(Refusal::invalid(format!("{what} {id} is not there; it has 1 to {}", fields.len())));
        };
        let field = &fields[at];
        let value =
            value.ok_or_else(|| Refusal::invalid(format!("{what} {} is not an exact match", field.name)))?;
        if numbers[at].replace(number(field, value, what)?).is_some() {
            return Err(Refusal::invalid(format!("{what} {} is given twice", field.name)));
        }
    }
    let missing = |field: &Field| Refusal::invalid(format!("{what} {} is missing", field.name));
    fields.iter().zip(numbers).map(|(field, number)| number.ok_or_else(|| missing(field))).collect()
}

/// A number of as many bits as its field has; leading zero bytes are allowed.
fn number(field: &Field, value: &[u8], what: &str) -> Result<u128, Refusal> {
    if value.is_empty() {
        return Err(Refusal::invalid(format!(
            "{what} {} has no bytes; a number has at least one",
            field.name
        )));
    }
    let start = value.iter().position(|byte| *byte != 0).unwrap_or(value.len());
    let significant = &value[start..];
    let bits = significant.first().map_or(0, |first| 8 * significant.len() - first.leading_zeros() as usize);
    if bits > field.bits as usize {
        let message = format!("{what} {} has {} bits, and its value takes {bits}", field.name, field.bits);
        return Err(Refusal::new(Code::OutOfRange, message));
    }
    Ok(significant.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
}

/// Writes an entry; without parameters it names one that is there.
pub(crate) fn entry(table: &Table, key: &[u128], params: Option<&[u128]>) -> TableEntry {
    let exact = |value| FieldMatchType::Exact(Exact { value: bytes(value) });
    let matches = table
        .keys
        .iter()
        .zip(key)
        .map(|(field, value)| FieldMatch { field_id: field.id, field_match_type: Some(exact(*value)) });
    let action = params.map(|params| {
        let params = table.action.params.iter().zip(params);
        let params =
            params.map(|(field, value)| Param { param_id: field.id, value: bytes(*value) }).collect();
        TableAction { r#type: Some(Type::Action(Action { action_id: table.action.id, params })) }
    });
    TableEntry { table_id: table.id, r#match: matches.collect(), action, ..TableEntry::default() }
}

/// A number in P4Runtime's canonical form: big-endian, as few bytes as it takes, but one at least.
fn bytes(value: u128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let start = (value.leading_zeros() as usize / 8).min(bytes.len() - 1);
    bytes[start..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::schema::FLOWS;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        for (value, expected) in
            [(0, vec![0]), (0xff, vec![0xff]), (0x100, vec![1, 0]), (u128::MAX, vec![0xff; 16])]
        {
            assert_eq!(bytes(value), expected);
        }
    }

    #[test]
    fn numbers_fit_their_field() {
        let field = &FLOWS.keys[1];
        let read = |bytes: &[u8]| number(field, bytes, "field").map_err(|refusal| refusal.code);
        assert_eq!(read(&[0xff; 3]), Ok(0xff_ffff));
        assert_eq!(read(&[0, 0, 0, 0, 5]), Ok(5));
        assert_eq!(read(&[0; 40]), Ok(0));
        assert_eq!(read(&[1, 0, 0, 0]), Err(Code::OutOfRange));
        assert_eq!(read(&[1; 40]), Err(Code::OutOfRange));
        assert_eq!(read(&[]), Err(Code::InvalidArgument));
    }
}
