//! The tests of the paper's experiments.

use std::fmt::Write as _;

use corpus::TestConfig;

/// The NICs of an experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nics {
    /// The requester's.
    pub requester: &'static str,
    /// The responder's.
    pub responder: &'static str,
}

impl Nics {
    /// The same one at both hosts.
    pub const fn both(nic: &'static str) -> Self {
        Self { requester: nic, responder: nic }
    }
}

/// How the two QPs of the ETS experiment share the link (001 §6.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queues {
    /// Two queues of equal weight, no marks.
    TwoUnmarked,
    /// Two queues of equal weight; one of 50 packets of the first QP is marked.
    TwoMarked,
    /// One queue; one of 50 packets of the first QP is marked.
    OneMarked,
}

/// What an experiment runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setup {
    /// One QP, messages of so many KB one after the other; the first loses its first packet, the second its second, and
    /// so on but for the tail packet (001 §6.1, 000 §6.2).
    Losses {
        /// The verb.
        verb: &'static str,
        /// Packets of a message.
        packets: u32,
    },
    /// [`Setup::Losses`] with Reads, and then with Writes.
    ReadsAndWrites {
        /// Packets of a message.
        packets: u32,
    },
    /// Messages of [`SIZES`], each size in a test of its own, with the fifth packet lost and without (000 §6.2).
    Sizes,
    /// A test of these, with its loss.
    FifthLost {
        /// Packets of a message.
        packets: u32,
    },
    /// Five 10 KB Writes whose tail packets are lost seven times (000 §6.3).
    Tails {
        /// With adaptive retransmission.
        adaptive: bool,
    },
    /// A test for each of the five: those before it lose their tail seven times, it does until the QP fails (000 §6.3).
    Retries {
        /// With adaptive retransmission.
        adaptive: bool,
    },
    /// One QP whose packets are all marked (001 §6.3).
    AllMarked,
    /// Four QPs over two addresses of each host, whose packets are all marked.
    Scope,
    /// Three QPs from three addresses, whose packets 50 and 950 are marked (000 §6.4).
    ThreeMarkedTwice,
    /// One QP that loses a packet, at hosts with slow restart (001 §6.3).
    LossWithSlowRestart,
    /// Two QPs (001 §6.2.1).
    Ets(Queues),
    /// 36 connections read; the first so many lose their fifth packet (001 §6.2.2).
    Neighbours(u32),
    /// So many connections send (001 §6.2.3).
    Sends {
        /// Connections.
        connections: u32,
        /// Whether the switch sets MigReq.
        rewritten: bool,
    },
    /// One Read that loses a packet (001 §6.2.4).
    LostResponse,
    /// Four packets, of which two rounds lose one each (001, figure 3).
    Iterations,
}

/// Messages of [`Setup::Sizes`] in KB, which are packets.
pub const SIZES: std::ops::RangeInclusive<u32> = 10..=200;
/// Steps between these.
pub const SIZE_STEP: usize = 5;
/// Messages of the time-out experiments.
const TAILS: u32 = 5;
/// Packets of each of them.
const TAIL_PACKETS: u32 = 10;
/// Losses of a tail that is to arrive then: as many as the configured retries.
const TAIL_LOSSES: u32 = 7;
/// Losses of a tail that is not to arrive: more than any NIC was measured to retry (000, table 2: 13).
const FATAL_LOSSES: u32 = 20;

const SLOW_RESTART: &str = "slow-restart = true\n";
const NO_REACTION: &str = "dcqcn-rp-enable = false\n";
const ADAPTIVE: &str = "adaptive-retrans = true\n";

/// A test from its parts, which are constants of this file.
fn test(nics: Nics, hosts: [(&str, &str); 2], traffic: &str, events: &str) -> TestConfig {
    let mut text = String::new();
    for (name, nic, (host, roce)) in
        [("requester", nics.requester, hosts[0]), ("responder", nics.responder, hosts[1])]
    {
        // Writing to a String cannot fail.
        let _ = write!(text, "[{name}]\nnic = \"{nic}\"\n{host}[{name}.roce-parameters]\n{roce}");
    }
    let _ = write!(text, "[traffic]\n{traffic}{events}");
    corpus::from_toml("paper", &text).expect("the tests of the paper are valid, which a test checks")
}

