//! Paths between the hosts: which one a packet takes, and when it leaves there (docs/network.md).

use std::collections::VecDeque;

use corpus::{Path, Spray, SprayPackets, TestConfig};
use dumper::Nanos;

use super::keyed::{Draws, Stage};
use crate::flow::FlowIndex;
use crate::{Kind, Packet};

/// Bytes that a frame takes on a path besides those that are captured: frame check sequence, preamble, gap (IEEE 802.3).
const BESIDES: u64 = 4 + 8 + 12;

/// Paths of a test; none stands for one without delay.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathRule {
    /// The paths.
    pub paths: Vec<Path>,
    /// How packets are spread, if there are several.
    pub spread: Option<Spread>,
}

/// How packets are spread over several paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spread {
    /// The way.
    pub spray: Spray,
    /// Pause that begins another flowlet.
    pub gap: Nanos,
    /// Packets that are spread.
    pub packets: SprayPackets,
    /// Seed of the draws.
    pub seed: u64,
}

impl PathRule {
    /// The paths of a test.
    #[must_use]
    pub fn of(config: &TestConfig) -> Self {
        let network = &config.network;
        let spread = Spread {
            spray: network.spray,
            gap: Nanos(network.flowlet_gap_ns),
            packets: network.spray_packets,
            seed: network.seed.unwrap_or(config.traffic.seed),
        };
        Self { paths: network.paths.clone(), spread: (network.paths.len() > 1).then_some(spread) }
    }
}

/// One direction of a path.
#[derive(Clone, Debug, Default)]
struct Way {
    /// Time at which the packets before have left its queue, in ps.
    free_ps: u64,
    /// Times at which packets leave the queue, in ps, ascending.
    waiting: VecDeque<u64>,
}

/// Packets of a flow so far.
#[derive(Clone, Copy, Debug, Default)]
struct Sprayed {
    packets: u64,
    flowlets: u64,
    last: Option<Nanos>,
}

/// What becomes of a packet on its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passage {
    /// It leaves so much later.
    Later(Nanos),
    /// The queue is full.
    Full,
}

/// The stage, with the state of every flow and path.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    rule: PathRule,
    is_on: bool,
    /// Sum of the paths' weights.
    weights: u64,
    /// The draws of the packets' paths.
    draws: Draws,
    /// By path, and by the host that it leads to.
    ways: Vec<[Way; 2]>,
    flows: Vec<Sprayed>,
    /// Packets that took paths in turn, by the host that they went to.
    turns: [u64; 2],
}

impl Paths {
    /// The stage before the first packet, of so many flows.
    pub(crate) fn new(rule: &PathRule, flows: usize) -> Self {
        let is_on = rule.paths.iter().any(Path::delays);
        let flows = if is_on && rule.spread.is_some() { flows } else { 0 };
        let ways = rule.paths.iter().map(|_| Default::default()).collect();
        let weights = rule.paths.iter().map(|path| u64::from(path.weight)).sum();
        Self {
            rule: rule.clone(),
            is_on,
            weights,
            draws: Draws::new(rule.spread.map_or(0, |spread| spread.seed), Stage::Paths),
            ways,
            flows: vec![Sprayed::default(); flows],
            turns: [0; 2],
        }
    }

    /// Returns true if some path delays packets.
    #[inline]
    pub(crate) const fn are_on(&self) -> bool {
        self.is_on
    }

    /// A packet of a flow of which so many leave, all on one path.
    pub(crate) fn pass(&mut self, flow: FlowIndex, packet: Packet, leaving: u8, now: Nanos) -> Passage {
        let at = self.path_of(flow, packet, now);
        let Some(path) = self.rule.paths.get(at) else { return Passage::Later(Nanos::ZERO) };
        let way = &mut self.ways[at][flow.towards() as usize];
        if path.rate_gbps == 0 {
            return Passage::Later(Nanos(path.delay_ns));
        }
        let now_ps = now.0.saturating_mul(1_000);
        while way.waiting.front().is_some_and(|left| *left <= now_ps) {
            way.waiting.pop_front();
        }
        if way.waiting.len() + usize::from(leaving) > path.queue_packets as usize {
            return Passage::Full;
        }
        let bits = (u64::from(packet.frame_bytes) + BESIDES) * 8;
        let each = bits * 1_000 / u64::from(path.rate_gbps);
        way.free_ps = way.free_ps.max(now_ps);
        for _ in 0..leaving {
            way.free_ps = way.free_ps.saturating_add(each);
            way.waiting.push_back(way.free_ps);
        }
        Passage::Later(Nanos(way.free_ps.div_ceil(1_000)) - now + Nanos(path.delay_ns))
    }

    /// Place of the path that a packet takes.
    fn path_of(&mut self, flow: FlowIndex, packet: Packet, now: Nanos) -> usize {
        let Some(spread) = self.rule.spread else { return 0 };
        let is_spread = match spread.packets {
            SprayPackets::All => true,
            SprayPackets::Data => matches!(packet.kind, Kind::Data { .. }),
        };
        if !is_spread {
            return 0;
        }
        let sprayed = &mut self.flows[flow.index()];
        let number = sprayed.packets;
        sprayed.packets += 1;
        let last = sprayed.last.replace(now);
        let drawn = |number: u64| {
            let drawn = self.draws.with(flow.key()).with(number).number();
            ((u128::from(drawn) * u128::from(self.weights)) >> 64) as u64
        };
        let place = match spread.spray {
            Spray::Flow => drawn(0),
            Spray::Flowlet => {
                if last.is_some_and(|last| now - last >= spread.gap) {
                    sprayed.flowlets += 1;
                }
                drawn(sprayed.flowlets)
            }
            Spray::Packet => drawn(number),
            Spray::RoundRobin => {
                let turn = &mut self.turns[flow.towards() as usize];
                *turn += 1;
                (*turn - 1) % self.weights.max(1)
            }
        };
        let mut behind = place;
        let takes = |path: &Path| match behind.checked_sub(path.weight.into()) {
            Some(left) => {
                behind = left;
                false
            }
            None => true,
        };
        self.rule.paths.iter().position(takes).unwrap_or(0)
    }
}
