//! The NIC's own switch: its flow table, the time of a look-up, and the operations on it (ScalaCN, NSDI'25, table 1, §4.1 and §4.2).

use serde::{Deserialize, Serialize};

/// Place of a further table in the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chain {
    /// Before all others: their flows are looked up in it first.
    #[default]
    Front,
    /// Behind all others.
    Back,
}

/// The software of a host, once an operation has waited for too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// It waits on.
    #[default]
    Wait,
    /// It stops: no operation is begun any more.
    Stagnate,
}

/// A host whose NIC cannot create an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// It forwards the flow in software.
    #[default]
    Software,
    /// Its kernel crashes.
    Crash,
}

/// A NIC that has no context left for a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnExhausted {
    /// It refuses the entry, and the host forwards the flow in software.
    #[default]
    Software,
    /// It answers nothing any more.
    Unresponsive,
}

/// The embedded switch of a NIC. Entries of one mask are found at once, and masks are looked through one after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Eswitch {
    /// Each mask that a packet which leaves is looked up in, in ns.
    pub egress_query_ns: u64,
    /// Each mask that a packet which arrives is looked up in, in ns.
    pub ingress_query_ns: u64,
    /// Each action on a packet, in ns.
    pub action_ns: u64,
    /// Packets that are looked up at a time, in each direction.
    pub lookups: u32,
    /// Packets stay in order: one whose look-up ends before that of an earlier one waits for it.
    pub in_order: bool,
    /// Bytes of Sends and Writes that the NIC sends before they are acknowledged, of all of its QPs; 0 for any number.
    pub in_flight_bytes: u64,
    /// Entries of a table, beyond which a further one is opened; 0 for one table with any number.
    pub table_entries: u32,
    /// Place of a further table.
    pub chain: Chain,
    /// Masks in each direction, over all tables; 0 for any number.
    pub masks: u32,
    /// Entries of flows that are on the chip in each direction, those of the last packets; 0 if all are.
    pub entry_cache: u32,
    /// A packet whose flow has no entry on the chip, before its look-up, in ns.
    pub miss_ns: u64,
    /// A packet without an entry, in the host's software, in ns.
    pub software_ns: u64,
    /// Rate at which the host's software forwards packets, in Gb/s; 0 for any.
    pub software_gbps: u32,
    /// Counters that the host reads in a second, those of the entries in turn; 0 if it always knows all of them.
    pub counter_refresh_per_s: u32,
    /// Most that the next reading of a counter is late, in percent of the time between two.
    pub counter_jitter_percent: u32,
    /// The NIC creates an entry, in ns.
    pub insert_ns: u64,
    /// The NIC deletes an entry, in ns.
    pub delete_ns: u64,
    /// More of that for each entry that there is, in ns.
    pub delete_per_entry_ns: u64,
    /// Most operations in a second; 0 for any number.
    pub operations_per_s: u32,
    /// Longest that an operation may wait, in ms; 0 for any time.
    pub operation_timeout_ms: u32,
    /// Once one has waited longer.
    pub on_timeout: OnTimeout,
    /// Where an entry cannot be created, as there would be more than `masks`.
    pub on_failure: OnFailure,
    /// Flows that can go through a VXLAN tunnel; 0 for any number.
    pub contexts: u32,
    /// Where there is no context left.
    pub on_exhausted: OnExhausted,
    /// The link goes down if a virtual function is unbound while packets or operations of it are outstanding.
    pub unbind_race: bool,
    /// Time until it comes up again, in ms; 0 if it stays down.
    pub link_down_ms: u32,
}

impl Eswitch {
    /// Returns true if a flow table makes a difference: something takes time, has a limit, or goes wrong.
    #[must_use]
    pub fn is_on(&self) -> bool {
        // These say how, where something else takes time or has a limit.
        let plain = Self {
            lookups: self.lookups,
            in_order: self.in_order,
            in_flight_bytes: self.in_flight_bytes,
            chain: self.chain,
            on_timeout: self.on_timeout,
            on_failure: self.on_failure,
            on_exhausted: self.on_exhausted,
            counter_jitter_percent: self.counter_jitter_percent,
            link_down_ms: self.link_down_ms,
            miss_ns: self.miss_ns,
            ..Self::default()
        };
        *self != plain
    }
}

impl Default for Eswitch {
    fn default() -> Self {
        Self {
            egress_query_ns: 0,
            ingress_query_ns: 0,
            action_ns: 0,
            lookups: 1,
            in_order: true,
            in_flight_bytes: 0,
            table_entries: 0,
            chain: Chain::Front,
            masks: 0,
            entry_cache: 0,
            miss_ns: 0,
            software_ns: 0,
            software_gbps: 0,
            counter_refresh_per_s: 0,
            counter_jitter_percent: 0,
            insert_ns: 0,
            delete_ns: 0,
            delete_per_entry_ns: 0,
            operations_per_s: 0,
            operation_timeout_ms: 0,
            on_timeout: OnTimeout::Wait,
            on_failure: OnFailure::Software,
            contexts: 0,
            on_exhausted: OnExhausted::Software,
            unbind_race: false,
            link_down_ms: 0,
        }
    }
}
