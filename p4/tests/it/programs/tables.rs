//! Tables, actions and counters of the programs are those of the schema.

use p4::entries::program::{PROGRAM_COUNTER_SIZE, PROGRAM_COUNTERS, PROGRAM_TABLES};
use p4::source::Type;

use super::PROGRAMS;
use super::load::{Loaded, annotation, number_of, text_of};

#[test]
fn tables_actions_and_counters_are_those_of_the_schema() {
    for name in PROGRAMS {
        check(&Loaded::unchanged(name));
    }
}

pub(super) fn check(program: &Loaded) {
    assert_eq!(program.tables().count(), PROGRAM_TABLES.len());
    for (control, table) in program.tables() {
        let id = number_of(&table.annotations, "id");
        let schema = PROGRAM_TABLES.iter().find(|schema| schema.id == id);
        let schema = schema.unwrap_or_else(|| panic!("{}: no table has {id:#x}", table.name));
        assert_eq!(text_of(&table.annotations, "name"), format!(".{}", schema.name));
        assert_eq!(program.number(table.size.as_ref().unwrap()) as usize, schema.size, "{}", table.name);
        let keys: Vec<_> = table
            .keys
            .iter()
            .map(|key| {
                assert_eq!(key.kind, "exact", "{}", table.name);
                (number_of(&key.annotations, "id"), text_of(&key.annotations, "name"))
            })
            .collect();
        let expected: Vec<_> = schema.keys.iter().map(|key| (key.id, key.name)).collect();
        assert_eq!(keys, expected, "{}", table.name);
        let actions = control.actions.iter().filter(|action| {
            table.actions.iter().any(|(_, name)| *name == action.name)
                && annotation(&action.annotations, "id").is_some()
        });
        let [action] = actions.collect::<Vec<_>>()[..] else { panic!("{} has one action", table.name) };
        assert_eq!(number_of(&action.annotations, "id"), schema.action.id);
        assert_eq!(text_of(&action.annotations, "name"), format!(".{}", schema.action.name));
        let params: Vec<_> = action
            .params
            .iter()
            .map(|param| {
                let Type::Bit(bits) = param.r#type else { panic!("{} is a number", param.name) };
                (number_of(&param.annotations, "id"), param.name.as_str(), bits)
            })
            .collect();
        let expected: Vec<_> =
            schema.action.params.iter().map(|param| (param.id, param.name, param.bits)).collect();
        assert_eq!(params, expected, "{}", action.name);
    }
    let counters = program
        .controls
        .values()
        .flat_map(|control| &control.instances)
        .filter(|instance| annotation(&instance.annotations, "id").is_some());
    let mut found: Vec<_> = counters
        .map(|counter| {
            assert_eq!(program.number(&counter.arguments[0]), PROGRAM_COUNTER_SIZE as u128);
            (number_of(&counter.annotations, "id"), text_of(&counter.annotations, "name").to_owned())
        })
        .collect();
    found.sort();
    let expected: Vec<_> =
        PROGRAM_COUNTERS.iter().map(|counter| (counter.id, format!(".{}", counter.name))).collect();
    assert_eq!(found, expected);
}
