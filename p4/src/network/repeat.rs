//! Copies of packets whose loss costs a time-out: sequence NAKs, the packets that they ask for, ends of messages (docs/network.md).

use corpus::{ControlPacket, Repeat, RepeatMatch, Role};
use dumper::Psn;

use crate::action::ALL_COPIES;
use crate::flow::FlowIndex;
use crate::{Kind, Packet, Sent};

/// PSNs that the stage remembers, each at its low bits: a register array of that many cells.
pub const REMEMBERED: usize = 1 << 12;

/// A PSN that a NAK has asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Asked {
    psn: Psn,
    /// The flow of its packet, where that counts.
    flow: Option<FlowIndex>,
}

/// The stage, with the PSNs that NAKs have asked for.
#[derive(Clone, Debug)]
pub(crate) struct Repeats {
    repeat: Repeat,
    is_on: bool,
    /// By the low bits of the PSN; empty where retransmissions are not copied. The newest wins.
    asked: Vec<Option<Asked>>,
    /// Cells that have a PSN: mostly none.
    waiting: usize,
}

impl Repeats {
    /// The stage before the first packet.
    pub(crate) fn new(repeat: Repeat) -> Self {
        let cells = if repeat.retransmissions > 1 { REMEMBERED } else { 0 };
        Self { repeat, is_on: repeat.is_on(), asked: vec![None; cells], waiting: 0 }
    }

    /// Returns true if packets are copied.
    #[inline]
    pub(crate) const fn are_on(&self) -> bool {
        self.is_on
    }

    /// The copies that are made of a packet, a bit for each.
    #[inline]
    pub(crate) fn copies(&mut self, flow: FlowIndex, packet: Packet) -> u8 {
        let Repeat { naks, tails, retransmissions, .. } = self.repeat;
        let packets = match packet.kind {
            Kind::Control(ControlPacket::Nak) if packet.asks_again => naks,
            Kind::Data { ends, .. } => {
                let again = if self.take_asked(flow, packet.psn) { retransmissions } else { 1 };
                if ends { again.max(tails) } else { again }
            }
            Kind::Control(_) | Kind::Other => 1,
        };
        ALL_COPIES & ((1 << (packets.max(1) - 1)) - 1)
    }

    /// Takes note of a NAK that asks for a packet, if it leaves, itself or a copy of it.
    #[inline]
    pub(crate) fn left(&mut self, flow: FlowIndex, packet: Packet, sent: Sent) {
        let arrives = sent.copies > 0 || sent.leaving() > 0 && !sent.actions.corrupt;
        if arrives && flow.towards() == Role::Requester && !self.asked.is_empty() {
            let asked = self.asked_for(FlowIndex::new(flow.connection(), Role::Responder), packet.psn);
            let before = self.asked[cell(packet.psn)].replace(asked);
            self.waiting += usize::from(before.is_none());
        }
    }

    /// Returns true if a NAK has asked for a packet, once.
    #[inline]
    fn take_asked(&mut self, flow: FlowIndex, psn: Psn) -> bool {
        if self.waiting == 0 || flow.towards() == Role::Requester {
            return false;
        }
        let asked = self.asked_for(flow, psn);
        let is_asked = self.asked[cell(psn)].take_if(|known| *known == asked).is_some();
        self.waiting -= usize::from(is_asked);
        is_asked
    }

    fn asked_for(&self, flow: FlowIndex, psn: Psn) -> Asked {
        Asked { psn, flow: (self.repeat.matching == RepeatMatch::Connection).then_some(flow) }
    }
}

/// Cell of a PSN.
const fn cell(psn: Psn) -> usize {
    psn.value() as usize % REMEMBERED
}
