//! A NIC alone: requests and packets go in one at a time, packets and completions come out.
//!
//! Two NICs are made as the ends of the same QPs, so that one makes the packets that the other is tested with.

mod orders;
mod receive;
mod recovery;
mod requester;
mod responder;
mod selective;
mod transmit;

use corpus::{Ets, Verb};
use dumper::observation::CompletionStatus;
use dumper::wire::{AethRepr, NakCode, Opcode, RethRepr, Syndrome};
use dumper::{Nanos, Psn};

use super::{Attributes, HostEvent, Nic, QpSetup, Stat, Work};
use crate::NicProfile;
use crate::profile::{Reorder, Span};
use crate::sim::packet::Packet;
use crate::sim::random::stream;

/// First PSNs of the requests of one end, and of the other.
const FIRST_PSNS: [u32; 2] = [100, 200];

/// Number of QP 0 at both ends.
const FIRST_QPN: u32 = 0x40;

/// Bytes of a packet's payload.
const MTU: u32 = 1_024;

/// The ACK timer: timeout 1 (IBA vol. 1, 9.7.6.1.3), in ns.
const T: u64 = 8_192;

/// Latencies of NAKs and of the reactions to them in the default profile, in ns.
const NACK: u64 = 2_000;

/// Description of the NICs of a test.
struct Setup {
    profile: NicProfile,
    attributes: Attributes,
    /// Traffic class of each QP.
    classes: Vec<u8>,
    ets: Option<Ets>,
    message_size: u32,
}

impl Setup {
    /// NICs with so many QPs of class 0.
    fn qps(qps: usize) -> Self {
        let mut profile = NicProfile::default();
        (profile.timeout.first, profile.timeout.further) = (Span::exactly(1.0), Span::exactly(1.0));
        let attributes = Attributes {
            mtu: MTU,
            timeout: 1,
            retry_cnt: 2,
            rnr_retry: 1,
            min_rnr_timer: 1,
            max_rd_atomic: 2,
            recv_depth: 1,
            reacts: true,
            notifies: true,
            cnp_interval: Nanos::ZERO,
            slow_restart: true,
            selective_repeat: false,
            adaptive: false,
            bounds_flight: false,
        };
        Self { profile, attributes, classes: vec![0; qps], ets: None, message_size: 4 * MTU }
    }

    /// The same with a reorder engine, and so with selective repeat.
    fn selective(qps: usize, reorder: Reorder) -> Self {
        let mut setup = Self::qps(qps);
        setup.profile.reorder = reorder;
        setup.attributes.selective_repeat = true;
        setup
    }

    /// The NIC whose requests have the lower PSNs.
    fn nic(&self) -> Alone {
        self.end(FIRST_PSNS)
    }

    /// The NIC at the other end.
    fn peer(&self) -> Alone {
        let [own, other] = FIRST_PSNS;
        self.end([other, own])
    }

    fn end(&self, [own, other]: [u32; 2]) -> Alone {
        let setup = |(class, number): (&u8, u32)| QpSetup {
            first_psn: Psn::new(own),
            peer_first_psn: Psn::new(other),
            peer_qpn: FIRST_QPN + number,
            class: *class,
            traffic_class: 0b10,
            ipv6: false,
            messages: 8,
            message_size: self.message_size,
            dummies: super::Dummies::Behind(0),
        };
        let qps: Vec<QpSetup> = self.classes.iter().zip(0..).map(setup).collect();
        let (profile, rng) = (self.profile.clone(), stream(0, "nic"));
        let nic =
            Nic::new(profile, self.attributes, (self.ets.as_ref(), None, false), FIRST_QPN, 1, &qps, rng);
        Alone { nic, now: Nanos::ZERO, posted: 0 }
    }
}

/// A NIC, and the time.
struct Alone {
    nic: Nic,
    now: Nanos,
    posted: u32,
}

