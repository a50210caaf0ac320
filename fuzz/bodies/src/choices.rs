use std::slice::Iter;

use corpus::{
    Action, ConnectionSet, ControlPacket, Event, HeaderField, Load, LossEffect, LossModel, Mtu, Network,
    PacketKinds, Path, Progression, Repeat, RepeatMatch, SetField, Spray, SprayPackets, Target, TestConfig,
    Verb,
};
use executor::NicProfile;
use executor::profile::{PerVerb, Span};

/// The input, as choices: a byte each, or two; 0 after its end.
pub(crate) struct Choices<'a>(Iter<'a, u8>);

impl<'a> Choices<'a> {
    pub(crate) fn of(input: &'a [u8]) -> Self {
        Self(input.iter())
    }

    pub(crate) fn are_left(&self) -> bool {
        !self.0.as_slice().is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or_default()
    }

    /// A number below a bound.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        u32::from(self.byte()) % bound
    }

    pub(crate) fn wide(&mut self) -> u32 {
        u32::from(self.byte()) << 8 | u32::from(self.byte())
    }

    /// A latency of up to 255 times 16 ns.
    fn latency(&mut self) -> Span<u64> {
        Span::exactly(u64::from(self.byte()) << 4)
    }

    pub(crate) fn profile(&mut self) -> NicProfile {
        let mut profile = NicProfile::default();
        profile.link.rate_gbps = [100, 10, 400, 800][self.below(4) as usize];
        profile.transmit.burst = 1 + self.below(4);
        profile.transmit.pipeline_bytes = u64::from(self.byte()) << 8;
        profile.receive.packet_ns = self.byte().into();
        profile.receive.buffer_bytes = 9_216 + u64::from(self.wide());
        profile.responder.ack_ns = self.latency();
        profile.responder.ack_every = self.below(4);
        profile.retransmission.nack_generation_ns = PerVerb::all(self.latency());
        profile.retransmission.nack_reaction_ns = PerVerb::all(self.latency());
        profile.slow_path.contexts = self.below(3);
        profile
    }

    /// A test with at most so many events. Whether it is valid is left to chance.
    pub(crate) fn test(&mut self, events: usize) -> TestConfig {
        let mut config = TestConfig::default();
        let verb = [Verb::Write, Verb::Read, Verb::Send][self.below(3) as usize];
        let connections = 1 + self.below(6);
        let traffic = &mut config.traffic;
        traffic.load = match self.below(2) {
            0 => Load::Same { verb, connections },
            _ => Load::Alternating { connections },
        };
        traffic.mtu = Mtu::ALL[self.below(Mtu::ALL.len() as u32) as usize];
        traffic.message_size = self.wide() % 20_000;
        traffic.num_msgs_per_qp = 1 + self.below(6);
        traffic.tx_depth = 1 + self.below(traffic.num_msgs_per_qp);
        traffic.recv_depth = 1 + self.below(4);
        traffic.min_retransmit_timeout = 1 + self.below(16) as u8;
        traffic.max_retransmit_retry = self.below(8) as u8;
        traffic.rnr_retry = self.below(8) as u8;
        traffic.min_rnr_timer = self.below(12) as u8;
        traffic.max_rd_atomic = 1 + self.below(4) as u8;
        traffic.seed = self.byte().into();
        if self.below(2) == 1 {
            config.network = self.network();
        }
        while self.are_left() && config.events.len() < events {
            let event = self.event();
            config.events.push(event);
        }
        config
    }

    fn network(&mut self) -> Network {
        let mut network = Network::default();
        if self.below(2) == 1 {
            network.loss_ppb = 5_000 * self.wide();
            network.loss_model = [LossModel::PerBit, LossModel::PerPacket][self.below(2) as usize];
            network.links = 1 + self.below(16) as u8;
            network.corrupted_links_percent = 1 + self.below(100) as u8;
            network.loss_effect = [LossEffect::Drop, LossEffect::Corrupt][self.below(2) as usize];
            network.loss_packets = match self.below(3) {
                0 => PacketKinds::NONE.with(None),
                _ => PacketKinds::ALL,
            };
        }
        if self.below(2) == 1 {
            network.repeat = Repeat {
                naks: 1 + self.below(8) as u8,
                retransmissions: 1 + self.below(8) as u8,
                tails: 1 + self.below(8) as u8,
                matching: [RepeatMatch::Psn, RepeatMatch::Connection][self.below(2) as usize],
            };
        }
        for _ in 0..self.below(4) {
            network.paths.push(Path {
                delay_ns: self.wide().into(),
                rate_gbps: 40 * self.below(3) as u16,
                weight: 1 + self.below(3) as u8,
                queue_packets: 1 + u32::from(self.byte()),
            });
        }
        if network.paths.len() > 1 {
            network.spray =
                [Spray::Flow, Spray::Flowlet, Spray::Packet, Spray::RoundRobin][self.below(4) as usize];
            network.spray_packets = [SprayPackets::All, SprayPackets::Data][self.below(2) as usize];
        }
        network.pfc = self.below(4) == 1;
        network
    }

    fn event(&mut self) -> Event {
        let connections = match self.below(3) {
            0 => ConnectionSet::All,
            count => ConnectionSet::First(count),
        };
        let target = match self.below(4) {
            0 => {
                let (_, packet) =
                    ControlPacket::NAMES[self.below(ControlPacket::NAMES.len() as u32) as usize];
                Target::Control { packet, nth: 1 + self.below(4) }
            }
            _ => Target::Data { psn: 1 + self.below(64), iter: 1 + self.below(3) },
        };
        let progression = match self.below(4) {
            0 => Some(Progression { every: 1 + self.below(8), count: Some(1 + self.below(8)) }),
            _ => None,
        };
        let action = match self.below(8) {
            0 => Action::Ecn,
            1 => Action::Corrupt,
            2 => Action::Delay { ns: 100 + u64::from(self.wide()) },
            3 => Action::Reorder { by: 1 + self.below(8) as u16 },
            4 => Action::Duplicate { copies: 1 + self.below(3) as u8 },
            5 => {
                let field = [HeaderField::Psn, HeaderField::Opcode, HeaderField::Msn, HeaderField::Payload];
                let field = field[self.below(4) as usize];
                Action::SetField(SetField { field, value: self.byte().into() })
            }
            _ => Action::DROP,
        };
        Event { connections, target, progression, action }
    }
}
