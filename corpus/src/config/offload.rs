//! Flows that a host has offloaded to its NIC, whose own switch then forwards the packets (ScalaCN, NSDI'25, §2 and §4.1).

use super::rule::Rule;
use super::words::words;
use serde::{Deserialize, Serialize};

/// The flow table of a host's NIC. An entry matches the bits of a packet that its mask names; entries with one mask are found at once,
/// and masks are looked through one after another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offload {
    /// Entries of each direction, those of the connections included.
    pub flows: u32,
    /// Masks of the entries for packets that leave.
    pub egress_masks: u32,
    /// Masks of the entries for packets that arrive.
    pub ingress_masks: u32,
    /// Masks of the connections' entries.
    pub place: Placement,
    /// Tables that each packet is looked up in, one after another, with the same masks in each.
    pub tables: u32,
    /// Rules between tables; if there are any, they say which tables a packet goes through ([`Offload::tables_of`]).
    pub rules: Vec<Rule>,
    /// Actions on each packet.
    pub actions: u32,
    /// True if packets go through a VXLAN tunnel, which is one more action on each, and a context of the NIC for each flow.
    pub vxlan: bool,
    /// Virtual functions that the connections are on, in turn.
    pub virtual_functions: u32,
    /// Time without packets after which the host deletes the entry of a connection, in ms (`max-idle` of Open vSwitch).
    pub max_idle_ms: u32,
    /// Time from one look of the host at its entries to the next, in ms.
    pub revalidate_ms: u32,
    /// The order in which masks are looked through.
    pub scheduler: Scheduler,
    /// Entries of the hyper mask of [`Scheduler::Hyper`].
    pub hyper_entries: u32,
}

impl Offload {
    /// The virtual function of a connection (relative QPN, from 1), from 1.
    #[must_use]
    pub const fn function_of(&self, qpn: u32) -> u32 {
        let functions = if self.virtual_functions == 0 { 1 } else { self.virtual_functions };
        (qpn - 1) % functions + 1
    }

    /// Actions on each packet, with encapsulation.
    #[must_use]
    pub const fn all_actions(&self) -> u32 {
        self.actions + self.vxlan as u32
    }
}

impl Default for Offload {
    /// One entry with one mask.
    fn default() -> Self {
        Self {
            flows: 1,
            egress_masks: 1,
            ingress_masks: 1,
            place: Placement::Spread,
            tables: 1,
            rules: Vec::new(),
            actions: 1,
            vxlan: false,
            virtual_functions: 1,
            max_idle_ms: 10_000,
            revalidate_ms: 500,
            scheduler: Scheduler::Ovs,
            hyper_entries: 4_096,
        }
    }
}

/// Masks of the connections' entries, among all masks in the order in which they are looked through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// At equal distances, so that in the mean a packet is looked up in half of the masks.
    Spread,
    /// The first for all.
    First,
    /// The last for all.
    Last,
    /// The first for all but the last connection, and for that the last (ScalaCN figure 5).
    Apart,
    /// One for each connection, from 1; in a direction that has fewer masks, its last.
    Masks(Vec<u32>),
}

words! {
    /// Order in which the masks of a table are looked through.
    Scheduler:
    /// That in which they were made (Open vSwitch).
    Ovs "ovs",
    /// A mask for the flows that were seen last in front of all, and then those that find most packets (ScalaCN §4.3).
    Hyper "hyper";
    /// [`Placement`] of a name.
    NamedPlacement:
    /// [`Placement::Spread`].
    Spread "spread",
    /// [`Placement::First`].
    First "first",
    /// [`Placement::Last`].
    Last "last",
    /// [`Placement::Apart`].
    Apart "apart";
}

impl From<NamedPlacement> for Placement {
    fn from(named: NamedPlacement) -> Self {
        match named {
            NamedPlacement::Spread => Self::Spread,
            NamedPlacement::First => Self::First,
            NamedPlacement::Last => Self::Last,
            NamedPlacement::Apart => Self::Apart,
        }
    }
}

impl Placement {
    /// Its name; none of a list.
    #[must_use]
    pub const fn named(&self) -> Option<NamedPlacement> {
        match self {
            Self::Spread => Some(NamedPlacement::Spread),
            Self::First => Some(NamedPlacement::First),
            Self::Last => Some(NamedPlacement::Last),
            Self::Apart => Some(NamedPlacement::Apart),
            Self::Masks(_) => None,
        }
    }

    /// The mask of a connection (relative QPN, from 1) of so many, among so many masks: from 1, the number of masks that its packets are
    /// looked up in.
    #[must_use]
    pub fn mask_of(&self, qpn: u32, connections: u32, masks: u32) -> u32 {
        let mask = match self {
            // In the middle of its share of the masks.
            Self::Spread => {
                let shares = 2 * u64::from(connections.max(1));
                1 + ((2 * u64::from(qpn) - 1) * u64::from(masks) / shares) as u32
            }
            Self::First => 1,
            Self::Last => masks,
            Self::Apart => {
                if qpn == connections {
                    masks
                } else {
                    1
                }
            }
            Self::Masks(list) => list.get(qpn as usize - 1).copied().unwrap_or(1),
        };
        mask.min(masks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_connections_are_looked_up_in_half_of_the_masks() {
        let of = |connections, masks| -> Vec<u32> {
            (1..=connections).map(|qpn| Placement::Spread.mask_of(qpn, connections, masks)).collect()
        };
        assert_eq!(of(4, 4), [1, 2, 3, 4]);
        assert_eq!(of(4, 1), [1; 4]);
        assert_eq!(of(1, 9), [5]);
        assert_eq!(of(2, 8), [3, 7]);
        assert_eq!(of(8, 4), [1, 1, 2, 2, 3, 3, 4, 4]);
    }

    #[test]
    fn a_list_has_a_mask_for_each_connection() {
        let place = Placement::Masks(vec![3, 1]);
        assert_eq!([1, 2].map(|qpn| place.mask_of(qpn, 2, 4)), [3, 1]);
        assert_eq!(place.mask_of(1, 2, 2), 2);
        assert_eq!([1, 2, 3].map(|qpn| Placement::Apart.mask_of(qpn, 3, 7)), [1, 1, 7]);
        assert_eq!((Placement::First.mask_of(2, 2, 7), Placement::Last.mask_of(2, 2, 7)), (1, 7));
    }
}
