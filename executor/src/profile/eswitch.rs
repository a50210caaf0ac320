//! The NIC's own switch: the time that the look-up of a packet in its flow table takes (ScalaCN, NSDI'25, §4.1 and §4.2).

use serde::{Deserialize, Serialize};

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
}

impl Eswitch {
    /// Returns true if look-ups take time.
    #[must_use]
    pub const fn takes_time(&self) -> bool {
        self.egress_query_ns > 0 || self.ingress_query_ns > 0 || self.action_ns > 0
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
        }
    }
}
