//! Paths between the hosts, and how packets are spread over them.

use serde::{Deserialize, Serialize};

use super::fields::{self, NumberOf};
use super::words::words;

/// `[[network.path]]`: one of the paths between the hosts, in both directions. Packets keep their order on a path, not between
/// paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Path {
    /// Delay; see [`fields::PATH_DELAY_NS`].
    pub delay_ns: u64,
    /// Rate; see [`fields::RATE_GBPS`].
    pub rate_gbps: u16,
    /// Share of the packets; see [`fields::WEIGHT`].
    pub weight: u8,
    /// Packets that wait where there is a rate; see [`fields::QUEUE_PACKETS`].
    pub queue_packets: u32,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            delay_ns: fields::PATH_DELAY_NS.default,
            rate_gbps: fields::RATE_GBPS.default as u16,
            weight: fields::WEIGHT.default as u8,
            queue_packets: fields::QUEUE_PACKETS.default as u32,
        }
    }
}

impl Path {
    /// Most paths of a test.
    pub const MOST: usize = 8;

    /// Its numbers, in the order of the canonical text.
    pub const NUMBERS: &[NumberOf<Self>] = &[
        NumberOf {
            field: &fields::PATH_DELAY_NS,
            get: |path| path.delay_ns,
            set: |path, ns| path.delay_ns = ns,
        },
        NumberOf {
            field: &fields::RATE_GBPS,
            get: |path| path.rate_gbps.into(),
            set: |path, gbps| path.rate_gbps = gbps as u16,
        },
        NumberOf {
            field: &fields::WEIGHT,
            get: |path| path.weight.into(),
            set: |path, weight| path.weight = weight as u8,
        },
        NumberOf {
            field: &fields::QUEUE_PACKETS,
            get: |path| path.queue_packets.into(),
            set: |path, packets| path.queue_packets = packets as u32,
        },
    ];

    /// Returns true if packets leave later than they come.
    #[must_use]
    pub const fn delays(&self) -> bool {
        self.delay_ns > 0 || self.rate_gbps > 0
    }
}

words! {
    /// How the packets of a flow, one direction of a connection, are spread over the paths.
    Spray:
        /// All on one path.
        Flow "flow",
        /// On one path until a pause, and then maybe on another one.
        Flowlet "flowlet",
        /// Each on a path of its own.
        Packet "packet",
        /// On the paths in turn, with all flows of the direction, on each as many in a row as its weight says.
        RoundRobin "round-robin";
    /// Packets that are spread; the others take the first path.
    SprayPackets:
        /// All.
        All "all",
        /// Data packets.
        Data "data";
}
