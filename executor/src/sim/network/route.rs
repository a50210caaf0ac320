//! Routes: from the QP that sends a packet to the addresses in it and the host that it goes to.

use std::net::IpAddr;

use corpus::Role;
use dumper::FlowId;
use p4::FlowIndex;

use crate::sim::host_id::HostId;

/// Route of the packets of one QP.
pub(in crate::sim) struct Route {
    /// Host of the QP.
    pub(in crate::sim) from: HostId,
    /// Host that the packets go to.
    pub(in crate::sim) to: HostId,
    /// The sending host: the port of the injector that the packets enter at.
    pub(in crate::sim) sender: Role,
    /// Source IP address.
    pub(in crate::sim) source: IpAddr,
    /// Destination IP address.
    pub(in crate::sim) destination: IpAddr,
    /// QP number at the destination.
    pub(in crate::sim) dest_qpn: u32,
    /// UDP source port.
    pub(in crate::sim) src_port: u16,
    /// The flow in the injector's tables.
    pub(in crate::sim) flow: Option<FlowIndex>,
    /// The flow in the trace, once it has a packet.
    pub(in crate::sim) traced: Option<FlowId>,
}

/// Routes of all QPs.
pub(in crate::sim) struct Routes(Vec<Vec<Route>>);

impl Routes {
    /// Routes by host and, at each host, by QP.
    pub(in crate::sim) fn new(hosts: usize, routes: impl Iterator<Item = Route>) -> Self {
        let mut of_hosts: Vec<Vec<Route>> = (0..hosts).map(|_| Vec::new()).collect();
        for route in routes {
            of_hosts[route.from.index()].push(route);
        }
        Self(of_hosts)
    }

    /// Route of the packets that a QP of a host sends.
    #[inline]
    pub(super) fn of(&mut self, host: HostId, qp: u32) -> &mut Route {
        &mut self.0[host.index()][qp as usize]
    }

    /// All routes.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Route> {
        self.0.iter_mut().flatten()
    }
}
