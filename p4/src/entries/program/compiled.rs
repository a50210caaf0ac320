//! The P4Info that the compiler gave a program, held to the schema: a controller of another version of the program would write entries
//! that the switch refuses, or that mean something else.

use prost::Message;

use super::{PROGRAM_COUNTER_SIZE, PROGRAM_COUNTERS, PROGRAM_TABLES};
use crate::entries::schema::{Action, Counter, Field, Table};
use crate::proto::config::match_field::{Match, MatchType};
use crate::proto::config::{CounterSpec, P4Info, Preamble, counter_spec::Unit};

/// The P4Info of a compiled program, whose tables and counters are those of the schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    p4info: Vec<u8>,
    /// Identifiers of the counters, in the order of [`PROGRAM_COUNTERS`].
    counters: [u32; PROGRAM_COUNTERS.len()],
}

/// Why a P4Info is not that of the programs.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum P4InfoError {
    /// The bytes are not a message.
    #[error(
        "it is no P4Info in binary form ({0}); p4c writes one by --p4runtime-files FILE, if the name ends in .bin"
    )]
    Unreadable(String),
    /// Something differs from the schema.
    #[error(
        "{what}: it has {found}, not {expected}; compile event_injector_*.p4 of this version, or use the version it is of"
    )]
    Differs {
        /// The table, action or counter, and its part.
        what: String,
        /// The part in the P4Info.
        found: String,
        /// The part in the schema.
        expected: String,
    },
}

impl Compiled {
    /// Reads the binary form of a P4Info, and compares it with the schema.
    ///
    /// # Errors
    /// It cannot be read, or a table, an action or a counter is missing or has another form.
    pub fn read(bytes: impl Into<Vec<u8>>) -> Result<Self, P4InfoError> {
        let p4info = bytes.into();
        let info = P4Info::decode(p4info.as_slice());
        let info = info.map_err(|error| P4InfoError::Unreadable(error.to_string()))?;
        for table in PROGRAM_TABLES {
            check_table(&info, table)?;
            check_action(&info, table.action)?;
        }
        let mut counters = [0; PROGRAM_COUNTERS.len()];
        for (id, counter) in counters.iter_mut().zip(PROGRAM_COUNTERS) {
            *id = check_counter(&info, counter)?;
        }
        Ok(Self { p4info, counters })
    }

    /// The P4Info with all that the compiler wrote, for the switch.
    #[must_use]
    pub fn p4info(&self) -> &[u8] {
        &self.p4info
    }

    /// The schema's counters, with their identifiers in this program: the compiler for Tofino numbers counters itself.
    pub fn counters(&self) -> impl Iterator<Item = (u32, &'static Counter)> {
        self.counters.into_iter().zip(PROGRAM_COUNTERS)
    }
}

fn check_table(info: &P4Info, table: &Table) -> Result<(), P4InfoError> {
    let what = format!("table {}", table.name);
    let found = info.tables.iter().find(|found| id(found.preamble.as_ref()) == table.id);
    let found = found.ok_or_else(|| missing(&what, table.id))?;
    same(&format!("{what}, name"), plain(found.preamble.as_ref()), table.name)?;
    let exact = Some(Match::MatchType(MatchType::Exact.into()));
    let keys = found.match_fields.iter().map(|key| {
        let kind = if key.r#match == exact { "" } else { ", not an exact match" };
        format!("{} {:?} of {} bits{kind}", key.id, key.name, key.bitwidth)
    });
    same(&format!("{what}, key"), &list(keys), &fields(table.keys))?;
    let actions = found.action_refs.iter().map(|action| format!("{:#010x}", action.id));
    if !found.action_refs.iter().any(|action| action.id == table.action.id) {
        let expected = format!("{:#010x} among them", table.action.id);
        return Err(differs(&format!("{what}, actions"), &list(actions), expected));
    }
    at_least(&format!("{what}, size"), found.size, table.size as i64)
}

fn check_action(info: &P4Info, action: &Action) -> Result<(), P4InfoError> {
    let what = format!("action {}", action.name);
    let found = info.actions.iter().find(|found| id(found.preamble.as_ref()) == action.id);
    let found = found.ok_or_else(|| missing(&what, action.id))?;
    same(&format!("{what}, name"), plain(found.preamble.as_ref()), action.name)?;
    let params =
        found.params.iter().map(|param| format!("{} {:?} of {} bits", param.id, param.name, param.bitwidth));
    same(&format!("{what}, parameters"), &list(params), &fields(action.params))
}

/// Checks a counter; its identifier.
fn check_counter(info: &P4Info, counter: &Counter) -> Result<u32, P4InfoError> {
    let what = format!("counter {}", counter.name);
    let found = info.counters.iter().find(|found| plain(found.preamble.as_ref()) == counter.name);
    let found = found.ok_or_else(|| differs(&what, "no counter of that name", "one".to_owned()))?;
    let unit = found.spec.as_ref().map_or(Unit::Unspecified, CounterSpec::unit);
    same(&format!("{what}, unit"), unit.as_str_name(), Unit::Packets.as_str_name())?;
    at_least(&format!("{what}, size"), found.size, PROGRAM_COUNTER_SIZE)?;
    Ok(id(found.preamble.as_ref()))
}

