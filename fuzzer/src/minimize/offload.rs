//! Simpler flow tables: none, fewer flows and masks, plain settings.

use corpus::{Offload, Role, TestConfig};

/// Height of something of a host's table; 0 where it has none.
pub(super) fn height(config: &TestConfig, role: Role, of: impl Fn(&Offload) -> u64) -> u64 {
    config.host(role).offload.as_ref().map_or(0, of)
}

/// Changes the table of a host, if it has one.
pub(super) fn lower(config: &mut TestConfig, role: Role, change: impl Fn(&mut Offload)) {
    config.host_mut(role).offload.iter_mut().for_each(change);
}

/// Takes the table of a host away, and the operations on it.
pub(super) fn take_away(config: &mut TestConfig, role: Role) {
    config.host_mut(role).offload = None;
    config.control.retain(|control| control.host != role);
}
