//! Rules on operations on flow tables: each on what the table has at its time.

use std::collections::BTreeSet;

use super::{Check, plural};
use crate::config::{Control, Offload, Operation, Role, TestConfig, fields};

/// Most flows that the operations on a host add and remove in all: each is an operation of the NIC, which the observation keeps.
const MOST_OPERATED: u64 = 1_000_000;

pub(super) fn check(config: &TestConfig, check: &mut Check) {
    if config.control.len() > fields::MAX_CONTROLS {
        let message = format!("there are {} operations", config.control.len());
        check.fail("control", message, format!("at most {} are allowed", fields::MAX_CONTROLS), &[]);
        return;
    }
    for role in Role::ALL {
        let mut controls: Vec<(usize, &Control)> =
            config.control.iter().enumerate().filter(|(_, control)| control.host == role).collect();
        controls.sort_by_key(|(_, control)| control.at_ms);
        let connections = config.traffic.load.connections();
        let mut table = config.host(role).offload.as_ref().map(|offload| Table::of(offload, connections));
        for (index, control) in controls {
            let path = format!("control[{}]", index + 1);
            within(control, config, &path, check);
            match &mut table {
                Some(table) => table.operate(control.operation, &path, check),
                None => {
                    let message = format!("is \"{name}\", and {name}.offload is absent", name = role.name());
                    let help = format!("give the host a flow table: [{}.offload]", role.name());
                    check.fail(format!("{path}.host"), message, help, &[&format!("{}.offload", role.name())]);
                }
            }
        }
    }
}

/// The bounds of an operation, and its time.
fn within(control: &Control, config: &TestConfig, path: &str, check: &mut Check) {
    let field = match control.operation {
        Operation::UnbindVf(_) => &fields::CONTROL_VF,
        _ => &fields::CONTROL_COUNT,
    };
    check.bounds(format_args!("{path}.{}", field.key), control.operation.number(), field);
    let at = format!("{path}.{}", fields::CONTROL_AT_MS.key);
    if !check.bounds(&at, control.at_ms, &fields::CONTROL_AT_MS) {
        return;
    }
    let (pauses, last) = (config.traffic.pauses_ms(), config.traffic.last_operation_ms());
    if u64::from(control.at_ms) > last {
        let message = format!("is {}, and the pauses of the traffic last {pauses} ms in all", control.at_ms);
        let help = format!("allowed: up to {last} ms; or give the traffic more messages, or a longer gap-ns");
        check.fail(at, message, help, &["traffic.num-msgs-per-qp", "traffic.gap-ns", "traffic.tx-depth"]);
    }
}

/// A flow table between operations.
struct Table {
    connections: u32,
    functions: u32,
    /// Entries, of connections and others.
    flows: u32,
    /// Masks of the direction that has more.
    masks: u32,
    /// Flows that operations have added and removed.
    operated: u64,
    unbound: BTreeSet<u32>,
}

impl Table {
    fn of(offload: &Offload, connections: u32) -> Self {
        Self {
            connections,
            functions: offload.virtual_functions,
            flows: offload.flows,
            masks: offload.egress_masks.max(offload.ingress_masks),
            operated: 0,
            unbound: BTreeSet::new(),
        }
    }

    fn operate(&mut self, operation: Operation, path: &str, check: &mut Check) {
        let count = format!("{path}.count");
        if let Operation::AddFlows(number) | Operation::AddMasks(number) | Operation::RemoveFlows(number) =
            operation
        {
            let before = self.operated;
            self.operated = before.saturating_add(number.into());
            if before <= MOST_OPERATED && self.operated > MOST_OPERATED {
                let message =
                    format!("brings the flows that are added and removed at this host to {}", self.operated);
                check.fail(&count, message, format!("allowed: up to {MOST_OPERATED} in all"), &[]);
            }
        }
        match operation {
            Operation::AddFlows(number) | Operation::AddMasks(number) => {
                self.flows = self.flows.saturating_add(number);
                if let Operation::AddMasks(number) = operation {
                    self.masks = self.masks.saturating_add(number);
                }
                most(self.flows, &fields::OFFLOAD_FLOWS, "flows", &count, check);
                most(self.masks, &fields::EGRESS_MASKS, "masks", &count, check);
            }
            Operation::RemoveFlows(number) => {
                let others = self.flows.saturating_sub(self.connections);
                if number > others {
                    let message = format!(
                        "is {number}, and the table then has {} of no connection",
                        plural(others.into(), "flow")
                    );
                    check.fail(&count, message, format!("allowed: up to {others}"), &[]);
                }
                self.flows -= number.min(others);
            }
            Operation::UnbindVf(number) => {
                let field = format!("{path}.{}", fields::CONTROL_VF.key);
                if number > self.functions {
                    let message =
                        format!("is {number}, of {}", plural(self.functions.into(), "virtual function"));
                    let help = format!("allowed: 1 to {}", self.functions);
                    check.fail(&field, message, help, &[]);
                } else if !self.unbound.insert(number) {
                    let help = "remove the later operation";
                    check.fail(&field, format!("virtual function {number} is unbound already"), help, &[]);
                }
            }
            Operation::StopConnections(number) => {
                if number > self.connections {
                    let message =
                        format!("is {number}, of {}", plural(self.connections.into(), "connection"));
                    check.fail(&count, message, format!("allowed: up to {}", self.connections), &[]);
                }
            }
        }
    }
}

fn most(reached: u32, field: &fields::IntField, what: &str, path: &str, check: &mut Check) {
    if u64::from(reached) > field.max {
        let message = format!("brings the table to {reached} {what}");
        check.fail(path, message, format!("allowed: up to {}", field.max), &[]);
    }
}
