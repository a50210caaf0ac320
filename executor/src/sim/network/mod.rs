//! The network between the hosts: the topology, the links, the switch in the middle.

mod injector;
mod link;
mod mirror;
mod pfc;
mod rewrite;
mod route;
mod topology;

use dumper::{Nanos, SwitchCounters, Trace};
use p4::Pipeline;

use injector::Injector;
pub(super) use link::Link;
pub(super) use pfc::Pause;
use pfc::Pfc;
pub use pfc::least_buffer;
pub(super) use route::{Route, Routes};
pub(super) use topology::{Edge, HostId};

use super::agenda::sooner;
use super::packet::Packet;

/// The network of a test.
pub(super) struct Network {
    /// By host.
    links: Vec<Link>,
    routes: Routes,
    injector: Injector,
    pfc: Option<Pfc>,
}

impl Network {
    /// A network without packets: the hosts' links, the routes of their QPs, the injector's pipeline; with flow control, the
    /// hosts' receive buffers in bytes; the packets that about will enter.
    pub(super) fn new(
        links: Vec<Link>,
        mut routes: Routes,
        pipeline: Pipeline,
        flow_control: Option<&[u64]>,
        packets: u64,
    ) -> Self {
        let injector = Injector::new(pipeline, links.len(), &mut routes, packets);
        let pfc = flow_control.map(|buffers| Pfc::new(&links, buffers));
        Self { links, routes, injector, pfc }
    }

    /// Returns true if its links have flow control.
    #[inline]
    pub(super) const fn has_flow_control(&self) -> bool {
        self.pfc.is_some()
    }

    /// Notes the bytes in a host's receive buffer; returns true if the host begins to pause the switch.
    pub(super) fn note_buffer(&mut self, host: HostId, bytes: u64, now: Nanos) -> bool {
        self.pfc.as_mut().is_some_and(|pfc| pfc.note_buffer(host, bytes, now, &self.links[host.index()]))
    }

    /// A host is paused: what it has sent ahead of its time waits.
    pub(super) fn pause(&mut self, host: HostId, now: Nanos) {
        self.links[host.index()].pause(now);
    }

    /// A host's pause is over, and its cable free from a time on; returns when it can send, if packets waited.
    pub(super) fn resume(&mut self, host: HostId, from_ps: u64) -> Option<u64> {
        self.links[host.index()].resume(from_ps)
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
        let pfc = self.pfc.as_ref().and_then(Pfc::next_at);
        sooner(pfc, self.injector.next_later())
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
        if let Some(pfc) = &mut self.pfc {
            pfc.note_queues(now, &self.links, self.injector.on_paths());
        }
    }

    /// Performs the switch's actions that are due now; returns a pause that has reached a host.
    pub(super) fn handle_later(&mut self, now: Nanos) -> Option<Pause> {
        self.injector.handle_later(now, &mut self.links);
        let pfc = self.pfc.as_mut()?;
        pfc.note_queues(now, &self.links, self.injector.on_paths());
        pfc.handle_later(now, &mut self.links, self.injector.on_paths())
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
