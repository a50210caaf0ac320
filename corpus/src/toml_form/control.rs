//! `[[control]]`.

use super::HOMES;
use crate::{
    config::{Control, Operation, Role, fields},
    source::{Node, Reader, Section, Value},
};

const KEY: &str = "control";

/// The operations; one that was refused is left out.
pub(super) fn read(node: &Node, r: &mut Reader<'_>) -> Vec<Control> {
    if matches!(node.value, Value::Table(_)) {
        r.refuse(&node.span, KEY, "is one table", "write [[control]], with two brackets, for each operation");
        return Vec::new();
    }
    let Some(items) = r.list(node, KEY, "operations") else { return Vec::new() };
    if let Some(beyond) = items.get(fields::MAX_CONTROLS) {
        let help = format!("at most {} are allowed; one operation can have many flows", fields::MAX_CONTROLS);
        r.refuse(&beyond.span, KEY, format!("there are {} operations", items.len()), help);
        return Vec::new();
    }
    let mut controls = Vec::new();
    for (item, path) in r.items(items, KEY) {
        let read = r.section(item, &path, &item.span).and_then(|section| operation(section, r));
        match read {
            Some(control) => controls.push(control),
            // Those that follow have other numbers.
            None => r.mark_refused(KEY),
        }
    }
    controls
}

fn operation(mut section: Section<'_>, r: &mut Reader<'_>) -> Option<Control> {
    let problems = r.problem_count();
    let at_ms = section.int(r, &fields::CONTROL_AT_MS);
    let hosts = Role::ALL.map(|role| (role.name(), role));
    let host = section.opt_choice(r, "host", &hosts).unwrap_or(Role::Requester);
    let operation = section.opt_choice(r, "do", Operation::NAMES);
    let number = match operation {
        Some(Operation::UnbindVf(_)) => section.opt_int(r, &fields::CONTROL_VF),
        _ => section.opt_int(r, &fields::CONTROL_COUNT),
    };
    if operation.is_none()
        && !section.has("do")
        && !section.has_slip_for("do", &["at-ms", "host", "count", "virtual-function"])
    {
        let names: Vec<_> = Operation::NAMES.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        r.refuse(
            section.header(),
            &section.path_of("do"),
            "is missing",
            format!("write {}", names.join(", ")),
        );
    }
    section.finish(r, &HOMES);
    let operation = operation.filter(|_| r.problem_count() == problems)?;
    Some(Control { at_ms, host, operation: operation.with_number(number.unwrap_or(1)) })
}