fn id(preamble: Option<&Preamble>) -> u32 {
    preamble.map_or(0, |preamble| preamble.id)
}

/// A name without the pipe, which a Tofino program, of which a switch may run several, puts before it.
fn plain(preamble: Option<&Preamble>) -> &str {
    let name = preamble.map_or("", |preamble| preamble.name.as_str());
    name.strip_prefix("pipe.").unwrap_or(name)
}

fn fields(fields: &[Field]) -> String {
    list(fields.iter().map(|field| format!("{} {:?} of {} bits", field.id, field.name, field.bits)))
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn same(what: &str, found: &str, expected: &str) -> Result<(), P4InfoError> {
    if found == expected { Ok(()) } else { Err(differs(what, found, expected.to_owned())) }
}

fn at_least(what: &str, found: i64, least: i64) -> Result<(), P4InfoError> {
    if found >= least { Ok(()) } else { Err(differs(what, &found.to_string(), format!("{least} or more"))) }
}

fn missing(what: &str, id: u32) -> P4InfoError {
    differs(what, &format!("none with the identifier {id:#010x}"), "one".to_owned())
}

/// Characters of a name or list that an error shows.
const SHOWN: usize = 200;

fn differs(what: &str, found: &str, expected: String) -> P4InfoError {
    let found = if found.is_empty() { "none".to_owned() } else { found.chars().take(SHOWN).collect() };
    P4InfoError::Differs { what: what.to_owned(), found: found.escape_debug().to_string(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::program_p4info;

    fn read(change: impl FnOnce(&mut P4Info)) -> Result<Compiled, String> {
        let mut info = program_p4info("tna");
        change(&mut info);
        Compiled::read(info.encode_to_vec()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_p4info_of_the_schema_is_taken_with_its_numbers() {
        let compiled = read(|info| {
            // As the compiler for Tofino has it.
            for (id, counter) in (7..).zip(&mut info.counters) {
                let preamble = counter.preamble.as_mut().unwrap();
                (preamble.id, preamble.name) = (id, format!("pipe.{}", preamble.name));
            }
            for table in &mut info.tables {
                let preamble = table.preamble.as_mut().unwrap();
                preamble.name = format!("pipe.{}", preamble.name);
                table.size += 1;
            }
        });
        let ids: Vec<_> = compiled.unwrap().counters().map(|(id, counter)| (id, counter.name)).collect();
        assert_eq!(ids, [(7, "ingress.port_ingress"), (8, "egress.port_egress")]);
    }

    #[test]
    fn what_differs_is_named() {
        for (change, expected) in [
            (
                (|info| info.tables[0].preamble = None) as fn(&mut P4Info),
                "table ingress.flows: it has none with the identifier 0x02000001, not one",
            ),
            (|info| info.tables[0].size -= 1, "table ingress.flows, size: it has 19999, not 20000 or more"),
            (|info| info.tables[0].size = -1, "table ingress.flows, size: it has -1, not 20000 or more"),
            (
                |info| info.tables[1].match_fields[1].bitwidth = 32,
                r#"table ingress.data_events, key: it has 1 \"flow\" of 32 bits, 2 \"psn\" of 32 bits"#,
            ),
            (
                |info| info.tables[1].match_fields[2].r#match = None,
                r#"3 \"iter\" of 8 bits, not an exact match, not 1 "flow" of 32 bits, 2 "psn" of 24 bits"#,
            ),
            (
                |info| info.tables[1].action_refs.clear(),
                "table ingress.data_events, actions: it has none, not 0x01000002 among them",
            ),
            (
                |info| info.tables[1].preamble.as_mut().unwrap().name.push('\n'),
                r"table ingress.data_events, name: it has ingress.data_events\n, not ingress.data_events",
            ),
            (
                |info| info.actions[1].params.truncate(1),
                r#"action ingress.inject, parameters: it has 1 \"drop\" of 1 bits, not 1 "drop" of 1 bits, 2"#,
            ),
            (
                |info| info.counters[1].preamble = None,
                "counter egress.port_egress: it has no counter of that name, not one",
            ),
            (
                |info| info.counters[1].spec = None,
                "counter egress.port_egress, unit: it has UNSPECIFIED, not PACKETS",
            ),
            (|info| info.counters[1].size = 8, "counter egress.port_egress, size: it has 8, not 512 or more"),
        ] {
            let error = read(change).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let error = Compiled::read(*b"pkg_info { arch: \"tna\" }").unwrap_err();
        assert!(matches!(error, P4InfoError::Unreadable(_)), "{error}");
    }
}
