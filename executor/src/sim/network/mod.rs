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
use crate::SWITCH_LATENCY;

/// An event in the network, in the order in which those of one time happen.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet of a host enters the switch.
    Entry(HostId),
    /// The switch does what it has put off.
    Later,
}

/// The network of a test.
pub(super) struct Network {
    /// By host.
    links: Vec<Link>,
    routes: Routes,
    injector: Injector,
    pfc: Option<Pfc>,
    /// Least time from a host's step until a packet that it sends enters the switch.
    way_in: Nanos,
    /// Least time from an event until a host takes notice of it: until a packet reaches its transport, or, with flow control, none, as the event may
    /// be that it is paused.
    way_out: Nanos,
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
        let shortest = |of: fn(&Edge) -> u64| links.iter().map(|link| of(link.edge())).min().unwrap_or(0);
        let way_in = Nanos(shortest(|edge| edge.propagation_ns));
        let from_switch = Nanos(shortest(|edge| edge.propagation_ns + edge.receive_latency.min));
        let way_out = if pfc.is_some() { Nanos::ZERO } else { SWITCH_LATENCY + from_switch };
        Self { links, routes, injector, pfc, way_in, way_out }
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

    /// Time until which the network may leave its next event: no host takes notice of it before.
    #[inline]
    pub(super) fn next_step(&self) -> Option<Nanos> {
        let (at, _) = self.next()?;
        Some(at + self.way_out)
    }

    /// The next event.
    #[inline]
    fn next(&self) -> Option<(Nanos, Event)> {
        let enters = |(host, link): (usize, &Link)| Some((link.next_entry()?, Event::Entry(HostId::at(host))));
        let entries = self.links.iter().enumerate().filter_map(enters);
        let pfc = self.pfc.as_ref().and_then(Pfc::next_at);
        let later = sooner(pfc, self.injector.next_later());
        entries.chain(later.map(|at| (at, Event::Later))).min()
    }

    /// Handles the next event, and those behind it until a packet can enter that is not on its way yet: hosts send nothing by themselves before
    /// a time, and in answer to a packet not before it reaches them. So the events of some packets are handled in one go. With flow control
    /// each is by itself, as a host may be paused, and the pause is returned.
    pub(super) fn handle_next(&mut self, hosts_send: Nanos) -> Option<Pause> {
        let mut until = Nanos(u64::MAX);
        while let Some((at, event)) = self.next().filter(|(at, _)| *at < until) {
            let pause = match event {
                Event::Entry(host) => {
                    self.enter(host);
                    None
                }
                Event::Later => self.handle_later(at),
            };
            if self.has_flow_control() {
                return pause;
            }
            let arrivals = self.links.iter().filter_map(Link::next_arrival);
            until = arrivals.fold(hosts_send, Nanos::min) + self.way_in;
        }
        None
    }

    /// Takes the next packet for a host off its link.
    #[inline]
    pub(super) fn take_arrival(&mut self, to: HostId) -> Option<Packet> {
        self.links[to.index()].take_arrival()
    }

    /// The next packet of a host enters the switch.
    #[inline]
    fn enter(&mut self, from: HostId) {
        let Some((now, packet)) = self.links[from.index()].take_entry() else { return };
        let route = self.routes.of(from, packet.qp);
        self.injector.enter(packet, route, now, &mut self.links);
        if let Some(pfc) = &mut self.pfc {
            pfc.note_queues(now, &self.links, self.injector.on_paths());
        }
    }

    /// Performs the switch's actions that are due now; returns a pause that has reached a host.
    fn handle_later(&mut self, now: Nanos) -> Option<Pause> {
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
