//! The genome: the configuration of one test.

mod control;
mod event;
pub mod fields;
mod host;
mod net;
mod network;
mod offload;
mod path;
mod repeat;
mod rule;
mod set_field;
mod traffic;
mod words;

pub use control::{Control, Operation};
pub use event::{
    Action, ConnectionSet, ControlPacket, Copies, Event, LAST_OCCURRENCE, Operand, Points, Progression,
    Target,
};
pub use host::{Ets, Host, LossRecovery, Physical, RoceParameters, TrafficClass};
pub use net::{Cidr, CidrError};
pub use network::{LossDirection, LossEffect, LossModel, Network, NetworkField, PacketKinds};
pub use offload::{NamedPlacement, Offload, Placement, Scheduler};
pub use path::{Path, Spray, SprayPackets};
pub use repeat::{Repeat, RepeatMatch};
pub use rule::{Direction, Hop, IpVersion, Rule};
pub use set_field::{HeaderField, SetField};
pub use traffic::{DummyRule, Files, Form, IterMode, Load, Mtu, Pattern, Traffic, TrafficField, Verb};

use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr};

/// A test: two hosts, the traffic between them and the injector's actions on it.
///
/// Plain data, cheap to clone and to edit. Editing can make it contradict itself; [`TestConfig::violations`]
/// lists the contradictions. A configuration from a file has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestConfig {
    /// The host that posts the requests.
    pub requester: Host,
    /// The host that answers them.
    pub responder: Host,
    /// Traffic between them.
    pub traffic: Traffic,
    /// The network between them.
    pub network: Network,
    /// Events that the injector causes.
    pub events: Vec<Event>,
    /// Operations on the hosts' flow tables.
    pub control: Vec<Control>,
}

impl Default for TestConfig {
    fn default() -> Self {
        Self {
            requester: Host::new(Host::DEFAULT_NIC, default_address(Role::Requester)),
            responder: Host::new(Host::DEFAULT_NIC, default_address(Role::Responder)),
            traffic: Traffic::default(),
            network: Network::default(),
            events: Vec::new(),
            control: Vec::new(),
        }
    }
}

impl TestConfig {
    /// One of the hosts.
    #[must_use]
    pub const fn host(&self, role: Role) -> &Host {
        match role {
            Role::Requester => &self.requester,
            Role::Responder => &self.responder,
        }
    }

    /// The longest that an event holds a packet, in nanoseconds.
    #[must_use]
    pub fn longest_hold_ns(&self) -> u64 {
        let held = self.events.iter().filter(|event| event.action.kind().form() == dumper::Form::Time);
        held.filter_map(|event| Some(event.action.operand()?.1)).max().unwrap_or(0)
    }

    /// Returns true if some event names a connection (relative QPN), or the network can lose its packets; where the hosts post in turn, those
    /// of its pair, for which it waits.
    #[must_use]
    pub fn has_events_on(&self, qpn: u32) -> bool {
        let named = |qpn| {
            self.network.touches(qpn) || self.events.iter().any(|event| event.connections.contains(qpn))
        };
        named(qpn) || self.traffic.paired_with(qpn).is_some_and(named)
    }

    /// Number of connections that [have events](Self::has_events_on).
    #[must_use]
    pub fn connections_with_events(&self) -> usize {
        (1..=self.traffic.load.connections()).filter(|qpn| self.has_events_on(*qpn)).count()
    }

    /// Data packets of all connections without retransmissions, and the most copies that events and the network make of them.
    #[must_use]
    pub fn packets_with_copies(&self) -> u64 {
        let (each, connections) = (self.traffic.shape().packets(), self.traffic.load.connections());
        let copies_by = |event: &Event| {
            let Action::Duplicate { copies } = event.action else { return 0 };
            let named =
                event.points(u32::try_from(each).unwrap_or(u32::MAX)).map_or(each, |all| all.count().into());
            let members = event.connections.members(connections).count() as u64;
            members.saturating_mul(named).saturating_mul(copies.into())
        };
        let packets = self.traffic.total_packets();
        let by_network = packets.saturating_mul(self.network.repeat.copies_of(None).into());
        self.events.iter().map(copies_by).fold(packets.saturating_add(by_network), u64::saturating_add)
    }

    /// One of the hosts, to be edited.
    pub const fn host_mut(&mut self, role: Role) -> &mut Host {
        match role {
            Role::Requester => &mut self.requester,
            Role::Responder => &mut self.responder,
        }
    }
}

/// The part that a host plays on its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Posts requests.
    Requester,
    /// Answers them.
    Responder,
}

impl Role {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Requester, Self::Responder];

    /// Name of the host's section in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requester => "requester",
            Self::Responder => "responder",
        }
    }

    /// The other one.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Requester => Self::Responder,
            Self::Responder => Self::Requester,
        }
    }
}

/// Address of a host that lists none: 10.0.0.1/24 for the requester, 10.0.0.2/24 for the responder.
#[must_use]
pub const fn default_address(role: Role) -> Cidr {
    let last = match role {
        Role::Requester => 1,
        Role::Responder => 2,
    };
    Cidr { addr: IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), prefix: 24 }
}
