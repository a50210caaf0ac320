//! Sending of a NIC: the packet of the QP whose turn it is, unless the QP's reaction point holds it back.

use dumper::wire::{AethRepr, CNP_PAYLOAD_LEN, Opcode, RethRepr, Syndrome, cnp_bth};
use dumper::{Nanos, Psn};

use crate::sim::nic::Nic;
use crate::sim::nic::context::Half;
use crate::sim::nic::context::Job;
use crate::sim::nic::quirks::Activity;
use crate::sim::nic::stats::Stat;
use crate::sim::packet::Packet;

impl Nic {
    /// The next packet to send.
    #[inline]
    pub(in crate::sim) fn poll_transmit(&mut self, now: Nanos) -> Option<Packet> {
        if let Some(cnp) = self.transmitter.next_cnp() {
            return Some(self.sent(cnp));
        }
        while let Some((qp, half)) = self.transmitter.next_turn(now) {
            if self.is_held(qp, half, now) || self.lacks_credit(qp, half) {
                self.transmitter.turn_taken(qp, half, false, false);
                continue;
            }
            let blank = self.blank(qp);
            let max_reads = self.attributes.max_rd_atomic;
            let activity = match half {
                Half::Requester => Activity::Request,
                Half::Responder => Activity::Answer,
            };
            let (end, mut cx) = self.at(qp, now, activity);
            let (packet, more) = match half {
                Half::Requester => {
                    let packet = end.requester.next_packet(blank, &mut cx);
                    (packet, end.requester.is_ready(max_reads))
                }
                Half::Responder => {
                    let packet = end.responder.next_packet(blank, &mut cx);
                    (packet, end.responder.is_ready(&mut cx))
                }
            };
            self.transmitter.turn_taken(qp, half, packet.is_some(), more);
            if let Some(packet) = packet {
                self.take_credit(&packet, half);
                let packet = self.sent(packet);
                self.transmitter.sent(qp, packet.cable_len(), now);
                let reaction = self.qps[qp as usize].reaction.as_mut();
                if let Some(reaction) = reaction.filter(|_| packet.opcode.class().is_data()) {
                    reaction.on_data(now, packet.cable_len());
                }
                return Some(packet);
            }
            if let Some(next) = self.credit.as_mut().and_then(|credit| credit.next_waiting()) {
                // The turn is for one that waits for room.
                self.transmitter.enqueue(next, Half::Requester);
            }
        }
        None
    }

    /// A packet as it is sent, which is counted.
    #[inline]
    fn sent(&mut self, mut packet: Packet) -> Packet {
        self.stats.count(Stat::PacketsSent);
        packet.frame_len = packet.frame_len_over(self.qps[packet.qp as usize].ipv6);
        packet
    }

    /// Returns true if a QP has data to send that its reaction point holds back; the timer of the next attempt runs.
    #[inline]
    fn is_held(&mut self, qp: u32, half: Half, now: Nanos) -> bool {
        let end = &mut self.qps[qp as usize];
        let Some(reaction) = &mut end.reaction else { return false };
        let is_data = match half {
            Half::Requester => end.requester.sends_data_next(),
            Half::Responder => end.responder.sends_data_next(),
        };
        let Some(until) = reaction.holds_until(now).filter(|_| is_data) else { return false };
        self.agenda.set(&mut end.hold, until, Job::HoldOver(qp));
        true
    }

    /// Returns true if the next packet of a QP is data that the NIC has no room to keep; the QP then waits for it. What is sent again has
    /// its room.
    #[inline]
    fn lacks_credit(&mut self, qp: u32, half: Half) -> bool {
        let Some(credit) = &mut self.credit else { return false };
        let requester = &self.qps[qp as usize].requester;
        half == Half::Requester && requester.sends_new_data_next() && credit.holds(qp, self.attributes.mtu)
    }

    /// A packet is kept until it is acknowledged, if it is data that was not sent before.
    #[inline]
    fn take_credit(&mut self, packet: &Packet, half: Half) {
        let Some(credit) = &mut self.credit else { return };
        if half == Half::Requester && packet.opcode.class().is_data() {
            let sent = self.qps[packet.qp as usize].requester.recovery.sent();
            credit.sent(packet.qp, sent, packet.payload.into());
        }
    }

    /// Queues a CNP to the other end of a QP.
    pub(in crate::sim::nic) fn send_cnp(&mut self, qp: u32) {
        let blank = self.blank(qp);
        let bth = cnp_bth(blank.dest_qpn);
        let cnp = Packet {
            opcode: bth.opcode,
            psn: bth.psn,
            becn: bth.becn,
            payload: CNP_PAYLOAD_LEN as u16,
            // Not ECN-capable: a CNP is not to be marked itself.
            traffic_class: blank.traffic_class & !0b11,
            ..blank
        };
        self.stats.count(Stat::CnpsSent);
        self.transmitter.push_cnp(cnp);
    }

    /// A packet of a QP with nothing in it yet.
    fn blank(&self, qp: u32) -> Packet {
        let end = &self.qps[qp as usize];
        Packet {
            qp,
            dest_qpn: end.peer_qpn,
            opcode: Opcode::Acknowledge,
            psn: Psn::new(0),
            ack_req: false,
            becn: false,
            mig_req: self.profile.transmit.mig_req,
            traffic_class: end.traffic_class,
            payload: 0,
            aeth: AethRepr { syndrome: Syndrome::Ack(0), msn: 0 },
            reth: RethRepr { remote_key: end.remote_key, ..RethRepr::default() },
            content: 0,
            corrupt: false,
            undeliverable: false,
            frame_len: 0,
        }
    }
}
