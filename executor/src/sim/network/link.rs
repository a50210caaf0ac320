//! A host's link to the switch, in both directions, and the way from its end into the host.

use std::collections::VecDeque;

use dumper::Nanos;
use rand_chacha::ChaCha8Rng;

use super::topology::Edge;
use crate::sim::packet::Packet;
use crate::sim::random::draw;

/// Time of a byte at 1 Gb/s, in ps.
const BYTE_PS: u64 = 8_000;

/// Ways on a link: from the host to the switch.
const TO_SWITCH: usize = 0;
/// From the switch to the host.
const TO_HOST: usize = 1;

/// Packets on one link.
pub(in crate::sim) struct Link {
    edge: Edge,
    /// Bytes of a packet to the switch, and of one to the host, besides those of its frame: the headers of the sending host's tunnel.
    tunnels: [u32; 2],
    /// Time of a byte in ps, where it is a whole number: no division for each packet then.
    byte_ps: Option<u64>,
    rng: ChaCha8Rng,
    /// Packets on their way to the switch, and when they are there.
    pub(in crate::sim) up: VecDeque<(Nanos, Packet)>,
    /// Packets that the host has sent ahead of their time, and that a pause keeps from the cable.
    pub(in crate::sim) held: VecDeque<Packet>,
    /// Packets on their way to the host's transport.
    pub(in crate::sim) down: VecDeque<(Nanos, Packet)>,
    /// With flow control: packets at the switch's end, and when they can leave at the earliest.
    queue: Option<Queue>,
    /// Time at which the switch's end can send the next packet, in ps.
    down_free: u64,
}

/// Packets that wait at the switch's end of a link.
#[derive(Default)]
struct Queue {
    packets: VecDeque<(Nanos, Packet)>,
    /// Bytes of their frames.
    bytes: u64,
}

impl Link {
    /// A link without packets, of which those to the switch and those to the host have so many bytes of a tunnel; the stream draws its receive
    /// latencies. With flow control packets wait at the switch's end until
    /// [`Link::depart`] is called.
    pub(in crate::sim) fn new(edge: Edge, tunnels: [u32; 2], flow_control: bool, rng: ChaCha8Rng) -> Self {
        let rate = u64::from(edge.rate_gbps);
        Self {
            edge,
            tunnels,
            byte_ps: BYTE_PS.is_multiple_of(rate).then(|| BYTE_PS / rate),
            rng,
            up: VecDeque::new(),
            held: VecDeque::new(),
            down: VecDeque::new(),
            queue: flow_control.then(Queue::default),
            down_free: 0,
        }
    }

    /// What it connects, and how.
    pub(super) const fn edge(&self) -> &Edge {
        &self.edge
    }

    /// Time that a packet of the host takes.
    fn packet_ns(&self, packet: &Packet) -> Nanos {
        Nanos(self.packet_ps(packet, TO_SWITCH).div_ceil(1_000))
    }

    /// Time that a packet takes, in ps.
    #[inline]
    fn packet_ps(&self, packet: &Packet, way: usize) -> u64 {
        self.bytes_ps((packet.cable_len() + self.tunnels[way]).into())
    }

    /// Time that so many bytes take, in ps.
    #[inline]
    fn bytes_ps(&self, bytes: u64) -> u64 {
        match self.byte_ps {
            Some(ps) => bytes * ps,
            None => bytes * BYTE_PS / u64::from(self.edge.rate_gbps),
        }
    }

    /// The host sends a packet at a time in ps; returns when it can send the next one.
    #[inline]
    pub(super) fn send(&mut self, packet: Packet, now_ps: u64) -> u64 {
        let sent = now_ps + self.packet_ps(&packet, TO_SWITCH);
        let there = Nanos(sent.div_ceil(1_000) + self.edge.propagation_ns);
        self.up.push_back((there, packet));
        sent
    }

    /// The host sends a packet before all that it sent ahead of their time and that are not on the cable yet, but for
    /// others like it; returns the delay of these, in ps, or `None` if it passed none.
    pub(super) fn send_past(&mut self, packet: Packet, now: Nanos) -> Option<u64> {
        let (slot, propagation) = (self.packet_ns(&packet), Nanos(self.edge.propagation_ns));
        let waits = |(there, other): &(Nanos, Packet)| {
            *there - propagation - self.packet_ns(other) >= now && other.opcode != packet.opcode
        };
        let place = self.up.iter().position(waits)?;
        let there = self.up[place].0 - self.packet_ns(&self.up[place].1) + slot;
        self.up.range_mut(place..).for_each(|(later, _)| *later += slot);
        self.up.insert(place, (there, packet));
        Some(slot.0 * 1_000)
    }

