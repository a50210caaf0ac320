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
    /// Packets that the reorder engine has gathered, and that wait behind those.
    pub(in crate::sim::nic) drained: VecDeque<Packet>,
    /// Bytes of the frames that wait, those included that are gathered or looked up.
    pub(in crate::sim) bytes: u64,
    /// Bytes of those that wait elsewhere: that are looked up, or are or were gathered.
    pub(in crate::sim) elsewhere: u64,
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
            drained: VecDeque::new(),
            bytes: 0,
            elsewhere: 0,
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

    /// A packet waits elsewhere, and has room in the buffer meanwhile; false if there is none.
    pub(in crate::sim::nic) fn retain(&mut self, packet: &Packet) -> bool {
        let frame_len = u64::from(packet.frame_len);
        let fits = self.bytes + frame_len <= self.capacity;
        if fits {
            self.bytes += frame_len;
            self.elsewhere += frame_len;
        }
        fits
    }

    /// A packet that waited elsewhere gives its room back.
    pub(in crate::sim::nic) fn let_go(&mut self, packet: &Packet) {
        self.bytes -= u64::from(packet.frame_len);
        self.elsewhere -= u64::from(packet.frame_len);
    }

    /// The packet that was taken last keeps the transport busy for longer.
    #[inline]
    pub(in crate::sim::nic) const fn keep_busy(&mut self, time: Nanos) {
        self.free_at = Nanos(self.free_at.0 + time.0);
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
        let is_idle = self.waiting.is_empty() && self.drained.is_empty();
        if self.stalled || is_idle { None } else { Some(self.free_at) }
    }

    /// The next waiting packet, if it can be taken, and true if it was gathered: the fast path goes before (LEFT §3.4 does not say).
    /// A gathered packet has had its turn before it was gathered, and keeps the transport busy for the access to its bitmap alone.
    pub(in crate::sim::nic) fn take(&mut self, now: Nanos) -> Option<(Packet, bool)> {
        if self.next_at()? > now {
            return None;
        }
        let fast = self.waiting.pop_front();
        let is_drained = fast.is_none();
        let packet = fast.or_else(|| self.drained.pop_front())?;
        let frame_len = u64::from(packet.frame_len);
        self.bytes -= frame_len;
        self.elsewhere -= if is_drained { frame_len } else { 0 };
        self.free_at = now + if is_drained { Nanos::ZERO } else { self.packet_ns };
        Some((packet, is_drained))
    }
}
