//! Nodes and links. There is one topology yet, the testbed's: a switch, and hosts that each have a link of their own to it.

use corpus::Role;

use crate::profile::{Link as LinkProfile, Span};

/// A host, by its place in every list of hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::sim) struct HostId(usize);

impl HostId {
    /// The requester's host of connection 1.
    pub(in crate::sim) const REQUESTER: Self = Self(0);
    /// The responder's host of connection 1.
    pub(in crate::sim) const RESPONDER: Self = Self(1);

    /// The host that has an end of connection 1.
    pub(in crate::sim) const fn of(role: Role) -> Self {
        Self(role as usize)
    }

    /// Its end of connection 1.
    pub(in crate::sim) const fn role(self) -> Role {
        if self.0 == Self::REQUESTER.0 { Role::Requester } else { Role::Responder }
    }

    /// Host with a place in the lists of hosts.
    #[inline]
    pub(in crate::sim) const fn at(index: usize) -> Self {
        Self(index)
    }

    /// Place in the lists of hosts.
    #[inline]
    pub(in crate::sim) const fn index(self) -> usize {
        self.0
    }
}

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
