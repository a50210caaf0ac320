//! A queue pair: one connection's end.

use dumper::Psn;
use dumper::wire::Class;

use super::memory::{Memory, REMOTE_KEY};
use super::requester::Requester;
use super::responder::{Dummies, Responder};
use crate::NicProfile;
use crate::sim::agenda::Timer;
use crate::sim::nic::congestion::ReactionPoint;
use crate::sim::nic::context::{Attributes, Context, Half};
use crate::sim::nic::reorder::Bitmap;
use crate::sim::packet::Packet;

/// A queue pair.
#[derive(Debug)]
pub(in crate::sim) struct Qp {
    pub(in crate::sim) requester: Requester,
    pub(in crate::sim) responder: Responder,
    /// QP number of the other end.
    pub(in crate::sim::nic) peer_qpn: u32,
    /// Traffic class that its packets go out in.
    pub(in crate::sim::nic) class: u8,
    /// Bytes of each message.
    pub(in crate::sim::nic) message_size: u32,
    /// DSCP and ECN of its packets.
    pub(in crate::sim::nic) traffic_class: u8,
    /// True if its packets have IPv6 headers.
    pub(in crate::sim::nic) ipv6: bool,
    /// Its rate, once it has had a CNP.
    pub(in crate::sim::nic) reaction: Option<Box<ReactionPoint>>,
    /// Runs while the reaction point holds its data back.
    pub(in crate::sim) hold: Timer,
    /// Key of the memory at the other end.
    pub(in crate::sim::nic) remote_key: u32,
}

impl Qp {
    pub(in crate::sim::nic) fn new(setup: &QpSetup, attributes: &Attributes, profile: &NicProfile) -> Self {
        let reorder = attributes.selective_repeat.then_some(&profile.reorder);
        let window = profile.requester.window_packets;
        let memory = || Memory::new(setup.messages, setup.message_size);
        Self {
            requester: Requester::new(setup.first_psn, memory(), window, reorder),
            responder: Responder::new(
                setup.peer_first_psn,
                setup.dummies,
                memory(),
                attributes.recv_depth,
                reorder,
            ),
            peer_qpn: setup.peer_qpn,
            class: setup.class,
            message_size: setup.message_size,
            traffic_class: setup.traffic_class,
            ipv6: setup.ipv6,
            reaction: None,
            hold: Timer::default(),
            remote_key: REMOTE_KEY,
        }
    }

    /// The half of the QP that receives the data of a packet, and the packet's distance from the first missing one there; none with go-back-N,
    /// or of a packet that is there already.
    pub(in crate::sim::nic) fn place(&mut self, packet: &Packet) -> Option<(Half, u32)> {
        match packet.opcode.class() {
            Class::Request(..) | Class::ReadRequest => {
                self.responder.distance(packet).map(|distance| (Half::Responder, distance))
            }
            Class::ReadResponse(_) => {
                self.requester.distance(packet).map(|distance| (Half::Requester, distance))
            }
            _ => None,
        }
    }

    /// Offset of the first missing packet of data that a half receives, and the bitmap of those beyond it; none with go-back-N.
    pub(in crate::sim::nic) fn bitmap(&self, half: Half) -> Option<(u32, Bitmap)> {
        match half {
            Half::Requester => self.requester.bitmap(),
            Half::Responder => self.responder.bitmap(),
        }
    }

    /// Returns true if CNPs keep its rate below that of the link.
    #[inline]
    pub(in crate::sim) fn is_slowed(&self) -> bool {
        self.reaction.as_ref().is_some_and(|reaction| reaction.is_slowed())
    }

    /// A CNP has come.
    pub(in crate::sim::nic) fn slow_down(&mut self, cx: &Context<'_>) {
        if cx.attributes.reacts {
            let (constants, rate) = (cx.profile.reaction, cx.profile.link.rate_gbps);
            let new = || Box::new(ReactionPoint::new(constants, rate, cx.now));
            self.reaction.get_or_insert_with(new).on_cnp(cx.now);
        }
    }
}

/// Setup of a QP.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct QpSetup {
    /// First PSN of the requests that this end sends.
    pub(in crate::sim) first_psn: Psn,
    /// First PSN of the requests that the other end sends.
    pub(in crate::sim) peer_first_psn: Psn,
    /// QP number of the other end.
    pub(in crate::sim) peer_qpn: u32,
    /// Traffic class that its packets go out in.
    pub(in crate::sim) class: u8,
    /// DSCP and ECN of its packets.
    pub(in crate::sim) traffic_class: u8,
    /// True if its packets have IPv6 headers.
    pub(in crate::sim) ipv6: bool,
    /// Messages that its requester posts.
    pub(in crate::sim) messages: u32,
    /// Bytes of each message.
    pub(in crate::sim) message_size: u32,
    /// Dummies that its responder takes.
    pub(in crate::sim) dummies: Dummies,
}