fn event(qpn: &str, psn: u32, rest: &str) -> String {
    format!("[[event]]\nqpn = {qpn}\npsn = {psn}\n{rest}")
}

fn drop(psn: u32, iter: u32) -> String {
    event("1", psn, &format!("iter = {iter}\ntype = \"drop\"\n"))
}

/// The tail packet of a message (from 1) lost so many times in a row.
fn tail(message: u32, losses: u32) -> String {
    (1..=losses).map(|iter| drop(message * TAIL_PACKETS, iter)).collect()
}

const PLAIN: [(&str, &str); 2] = [("", ""), ("", "")];

impl Setup {
    /// Its tests.
    pub fn tests(self, nics: Nics) -> Vec<TestConfig> {
        match self {
            Self::Losses { verb, packets } => vec![losses(nics, verb, packets)],
            Self::ReadsAndWrites { packets } => {
                ["read", "write"].into_iter().map(|verb| losses(nics, verb, packets)).collect()
            }
            Self::Sizes => SIZES
                .step_by(SIZE_STEP)
                .flat_map(|packets| [sized(nics, packets, true), sized(nics, packets, false)])
                .collect(),
            Self::FifthLost { packets } => vec![sized(nics, packets, true)],
            Self::Tails { adaptive } => {
                let events: String = (1..=TAILS).map(|message| tail(message, TAIL_LOSSES)).collect();
                vec![tails(nics, adaptive, &events)]
            }
            Self::Retries { adaptive } => (1..=TAILS)
                .map(|fatal| {
                    let before: String = (1..fatal).map(|message| tail(message, TAIL_LOSSES)).collect();
                    tails(nics, adaptive, &(before + &tail(fatal, FATAL_LOSSES)))
                })
                .collect(),
            Self::AllMarked => {
                let traffic = "num-msgs-per-qp = 10\nmessage-size = 1_024_000\n";
                let all = event("1", 1, "every = 1\ntype = \"ecn\"\n");
                vec![test(nics, [("", NO_REACTION), ("", "")], traffic, &all)]
            }
            Self::Scope => {
                let hosts = [
                    ("ip-list = [\"10.0.0.1/24\", \"10.0.0.11/24\"]\n", NO_REACTION),
                    ("ip-list = [\"10.0.0.2/24\", \"10.0.0.12/24\"]\n", ""),
                ];
                let traffic =
                    "num-connections = 4\nmulti-gid = true\nnum-msgs-per-qp = 5\nmessage-size = 1_024_000\n";
                vec![test(nics, hosts, traffic, &event("\"all\"", 1, "every = 1\ntype = \"ecn\"\n"))]
            }
            Self::ThreeMarkedTwice => {
                let addresses = "ip-list = [\"10.0.0.11/24\", \"10.0.0.12/24\", \"10.0.0.13/24\"]\n";
                let hosts = [(addresses, NO_REACTION), ("", "min-time-between-cnps = 50\n")];
                let traffic =
                    "num-connections = 3\nmulti-gid = true\nnum-msgs-per-qp = 1\nmessage-size = 1_048_576\n";
                let marks = event("\"all\"", 50, "every = 900\ncount = 2\ntype = \"ecn\"\n");
                vec![test(nics, hosts, traffic, &marks)]
            }
            Self::LossWithSlowRestart => {
                let hosts = [("", SLOW_RESTART), ("", SLOW_RESTART)];
                vec![test(nics, hosts, "num-msgs-per-qp = 1\nmessage-size = 102_400\n", &drop(5, 1))]
            }
            Self::Ets(queues) => vec![ets(nics, queues)],
            Self::Neighbours(noisy) => {
                // The paper does not say its timeout: with tx-depth 1 each innocent connection loses the tail of one of
                // ten messages, so a mean of 430 ms is a time-out of 4.3 s, and the measured first one is 3 T to 6 T.
                let traffic = "num-connections = 36\nrdma-verb = \"read\"\nnum-msgs-per-qp = 10\n\
                               message-size = 20_480\nmin-retransmit-timeout = 18\n";
                let losses = match noisy {
                    0 => String::new(),
                    _ => event(&format!("{{ first = {noisy} }}"), 5, "type = \"drop\"\n"),
                };
                vec![test(nics, PLAIN, traffic, &losses)]
            }
            Self::Sends { connections, rewritten } => {
                // The paper does not say its timeout: a time-out that a mean of 20 ms leaves room for is some T of 8 ms.
                let traffic = format!(
                    "num-connections = {connections}\nrdma-verb = \"send\"\nnum-msgs-per-qp = 5\n\
                     message-size = 102_400\nmin-retransmit-timeout = 11\n"
                );
                let set = "every = 1\ntype = \"set-field\"\nfield = \"mig-req\"\nvalue = 1\n";
                let events = if rewritten { event("\"all\"", 1, set) } else { String::new() };
                vec![test(nics, PLAIN, &traffic, &events)]
            }
            Self::LostResponse => {
                let traffic = "rdma-verb = \"read\"\nnum-msgs-per-qp = 1\nmessage-size = 102_400\n";
                vec![test(nics, PLAIN, traffic, &drop(5, 1))]
            }
            Self::Iterations => {
                let events = drop(2, 1) + &drop(3, 2);
                vec![test(nics, PLAIN, "num-msgs-per-qp = 1\nmessage-size = 4096\n", &events)]
            }
        }
    }
}

