//! The axes of a search space: every field that a target gives values to. One entry each, read by the loader,
//! the printer, the code that draws, repairs and changes tests, and the test that keeps `docs/targets.md`
//! honest.

use std::sync::LazyLock;

use corpus::config::Files;
use corpus::config::fields::{self, IntField};
use corpus::{
    Action, ActionKind, HeaderField, Host, Load, LossDirection, LossEffect, LossModel, LossRecovery,
    RepeatMatch, Scheduler, Spray, SprayPackets, TestConfig, TrafficField,
};

use crate::{paths, tables, words};

/// Form of the values of an axis in a file, and the numbers ([`crate::Values`]) that stand for them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Whole numbers: one, a list, or a range.
    Number(&'static IntField),
    /// The same, or `"random"`, which is one more than the largest number.
    NumberOrRandom(&'static IntField),
    /// One of these numbers, or a list of them.
    OneOf(&'static [u64]),
    /// One of these words, or a list of them; each is its index.
    Words(&'static [&'static str]),
    /// True or false, or a list of both; 1 and 0.
    Flags,
    /// One whole number.
    Limit(&'static IntField),
    /// True or false, not both; 1 and 0.
    Switch,
}

/// Part of a test that the values of an axis set.
#[derive(Clone, Copy)]
pub(crate) enum Of {
    /// A field of the test.
    Test(fn(&TestConfig) -> u64, fn(&mut TestConfig, u64)),
    /// A field of each host.
    Host(fn(&Host) -> u64, fn(&mut Host, u64)),
    /// Something that takes more than a number to change: addresses, and the parts of events.
    Part,
}

/// One axis.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The axis.
    pub axis: Axis,
    /// Section and key.
    pub path: &'static str,
    /// Form of its values.
    pub kind: Kind,
    /// The only value, where a target lists none.
    pub default: u64,
    /// Meaning of the field.
    pub meaning: &'static str,
    pub(crate) of: Of,
}

/// Stands for a random number where one may be given: see [`Kind::NumberOrRandom`].
const fn random(field: &IntField) -> u64 {
    field.max + 1
}

/// Most events of a test: the checker compares all pairs, for each mutant.
const MAX_ENTRIES: IntField = IntField {
    key: "max-entries",
    min: 0,
    max: 256,
    default: 0,
    unit: "events",
    why: "one event can name many packets; all pairs are compared in every mutant",
};
const ADDRESSES: IntField = IntField {
    key: "addresses",
    min: 1,
    max: fields::MAX_ADDRESSES as u64,
    default: 1,
    unit: "addresses",
    why: "NIC GID tables hold 256 entries at most",
};
const PATHS: IntField = IntField {
    key: "paths",
    min: 0,
    max: corpus::Path::MOST as u64,
    default: 0,
    unit: "paths",
    why: "a test has no more",
};
const CLASSES: IntField = IntField {
    key: "classes",
    min: 0,
    max: fields::TRAFFIC_CLASS.max + 1,
    default: 0,
    unit: "classes",
    why: "Ethernet has 8 traffic classes",
};
const ETS_WEIGHTS: IntField = IntField { key: "ets-weights", min: 1, default: 50, ..fields::ETS_WEIGHT };
const STRICT_CLASSES: IntField = IntField { key: "strict-classes", ..CLASSES };
const OPERATIONS: IntField = IntField {
    key: "operations",
    min: 0,
    max: 16,
    default: 0,
    unit: "operations",
    why: "one operation has many flows",
};
const ROUNDS: IntField = IntField { key: "rounds", unit: "rounds", ..fields::ITER };
const MTUS: &[u64] = &[256, 512, 1024, 2048, 4096];

macro_rules! axes {
    ($($name:ident $path:literal $kind:expr, $default:expr, $of:expr, $meaning:literal;)*) => {
        /// A field that a target gives values to; its meaning is in [`AXES`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs)] // The table says what they mean.
        pub enum Axis { $($name),* }

        /// Every axis, in the order of a printed target, which is that of [`Axis`].
        pub const AXES: &[Entry] = &[$(Entry {
            axis: Axis::$name, path: $path, kind: $kind, default: $default, of: $of, meaning: $meaning,
        }),*];
    };
}

macro_rules! number {
    ($field:ident) => {
        Kind::Number(&fields::$field)
    };
}

macro_rules! of_traffic {
    ($field:ident) => {
        Of::Test(
            |test| (TrafficField::$field.get)(&test.traffic),
            |test, value| (TrafficField::$field.set)(&mut test.traffic, value),
        )
    };
}

macro_rules! flag_of_host {
    ($field:ident) => {
        Of::Host(|host| host.roce.$field.into(), |host, value| host.roce.$field = value != 0)
    };
}

macro_rules! of_table {
    ($field:ident, $to:expr) => {
        Of::Test(
            |test| tables::get(test, |table| table.$field.into()),
            |test, value: u64| {
                let to: fn(u64) -> _ = $to;
                tables::set(test, |table| table.$field = to(value));
            },
        )
    };
}

axes! {
    Verb "traffic.rdma-verb" Kind::Words(words::VERBS), words::WRITE,
        Of::Test(|test| words::of_load(test.traffic.load), |test, word| {
            if words::of_load(test.traffic.load) != word {
                test.traffic.load = words::load(word, test.traffic.load.connections());
            }
        }),
        "Verbs. `send_read`: Sends and Reads take turns on every connection; `send_read_split`: the first connections only send, the others only read.";
    Connections "traffic.num-connections" number!(NUM_CONNECTIONS), fields::NUM_CONNECTIONS.default,
        Of::Test(|test| test.traffic.load.connections().into(), |test, value| {
            test.traffic.load = with_connections(test.traffic.load, value as u32);
        }), "Connections.";
    Messages "traffic.num-msgs-per-qp" number!(NUM_MSGS_PER_QP), fields::NUM_MSGS_PER_QP.default,
        of_traffic!(NUM_MSGS_PER_QP), "Messages of each connection.";
    Mtu "traffic.mtu" Kind::OneOf(MTUS), TrafficField::MTU.default, of_traffic!(MTU), "Path MTU, in bytes.";
    MessageSize "traffic.message-size" number!(MESSAGE_SIZE), fields::MESSAGE_SIZE.default,
        of_traffic!(MESSAGE_SIZE), "Size of every message.";
    MultiGid "traffic.multi-gid" Kind::Flags, 0, of_traffic!(MULTI_GID),
        "Whether connections are spread over all addresses of the hosts.";
    BarrierSync "traffic.barrier-sync" Kind::Flags, 0, of_traffic!(BARRIER_SYNC),
        "Whether the next `tx-depth` messages wait for those of all connections.";
    TxDepth "traffic.tx-depth" number!(TX_DEPTH), fields::TX_DEPTH.default, of_traffic!(TX_DEPTH),
        "Requests that a connection may have outstanding; never more than it has messages.";
    Timeout "traffic.min-retransmit-timeout" number!(MIN_RETRANSMIT_TIMEOUT),
        fields::MIN_RETRANSMIT_TIMEOUT.default, of_traffic!(MIN_RETRANSMIT_TIMEOUT),
        "ACK timeout exponent t: 4.096 µs x 2^t.";
    Retries "traffic.max-retransmit-retry" number!(MAX_RETRANSMIT_RETRY),
        fields::MAX_RETRANSMIT_RETRY.default, of_traffic!(MAX_RETRANSMIT_RETRY),
        "Retries after time-outs and sequence NAKs.";
    RecvDepth "traffic.recv-depth" number!(RECV_DEPTH), fields::RECV_DEPTH.default, of_traffic!(RECV_DEPTH),
        "Receive requests that the responder keeps posted for Sends.";
    RnrRetry "traffic.rnr-retry" number!(RNR_RETRY), fields::RNR_RETRY.default, of_traffic!(RNR_RETRY),
        "Retries after RNR NAKs; 7 is unlimited.";
    RnrTimer "traffic.min-rnr-timer" number!(MIN_RNR_TIMER), fields::MIN_RNR_TIMER.default,
        of_traffic!(MIN_RNR_TIMER), "RNR timer code.";
    MaxRdAtomic "traffic.max-rd-atomic" number!(MAX_RD_ATOMIC), fields::MAX_RD_ATOMIC.default,
        of_traffic!(MAX_RD_ATOMIC), "Outstanding Reads of a connection.";
    InitialPsn "traffic.initial-psn" Kind::NumberOrRandom(&fields::INITIAL_PSN), random(&fields::INITIAL_PSN),
        Of::Test(
            |test| test.traffic.initial_psn.map_or(random(&fields::INITIAL_PSN), u64::from),
            |test, value| {
                test.traffic.initial_psn =
                    fields::INITIAL_PSN.allows(value).then_some(value as u32);
            },
        ), "First PSN of every requester.";
    Seed "traffic.seed" number!(SEED), fields::SEED.default, of_traffic!(SEED),
        "Seed of a run's random choices. Random tests have the smallest, so that they can share reference runs, but where a link loses packets at random; an operator changes it.";
    IterMode "traffic.iter-mode" Kind::Words(words::ITER_MODES), TrafficField::ITER_MODE.default,
        of_traffic!(ITER_MODE), "How the injector counts rounds of transmission.";
    Gap "traffic.gap-ns" number!(GAP_NS), fields::GAP_NS.default, of_traffic!(GAP_NS),
        "Pause of a connection between the completion of a message and the posting of the next.";
    RecvBatch "traffic.recv-batch" number!(RECV_BATCH), fields::RECV_BATCH.default, of_traffic!(RECV_BATCH),
        "Receives that the responder posts at once, when so many have completed.";
    DummyHeaders "traffic.dummy-headers" number!(DUMMY_HEADERS), fields::DUMMY_HEADERS.default, of_traffic!(DUMMY_HEADERS),
        "Requests of 0 bytes behind each message.";
    DummyIdle "traffic.dummy-idle-ns" number!(DUMMY_IDLE_NS), fields::DUMMY_IDLE_NS.default, of_traffic!(DUMMY_IDLE_NS),
        "Time without a further request that they wait for; data events are in the first message then.";
    DummyRule "traffic.dummy-rule" Kind::Words(words::DUMMY_RULES), TrafficField::DUMMY_RULE.default, of_traffic!(DUMMY_RULE),
        "When that time is looked at.";
    Pattern "traffic.pattern" Kind::Words(words::PATTERNS), TrafficField::PATTERN.default, of_traffic!(PATTERN),
        "Whether the hosts post in turn: on pairs of connections, Writes or Sends, one request outstanding on each.";
    LossPpb "network.loss-ppb" number!(LOSS_PPB), fields::LOSS_PPB.default,
        Of::Test(|test| test.network.loss_ppb.into(), |test, value| test.network.loss_ppb = value as u32),
        "Packets that a link loses at random, of 10^9; the other keys count where it is not 0. With `innocent` the last connection without events loses none.";
    LossModel "network.loss-model" Kind::Words(words::LOSS_MODELS), 0,
        Of::Test(|test| test.network.loss_model as u64, |test, word| {
            test.network.loss_model = words::named(LossModel::NAMES, word);
        }), "Dependence of the losses on the size of a packet.";
    Links "network.links" number!(LINKS), fields::LINKS.default,
        Of::Test(|test| test.network.links.into(), |test, value| test.network.links = value as u8),
        "Links of each direction, each of which loses packets.";
    CorruptedLinks "network.corrupted-links-percent" number!(CORRUPTED_LINKS_PERCENT),
        fields::CORRUPTED_LINKS_PERCENT.default,
        Of::Test(
            |test| test.network.corrupted_links_percent.into(),
            |test, value| test.network.corrupted_links_percent = value as u8,
        ), "Probability that a link loses packets at all.";
    LossPackets "network.loss-packets" Kind::Words(words::LOST), words::ANY_KIND,
        Of::Test(|test| words::of_lost(test.network.loss_packets), |test, word| {
            test.network.loss_packets = words::lost(word);
        }), "Kinds of packets that are lost: all, or one.";
    LossDirection "network.loss-direction" Kind::Words(words::LOSS_DIRECTIONS), 0,
        Of::Test(|test| test.network.loss_direction as u64, |test, word| {
            test.network.loss_direction = words::named(LossDirection::NAMES, word);
        }), "Direction of the packets that are lost.";
    LossEffect "network.loss-effect" Kind::Words(words::LOSS_EFFECTS), 0,
        Of::Test(|test| test.network.loss_effect as u64, |test, word| {
            test.network.loss_effect = words::named(LossEffect::NAMES, word);
        }), "Effect of a loss.";
    RepeatNaks "network.repeat-naks" number!(NAKS), fields::NAKS.default,
        Of::Test(
            |test| test.network.repeat.naks.into(),
            |test, value| test.network.repeat.naks = value as u8,
        ), "NAKs of sequence errors that the network sends for one (`[network.repeat]` of a test).";
    RepeatRetransmissions "network.repeat-retransmissions" number!(RETRANSMISSIONS), fields::RETRANSMISSIONS.default,
        Of::Test(
            |test| test.network.repeat.retransmissions.into(),
            |test, value| test.network.repeat.retransmissions = value as u8,
        ), "Packets that it sends for the one that such a NAK asks for.";
    RepeatTails "network.repeat-tails" number!(TAILS), fields::TAILS.default,
        Of::Test(
            |test| test.network.repeat.tails.into(),
            |test, value| test.network.repeat.tails = value as u8,
        ), "Packets that it sends for the last one of a message or response.";
    RepeatMatch "network.repeat-match" Kind::Words(words::REPEAT_MATCHES), 0,
        Of::Test(|test| test.network.repeat.matching as u64, |test, word| {
            test.network.repeat.matching = words::named(RepeatMatch::NAMES, word);
        }), "How the packet that a NAK asks for is known; counts where retransmissions are copied.";
    Paths "network.paths" Kind::Number(&PATHS), 0,
        Of::Test(|test| test.network.paths.len() as u64, |test, number| {
            paths::set_number(&mut test.network, number);
        }), "Paths between the hosts (`[[network.path]]` of a test); 0 stands for one without delay.";
    PathDelay "network.path-delay-ns" number!(PATH_DELAY_NS), fields::PATH_DELAY_NS.default,
        Of::Test(|test| test.network.longest_delay_ns(), |test, ns| paths::set_delay(&mut test.network, ns)),
        "Delay of the last path; of several, the first one has none, and the others go up in even steps.";
    PathRate "network.path-rate-gbps" number!(RATE_GBPS), fields::RATE_GBPS.default,
        Of::Test(|test| paths::rate(&test.network), |test, gbps| paths::set_rate(&mut test.network, gbps)),
        "Rate of every path; 0 is no limit.";
    Spray "network.spray" Kind::Words(words::SPRAYS), 0,
        Of::Test(|test| test.network.spray as u64, |test, word| {
            test.network.spray = words::named(Spray::NAMES, word);
        }), "How packets are spread over several paths.";
    FlowletGap "network.flowlet-gap-ns" number!(FLOWLET_GAP_NS), fields::FLOWLET_GAP_NS.default,
        Of::Test(
            |test| test.network.flowlet_gap_ns,
            |test, ns| test.network.flowlet_gap_ns = ns,
        ), "Pause that begins another flowlet; counts with `flowlet`.";
    SprayPackets "network.spray-packets" Kind::Words(words::SPRAYED), 0,
        Of::Test(|test| test.network.spray_packets as u64, |test, word| {
            test.network.spray_packets = words::named(SprayPackets::NAMES, word);
        }), "Packets that are spread over several paths; the others take the first.";
    Pfc "network.pfc" Kind::Flags, 0,
        Of::Test(|test| test.network.pfc.into(), |test, value| test.network.pfc = value != 0),
        "Priority flow control on every link: a receiver that runs out of buffer pauses the sender.";
    Addresses "hosts.addresses" Kind::Number(&ADDRESSES), ADDRESSES.default, Of::Part,
        "Addresses of each host where `multi-gid` is true; those that a host does not have follow its first one.";
    NotificationPoint "hosts.dcqcn-np-enable" Kind::Flags, 1, flag_of_host!(dcqcn_np_enable),
        "DCQCN notification point of each host.";
    ReactionPoint "hosts.dcqcn-rp-enable" Kind::Flags, 1, flag_of_host!(dcqcn_rp_enable),
        "DCQCN reaction point of each host.";
    CnpInterval "hosts.min-time-between-cnps" number!(MIN_TIME_BETWEEN_CNPS),
        fields::MIN_TIME_BETWEEN_CNPS.default,
        Of::Host(|host| host.roce.min_time_between_cnps.into(), |host, value| {
            host.roce.min_time_between_cnps = value as u32;
        }), "Shortest time between two CNPs of each host.";
    AdaptiveRetrans "hosts.adaptive-retrans" Kind::Flags, 0, flag_of_host!(adaptive_retrans),
        "Adaptive retransmission of each host: NVIDIA's, with time-outs and a retry budget of its own.";
    SlowRestart "hosts.slow-restart" Kind::Flags, 0, flag_of_host!(slow_restart),
        "Slow restart after losses of each host: NVIDIA's.";
    LossRecovery "hosts.loss-recovery" Kind::Words(words::LOSS_RECOVERIES), 0,
        Of::Test(|test| test.requester.roce.loss_recovery as u64, |test, word| {
            let recovery = words::named(LossRecovery::NAMES, word);
            test.requester.roce.loss_recovery = recovery;
            test.responder.roce.loss_recovery = recovery;
        }), "Loss recovery of both hosts; with NICs of which all have a reorder engine, or none has, it is theirs.";
    Classes "hosts.classes" Kind::Number(&CLASSES), CLASSES.default, Of::Part,
        "Traffic classes that the connections are spread over, the same at both hosts, with ETS between them; 0: no classes and no ETS.";
    EtsWeights "hosts.ets-weights" Kind::Number(&ETS_WEIGHTS), ETS_WEIGHTS.default, Of::Part,
        "ETS weight of each class that is not strict.";
    StrictClasses "hosts.strict-classes" Kind::Number(&STRICT_CLASSES), STRICT_CLASSES.default, Of::Part,
        "How many of the classes have strict priority; never more than there are.";
    SwapNics "hosts.swap-nics" Kind::Switch, 0, Of::Part,
        "Whether the two NICs of a campaign change places from test to test; it needs two different ones then.";
    OffloadHosts "offload.hosts" Kind::Words(words::TABLES), words::NOWHERE,
        Of::Test(tables::hosts, tables::set_hosts),
        "Hosts that have a flow table (`[requester.offload]` of a test); the other keys are of the tables, which are alike.";
    Flows "offload.flows" number!(OFFLOAD_FLOWS), fields::OFFLOAD_FLOWS.default,
        of_table!(flows, |value| value as u32), "Entries, those of the connections included; never fewer than the masks need.";
    EgressMasks "offload.egress-masks" number!(EGRESS_MASKS), fields::EGRESS_MASKS.default,
        of_table!(egress_masks, |value| value as u32), "Masks of packets that leave.";
    IngressMasks "offload.ingress-masks" number!(INGRESS_MASKS), fields::INGRESS_MASKS.default,
        of_table!(ingress_masks, |value| value as u32), "Masks of packets that arrive.";
    Place "offload.place" Kind::Words(words::PLACES), 0,
        Of::Test(
            |test| tables::table(test).map_or(0, |table| tables::of_place(&table.place)),
            |test, word| tables::set(test, |table| table.place = tables::place(word)),
        ), "Masks of the connections' entries.";
    Tables "offload.tables" number!(OFFLOAD_TABLES), fields::OFFLOAD_TABLES.default,
        Of::Test(
            |test| tables::get(test, tables::chain),
            |test, value| tables::set(test, |table| {
                table.tables = value as u32;
                table.rules.clear();
            }),
        ), "Tables that each packet is looked up in.";
    Actions "offload.actions" number!(OFFLOAD_ACTIONS), fields::OFFLOAD_ACTIONS.default,
        of_table!(actions, |value| value as u32), "Actions on each packet.";
    Vxlan "offload.vxlan" Kind::Flags, 0, of_table!(vxlan, |value| value != 0), "Whether packets go through a tunnel.";
    VirtualFunctions "offload.virtual-functions" number!(VIRTUAL_FUNCTIONS), fields::VIRTUAL_FUNCTIONS.default,
        of_table!(virtual_functions, |value| value as u32), "Virtual functions that the connections are on.";
    MaxIdle "offload.max-idle-ms" number!(MAX_IDLE_MS), fields::MAX_IDLE_MS.default,
        of_table!(max_idle_ms, |value| value as u32), "Time without packets after which the entry of a connection is deleted.";
    Revalidate "offload.revalidate-ms" number!(REVALIDATE_MS), fields::REVALIDATE_MS.default,
        of_table!(revalidate_ms, |value| value as u32), "Time from one look at the entries to the next.";
    Scheduler "offload.scheduler" Kind::Words(words::SCHEDULERS), 0,
        Of::Test(
            |test| tables::get(test, |table| table.scheduler as u64),
            |test, word| tables::set(test, |table| table.scheduler = words::named(Scheduler::NAMES, word)),
        ), "The order in which masks are looked through.";
    HyperEntries "offload.hyper-entries" number!(HYPER_ENTRIES), fields::HYPER_ENTRIES.default,
        of_table!(hyper_entries, |value| value as u32), "Entries of the hyper mask.";
    Operations "offload.operations" Kind::Limit(&OPERATIONS), OPERATIONS.default, Of::Part,
        "Most operations of a test (`[[control]]`).";
    Operation "offload.do" Kind::Words(words::OPERATIONS), 0, Of::Part,
        "Kinds of operations; of functions and connections, as many as there are.";
    OperationCount "offload.count" number!(CONTROL_COUNT), fields::CONTROL_COUNT.default, Of::Part,
        "Flows or masks of an operation.";
    OperationAt "offload.at-ms" number!(CONTROL_AT_MS), fields::CONTROL_AT_MS.default, Of::Part,
        "Times of operations; one after the end of the traffic is left out.";
    MaxEntries "events.max-entries" Kind::Limit(&MAX_ENTRIES), MAX_ENTRIES.default, Of::Part,
        "Most events of a test; each names one packet or many.";
    Innocent "events.innocent" Kind::Switch, 0, Of::Part,
        "At least one connection stays without events; requires two connections or more.";
    Sets "events.qpn" Kind::Words(words::SETS), words::ONE, Of::Part,
        "Forms of connection sets: one connection, a list of any, the first ones, all.";
    Packet "events.packet" Kind::Words(words::PACKETS), words::DATA, Of::Part, "Kinds of packets.";
    Action "events.type" Kind::Words(words::ACTIONS), words::DROP, Of::Part, "Actions.";
    Iter "events.iter" number!(ITER), fields::ITER.default, Of::Part,
        "Rounds of transmission of data packets; mostly the smallest is drawn.";
    Rounds "events.rounds" Kind::Number(&ROUNDS), ROUNDS.default, Of::Part,
        "In how many rounds in a row the same is done to a data packet, as far as its retries go; each is an event.";
    Nth "events.nth" number!(NTH), fields::NTH.default, Of::Part, "Occurrences of control packets.";
    Progression "events.progression" Kind::Words(words::PROGRESSIONS), words::SINGLE, Of::Part,
        "Forms of progressions: one packet, every k-th so many times, every k-th to the end.";
    Every "events.every" number!(EVERY), fields::EVERY.default, Of::Part, "Steps of progressions.";
    Count "events.count" number!(COUNT), fields::COUNT.default, Of::Part,
        "Lengths of progressions; as many as the connection has packets for.";
    Delay "events.delay-ns" number!(DELAY_NS), fields::DELAY_NS.default, Of::Part, "Operand of `delay`.";
    Hold "events.hold-ns" number!(HOLD_NS), fields::HOLD_NS.default, Of::Part, "Operand of `hold`.";
    By "events.by" number!(BY), fields::BY.default, Of::Part, "Operand of `reorder`.";
    Copies "events.copies" number!(COPIES), fields::COPIES.default, Of::Part, "Operand of `duplicate`.";
    Field "events.field" Kind::Words(words::FIELDS), HeaderField::MigReq as u64, Of::Part,
        "Header fields that `set-field` rewrites.";
    Value "events.value" number!(VALUE), fields::VALUE.default, Of::Part,
        "Operand of `set-field`, as far as the field goes.";
}

impl Axis {
    /// The axis of the number that an action has for an operand.
    pub(crate) fn of_operand(kind: ActionKind) -> Option<Self> {
        // Asked for each event of each mutant.
        static BY_KIND: LazyLock<Vec<Option<Axis>>> = LazyLock::new(|| {
            let axis = |kind: &ActionKind| {
                let key = Action::operand_of(*kind)?.field.key;
                AXES.iter().find(|entry| entry.section_and_key() == ("events", key)).map(|entry| entry.axis)
            };
            ActionKind::ALL.iter().map(axis).collect()
        });
        BY_KIND[kind as usize]
    }

    /// Its line in the table.
    #[must_use]
    pub const fn entry(self) -> &'static Entry {
        &AXES[self as usize]
    }
}

