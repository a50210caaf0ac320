//! Simpler flow tables: none, fewer flows and masks, plain settings.

use corpus::{Offload, Placement, Role, TestConfig};

use super::parameters::Parameter;

/// The table of a host; its height above the bottom is there with it.
fn height(config: &TestConfig, role: Role, of: impl Fn(&Offload) -> u64) -> u64 {
    config.host(role).offload.as_ref().map_or(0, of)
}

fn lower(config: &mut TestConfig, role: Role, change: impl Fn(&mut Offload)) {
    config.host_mut(role).offload.iter_mut().for_each(change);
}

/// Takes the table of a host away, and the operations on it.
fn take_away(config: &mut TestConfig, role: Role) {
    config.host_mut(role).offload = None;
    config.control.retain(|control| control.host != role);
}

/// A number of a table: its distance from the default.
macro_rules! number {
    ($role:ident, $field:ident) => {
        Parameter::Other {
            height: |config| {
                height(config, Role::$role, |table| {
                    u64::from(table.$field.abs_diff(Offload::default().$field))
                })
            },
            lower: |config, to| {
                lower(config, Role::$role, |table| {
                    let default = Offload::default().$field;
                    let to = to as u32;
                    table.$field = if table.$field > default { default + to } else { default - to };
                })
            },
        }
    };
}

macro_rules! table {
    ($role:ident) => {
        [
            Parameter::Other {
                height: |config| height(config, Role::$role, |_| 1),
                lower: |config, _| take_away(config, Role::$role),
            },
            number!($role, egress_masks),
            number!($role, ingress_masks),
            // Fewer masks need fewer flows.
            Parameter::Other {
                height: |config| {
                    let connections = config.traffic.load.connections();
                    height(config, Role::$role, |table| {
                        table.flows.saturating_sub(table.least_flows(connections)).into()
                    })
                },
                lower: |config, to| {
                    let connections = config.traffic.load.connections();
                    lower(config, Role::$role, |table| {
                        table.flows = table.least_flows(connections) + to as u32
                    });
                },
            },
            Parameter::Other {
                height: |config| {
                    height(config, Role::$role, |table| u64::from(table.place != Placement::Spread))
                },
                lower: |config, _| lower(config, Role::$role, |table| table.place = Placement::Spread),
            },
            number!($role, actions),
            Parameter::Other {
                height: |config| height(config, Role::$role, |table| table.vxlan.into()),
                lower: |config, _| lower(config, Role::$role, |table| table.vxlan = false),
            },
            number!($role, virtual_functions),
            number!($role, max_idle_ms),
            number!($role, revalidate_ms),
        ]
    };
}

/// Parameters of the tables of both hosts.
pub(super) static TABLES: [[Parameter; 10]; 2] = [table!(Requester), table!(Responder)];
