//! `[[control]]`.

use super::{HOMES, tables};
use crate::{
    config::{Control, Operation, Role, fields},
    source::{Node, Reader, Section},
};

const KEY: &str = "control";

/// The operations; one that was refused is left out.
pub(super) fn read(node: &Node, r: &mut Reader<'_>) -> Vec<Control> {
    let most = (fields::MAX_CONTROLS, "; one operation can have many flows");
    tables::read(node, KEY, "operation", most, r, operation)
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