impl Entry {
    /// Returns true for a field that tests have not had from the first.
    pub(crate) fn is_later(&self) -> bool {
        let later = |field: &TrafficField, key| field.files == Files::Later && field.key == key;
        match self.section_and_key() {
            ("traffic", key) => TrafficField::ALL.iter().any(|field| later(field, key)),
            (section, _) => ["network", "offload"].contains(&section) || self.axis == Axis::LossRecovery,
        }
    }

    /// Returns true for a setting of losses, which counts only where there are some.
    pub(crate) fn is_of_losses(&self) -> bool {
        (Axis::LossModel..=Axis::LossEffect).contains(&self.axis)
    }

    /// Section and key.
    #[must_use]
    pub fn section_and_key(&self) -> (&'static str, &'static str) {
        self.path.split_once('.').unwrap_or(("", self.path))
    }
}

/// The same verbs on so many connections; of a split, the senders stay as long as a reader is left.
fn with_connections(load: Load, connections: u32) -> Load {
    match load {
        Load::Same { verb, .. } => Load::Same { verb, connections },
        Load::Alternating { .. } => Load::Alternating { connections },
        Load::Split { send, .. } => {
            let send = send.clamp(1, connections.saturating_sub(1).max(1));
            Load::Split { send, read: connections.saturating_sub(send) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::Verb;

    #[test]
    fn the_table_has_every_axis_in_its_place() {
        for (index, entry) in AXES.iter().enumerate() {
            assert_eq!((entry.axis as usize, entry.axis.entry().path), (index, entry.path));
        }
    }

    #[test]
    fn defaults_are_those_of_a_test() {
        let test = TestConfig::default();
        for entry in AXES {
            let default = match entry.of {
                Of::Test(get, _) => get(&test),
                Of::Host(get, _) => get(&test.requester),
                Of::Part => continue,
            };
            assert_eq!(entry.default, default, "{}", entry.path);
        }
    }

    #[test]
    fn what_is_set_is_read_back() {
        let mut test = TestConfig::default();
        test.traffic.load = Load::Same { verb: Verb::Read, connections: 7 };
        paths::set_number(&mut test.network, 3);
        tables::set_hosts(&mut test, words::AT_BOTH);
        for entry in AXES {
            let values: Vec<u64> = match entry.kind {
                Kind::Number(field) | Kind::Limit(field) => vec![field.min, field.max],
                Kind::NumberOrRandom(field) => vec![field.min, field.max, field.max + 1],
                Kind::OneOf(values) => values.to_vec(),
                Kind::Words(words) => (0..words.len() as u64).collect(),
                Kind::Flags | Kind::Switch => vec![0, 1],
            };
            for value in values {
                let mut changed = test.clone();
                let read = match entry.of {
                    Of::Test(get, set) => {
                        set(&mut changed, value);
                        get(&changed)
                    }
                    Of::Host(get, set) => {
                        set(&mut changed.responder, value);
                        get(&changed.responder)
                    }
                    Of::Part => continue,
                };
                assert_eq!(read, value, "{}", entry.path);
            }
        }
    }
}
