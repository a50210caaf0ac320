//! Path migration: cost of packets with MigReq clear (Lumina §6.2.3).

use crate::profile::Apm;
use crate::sim::packet::Packet;

/// The contexts in which the paths of new QPs are resolved.
#[derive(Debug)]
pub(in crate::sim::nic) struct Paths {
    contexts: u32,
    in_use: u32,
    /// True for each QP that has had its context.
    known: Vec<bool>,
}

impl Paths {
    /// For a NIC with so many QPs.
    pub(in crate::sim::nic) fn new(apm: &Apm, qps: usize) -> Self {
        Self { contexts: apm.contexts, in_use: 0, known: vec![false; qps] }
    }

    /// Returns true if a packet for a QP is the first one that needs a context.
    #[inline]
    fn needs_context(&self, packet: &Packet, qp: u32) -> bool {
        let asks = self.contexts > 0 && !packet.mig_req && !packet.corrupt;
        asks && self.known.get(qp as usize) == Some(&false)
    }

    /// Returns true if a packet for a QP, and all behind it, must wait for a context.
    #[inline]
    pub(in crate::sim::nic) fn hold(&self, packet: &Packet, qp: u32) -> bool {
        self.in_use >= self.contexts && self.needs_context(packet, qp)
    }

    /// A packet for a QP passes; whether it takes a context.
    #[inline]
    pub(in crate::sim::nic) fn pass(&mut self, packet: &Packet, qp: u32) -> bool {
        let takes = self.needs_context(packet, qp);
        if takes {
            self.known[qp as usize] = true;
            self.in_use += 1;
        }
        takes
    }

    /// A context is free again.
    pub(in crate::sim::nic) const fn resolved(&mut self) {
        self.in_use -= 1;
    }
}
