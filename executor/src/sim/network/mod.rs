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
pub(super) use topology::Edge;

use super::agenda::sooner;
use super::host_id::HostId;
use super::packet::Packet;
use super::step::{Kind, Step};
use crate::SWITCH_LATENCY;

/// The network of a test.
pub(super) struct Network {
    /// By host.
    links: Vec<Link>,
    routes: Routes,
    injector: Injector,
    pfc: Option<Pfc>,
    /// None where each step is taken by itself, at its time, as with flow control, where a step may pause a host.
    ahead: Option<Ahead>,
}

/// How far the network may be ahead of the hosts, or behind them, without a difference to them.
#[derive(Clone, Copy)]
struct Ahead {
    /// Least time from a host's step until a packet that it sends enters the switch.
    way_in: Nanos,
    /// Least time from a step until a packet reaches a host's transport by it.
    way_out: Nanos,
}

impl Ahead {
    fn of(links: &[Link]) -> Self {
        let least = |of: fn(&Edge) -> u64| links.iter().map(|link| of(link.edge())).min().unwrap_or(0);
        Self {
            way_in: Nanos(least(|edge| edge.propagation_ns)),
            way_out: SWITCH_LATENCY + Nanos(least(|edge| edge.propagation_ns + edge.receive_latency.min)),
        }
    }
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
        let ahead = pfc.is_none().then(|| Ahead::of(&links));
        Self { links, routes, injector, pfc, ahead }
    }

    /// Each step is taken by itself from now on, at its time.
    pub(super) const fn keep_in_step(&mut self) {
        self.ahead = None;
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

    /// The next step, at the time at which a host may take notice of it.
    #[inline(always)]
    pub(super) fn next_noticed(&self) -> Step {
        self.next().put_off(self.ahead.map_or(Nanos::ZERO, |ahead| ahead.way_out))
    }

    /// The next step.
    #[inline(always)]
    fn next(&self) -> Step {
        let pfc = self.pfc.as_ref().and_then(Pfc::next_at);
        let later = Step::new(sooner(pfc, self.injector.next_later()), Kind::Later, HostId::REQUESTER);
        self.links.iter().enumerate().fold(later, |next, (host, link)| {
            next.min(Step::new(link.next_entry(), Kind::Entry, HostId::at(host)))
        })
    }

    /// Takes the next step; where the network may be ahead, those behind it too, until a packet can enter that is not on its way yet: hosts send
    /// nothing by themselves before a time, and in answer to a packet nothing before it reaches them. So some packets are handled in one go.
    /// Returns a pause that has reached a host.
    pub(super) fn go_on(&mut self, hosts_send: Nanos) -> Option<Pause> {
        let mut until = Nanos(u64::MAX);
        while let Some((at, kind, host)) = self.next().parts().filter(|(at, ..)| *at < until) {
            let pause = match kind {
                Kind::Entry => {
                    self.enter(host);
                    None
                }
                _ => self.handle_later(at),
            };
            let Some(ahead) = self.ahead else { return pause };
            let arrivals = self.links.iter().filter_map(Link::next_arrival);
            until = arrivals.fold(hosts_send, Nanos::min) + ahead.way_in;
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
