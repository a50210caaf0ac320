//! The tests of the paper's experiments.

use corpus::{
    Load, LossModel, LossRecovery, Network, Path, Repeat, RoceParameters, Role, Spray, SprayPackets,
    TestConfig, TrafficClass, Verb,
};
use scoring::theory::corruption::{Behaviour, Conditions, Frames, Links, Protection, of_message};

use super::{Nics, TableTest};
use crate::measure::setups::{
    FATAL_LOSSES, bulk, drop, event, in_classes, interval, ipv4, losses, scope, tails, test,
};

/// Division of the link between the two QPs of the ETS experiment (Lumina §6.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queues {
    /// Two queues of equal weight, no marks.
    TwoUnmarked,
    /// Two queues of equal weight; one of 50 packets of the first QP is marked.
    TwoMarked,
    /// One queue; one of 50 packets of the first QP is marked.
    OneMarked,
}

/// Tests of an experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setup {
    /// One QP, messages of so many KB one after the other; the first loses its first packet, the second its
    /// second, and so on but for the tail packet (Lumina §6.1, Lumina (preprint) §6.2).
    Losses {
        /// The verb.
        verb: Verb,
        /// Packets of a message.
        packets: u32,
    },
    /// [`Setup::Losses`] with Reads, and then with Writes.
    ReadsAndWrites {
        /// Packets of a message.
        packets: u32,
    },
    /// Messages of [`SIZES`], each size in a test of its own, with the fifth packet lost and without (Lumina
    /// (preprint) §6.2).
    Sizes,
    /// A test of these, with its loss.
    FifthLost {
        /// Packets of a message.
        packets: u32,
    },
    /// Five 10 KB Writes whose tail packets are lost seven times (Lumina (preprint) §6.3).
    Tails {
        /// With adaptive retransmission.
        adaptive: bool,
    },
    /// A test for each of the five: those before it lose their tail seven times, it does until the QP fails
    /// (Lumina (preprint) §6.3).
    Retries {
        /// With adaptive retransmission.
        adaptive: bool,
    },
    /// One QP whose packets are all marked (Lumina §6.3).
    AllMarked,
    /// Four QPs over two addresses of each host, whose packets are all marked, with an interval of 50 µs where it can
    /// be configured.
    Scope,
    /// Three QPs from three addresses, whose packets 50 and 950 are marked (Lumina (preprint) §6.4).
    ThreeMarkedTwice,
    /// One QP that loses a packet, at hosts with slow restart (Lumina §6.3).
    LossWithSlowRestart,
    /// Two QPs (Lumina §6.2.1).
    Ets(Queues),
    /// 36 connections read; the first so many lose their fifth packet (Lumina §6.2.2).
    Neighbours(u32),
    /// So many connections send (Lumina §6.2.3).
    Sends {
        /// Connections.
        connections: u32,
        /// True if the switch sets MigReq.
        rewritten: bool,
    },
    /// One Read that loses a packet (Lumina §6.2.4).
    LostResponse,
    /// Four packets, of which two rounds lose one each (Lumina figure 3).
    Iterations,
    /// Two hosts that post in turn (Gao et al., JCST 2022, §6).
    PingPong(PingPong),
    /// The same without adaptive retransmission and with it.
    Recoveries(PingPong),
    /// Four packets, of which the second is lost, and its NAK.
    LostNak,
    /// Five connections that write at full speed: over one path, and then over two, of which one is so many ns longer.
    Paths {
        /// The delays.
        excess_ns: &'static [u64],
        /// How the NICs recover.
        recovery: LossRecovery,
    },
    /// The same with selective repeat, on each of these NICs.
    PathsOf {
        /// The delays.
        excess_ns: &'static [u64],
        /// The NICs at both hosts.
        nics: &'static [Nics],
    },
    /// Tests with flow tables, in groups.
    Tables(&'static [&'static [TableTest]]),
    /// The same on each of these NICs.
    TablesOf {
        /// The tests.
        tests: &'static [&'static [TableTest]],
        /// The NICs at both hosts.
        nics: &'static [Nics],
    },
}

