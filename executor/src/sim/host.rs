//! A host: its NIC, and the NIC's way to the cable.

use dumper::Nanos;
use dumper::wire::{Class, Opcode};

use super::agenda::sooner;
use super::host_id::HostId;
use super::network::{Network, Pause};
use super::nic::{Eswitch, Nic, Stat};
use super::ovs::Ovs;
use super::packet::Packet;
use super::traffic::TrafficGenerators;

/// A host of the network.
pub(super) struct Host {
    pub(super) nic: Nic,
    /// Its software for the NIC's flow table, if the NIC has one that makes a difference; apart, as few tests have it.
    pub(super) ovs: Option<Box<Ovs>>,
    /// Time at which the cable can take the next packet, in ps.
    cable_free: u64,
    /// Time at which the transmit pipeline has room for it.
    room: Nanos,
    /// Time at which the NIC can schedule the next packet.
    scheduler_free: Nanos,
    /// True while the switch pauses it.
    is_paused: bool,
    /// Length of the transmit pipeline, in ps: the NIC schedules packets so far ahead of the cable.
    pipeline_ps: u64,
}

/// A packet that a host has sent.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    /// Its QP at the host.
    pub(super) qp: u32,
    pub(super) opcode: Opcode,
}

impl Host {
    /// A host that has sent nothing.
    pub(super) fn new(nic: Nic, ovs: Option<Ovs>) -> Self {
        let profile = nic.profile();
        // Look-ups go on while a packet is on the cable: one more waits for it than are looked up at a time.
        let waiting = if nic.eswitch.is_some() { 1 + u64::from(profile.eswitch.lookups) } else { 0 };
        let looked_up_bytes = waiting * u64::from(nic.attributes().mtu);
        let ahead = profile.transmit.pipeline_bytes.max(looked_up_bytes);
        let pipeline_ps = ahead * 8_000 / u64::from(profile.link.rate_gbps);
        Self {
            nic,
            ovs: ovs.map(Box::new),
            cable_free: 0,
            room: Nanos::ZERO,
            scheduler_free: Nanos::ZERO,
            is_paused: false,
            pipeline_ps,
        }
    }

    /// Returns true if nothing passes its port.
    #[inline]
    fn is_cut_off(&self) -> bool {
        self.ovs.as_ref().is_some_and(|ovs| ovs.is_cut_off())
    }

    /// Time at which its NIC has something to do.
    #[inline]
    pub(super) fn next_timeout(&self) -> Option<Nanos> {
        if self.ovs.as_ref().is_some_and(|ovs| ovs.is_gone()) { None } else { self.nic.poll_timeout() }
    }

    /// Time of the next action of its software for the flow table.
    #[inline]
    pub(super) fn next_control(&self) -> Option<Nanos> {
        self.ovs.as_ref().and_then(|ovs| ovs.next_at())
    }

    /// Its software for the flow table does what is due.
    pub(super) fn control(&mut self, now: Nanos, generators: &mut TrafficGenerators) {
        if let (Some(ovs), Some(eswitch)) = (&mut self.ovs, &mut self.nic.eswitch) {
            ovs.handle(now, eswitch, generators);
        }
    }

    /// Its software for the flow table sees what its NIC has done.
    #[inline]
    pub(super) fn look(&mut self, now: Nanos, generators: &TrafficGenerators) {
        if let (Some(ovs), Some(eswitch)) = (&mut self.ovs, &mut self.nic.eswitch) {
            ovs.look(now, eswitch, generators);
        }
    }

    /// Its NIC takes a packet, unless the host is cut off.
    #[inline]
    pub(super) fn receive(&mut self, now: Nanos, packet: &Packet) {
        if !self.is_cut_off() {
            self.nic.receive(now, packet);
        }
    }

    /// Time at which [`Host::transmit`] may have a packet.
    #[inline]
    pub(super) fn next_transmit(&self, now: Nanos) -> Option<Nanos> {
        if self.is_paused || self.is_cut_off() {
            return None;
        }
        match &self.nic.eswitch {
            None => self.next_scheduled(now),
            Some(eswitch) => sooner(self.next_looked_up(eswitch, now), eswitch.next_egress()),
        }
    }

    /// Time at which the NIC may schedule a packet, if its own switch can take it.
    #[inline(always)]
    fn next_scheduled(&self, now: Nanos) -> Option<Nanos> {
        Some(self.nic.next_transmit(now)?.max(self.room).max(self.scheduler_free))
    }

    /// The same, where the NIC's own switch looks the packet up.
    #[inline]
    fn next_looked_up(&self, eswitch: &Eswitch, now: Nanos) -> Option<Nanos> {
        Some(self.next_scheduled(now)?.max(eswitch.takes_from()))
    }

    /// The switch pauses this host, or no more.
    pub(super) fn pause(&mut self, pause: Pause, now: Nanos, network: &mut Network) {
        self.is_paused = pause.begins;
        if pause.begins {
            self.nic.count(Stat::PausesReceived);
            network.pause(pause.host, now);
        } else if let Some(free) = network.resume(pause.host, now.0 * 1_000) {
            self.cable_free = free;
            self.room = self.room_until(free);
        }
    }

    /// The receive buffer may pause the switch.
    pub(super) fn control_flow(&mut self, own: HostId, now: Nanos, network: &mut Network) {
        if network.note_buffer(own, self.nic.receive_buffer().bytes, now) {
            self.nic.count(Stat::PausesSent);
        }
    }

    /// Time from which on the transmit pipeline has room, if the cable is free from a time on, in ps.
    const fn room_until(&self, cable_free: u64) -> Nanos {
        Nanos(cable_free.saturating_sub(self.pipeline_ps).div_ceil(1_000))
    }

    /// Sends the next packet from this host; with a switch of its own, packets that were looked up go on the cable, and the next one is
    /// looked up.
    #[inline]
    pub(super) fn transmit(&mut self, own: HostId, now: Nanos, network: &mut Network) -> Option<Sent> {
        while let Some(packet) = self.nic.eswitch.as_mut().and_then(|eswitch| eswitch.take_egress(now)) {
            self.put_on_cable(own, packet, now, network);
        }
        if let Some(eswitch) = &self.nic.eswitch
            && self.next_looked_up(eswitch, now).is_none_or(|at| at > now)
        {
            return None;
        }
        let packet = self.nic.poll_transmit(now)?;
        self.scheduler_free = now + Nanos(self.nic.profile().transmit.packet_ns);
        match &mut self.nic.eswitch {
            None => self.put_on_cable(own, packet, now, network),
            Some(eswitch) => eswitch.leaves(packet, now),
        }
        Some(Sent { qp: packet.qp, opcode: packet.opcode })
    }

    /// A packet goes on the cable.
    #[inline(always)]
    fn put_on_cable(&mut self, own: HostId, packet: Packet, now: Nanos, network: &mut Network) {
        let start = (now.0 * 1_000).max(self.cable_free);
        // CNPs do not wait in the pipeline: their distances are kept.
        let passes = packet.opcode.class() == Class::Cnp && self.pipeline_ps > 0;
        let delay = if passes { network.send_past(own, packet, now) } else { None };
        self.cable_free = match delay {
            Some(delay) => start + delay,
            None => network.send(own, packet, start),
        };
        self.room = self.room_until(self.cable_free);
    }
}
