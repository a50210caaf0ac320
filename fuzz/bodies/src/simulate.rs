use std::slice::Iter;

use corpus::{
    Action, ConnectionSet, ControlPacket, Event, HeaderField, Load, Mtu, Progression, SetField, Target,
    TestConfig, Verb,
};
use executor::NicProfile;
use executor::profile::{PerVerb, Span};

/// Runs the test that the input describes, on the NICs that it describes, with the invariants of the simulation checked
/// after every step.
///
/// # Panics
/// When one of them does not hold.
pub fn simulate(data: &[u8]) {
    let mut choices = Choices(data.iter());
    let profiles = [choices.profile(), choices.profile()];
    let config = choices.test();
    if config.is_valid() {
        // A test that makes too many packets ends with an error.
        let _ = executor::sim::run_checked(&config, profiles);
    }
}

/// Most events of a test.
const EVENTS: usize = 12;

/// The input, as choices: a byte each, or two; 0 after its end.
struct Choices<'a>(Iter<'a, u8>);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or_default()
    }

    /// A number below a bound.
    fn below(&mut self, bound: u32) -> u32 {
        u32::from(self.byte()) % bound
    }

    fn wide(&mut self) -> u32 {
        u32::from(self.byte()) << 8 | u32::from(self.byte())
    }

    /// A latency of up to 255 times 16 ns.
    fn latency(&mut self) -> Span<u64> {
        Span::exactly(u64::from(self.byte()) << 4)
    }

    fn profile(&mut self) -> NicProfile {
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

    fn test(&mut self) -> TestConfig {
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
        while !self.0.as_slice().is_empty() && config.events.len() < EVENTS {
            let event = self.event();
            config.events.push(event);
        }
        config
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