/// Two hosts that post messages of one packet in turn, over a link that damages packets in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PingPong {
    /// The link damages one full packet of so many.
    pub one_in: u32,
    /// NAKs sent for each, in all.
    pub naks: u8,
    /// Transmissions of a packet that a NAK asks for, in all.
    pub retransmissions: u8,
    /// Dummies behind each message.
    pub dummies: u8,
    /// Packets of every size are lost alike.
    pub flat: bool,
    /// With adaptive retransmission.
    pub adaptive: bool,
}

/// Messages of [`Setup::Sizes`] in KB, which are packets.
pub const SIZES: std::ops::RangeInclusive<u32> = 10..=200;
/// Steps between these.
pub const SIZE_STEP: usize = 5;
/// Losses of a tail that is to arrive then: as many as the configured retries.
const TAIL_LOSSES: u32 = 7;
/// Interval of CNPs in the experiments that set it, in µs (Lumina (preprint) §6.4).
const CNP_INTERVAL_US: u32 = 50;

impl Setup {
    /// Its tests.
    pub fn tests(self, nics: Nics) -> Vec<TestConfig> {
        let on_each = |setup: Self, nics: &[Nics]| nics.iter().flat_map(|nics| setup.tests(*nics)).collect();
        match self {
            Self::PathsOf { excess_ns, nics } => {
                return on_each(Self::Paths { excess_ns, recovery: LossRecovery::SelectiveRepeat }, nics);
            }
            Self::TablesOf { tests, nics } => return on_each(Self::Tables(tests), nics),
            Self::Tables(tests) => {
                return tests.iter().copied().flatten().map(|test| test.config(nics)).collect();
            }
            _ => {}
        }
        let mut tests = self.on_any_nics();
        for config in &mut tests {
            config.requester.nic = nics.requester.into();
            config.responder.nic = nics.responder.into();
        }
        tests
    }

    fn on_any_nics(self) -> Vec<TestConfig> {
        match self {
            Self::Losses { verb, packets } => vec![losses(verb, packets)],
            Self::ReadsAndWrites { packets } => {
                [Verb::Read, Verb::Write].map(|verb| losses(verb, packets)).into()
            }
            Self::Sizes => SIZES
                .step_by(SIZE_STEP)
                .flat_map(|packets| [sized(packets, true), sized(packets, false)])
                .collect(),
            Self::FifthLost { packets } => vec![sized(packets, true)],
            Self::Tails { adaptive } => vec![with_recovery(tails(Verb::Write, [TAIL_LOSSES; 5]), adaptive)],
            Self::Retries { adaptive } => (0..5)
                .map(|fatal| {
                    let before = std::iter::repeat_n(TAIL_LOSSES, fatal);
                    with_recovery(tails(Verb::Write, before.chain([FATAL_LOSSES])), adaptive)
                })
                .collect(),
            Self::AllMarked => vec![without_reaction(interval(Verb::Write, 10))],
            Self::Scope => {
                vec![with_roce(without_reaction(scope(Verb::Write, 500)), |roce| {
                    roce.min_time_between_cnps = CNP_INTERVAL_US;
                })]
            }
            Self::ThreeMarkedTwice => vec![three_marked_twice()],
            Self::LossWithSlowRestart => {
                let config = test("num-msgs-per-qp = 1\nmessage-size = 102_400\n", &drop(5, 1));
                vec![with_roce(config, |roce| roce.slow_restart = true)]
            }
            Self::Ets(queues) => vec![ets(queues)],
            Self::Neighbours(noisy) => vec![neighbours(noisy)],
            Self::Sends { connections, rewritten } => vec![sends(connections, rewritten)],
            Self::LostResponse => {
                let traffic = "rdma-verb = \"read\"\nnum-msgs-per-qp = 1\nmessage-size = 102_400\n";
                vec![test(traffic, &drop(5, 1))]
            }
            Self::Iterations => {
                vec![test("num-msgs-per-qp = 1\nmessage-size = 4096\n", &(drop(2, 1) + &drop(3, 2)))]
            }
            Self::PingPong(ping_pong) => vec![ping_pong.test()],
            Self::Recoveries(ping_pong) => {
                [false, true].map(|adaptive| PingPong { adaptive, ..ping_pong }.test()).into()
            }
            Self::LostNak => {
                let nak = "[[event]]\nqpn = 1\npacket = \"nak\"\nnth = 1\ntype = \"drop\"\n";
                vec![test("num-msgs-per-qp = 1\nmessage-size = 4096\n", &(drop(2, 1) + nak))]
            }
            Self::Paths { excess_ns, recovery } => {
                let excess = excess_ns.iter().map(|ns| Some(*ns));
                std::iter::once(None).chain(excess).map(|excess| paths(excess, recovery)).collect()
            }
            Self::PathsOf { .. } | Self::Tables(_) | Self::TablesOf { .. } => Vec::new(),
        }
    }
}

