//! Tests with flow tables (ScalaCN, NSDI'25): where the entries of connections are, and what the traffic is like.
//!
//! The paper does not give the messages of its perftests: here 16 QPs keep four messages of 64 KB each outstanding where goodput is
//! measured, and messages of 64 bytes are posted one at a time where latency is.

use corpus::{Control, Load, Mtu, Offload, Operation, Pattern, Placement, Role, Scheduler, TestConfig, Verb};

use executor::NicProfile;

use super::Nics;
use super::nics::shipped;

/// The NICs of ScalaCN (table 3), with the MTU of their tests.
const MTUS: &[(&str, Mtu)] = &[("rcn-cx4", Mtu::B1024), ("rcn-cx5", Mtu::B2048)];

/// Connections whose goodput is measured.
const CONNECTIONS: u32 = 16;
/// Bytes of their messages.
const MESSAGE: u32 = 65_536;

/// Messages that each of them posts at once.
pub(super) const BURST: u32 = 16;

/// Traffic of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// [`CONNECTIONS`] that always have messages outstanding.
    Saturating,
    /// Two hosts that post 64 bytes in turn so many times, on so many pairs of connections: half of an iteration is the one-way latency.
    InTurn {
        /// Pairs of connections.
        pairs: u32,
        /// Iterations of each.
        iterations: u32,
    },
    /// One connection, a message of 64 bytes at a time.
    Alone,
    /// [`CONNECTIONS`] that each post sixteen messages at once, then pause for ten seconds, seven times.
    Bursts,
    /// Four times as many that send a quarter of a message at a time, 15 Gb/s in all, for four tenths of a second.
    Steady,
    /// Four connections, a message of 64 KB at a time.
    Beside,
    /// Four connections that each post 64 bytes once a millisecond.
    Paced,
    /// Four connections that each post 64 bytes once a second, for half a minute.
    Slow,
    /// Four connections that each post three messages of 16 MB, one after another.
    Long,
}

/// Masks of the connections' entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The first of all.
    First,
    /// The last of all.
    Last,
    /// At equal distances.
    Spread,
    /// One for each.
    Of(&'static [u32]),
}

/// A test with a flow table at both hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableTest {
    /// Traffic.
    pub traffic: Traffic,
    /// Verb.
    pub verb: Verb,
    /// Entries of each host.
    pub flows: u32,
    /// Masks at the local egress and ingress, and at the remote egress and ingress: local is the requester's host.
    pub masks: [u32; 4],
    /// Those of the connections.
    pub place: Place,
    /// With tunnels.
    pub vxlan: bool,
    /// With ScalaCN's scheduler.
    pub hyper: bool,
    /// Time without packets after which an entry is deleted, in ms.
    pub max_idle_ms: u32,
    /// Time between two looks at the entries, in ms.
    pub revalidate_ms: u32,
    /// An operation on the local host's table, and its time in ms.
    pub operation: Option<(u32, Operation)>,
    /// True if the other host's table has it too.
    pub at_both: bool,
    /// Seed.
    pub seed: u64,
}

impl TableTest {
    /// One mask, for so many connections.
    pub const fn new(traffic: Traffic, verb: Verb) -> Self {
        Self {
            traffic,
            verb,
            flows: traffic.connections(),
            masks: [1; 4],
            place: Place::Last,
            vxlan: false,
            hyper: false,
            max_idle_ms: 10_000,
            revalidate_ms: 500,
            operation: None,
            at_both: false,
            seed: 1,
        }
    }

    /// All connections are in the last of these masks, of which each other one has one entry.
    pub const fn at(self, masks: [u32; 4]) -> Self {
        let mut most = 1;
        let mut at = 0;
        while at < masks.len() {
            if masks[at] > most {
                most = masks[at];
            }
            at += 1;
        }
        Self { masks, flows: self.traffic.connections() + most, ..self }
    }

    /// In the directions of the data of Writes and Sends.
    pub const fn of_data(self, egress: u32, ingress: u32) -> Self {
        self.at([egress, 1, 1, ingress])
    }

    /// So many entries of so many patterns in the directions of data.
    pub const fn patterns(self, flows: u32, patterns: u32) -> Self {
        Self { flows, place: Place::Spread, ..self.of_data(patterns, patterns) }.with_flows(flows)
    }

    /// So many entries.
    pub const fn with_flows(self, flows: u32) -> Self {
        Self { flows, ..self }
    }

    /// With an operation of the local host.
    pub const fn operating(self, at_ms: u32, operation: Operation) -> Self {
        Self { operation: Some((at_ms, operation)), ..self }
    }

