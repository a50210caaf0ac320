//! The way from the cable to the transport: a buffer, where the NIC is slower than its link or stalls.

use std::collections::VecDeque;

use dumper::Nanos;

use crate::profile::Receive;
use crate::sim::packet::Packet;

/// The receive buffer of a NIC.
#[derive(Debug)]
pub(in crate::sim) struct ReceiveBuffer {
    packet_ns: Nanos,
    /// Most bytes that may wait.
    pub(in crate::sim) capacity: u64,
    /// Packets that wait, in their order.
    pub(in crate::sim) waiting: VecDeque<Packet>,
    /// Bytes of the frames that wait.
    pub(in crate::sim) bytes: u64,
    /// Time at which the transport can take the next packet.
    free_at: Nanos,
    stalled: bool,
}

/// Fate of a packet that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sim::nic) enum Arrival {
    /// The transport takes it at once.
    Passes,
    /// It waits.
    Waits,
    /// The buffer is full.
    Discarded,
}

impl ReceiveBuffer {
    pub(in crate::sim::nic) const fn new(receive: &Receive) -> Self {
        Self {
            packet_ns: Nanos(receive.packet_ns),
            capacity: receive.buffer_bytes,
            waiting: VecDeque::new(),
            bytes: 0,
            free_at: Nanos::ZERO,
            stalled: false,
        }
    }

    /// A packet arrives, which may be one that has to wait in any case.
    #[inline]
    pub(in crate::sim::nic) fn arrive(&mut self, packet: &Packet, held: bool, now: Nanos) -> Arrival {
        if !held && !self.stalled && self.waiting.is_empty() && self.free_at <= now {
            self.free_at = now + self.packet_ns;
            return Arrival::Passes;
        }
        let frame_len = u64::from(packet.frame_len);
        if self.bytes + frame_len > self.capacity {
            return Arrival::Discarded;
        }
        self.bytes += frame_len;
        self.waiting.push_back(*packet);
        Arrival::Waits
    }

    /// Stops or resumes the taking of packets.
    pub(in crate::sim::nic) const fn set_stalled(&mut self, stalled: bool) {
        self.stalled = stalled;
    }

    /// The packet that waits in front of all others.
    #[inline]
    pub(in crate::sim::nic) fn head(&self) -> Option<&Packet> {
        self.waiting.front()
    }

    /// Time at which the next waiting packet can be taken; not before now, as a stall may have held it.
    #[inline]
    pub(in crate::sim::nic) fn next_at(&self) -> Option<Nanos> {
        if self.stalled || self.waiting.is_empty() { None } else { Some(self.free_at) }
    }

    /// The next waiting packet, if it can be taken.
    pub(in crate::sim::nic) fn take(&mut self, now: Nanos) -> Option<Packet> {
        if self.next_at()? > now {
            return None;
        }
        let packet = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.frame_len);
        self.free_at = now + self.packet_ns;
        Some(packet)
    }
}
