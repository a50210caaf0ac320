//! Losses at random, over the links of a direction (docs/network.md).

use corpus::{ControlPacket, LossEffect, LossModel, Network, PacketKinds, Role, TestConfig};
use dumper::Psn;

use super::keyed::{Draws, Stage, draw};
use crate::flow::{FlowIndex, Registers};
use crate::sent::Lost;
use crate::{Kind, Packet};

/// Losses of one flow, as a test has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossRule {
    /// Seed of the draws.
    pub seed: u64,
    /// Packets of the reference size that a link loses, of 10^9.
    pub ppb: u32,
    /// Reference size in bytes, with frame check sequence; 0 where packets of any size are lost alike.
    pub reference: u16,
    /// Links, one behind the other.
    pub links: u8,
    /// Probability, in percent, that a link loses packets at all.
    pub corrupted_percent: u8,
    /// Kinds that can be lost.
    pub kinds: PacketKinds,
    /// A lost packet leaves with a wrong ICRC, instead of not at all.
    pub corrupts: bool,
    /// Data packets of the flow's connection without retransmissions. Packets beyond are not the test's and are not lost.
    pub packets: u32,
    /// Those of one message.
    pub packets_per_message: u32,
}

impl LossRule {
    /// The losses of a flow of a test; none if its packets are not lost.
    #[must_use]
    pub fn of(config: &TestConfig, flow: FlowIndex) -> Option<Self> {
        let network = &config.network;
        if !network.loses_on(flow.connection()) || !network.loss_direction.has(flow.towards()) {
            return None;
        }
        let Network {
            loss_ppb,
            loss_model,
            links,
            corrupted_links_percent,
            loss_packets,
            loss_effect,
            seed,
            ..
        } = network;
        let shape = config.traffic.shape();
        Some(Self {
            seed: seed.unwrap_or(config.traffic.seed),
            ppb: *loss_ppb,
            reference: match loss_model {
                // The field's bounds are within 16 bits.
                LossModel::PerBit => network.reference_bytes(config.traffic.mtu.bytes()) as u16,
                LossModel::PerPacket => 0,
            },
            links: *links,
            corrupted_percent: *corrupted_links_percent,
            kinds: *loss_packets,
            corrupts: *loss_effect == LossEffect::Corrupt,
            // A valid test has at most 2^22 packets.
            packets: shape.packets() as u32,
            // Where dummies wait for time to pass, packets are known by their place in the connection alone.
            packets_per_message: match config.traffic.times_dummies() {
                true => shape.packets() as u32,
                false => shape.packets_per_message(),
            },
        })
    }

    /// Probability that one link which loses packets loses one of so many bytes, without frame check sequence.
    #[must_use]
    pub fn probability(&self, frame_bytes: u32) -> f64 {
        let beta = f64::from(self.ppb) / 1e9;
        match self.reference {
            0 => beta,
            reference => {
                let bytes = (frame_bytes + FCS).max(SHORTEST_FRAME);
                -(f64::from(bytes) / f64::from(reference) * (-beta).ln_1p()).exp_m1()
            }
        }
    }
}

/// Bytes of the frame check sequence.
const FCS: u32 = 4;
/// Bytes of the shortest Ethernet frame, with frame check sequence (IEEE 802.3, 4A.4.2).
const SHORTEST_FRAME: u32 = 64;

/// A flow's losses, and what they depend on.
#[derive(Clone, Debug)]
struct FlowLoss {
    rule: LossRule,
    /// The draws of its packets.
    draws: Draws,
    /// PSN of the connection's first packet.
    initial: Psn,
    /// The message of the last packet, from 0, and the place of its first packet: most packets need no division.
    message: (u32, u32),
    /// A bit for each link that loses packets.
    corrupted: u16,
    /// Draws below are losses, for each size that was seen.
    thresholds: Vec<(u32, u64)>,
    /// By kind: how often each packet was seen.
    seen: [Seen; PacketKinds::NAMES.len()],
}

/// How often each packet of a kind was seen, by its place in the connection. Nearly all are seen once, in their order: a number says
/// that of all of them.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Packets before this place were seen once, and once more for each time in `more`.
    in_order: u32,
    more: Vec<u32>,
}

impl Seen {
    /// Counts a packet: how often it was seen by now.
    #[inline]
    fn count(&mut self, place: u32) -> u32 {
        let at = place as usize;
        if place == self.in_order && at >= self.more.len() {
            self.in_order += 1;
            return 1;
        }
        if self.more.len() <= at {
            self.more.resize(at + 1, 0);
        }
        let more = &mut self.more[at];
        *more = more.saturating_add(1);
        more.saturating_add(u32::from(place < self.in_order))
    }
}

/// The draws of one packet, without copy and link, which are part of the last word.
#[derive(Clone, Copy, Debug)]
struct PacketKey {
    draws: Draws,
    rest: u64,
}

/// Number of the first copy that the network makes, in the keys of draws: a packet has fewer duplicates.
const FIRST_COPY: u8 = 16;

/// The stage, with the state of every flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loss {
    /// By flow; empty where nothing is lost.
    flows: Vec<Option<FlowLoss>>,
}