impl Alone {
    /// The host posts its next request on QP 0.
    fn posts(&mut self, verb: Verb, bytes: u32) {
        self.posts_on(0, verb, bytes);
    }

    /// The host posts its next request on a QP.
    fn posts_on(&mut self, qp: u32, verb: Verb, bytes: u32) {
        let message = self.posted;
        self.posted += 1;
        self.nic.post(self.now, Work::Post { qp, message, verb, bytes, dummies: 0 });
    }

    /// Packets arrive.
    fn receives(&mut self, packets: impl IntoIterator<Item = Packet>) {
        for packet in packets {
            let packet = Packet { frame_len: packet.frame_len_over(false), ..packet };
            self.nic.receive(self.now, &packet);
        }
    }

    /// So many ns go by.
    fn waits(&mut self, ns: u64) {
        let until = self.now + Nanos(ns);
        while let Some(at) = self.nic.poll_timeout().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.nic.handle_timeout(self.now);
        }
        self.now = until;
    }

    /// The packets that it sends now.
    fn packets(&mut self) -> Vec<Packet> {
        let mut packets = Vec::new();
        while self.nic.next_transmit(self.now).is_some_and(|at| at <= self.now) {
            packets.extend(self.nic.poll_transmit(self.now));
            assert!(packets.len() < 1_000, "it sends without end");
        }
        packets
    }

    /// The packets that it sends now, as text: opcode or syndrome, PSN, and QP if it is not the first.
    fn sends(&mut self) -> Vec<String> {
        self.packets().iter().map(text).collect()
    }

    /// The requests that have completed since the last call.
    fn completes(&mut self) -> Vec<(u32, CompletionStatus)> {
        let mut events = Vec::new();
        self.nic.take_events(&mut events);
        let completed = |event| match event {
            HostEvent::Completed { message, status, .. } => Some((message, status)),
            HostEvent::Received { .. } | HostEvent::Written { .. } => None,
        };
        events.into_iter().filter_map(completed).collect()
    }

    fn counted(&self, stat: Stat) -> u64 {
        self.nic.stats().of(stat)
    }
}

/// A packet as text.
fn text(packet: &Packet) -> String {
    let name = match (packet.opcode, packet.aeth.syndrome) {
        (Opcode::Acknowledge, Syndrome::Ack(_)) => "ACK".to_owned(),
        (Opcode::Acknowledge, Syndrome::RnrNak(_)) => "RNR NAK".to_owned(),
        (Opcode::Acknowledge, Syndrome::Nak(NakCode::PsnSequenceError)) => "NAK".to_owned(),
        (Opcode::Acknowledge, Syndrome::Nak(code)) => format!("{code:?}"),
        (opcode, _) => opcode.to_string(),
    };
    let qp = if packet.qp == 0 { String::new() } else { format!(" of QP {}", packet.qp) };
    format!("{name} {}{qp}", packet.psn.value())
}

/// An acknowledgement with a PSN, for QP 0.
fn acknowledge(psn: u32, syndrome: Syndrome) -> Packet {
    Packet {
        qp: 0,
        dest_qpn: FIRST_QPN,
        opcode: Opcode::Acknowledge,
        psn: Psn::new(psn),
        ack_req: false,
        becn: false,
        mig_req: true,
        traffic_class: 0b10,
        payload: 0,
        aeth: AethRepr { syndrome, msn: 0 },
        reth: RethRepr::default(),
        content: 0,
        corrupt: false,
        undeliverable: false,
        frame_len: 0,
    }
}

/// An ACK of everything up to a PSN.
fn ack(psn: u32) -> [Packet; 1] {
    [acknowledge(psn, Syndrome::Ack(AethRepr::NO_CREDITS))]
}

/// A NAK for a PSN.
fn nak(psn: u32) -> [Packet; 1] {
    [acknowledge(psn, Syndrome::Nak(NakCode::PsnSequenceError))]
}
