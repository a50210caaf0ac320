//! Priority flow control of the links, with all packets in one class (IEEE 802.1Qbb): a host whose receive buffer fills pauses the
//! switch's port towards it, and the queue of the port pauses the hosts that send to it. CNPs are not exempt.
//!
//! A pause frame goes behind the frame that is on the cable, and takes no room of its own there. A pause lasts until it is
//! ended: whoever pauses refreshes it before its time is over.

use corpus::Mtu;
use dumper::Nanos;

use super::injector::OnPaths;
use super::link::Link;
use super::topology::Edge;
use crate::profile::NicProfile;
use crate::sim::agenda::Agenda;
use crate::sim::host_id::HostId;

/// A pause frame on the cable: 64 bytes, preamble and gap.
const PAUSE_BYTES: u64 = 84;

/// Longest headers of a frame: Ethernet, IPv6, UDP, BTH, RETH, ICRC and FCS.
const HEADERS: u64 = 14 + 40 + 8 + 12 + 16 + 4 + 4;

/// Bytes that wait at a port of the switch when a pause of the senders ends, besides those that are on the way or leave until the
/// first new packet is there.
const PORT_QUEUE: u64 = 64 << 10;

/// A host is to send nothing, or may send again.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Pause {
    /// The host.
    pub(in crate::sim) host: HostId,
    /// True if it is to send nothing.
    pub(in crate::sim) begins: bool,
}

/// Flow control of all links.
pub(super) struct Pfc {
    /// By host.
    hosts: Vec<FlowControl>,
    /// Longest time that a packet was on a path for.
    longest: Nanos,
    /// Bytes that a full link sends in that time, which are on the way whatever waits at a port.
    ahead: u64,
    later: Agenda<Later>,
}

/// Flow control on the way to a host.
struct FlowControl {
    /// Of its receive buffer, which pauses the switch's port.
    buffer: Gauge,
    /// Of the port's queue and of what is on the paths to it, which pauses the senders: without the paths, senders would hear of a queue
    /// only a path's delay after they have made it.
    queue: Gauge,
    /// True while the port is paused.
    is_paused: bool,
    /// True if the port's next departure is in the agenda.
    departs: bool,
}

enum Later {
    /// A pause frame of a host has reached the switch.
    PausePort(Pause),
    /// A pause frame of the switch has reached a host.
    PauseHost(Pause),
    /// A port can send its next packet.
    Depart(HostId),
}

/// A number of bytes that begins a pause, and one that ends it.
struct Gauge {
    xoff: u64,
    xon: u64,
    is_off: bool,
}

impl Gauge {
    const fn new(xoff: u64, xon: u64) -> Self {
        Self { xoff, xon, is_off: false }
    }

    /// Notes the bytes that wait; returns true if a pause begins now, false if it ends.
    const fn note(&mut self, bytes: u64) -> Option<bool> {
        if !self.is_off && bytes >= self.xoff {
            self.is_off = true;
        } else if self.is_off && bytes <= self.xon {
            self.is_off = false;
        } else {
            return None;
        }
        Some(self.is_off)
    }
}

/// Bytes that a link carries from the time that a pause frame leaves until the last packet before the pause is in the receive
/// buffer.
fn round_trip(edge: &Edge) -> u64 {
    carried(edge, 2 * edge.propagation_ns + edge.receive_latency.max) + PAUSE_BYTES
}

/// Bytes that a link carries in a time.
fn carried(edge: &Edge, ns: u64) -> u64 {
    ns.saturating_mul(edge.rate_gbps.into()) / 8
}

/// Smallest receive buffer of a NIC, in bytes, with which a pause of flow control comes in time: a quarter of it, beyond the three
/// quarters that begin a pause, holds a round trip and two of the longest frames, one that has begun at each end. Half of it, which is
/// left when a pause ends, then lasts until new packets are there.
#[must_use]
pub fn least_buffer(profile: &NicProfile, mtu: Mtu) -> u64 {
    let edge = Edge::new(profile.link, profile.receive.latency_ns);
    4 * (round_trip(&edge) + 2 * (u64::from(mtu.bytes()) + HEADERS))
}

