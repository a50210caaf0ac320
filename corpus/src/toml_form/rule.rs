//! `[[requester.offload.rule]]` and `[[responder.offload.rule]]`.

use super::{HOMES, tables};
use crate::{
    config::{Hop, Rule, fields},
    source::{Reader, Section, Value, quoted},
};

const KEY: &str = "rule";

/// The rules of a host; one that was refused is left out.
pub(super) fn read(offload: &mut Section<'_>, r: &mut Reader<'_>) -> Vec<Rule> {
    let path = offload.path_of(KEY);
    let Some(node) = offload.node(r, KEY) else { return Vec::new() };
    tables::read(node, &path, KEY, (fields::MAX_RULES, ""), r, rule)
}

fn rule(mut section: Section<'_>, r: &mut Reader<'_>) -> Option<Rule> {
    let problems = r.problem_count();
    let table = section.int(r, &fields::RULE_TABLE);
    let direction = section.opt_choice(r, "direction", Rule::DIRECTIONS).flatten();
    let ip_version = section.opt_choice(r, "match", Rule::MATCHES).flatten();
    let forward_to = hop(&mut section, r);
    section.finish(r, &HOMES);
    let forward_to = forward_to.filter(|_| r.problem_count() == problems)?;
    Some(Rule { table, direction, ip_version, forward_to })
}

/// The number of a table, or the name of the port.
fn hop(section: &mut Section<'_>, r: &mut Reader<'_>) -> Option<Hop> {
    let key = fields::FORWARD_TO.key;
    let path = section.path_of(key);
    let help = format!("write the number of a table, {}, or \"{}\"", fields::FORWARD_TO.range(), Hop::PORT);
    let Some(node) = section.node(r, key) else {
        if !section.has_slip_for(key, &["table", "direction", "match"]) {
            r.refuse(section.header(), &path, "is missing", help);
        }
        return None;
    };
    match &node.value {
        Value::Text(text) if text == Hop::PORT => Some(Hop::Port),
        Value::Text(text) if text.parse::<i128>().is_err() => {
            r.refuse(&node.span, &path, format!("{} is not known here", quoted(text)), help);
            None
        }
        _ => r.int(node, &path, &fields::FORWARD_TO).map(Hop::Table),
    }
}
