//! A host's link to the switch, in both directions, and the way from its end into the host.

use std::collections::VecDeque;

use dumper::Nanos;
use rand_chacha::ChaCha8Rng;

use super::topology::Edge;
use crate::sim::packet::Packet;
use crate::sim::random::draw;

/// Packets on one link.
pub(in crate::sim) struct Link {
    edge: Edge,
    rng: ChaCha8Rng,
    /// Packets on their way to the switch, and when they are there.
    pub(in crate::sim) up: VecDeque<(Nanos, Packet)>,
    /// Packets on their way to the host's transport.
    pub(in crate::sim) down: VecDeque<(Nanos, Packet)>,
    /// Time at which the switch's end can send the next packet, in ps.
    down_free: u64,
}

impl Link {
    /// A link without packets; the stream draws its receive latencies.
    pub(in crate::sim) const fn new(edge: Edge, rng: ChaCha8Rng) -> Self {
        Self { edge, rng, up: VecDeque::new(), down: VecDeque::new(), down_free: 0 }
    }

    /// Time that a packet takes.
    fn packet_ns(&self, packet: &Packet) -> Nanos {
        Nanos(self.packet_ps(packet).div_ceil(1_000))
    }

    /// Time that a packet takes, in ps.
    #[inline]
    fn packet_ps(&self, packet: &Packet) -> u64 {
        u64::from(packet.cable_len()) * 8_000 / u64::from(self.edge.rate_gbps)
    }

    /// The host sends a packet at a time in ps; returns when it can send the next one.
    #[inline]
    pub(super) fn send(&mut self, packet: Packet, now_ps: u64) -> u64 {
        let sent = now_ps + self.packet_ps(&packet);
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
    pub(in crate::sim) fn next_entry(&self) -> Option<Nanos> {
        self.up.front().map(|(at, _)| *at)
    }

    /// Takes the next packet of the host, and the time at which it enters the switch.
    #[inline]
    pub(super) fn take_entry(&mut self) -> Option<(Nanos, Packet)> {
        self.up.pop_front()
    }

    /// The switch sends a packet from a time on, behind the packets that wait for the cable.
    #[inline]
    pub(super) fn deliver(&mut self, packet: Packet, from: Nanos) {
        let start = (from.0 * 1_000).max(self.down_free);
        self.down_free = start + self.packet_ps(&packet);
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