impl Loss {
    /// The stage before the first packet, of rules and registers by flow.
    pub(crate) fn new(rules: &[Option<LossRule>], registers: &[Registers]) -> Self {
        if rules.iter().all(Option::is_none) {
            return Self::default();
        }
        let flow = |(index, (rule, registers)): (usize, (&Option<LossRule>, &Registers))| {
            let rule = (*rule)?;
            let (initial, ..) = registers.rounds.started();
            let towards = FlowIndex::at(index as u32).towards();
            Some(FlowLoss {
                rule,
                draws: Draws::new(rule.seed, Stage::Loss),
                initial,
                message: (0, 0),
                corrupted: corrupted_links(&rule, towards),
                thresholds: Vec::new(),
                seen: Default::default(),
            })
        };
        Self { flows: rules.iter().zip(registers).enumerate().map(flow).collect() }
    }

    /// Returns true if some flow loses packets.
    #[inline]
    pub(crate) const fn is_on(&self) -> bool {
        !self.flows.is_empty()
    }

    /// What is lost of the packets that would leave for one of a flow, each for itself, and whether it leaves with a wrong ICRC
    /// instead; none if nothing is.
    #[inline]
    pub(crate) fn of(
        &mut self,
        flow: FlowIndex,
        packet: Packet,
        originals: u8,
        copies: u8,
    ) -> Option<(Lost, bool)> {
        let loss = self.flows.get_mut(flow.index())?.as_mut()?;
        let key = loss.key(flow, packet)?;
        let threshold = loss.threshold(packet.frame_bytes);
        if originals == 1 && copies == 0 && !loss.loses(&key, 0, threshold) {
            // Nearly all packets.
            return None;
        }
        let mut lost = 0;
        for original in 0..originals {
            lost += u8::from(loss.loses(&key, original, threshold));
        }
        let mut lost_copies = 0;
        for copy in ones(copies.into()) {
            lost_copies |= u8::from(loss.loses(&key, FIRST_COPY + copy, threshold)) << copy;
        }
        let all_originals = lost > 0 && lost == originals;
        let lost = Lost { originals: lost, all_originals, copies: lost_copies };
        (lost.originals > 0 || lost.copies > 0).then_some((lost, loss.rule.corrupts))
    }
}

/// The places of the bits that are set, ascending.
fn ones(bits: u16) -> impl Iterator<Item = u8> {
    let rest = std::iter::successors(Some(bits), |left| Some(left & left.wrapping_sub(1)));
    rest.take_while(|left| *left != 0).map(|left| left.trailing_zeros() as u8)
}

impl FlowLoss {
    /// The draws of a packet, without copy and link; none for packets that are not lost.
    #[inline]
    fn key(&mut self, flow: FlowIndex, packet: Packet) -> Option<PacketKey> {
        let kind = match packet.kind {
            Kind::Data { .. } => None,
            Kind::Control(packet) => Some(packet),
            Kind::Other => return None,
        };
        if !self.rule.kinds.contains(kind) {
            return None;
        }
        let place = match kind {
            // A CNP has no PSN of its own.
            Some(ControlPacket::Cnp) => 0,
            _ => packet.psn.relative_to(self.initial) - 1,
        };
        if place >= self.rule.packets {
            return None;
        }
        let kind = PacketKinds::place(kind);
        let times = self.seen[kind].count(place);
        // Messages are numbered, not PSNs, as other packets may take PSNs between them.
        let per_message = self.rule.packets_per_message.max(1);
        if place.wrapping_sub(self.message.1) >= per_message {
            let message = place / per_message;
            self.message = (message, message * per_message);
        }
        let (message, first) = self.message;
        let number = u64::from(message) << 32 | u64::from(place - first);
        let rest = flow.key() << 48 | (kind as u64) << 45 | u64::from(times);
        Some(PacketKey { draws: self.draws.with(number), rest })
    }

    /// True if one of the packets that leave for another is lost on one of the links: the packet itself is 0, its duplicates follow, and
    /// the network's copies from [`FIRST_COPY`] on.
    #[inline]
    fn loses(&self, PacketKey { draws, rest }: &PacketKey, copy: u8, threshold: u64) -> bool {
        ones(self.corrupted)
            .any(|link| draws.with(rest ^ u64::from(copy) << 40 ^ u64::from(link) << 36).number() < threshold)
    }

    /// Draws below are losses of a packet of this size.
    #[inline]
    fn threshold(&mut self, frame_bytes: u32) -> u64 {
        if let Some((_, threshold)) = self.thresholds.iter().find(|(size, _)| *size == frame_bytes) {
            return *threshold;
        }
        // The cast saturates where the probability rounds to 1.
        let threshold = (self.rule.probability(frame_bytes) * 2f64.powi(64)) as u64;
        if self.thresholds.len() < SIZES {
            self.thresholds.push((frame_bytes, threshold));
        }
        threshold
    }
}

/// Sizes of packets whose probabilities are kept for a flow: a test has fewer.
const SIZES: usize = 16;

/// A bit for each link of a direction that loses packets in this test.
fn corrupted_links(rule: &LossRule, towards: Role) -> u16 {
    let loses = |link: &u8| {
        let drawn = draw(rule.seed, Stage::Links, [towards as u64, u64::from(*link)]);
        // Of a hundred parts, which 128 bits hold.
        u128::from(drawn) * 100 < u128::from(rule.corrupted_percent) << 64
    };
    (0..rule.links.min(16)).filter(loses).fold(0, |bits, link| bits | 1 << link)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packets_are_counted_in_any_order(steps in proptest::collection::vec((0..3u32, 0..12u32), 0..60)) {
            let (mut seen, mut counts, mut next) = (Seen::default(), HashMap::<u32, u32>::new(), 0);
            for (step, any) in steps {
                let place = if step == 0 { any } else { next };
                next = place + 1;
                let count = counts.entry(place).or_default();
                *count += 1;
                prop_assert_eq!(seen.count(place), *count);
            }
        }
    }
}
