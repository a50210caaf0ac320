//! Counters of hosts and of the switch.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Counters of a host at one moment, by their vendors' names.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Counters {
    /// Counters of the RDMA port (`ports/1/counters` of sysfs).
    pub port_counters: BTreeMap<String, u64>,
    /// Counters of the RDMA device (`ports/1/hw_counters` of sysfs).
    pub hw_counters: BTreeMap<String, u64>,
    /// Counters of the Ethernet device (`ethtool -S`).
    pub ethtool_counters: BTreeMap<String, u64>,
}

impl Counters {
    /// Value of a counter, in whichever list.
    pub fn value(&self, name: &str) -> Option<u64> {
        [&self.hw_counters, &self.port_counters, &self.ethtool_counters]
            .into_iter()
            .find_map(|group| group.get(name).copied())
    }

    /// Names of all counters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&self.hw_counters, &self.port_counters, &self.ethtool_counters]
            .into_iter()
            .flat_map(|group| group.keys().map(String::as_str))
    }
}

/// Counters of a host before and after a test.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostCounters {
    /// Before.
    pub start: Counters,
    /// After.
    pub finish: Counters,
}

impl HostCounters {
    /// Increase of a counter; `None` unless it was read at both times. Counters of 64 bits do not wrap in a
    /// test; one that decreased was reset, and its increase is unknown.
    pub fn moved(&self, name: &str) -> Option<u64> {
        self.finish.value(name)?.checked_sub(self.start.value(name)?)
    }

    /// Names of the counters that were read both times, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.finish.names().filter(|name| self.start.value(name).is_some())
    }
}

/// Port counters of the switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SwitchCounters {
    /// RDMA packets received, by port.
    pub ingress: BTreeMap<u32, u64>,
    /// RDMA packets sent, by port; on the dumpers' ports these are the mirrored packets.
    pub egress: BTreeMap<u32, u64>,
    /// Ports of the hosts, the requester's first.
    pub host_ports: Vec<u32>,
}

impl SwitchCounters {
    /// The same on other ports: the requester's, the responder's, and those of the dumpers in order. `None` where there are
    /// more of these than names.
    #[must_use]
    pub fn on_ports(&self, hosts: [u32; 2], dumpers: [u32; 2]) -> Option<Self> {
        let others: BTreeSet<u32> = self.ingress.keys().chain(self.egress.keys()).copied().collect();
        let others: Vec<u32> = others.into_iter().filter(|port| !self.host_ports.contains(port)).collect();
        if self.host_ports.len() > hosts.len() || others.len() > dumpers.len() {
            return None;
        }
        let names: BTreeMap<u32, u32> =
            self.host_ports.iter().copied().zip(hosts).chain(others.into_iter().zip(dumpers)).collect();
        let renamed =
            |counts: &BTreeMap<u32, u64>| counts.iter().map(|(port, n)| (names[port], *n)).collect();
        Some(Self {
            ingress: renamed(&self.ingress),
            egress: renamed(&self.egress),
            host_ports: self.host_ports.iter().map(|port| names[port]).collect(),
        })
    }

    /// RDMA packets that the injector received from the hosts.
    pub fn received(&self) -> u64 {
        self.ingress.iter().filter(|(port, _)| self.host_ports.contains(port)).map(|(_, n)| n).sum()
    }

    /// Packets that the injector mirrored to the dumpers.
    pub fn mirrored(&self) -> u64 {
        self.egress.iter().filter(|(port, _)| !self.host_ports.contains(port)).map(|(_, n)| n).sum()
    }
}