impl Pfc {
    /// Flow control of links that carry nothing, to hosts with these receive buffers.
    pub(super) fn new(links: &[Link], buffers: &[u64]) -> Self {
        let longest = links.iter().map(|link| round_trip(link.edge())).max().unwrap_or_default();
        let xon = PORT_QUEUE + longest;
        let hosts = buffers.iter().map(|buffer| FlowControl {
            buffer: Gauge::new(buffer / 4 * 3, buffer / 2),
            queue: Gauge::new(2 * xon, xon),
            is_paused: false,
            departs: false,
        });
        Self { hosts: hosts.collect(), longest: Nanos::ZERO, ahead: 0, later: Agenda::new() }
    }

    /// Time of its next action.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Nanos> {
        self.later.next_at()
    }

    /// Notes the bytes in a host's receive buffer; returns true if the host begins a pause.
    pub(super) fn note_buffer(&mut self, host: HostId, bytes: u64, now: Nanos, link: &Link) -> bool {
        let Some(begins) = self.hosts[host.index()].buffer.note(bytes) else { return false };
        self.later
            .note(link.pause_reaches_switch(now, PAUSE_BYTES), Later::PausePort(Pause { host, begins }));
        begins
    }

    /// Notes the packets that wait at the switch's ports, or are on paths to them.
    pub(super) fn note_queues(&mut self, now: Nanos, links: &[Link], on_paths: &OnPaths) {
        if on_paths.longest > self.longest {
            let in_it = links.iter().map(|link| carried(link.edge(), on_paths.longest.0));
            (self.longest, self.ahead) = (on_paths.longest, in_it.max().unwrap_or_default());
        }
        let ports = self.hosts.iter_mut().zip(links).zip(&on_paths.bytes);
        for (to, ((control, link), on_paths)) in ports.enumerate() {
            if !control.is_paused
                && !control.departs
                && let Some(at) = link.next_departure()
            {
                control.departs = true;
                self.later.note(at.max(now), Later::Depart(HostId::at(to)));
            }
            let waiting = (link.queued_bytes() + on_paths).saturating_sub(self.ahead);
            let Some(begins) = control.queue.note(waiting) else { continue };
            for (from, link) in links.iter().enumerate().filter(|(from, _)| *from != to) {
                let pause = Pause { host: HostId::at(from), begins };
                self.later.note(link.pause_reaches_host(now, PAUSE_BYTES), Later::PauseHost(pause));
            }
        }
    }

    /// Performs the action that is due now; returns the pause that has reached a host.
    pub(super) fn handle_later(
        &mut self,
        now: Nanos,
        links: &mut [Link],
        on_paths: &OnPaths,
    ) -> Option<Pause> {
        let mut reached = None;
        match self.later.take_due(now)? {
            Later::PausePort(Pause { host, begins }) => {
                self.hosts[host.index()].is_paused = begins;
                if !begins {
                    links[host.index()].resume_departures(now);
                }
            }
            Later::PauseHost(pause) => reached = Some(pause),
            Later::Depart(host) => {
                let control = &mut self.hosts[host.index()];
                control.departs = false;
                if !control.is_paused {
                    links[host.index()].depart();
                }
            }
        }
        self.note_queues(now, links, on_paths);
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_begins_and_ends_once() {
        let mut gauge = Gauge::new(75, 50);
        let bytes = [10, 74, 75, 90, 51, 60, 50, 49, 75, 0];
        let said = [None, None, Some(true), None, None, None, Some(false), None, Some(true), Some(false)];
        assert_eq!(bytes.map(|bytes| gauge.note(bytes)), said);
    }

    /// At 100 Gb/s, 2 x 500 ns on the cable and 300 ns in the NIC are 16 250 bytes; two frames of 1 024 bytes with IPv6 and RETH
    /// have 2 244.
    #[test]
    fn the_smallest_buffer_is_that_of_the_arithmetic() {
        let mut profile = NicProfile::default();
        (profile.link.rate_gbps, profile.link.propagation_ns) = (100, 500);
        profile.receive.latency_ns = crate::profile::Span::new(100, 300);
        assert_eq!(least_buffer(&profile, Mtu::B1024), 4 * (16_250 + 84 + 2_244));
    }
}