impl PingPong {
    /// Iterations: so many that the mean of those without protection is known to 2.4 %.
    const ITERATIONS: u32 = 100_000;
    /// Messages of an iteration, each of one packet.
    const MESSAGES: f64 = 2.0;
    /// Bytes of a message, and MTU.
    const BYTES: u32 = 1024;

    fn test(self) -> TestConfig {
        let Self { one_in, naks, retransmissions, dummies, flat, adaptive } = self;
        let traffic = format!(
            "pattern = \"ping-pong\"\nnum-connections = 2\nnum-msgs-per-qp = {}\nmessage-size = {}\ndummy-headers = {dummies}\n",
            Self::ITERATIONS,
            Self::BYTES
        );
        let mut config = with_recovery(test(&traffic, ""), adaptive);
        config.network.loss_ppb = 1_000_000_000 / one_in;
        config.network.loss_model = if flat { LossModel::PerPacket } else { LossModel::PerBit };
        config.network.repeat = Repeat { naks, retransmissions, ..Repeat::default() };
        config
    }

    /// Time-outs that theory expects.
    pub fn expected(self) -> f64 {
        let bytes = Network::default().reference_bytes(Self::BYTES);
        let frames = Frames::of(Verb::Write, Self::BYTES.into(), Self::BYTES);
        let links = Links { loss: 1.0 / f64::from(self.one_in), of_bytes: bytes, links: 1, corrupted: 1.0 };
        let repeat = Repeat { naks: self.naks, retransmissions: self.retransmissions, ..Repeat::default() };
        let conditions = Conditions {
            links,
            protection: Protection { repeat, dummies: self.dummies },
            behaviour: Behaviour::standard(),
        };
        let frames = match self.flat {
            // Of whatever size, a packet is lost as one of these bytes is.
            true => {
                Frames { first: bytes, middle: bytes, last: bytes, dummy: bytes, answer: bytes, ..frames }
            }
            false => frames,
        };
        of_message(&frames, &conditions).total() * Self::MESSAGES * f64::from(Self::ITERATIONS)
    }
}

/// Messages of [`paths`], in packets: short enough to tell a steady rate by their completions.
const SPRAYED: u32 = 64;

/// Five connections that write at full speed, over one path, or over two of which one is so many ns longer (LEFT §4.2).
fn paths(excess_ns: Option<u64>, recovery: LossRecovery) -> TestConfig {
    // A go-back that costs a round trip takes a hundred times as long.
    let packets = if recovery == LossRecovery::GoBackN { 10_240 } else { 204_800 };
    let messages = packets / (5 * SPRAYED);
    let traffic = format!(
        "num-connections = 5\nnum-msgs-per-qp = {messages}\ntx-depth = {messages}\nmessage-size = {}\nmin-retransmit-timeout = 20\n",
        SPRAYED * 1024
    );
    let mut config = with_roce(test(&traffic, ""), |roce| roce.loss_recovery = recovery);
    config.network.pfc = true;
    if let Some(delay_ns) = excess_ns {
        config.network.paths = vec![Path::default(), Path { delay_ns, ..Path::default() }];
        config.network.spray = Spray::Packet;
        config.network.spray_packets = SprayPackets::Data;
    }
    config
}