fn losses(nics: Nics, verb: &str, packets: u32) -> TestConfig {
    let traffic = format!(
        "rdma-verb = \"{verb}\"\nnum-msgs-per-qp = {}\nmessage-size = {}\niter-mode = \"per-message\"\n",
        packets - 1,
        packets * 1024
    );
    // Message n loses its n-th packet.
    let events: String = (1..packets).map(|place| drop((place - 1) * packets + place, 1)).collect();
    test(nics, PLAIN, &traffic, &events)
}

fn sized(nics: Nics, packets: u32, fifth_lost: bool) -> TestConfig {
    let traffic =
        format!("num-msgs-per-qp = 5\nmessage-size = {}\niter-mode = \"per-message\"\n", packets * 1024);
    let fifth = event("1", 5, &format!("every = {packets}\ntype = \"drop\"\n"));
    test(nics, PLAIN, &traffic, if fifth_lost { &fifth } else { "" })
}

fn tails(nics: Nics, adaptive: bool, events: &str) -> TestConfig {
    let roce = if adaptive { ADAPTIVE } else { "" };
    let traffic = format!(
        "num-msgs-per-qp = {TAILS}\nmessage-size = {}\nmin-retransmit-timeout = 14\nmax-retransmit-retry = \
         {TAIL_LOSSES}\niter-mode = \"per-message\"\n",
        TAIL_PACKETS * 1024
    );
    test(nics, [("", roce), ("", roce)], &traffic, events)
}

fn ets(nics: Nics, queues: Queues) -> TestConfig {
    let classes = match queues {
        Queues::TwoUnmarked | Queues::TwoMarked => "traffic-class = [0, 1]\nets = { weights = [50, 50] }\n",
        Queues::OneMarked => "traffic-class = 0\nets = { weights = [100] }\n",
    };
    let marks = match queues {
        Queues::TwoUnmarked => String::new(),
        Queues::TwoMarked | Queues::OneMarked => event("1", 1, "every = 50\ntype = \"ecn\"\n"),
    };
    let traffic = "num-connections = 2\nnum-msgs-per-qp = 20\nmessage-size = 1_024_000\ntx-depth = 4\n";
    test(nics, [(classes, ""), (classes, "")], traffic, &marks)
}

impl std::fmt::Display for Nics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.requester == self.responder {
            f.pad(self.requester)
        } else {
            f.pad(&format!("{} -> {}", self.requester, self.responder))
        }
    }
}
