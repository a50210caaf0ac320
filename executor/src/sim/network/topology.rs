//! Nodes and links. There is one topology yet, the testbed's: a switch, and hosts that each have a link of their own to it.

use crate::profile::{Link as LinkProfile, Span};

/// The link between a host and the switch, the same in both directions.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Edge {
    /// Rate in Gb/s.
    pub(in crate::sim) rate_gbps: u32,
    /// Time that a bit takes from one end to the other, in ns.
    pub(in crate::sim) propagation_ns: u64,
    /// Time from the host's end to its transport, in ns, drawn for each packet.
    pub(in crate::sim) receive_latency: Span<u64>,
}

impl Edge {
    /// The link of a host whose NIC has this profile of a link.
    pub(in crate::sim) const fn new(link: LinkProfile, receive_latency: Span<u64>) -> Self {
        Self { rate_gbps: link.rate_gbps, propagation_ns: link.propagation_ns, receive_latency }
    }
}