/// With a change of both hosts' parameters.
fn with_roce(mut config: TestConfig, change: impl Fn(&mut RoceParameters)) -> TestConfig {
    Role::ALL.into_iter().for_each(|role| change(&mut config.host_mut(role).roce));
    config
}

fn without_reaction(config: TestConfig) -> TestConfig {
    with_roce(config, |roce| roce.dcqcn_rp_enable = false)
}

/// With the timeout and the retries of the paper.
fn with_recovery(mut config: TestConfig, adaptive: bool) -> TestConfig {
    config.traffic.min_retransmit_timeout = 14;
    config.traffic.max_retransmit_retry = 7;
    with_roce(config, |roce| roce.adaptive_retrans = adaptive)
}

/// Five messages of so many packets.
fn sized(packets: u32, fifth_lost: bool) -> TestConfig {
    let traffic =
        format!("num-msgs-per-qp = 5\nmessage-size = {}\niter-mode = \"per-message\"\n", packets * 1024);
    let fifth = event("1", 5, &format!("every = {packets}\ntype = \"drop\"\n"));
    test(&traffic, if fifth_lost { &fifth } else { "" })
}

fn three_marked_twice() -> TestConfig {
    let traffic = "num-connections = 3\nnum-msgs-per-qp = 1\nmessage-size = 1_048_576\n";
    let marks = event("\"all\"", 50, "every = 900\ncount = 2\ntype = \"ecn\"\n");
    let mut config = without_reaction(test(traffic, &marks));
    config.requester.ip_list = [11, 12, 13].map(ipv4).into();
    config.responder.ip_list = vec![ipv4(1)];
    config.traffic.multi_gid = true;
    with_roce(config, |roce| roce.min_time_between_cnps = CNP_INTERVAL_US)
}

fn ets(queues: Queues) -> TestConfig {
    let marks = match queues {
        Queues::TwoUnmarked => String::new(),
        Queues::TwoMarked | Queues::OneMarked => event("1", 1, "every = 50\ntype = \"ecn\"\n"),
    };
    let config = bulk(Verb::Write, 2, &marks);
    match queues {
        Queues::TwoUnmarked | Queues::TwoMarked => {
            in_classes(config, &TrafficClass::PerConnection(vec![0, 1]), &[50, 50])
        }
        Queues::OneMarked => in_classes(config, &TrafficClass::Same(0), &[100]),
    }
}

fn neighbours(noisy: u32) -> TestConfig {
    // The paper does not say its timeout: with tx-depth 1 each innocent connection loses the tail of one of ten
    // messages, so that a mean of 430 ms is a time-out of 4.3 s, and the measured first one is 3 T to 6 T.
    let traffic = "num-connections = 36\nrdma-verb = \"read\"\nnum-msgs-per-qp = 10\nmessage-size = 20_480\n\
                   min-retransmit-timeout = 18\n";
    let losses = match noisy {
        0 => String::new(),
        _ => event(&format!("{{ first = {noisy} }}"), 5, "type = \"drop\"\n"),
    };
    test(traffic, &losses)
}

fn sends(connections: u32, rewritten: bool) -> TestConfig {
    // The paper does not say its timeout: a time-out that a mean of 20 ms leaves room for is some T of 8 ms.
    let traffic = "num-msgs-per-qp = 5\nmessage-size = 102_400\nmin-retransmit-timeout = 11\n";
    let set = "every = 1\ntype = \"set-field\"\nfield = \"mig-req\"\nvalue = 1\n";
    let events = if rewritten { event("\"all\"", 1, set) } else { String::new() };
    let mut config = test(traffic, &events);
    config.traffic.load = Load::Same { verb: Verb::Send, connections };
    config
}
