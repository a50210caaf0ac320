//! Flow tables and the operations on them, in a space.

use corpus::{Control, Operation, Role, TestConfig};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::axis::Axis;
use crate::space::Space;
use crate::tables::{hosts, set, set_hosts, table};
use crate::words;

/// Most operations of a test.
fn most(space: &Space) -> usize {
    space[Axis::Operations].largest() as usize
}

/// Random operations: none in half of the tests, one mostly in the others, each further one half as often.
pub(crate) fn draw_operations(space: &Space, test: &mut TestConfig, rng: &mut ChaCha8Rng) {
    if most(space) == 0 || table(test).is_none() {
        return;
    }
    while test.control.len() < most(space) && rng.random_ratio(1, 2) {
        let one = operation(space, test, rng);
        test.control.push(one);
    }
}

/// One of the hosts that have a table.
fn host(test: &TestConfig, rng: &mut ChaCha8Rng) -> Role {
    match hosts(test) {
        words::AT_BOTH => Role::ALL[rng.random_range(0..Role::ALL.len())],
        words::AT_RESPONDER => Role::Responder,
        _ => Role::Requester,
    }
}

/// A number of flows to remove: half of those that no connection or mask needs, or more (ScalaCN figure 6), as far as the space has it.
fn most_flows(space: &Space, test: &TestConfig, rng: &mut ChaCha8Rng) -> Option<u32> {
    let connections = test.traffic.load.connections();
    let spare = table(test).map_or(0, |table| table.flows.saturating_sub(table.least_flows(connections)));
    let number = (spare > 0).then(|| rng.random_range(spare.div_ceil(2)..=spare))?;
    let number = number.min(space[Axis::OperationCount].largest() as u32);
    space[Axis::OperationCount].contains(number.into()).then_some(number)
}

/// A random operation at a host that has a table.
pub(crate) fn operation(space: &Space, test: &TestConfig, rng: &mut ChaCha8Rng) -> Control {
    let host = host(test, rng);
    let kind = space[Axis::Operation].draw(rng) as usize;
    let (_, kind) = Operation::NAMES[kind.min(Operation::NAMES.len() - 1)];
    let number = match kind {
        Operation::UnbindVf(_) => {
            rng.random_range(1..=table(test).map_or(1, |table| table.virtual_functions.max(1)))
        }
        Operation::StopConnections(_) => rng.random_range(1..=test.traffic.load.connections()),
        Operation::RemoveFlows(_) if rng.random_ratio(1, 2) => {
            most_flows(space, test, rng).unwrap_or_else(|| space[Axis::OperationCount].draw(rng) as u32)
        }
        _ => space[Axis::OperationCount].draw(rng) as u32,
    };
    let at_ms = space[Axis::OperationAt].draw(rng) as u32;
    Control { at_ms, host, operation: kind.with_number(number) }
}

/// Returns true if the space has an operation, whatever the test.
fn has(space: &Space, control: &Control) -> bool {
    let kind = Operation::NAMES.iter().position(|(name, _)| *name == control.operation.name());
    let counts = match control.operation {
        // Bounded by the test.
        Operation::UnbindVf(_) | Operation::StopConnections(_) => true,
        operation => space[Axis::OperationCount].contains(operation.number().into()),
    };
    kind.is_some_and(|kind| space[Axis::Operation].contains(kind as u64))
        && counts
        && space[Axis::OperationAt].contains(control.at_ms.into())
}

/// Asks for no more flows and masks than the NICs have room for, as far as the space has fewer.
fn fit_room(space: &Space, test: &mut TestConfig) {
    let Some(table) = table(test) else { return };
    let within = |axis, value: u32, most: u32| match space[axis].at_most(most.into()) {
        Some(fewer) if value > most => fewer as u32,
        _ => value,
    };
    let flows = within(Axis::Flows, table.flows, if table.vxlan { space.room.tunnels } else { u32::MAX });
    let most = space.room.masks_of(flows);
    let egress = within(Axis::EgressMasks, table.egress_masks, most);
    let ingress = within(Axis::IngressMasks, table.ingress_masks, most);
    set(test, |table| (table.flows, table.egress_masks, table.ingress_masks) = (flows, egress, ingress));
}

/// Brings tables and operations inside of the space.
pub(crate) fn fit(space: &Space, test: &mut TestConfig) {
    fit_room(space, test);
    let connections = test.traffic.load.connections();
    let enough =
        |test: &TestConfig| table(test).is_none_or(|table| table.flows >= table.least_flows(connections));
    if !enough(test) {
        let least = table(test).map_or(1, |table| table.least_flows(connections));
        if let Some(flows) = space[Axis::Flows].at_least(least.into()) {
            set(test, |table| table.flows = flows as u32);
        } else {
            let flows = space[Axis::Flows].largest() as u32;
            let masks = [Axis::EgressMasks, Axis::IngressMasks].map(|axis| space[axis].smallest() as u32);
            set(test, |table| {
                table.flows = flows;
                [table.egress_masks, table.ingress_masks] = masks;
            });
        }
    }
    if !enough(test) && space[Axis::OffloadHosts].contains(words::NOWHERE) {
        set_hosts(test, words::NOWHERE);
    }
    let without: Vec<Role> =
        Role::ALL.into_iter().filter(|role| test.host(*role).offload.is_none()).collect();
    test.control.retain(|control| has(space, control) && !without.contains(&control.host));
    test.control.truncate(most(space));
}

/// Reason why tables and operations are outside of the space.
pub(crate) fn admit(space: &Space, test: &TestConfig) -> Result<(), String> {
    if let [Some(one), Some(other)] = [&test.requester.offload, &test.responder.offload]
        && one != other
    {
        return Err("responder.offload: tables of hosts that differ are outside of every space".into());
    }
    if test.tables().any(|table| !table.rules.is_empty()) {
        return Err("offload.rule: rules between tables are outside of every space; remove them".into());
    }
    if test.control.len() > most(space) {
        return Err(format!("it has {} operations; allowed: at most {}", test.control.len(), most(space)));
    }
    match test.control.iter().position(|control| !has(space, control)) {
        Some(at) => Err(format!("control[{}]: it is outside of the space", at + 1)),
        None => Ok(()),
    }
}