    /// Time at which the next packet of the host enters the switch.
    #[inline]
    pub(super) fn next_entry(&self) -> Option<Nanos> {
        self.up.front().map(|(at, _)| *at)
    }

    /// Takes the next packet of the host, and the time at which it enters the switch.
    #[inline]
    pub(super) fn take_entry(&mut self) -> Option<(Nanos, Packet)> {
        self.up.pop_front()
    }

    /// Time at which a pause frame of the host reaches the switch: behind the packet that the host is sending.
    pub(super) fn pause_reaches_switch(&self, now: Nanos, bytes: u64) -> Nanos {
        let propagation = Nanos(self.edge.propagation_ns);
        let sent = |(there, packet): &(Nanos, Packet)| (*there - propagation, self.packet_ns(packet));
        let current = self.up.iter().map(sent).find(|(end, _)| *end >= now);
        let free = current.filter(|(end, takes)| *end - *takes < now).map_or(now, |(end, _)| end);
        free + Nanos(self.bytes_ps(bytes).div_ceil(1_000)) + propagation
    }

    /// Time at which a pause frame of the switch reaches the host, likewise.
    pub(super) fn pause_reaches_host(&self, now: Nanos, bytes: u64) -> Nanos {
        let free = (now.0 * 1_000).max(self.down_free);
        Nanos((free + self.bytes_ps(bytes)).div_ceil(1_000) + self.edge.propagation_ns)
    }

    /// The host is paused: packets that it sent ahead of their time, and that are not on the cable yet, wait.
    pub(super) fn pause(&mut self, now: Nanos) {
        let propagation = Nanos(self.edge.propagation_ns);
        let waits = |(there, packet): &(Nanos, Packet)| *there - propagation - self.packet_ns(packet) >= now;
        let place = self.up.iter().position(waits).unwrap_or(self.up.len());
        self.held.extend(self.up.drain(place..).map(|(_, packet)| packet));
    }

    /// The host's pause is over, and packets that waited go on the cable, which is free from a time on, in ps; returns when the
    /// host can send the next one, if any waited.
    pub(super) fn resume(&mut self, from_ps: u64) -> Option<u64> {
        let held = std::mem::take(&mut self.held);
        held.into_iter().fold(None, |free, packet| Some(self.send(packet, free.unwrap_or(from_ps))))
    }

    /// Bytes that wait at the switch's end, with flow control.
    pub(super) fn queued_bytes(&self) -> u64 {
        self.queue.as_ref().map_or(0, |queue| queue.bytes)
    }

    /// Time at which the next packet that waits at the switch's end can leave.
    pub(super) fn next_departure(&self) -> Option<Nanos> {
        let (from, _) = self.queue.as_ref()?.packets.front()?;
        Some((*from).max(Nanos(self.down_free.div_ceil(1_000))))
    }

    /// Packets that wait at the switch's end leave from now on: a pause is over.
    pub(super) fn resume_departures(&mut self, now: Nanos) {
        self.down_free = self.down_free.max(now.0 * 1_000);
    }

    /// The next packet that waits at the switch's end leaves.
    pub(super) fn depart(&mut self) {
        let Some((from, packet)) = self.queue.as_mut().and_then(|queue| queue.packets.pop_front()) else {
            return;
        };
        if let Some(queue) = &mut self.queue {
            queue.bytes -= u64::from(packet.frame_len);
        }
        self.transmit(packet, from);
    }

    /// The switch sends a packet from a time on, behind the packets that wait for the cable.
    #[inline]
    pub(super) fn deliver(&mut self, packet: Packet, from: Nanos) {
        match &mut self.queue {
            None => self.transmit(packet, from),
            Some(queue) => {
                queue.bytes += u64::from(packet.frame_len);
                queue.packets.push_back((from, packet));
            }
        }
    }

    /// A packet goes on the cable to the host.
    #[inline]
    fn transmit(&mut self, packet: Packet, from: Nanos) {
        let start = (from.0 * 1_000).max(self.down_free);
        self.down_free = start + self.packet_ps(&packet, TO_HOST);
        let latency = self.edge.propagation_ns + draw(self.edge.receive_latency, &mut self.rng);
        let there = Nanos(self.down_free.div_ceil(1_000) + latency);
        // Packets do not overtake each other on their way in.
        let there = self.down.back().map_or(there, |(last, _)| there.max(*last));
        self.down.push_back((there, packet));
    }

    /// Time at which the next packet reaches the host's transport.
    #[inline]
    pub(in crate::sim) fn next_arrival(&self) -> Option<Nanos> {
        self.down.front().map(|(at, _)| *at)
    }

    /// Takes the next packet for the host off the cable.
    #[inline]
    pub(super) fn take_arrival(&mut self) -> Option<Packet> {
        self.down.pop_front().map(|(_, packet)| packet)
    }
}
