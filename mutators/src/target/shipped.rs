//! The targets that come with the program.

use corpus::nearest;

/// A target that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Every target that comes with the program.
pub const SHIPPED: &[Shipped] = &[
    Shipped { name: "general", text: include_str!("../../targets/general.toml") },
    Shipped { name: "noisy-neighbor", text: include_str!("../../targets/noisy-neighbor.toml") },
    Shipped { name: "retransmission", text: include_str!("../../targets/retransmission.toml") },
    Shipped { name: "timeouts", text: include_str!("../../targets/timeouts.toml") },
    Shipped { name: "cnp", text: include_str!("../../targets/cnp.toml") },
    Shipped { name: "ets", text: include_str!("../../targets/ets.toml") },
    Shipped { name: "interop", text: include_str!("../../targets/interop.toml") },
    Shipped { name: "counters", text: include_str!("../../targets/counters.toml") },
    Shipped { name: "corruption", text: include_str!("../../targets/corruption.toml") },
    Shipped { name: "multipath", text: include_str!("../../targets/multipath.toml") },
    Shipped { name: "flow-table", text: include_str!("../../targets/flow-table.toml") },
    Shipped { name: "malformed", text: include_str!("../../targets/malformed.toml") },
];

/// Returns true if this is the name of a target that comes with the program, not a path.
#[must_use]
pub fn is_shipped(name: &str) -> bool {
    SHIPPED.iter().any(|shipped| shipped.name == name)
}

/// Help for a name that no target has: the nearest name, if any, and all shipped ones.
pub(super) fn others(name: &str) -> String {
    let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
    let meant = nearest(name, names.iter().copied()).map(|name| format!("did you mean `{name}`? "));
    format!("{}shipped: {}", meant.unwrap_or_default(), names.join(", "))
}