    /// The test on these NICs.
    pub fn config(&self, nics: Nics) -> TestConfig {
        let mut config = TestConfig::default();
        self.traffic.set(&mut config, self.verb);
        config.traffic.seed = self.seed;
        config.traffic.mtu =
            MTUS.iter().find(|(nic, _)| *nic == nics.requester).map_or(Mtu::B4096, |(_, mtu)| *mtu);
        // Where Reads ask for more than a NIC can look up, none of it is lost.
        config.network.pfc = true;
        let [local_egress, local_ingress, remote_egress, remote_ingress] = self.masks;
        let tables = [(local_egress, local_ingress), (remote_egress, remote_ingress)];
        for (role, (egress_masks, ingress_masks)) in Role::ALL.into_iter().zip(tables) {
            config.host_mut(role).offload = Some(Offload {
                flows: self.flows,
                egress_masks,
                ingress_masks,
                place: self.place.of(egress_masks.max(ingress_masks)),
                vxlan: self.vxlan,
                virtual_functions: self.functions(),
                max_idle_ms: self.max_idle_ms,
                revalidate_ms: self.revalidate_ms,
                scheduler: if self.hyper { Scheduler::Hyper } else { Scheduler::Ovs },
                ..Offload::default()
            });
        }
        let hosts = if self.at_both { &Role::ALL[..] } else { &Role::ALL[..1] };
        if let Some((at_ms, operation)) = self.operation {
            config.control = hosts.iter().map(|host| Control { at_ms, host: *host, operation }).collect();
        }
        config.requester.nic = nics.requester.into();
        config.responder.nic = nics.responder.into();
        config
    }

    /// As many functions as the one that is unbound.
    const fn functions(&self) -> u32 {
        match self.operation {
            Some((_, Operation::UnbindVf(function))) => function,
            _ => 1,
        }
    }
}

impl Place {
    fn of(self, masks: u32) -> Placement {
        match self {
            Self::First => Placement::First,
            Self::Last => Placement::Last,
            Self::Spread => Placement::Spread,
            // The list of a host whose table has fewer masks names its last.
            Self::Of(list) => Placement::Masks(list.iter().map(|mask| (*mask).min(masks)).collect()),
        }
    }
}

impl Traffic {
    const fn connections(self) -> u32 {
        match self {
            Self::Saturating | Self::Bursts => CONNECTIONS,
            Self::Steady => 4 * CONNECTIONS,
            Self::InTurn { pairs, .. } => 2 * pairs,
            Self::Alone => 1,
            Self::Beside | Self::Paced | Self::Slow | Self::Long => 4,
        }
    }

    fn set(self, config: &mut TestConfig, verb: Verb) {
        let traffic = &mut config.traffic;
        traffic.load = Load::Same { verb, connections: self.connections() };
        traffic.min_retransmit_timeout = 20;
        (traffic.message_size, traffic.num_msgs_per_qp, traffic.tx_depth) = (64, 20, 1);
        match self {
            Self::Saturating => {
                (traffic.message_size, traffic.num_msgs_per_qp, traffic.tx_depth) = (MESSAGE, 20, 4);
            }
            Self::InTurn { iterations, .. } => {
                (traffic.pattern, traffic.num_msgs_per_qp) = (Pattern::PingPong, iterations);
            }
            Self::Alone => {}
            Self::Beside => (traffic.message_size, traffic.num_msgs_per_qp) = (MESSAGE, 50),
            Self::Bursts => {
                (traffic.message_size, traffic.num_msgs_per_qp) = (MESSAGE, 7 * BURST);
                (traffic.tx_depth, traffic.gap_ns) = (BURST, 10_000_000_000);
            }
            Self::Steady => {
                (traffic.message_size, traffic.num_msgs_per_qp) = (MESSAGE / 4, 715);
                // 64 x 16 KB at 15 Gb/s.
                traffic.gap_ns = 559_000;
            }
            Self::Paced => (traffic.num_msgs_per_qp, traffic.gap_ns) = (30, 1_000_000),
            Self::Slow => (traffic.num_msgs_per_qp, traffic.gap_ns) = (30, 1_000_000_000),
            Self::Long => (traffic.message_size, traffic.num_msgs_per_qp) = (16 << 20, 3),
        }
    }
}

/// The model of ConnectX-6 with room for all entries in one table, by its name.
pub(super) fn one_table() -> (&'static str, NicProfile) {
    const NAME: &str = "rcn-cx6, one table";
    let mut nic = shipped("rcn-cx6");
    nic.name = NAME.into();
    nic.eswitch.table_entries = 0;
    (NAME, nic)
}
