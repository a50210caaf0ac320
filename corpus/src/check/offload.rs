//! Rules on flow tables.

use super::{Check, plural, rules};
use crate::config::{Offload, Placement, fields};

pub(super) fn check(offload: &Offload, connections: u32, role: &str, check: &mut Check) {
    let path = format!("{role}.offload");
    bounds(offload, &path, check);
    rules::check(offload, &path, check);
    let flows_path = format!("{path}.flows");
    let flows = offload.flows;
    if connections > flows {
        let message = format!("is {flows}, for {}", plural(connections.into(), "connection"));
        let help = "each connection has an entry: ask for as many flows at least";
        check.fail(&flows_path, message, help, &["traffic.num-connections"]);
        return;
    }
    let directions =
        [(offload.egress_masks, &fields::EGRESS_MASKS), (offload.ingress_masks, &fields::INGRESS_MASKS)];
    for (masks, field) in directions {
        let others = offload.masks_of_others(masks, connections);
        if others > flows - connections {
            let message = format!(
                "is {masks}, for {}, {connections} of them of connections, with {}",
                plural(flows.into(), "flow"),
                plural((masks - others).into(), "mask"),
            );
            let help = "a mask has at least one entry: ask for more flows, or fewer masks";
            check.fail(
                format!("{path}.{}", field.key),
                message,
                help,
                &[&flows_path, "traffic.num-connections"],
            );
        }
    }
    place(offload, connections, &path, check);
}

fn bounds(offload: &Offload, path: &str, check: &mut Check) {
    let numbers = [
        (offload.flows, &fields::OFFLOAD_FLOWS),
        (offload.egress_masks, &fields::EGRESS_MASKS),
        (offload.ingress_masks, &fields::INGRESS_MASKS),
        (offload.tables, &fields::OFFLOAD_TABLES),
        (offload.actions, &fields::OFFLOAD_ACTIONS),
        (offload.virtual_functions, &fields::VIRTUAL_FUNCTIONS),
        (offload.max_idle_ms, &fields::MAX_IDLE_MS),
        (offload.revalidate_ms, &fields::REVALIDATE_MS),
        (offload.hyper_entries, &fields::HYPER_ENTRIES),
    ];
    for (value, field) in numbers {
        check.bounds(format_args!("{path}.{}", field.key), value, field);
    }
}

fn place(offload: &Offload, connections: u32, path: &str, check: &mut Check) {
    let Placement::Masks(list) = &offload.place else { return };
    let path = format!("{path}.place");
    if list.len() as u64 != u64::from(connections) {
        let message = format!(
            "lists {} for {}",
            plural(list.len() as u64, "mask"),
            plural(connections.into(), "connection")
        );
        let help = "list one mask for each connection, or write \"spread\", \"first\", \"last\" or \"apart\"";
        check.fail(&path, message, help, &["traffic.num-connections"]);
    }
    let most = offload.egress_masks.max(offload.ingress_masks);
    if let Some((index, mask)) = list.iter().enumerate().find(|(_, mask)| **mask == 0 || **mask > most) {
        let message =
            format!("is {mask}, and neither direction has more than {}", plural(most.into(), "mask"));
        check.fail(format_args!("{path}[{}]", index + 1), message, format!("allowed: 1 to {most}"), &[]);
    }
}
