//! Counters of NICs, under their vendors' names.

use std::collections::BTreeMap;

use dumper::{Counters, HostCounters};

use super::nic::{FAMILIES, Stat, Stats};
use crate::NicProfile;

/// The counters of a host, which all start at 0, those of flow control where its links have it; none if its NIC's family is not
/// known.
pub(super) fn of(stats: &Stats, profile: &NicProfile, flow_control: bool) -> Option<HostCounters> {
    let family = FAMILIES.iter().find(|family| family.name == profile.counters.family)?;
    let quirks = &profile.quirks;
    let value = |name: &String, stat: &Stat| {
        let factor = if quirks.stuck_counters.contains(name) {
            0
        } else if quirks.doubled_counters.contains(name) {
            2
        } else {
            1
        };
        stats.of(*stat) * factor
    };
    let group = |names: &BTreeMap<String, Stat>, value: &dyn Fn(&String, &Stat) -> u64| {
        let shown = names.iter().filter(|(_, stat)| flow_control || !stat.is_of_flow_control());
        shown.map(|(name, stat)| (name.clone(), value(name, stat))).collect()
    };
    let counters = |value: &dyn Fn(&String, &Stat) -> u64| Counters {
        port_counters: group(&family.port, value),
        hw_counters: group(&family.hw, value),
        ethtool_counters: group(&family.ethtool, value),
    };
    Some(HostCounters { start: counters(&|_, _| 0), finish: counters(&value) })
}
