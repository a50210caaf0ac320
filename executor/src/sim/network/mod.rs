//! The network between the hosts: the topology, the links, the switch in the middle.

mod injector;
mod link;
mod mirror;
mod rewrite;
mod route;
mod topology;

use dumper::{Nanos, SwitchCounters, Trace};
use p4::Pipeline;

use injector::Injector;
pub(super) use link::Link;
pub(super) use route::{Route, Routes};
pub(super) use topology::{Edge, HostId};

use super::packet::Packet;

/// The network of a test.
pub(super) struct Network {
    /// By host.
    links: Vec<Link>,
    routes: Routes,
    injector: Injector,
}

impl Network {
    /// A network without packets: the hosts' links, the routes of their QPs, the injector's pipeline.
    pub(super) fn new(links: Vec<Link>, mut routes: Routes, pipeline: Pipeline) -> Self {
        let injector = Injector::new(pipeline, links.len(), &mut routes);
        Self { links, routes, injector }
    }

    /// Sends a packet from a host at a time in ps; returns when the host can send the next one.
    #[inline]
    pub(super) fn send(&mut self, from: HostId, packet: Packet, now_ps: u64) -> u64 {
        self.links[from.index()].send(packet, now_ps)
    }

    /// Sends a packet from a host before those that it sent ahead of their time; see [`Link::send_past`].
    pub(super) fn send_past(&mut self, from: HostId, packet: Packet, now: Nanos) -> Option<u64> {
        self.links[from.index()].send_past(packet, now)
    }

    /// Time of the switch's next own action.
    #[inline]
    pub(super) fn next_later(&self) -> Option<Nanos> {
        self.injector.next_later()
    }

    /// Takes the next packet for a host off its link.
    #[inline]
    pub(super) fn take_arrival(&mut self, to: HostId) -> Option<Packet> {
        self.links[to.index()].take_arrival()
    }

    /// The next packet of a host enters the switch.
    #[inline]
    pub(super) fn enter(&mut self, from: HostId) {
        let Some((now, packet)) = self.links[from.index()].take_entry() else { return };
        let route = self.routes.of(from, packet.qp);
        self.injector.enter(packet, route, now, &mut self.links);
    }

    /// Performs the switch's action that is due now.
    pub(super) fn handle_later(&mut self, now: Nanos) {
        self.injector.handle_later(now, &mut self.links);
    }

    /// The links, by host.
    pub(super) fn links(&self) -> &[Link] {
        &self.links
    }

    /// Packets in the trace so far.
    #[inline]
    pub(super) fn packets(&self) -> usize {
        self.injector.packets()
    }

    /// The trace, and the counters of the switch.
    pub(super) fn finish(self) -> (Trace, SwitchCounters) {
        self.injector.finish()
    }
}
