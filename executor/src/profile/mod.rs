//! NIC profiles: the behaviour of a simulated NIC, as data.
//!
//! Every field has a default, and the defaults together are `reference`: the InfiniBand specification, with the
//! latencies of a good NIC. [`Quirks`] are the one section that is never right: each field is one way to break a rule.

mod check;
mod conditions;
mod contradictions;
mod counters;
mod drawn;
mod eswitch;
mod field;
mod fields;
mod load;
mod quirks;
mod reorder;
mod write;

use serde::{Deserialize, Serialize};

pub use conditions::{ConditionalQuirk, When, conditional_fields};
pub(crate) use counters::{Family, read_families};
pub use counters::{FamilyCounters, family_counters};
pub use drawn::{MAX_CONDITIONS, drawn};
pub use eswitch::{Chain, Eswitch, OnExhausted, OnFailure, OnTimeout};
pub use field::{Bounds, FAMILIES, Field, Kind};
pub use fields::FIELDS;
pub use load::{Base, Loaded, ProfileError, SHIPPED, Shipped, is_shipped, load, load_with_base};
pub use quirks::Quirks;
pub use reorder::{LossBy, Reorder, ReorderEngine};
pub use write::Change;

/// A span of a random quantity: `150` or `[100, 200]` in a file, both ends inclusive. Drawn uniformly.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span<T> {
    /// Smallest value.
    pub min: T,
    /// Largest value.
    pub max: T,
}

impl<T: Copy> Span<T> {
    /// Always the same value.
    pub const fn exactly(value: T) -> Self {
        Self { min: value, max: value }
    }

    /// Anything from `min` to `max`.
    pub const fn new(min: T, max: T) -> Self {
        Self { min, max }
    }
}

impl<T: Copy + Default> Default for Span<T> {
    fn default() -> Self {
        Self::exactly(T::default())
    }
}

impl<'de, T: Deserialize<'de> + Copy> Deserialize<'de> for Span<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a number, or a span as in [100, 200]")]
        enum Form<T> {
            One(T),
            Both([T; 2]),
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::One(value) => Self::exactly(value),
            Form::Both([min, max]) => Self { min, max },
        })
    }
}

impl<T: Serialize + PartialEq> Serialize for Span<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.min == self.max {
            self.min.serialize(serializer)
        } else {
            [&self.min, &self.max].serialize(serializer)
        }
    }
}

/// One latency for each verb, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PerVerb {
    /// RDMA Write.
    pub write: Span<u64>,
    /// Send.
    pub send: Span<u64>,
    /// RDMA Read.
    pub read: Span<u64>,
}

impl PerVerb {
    /// The same for all.
    pub const fn all(span: Span<u64>) -> Self {
        Self { write: span, send: span, read: span }
    }

    /// The latency of a verb.
    pub const fn of(&self, verb: corpus::Verb) -> &Span<u64> {
        match verb {
            corpus::Verb::Write => &self.write,
            corpus::Verb::Send => &self.send,
            corpus::Verb::Read => &self.read,
        }
    }
}

impl Default for PerVerb {
    fn default() -> Self {
        Self::all(Span::exactly(2_000))
    }
}

/// A simulated NIC.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NicProfile {
    /// Name in reports.
    pub name: String,
    /// The NIC that the profile models, for `nics list`.
    pub description: String,
    /// Origin of its figures, with those that are assumptions.
    pub source: String,
    /// Its cable.
    pub link: Link,
    /// The software that drives it.
    pub host: HostSoftware,
    /// Behaviour in sending.
    pub transmit: Transmit,
    /// Behaviour in receiving.
    pub receive: Receive,
    /// Its reorder engine.
    pub reorder: Reorder,
    /// Its own switch, for tests whose hosts have offloaded flows.
    pub eswitch: Eswitch,
    /// The part that posts requests.
    pub requester: RequesterProfile,
    /// The part that answers them.
    pub responder: ResponderProfile,
    /// Latencies of loss recovery.
    pub retransmission: Retransmission,
    /// The ACK timer.
    pub timeout: TimeoutProfile,
    /// Adaptive retransmission, which a host may switch on.
    pub adaptive: Adaptive,
    /// Loss recovery that takes a scarce context of the receive pipeline.
    pub slow_path: SlowPath,
    /// Cost of packets of new QPs that have MigReq clear.
    pub apm: Apm,
    /// Notification point of DCQCN.
    pub notification: Notification,
    /// Reaction point of DCQCN.
    pub reaction: Reaction,
    /// Transmission selection between traffic classes.
    pub ets: EtsProfile,
    /// Its counters.
    pub counters: CounterProfile,
    /// Rules that it breaks.
    pub quirks: Quirks,
    /// Rules that it breaks under conditions; where the conditions of several hold, the last one counts.
    pub quirk: Vec<ConditionalQuirk>,
}

impl NicProfile {
    /// All quirks that it ever has: those without conditions first.
    pub(crate) fn all_quirks(&self) -> impl Iterator<Item = &Quirks> {
        std::iter::once(&self.quirks).chain(self.quirk.iter().map(|one| &one.quirks))
    }
}

/// The cable between NIC and switch.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// Rate in Gb/s.
    pub rate_gbps: u32,
    /// Propagation delay in ns, one way.
    pub propagation_ns: u64,
}

impl Default for Link {
    fn default() -> Self {
        // 10 m of cable.
        Self { rate_gbps: 100, propagation_ns: 50 }
    }
}

/// Latencies of the host's software.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HostSoftware {
    /// From posting a request to its doorbell at the NIC, in ns; a host posts one request after the other.
    pub post_ns: Span<u64>,
    /// From a completion to the host's seeing it, in ns.
    pub poll_ns: Span<u64>,
    /// From the completion of a Receive to the posting of its successor, in ns.
    pub repost_ns: Span<u64>,
    /// Size of the Receives that it posts, in bytes; a longer Send is an invalid request (IBA vol. 1, 9.9.3).
    pub receive_bytes: u64,
}

impl Default for HostSoftware {
    fn default() -> Self {
        Self {
            post_ns: Span::exactly(100),
            poll_ns: Span::exactly(500),
            repost_ns: Span::exactly(500),
            receive_bytes: 1 << 31,
        }
    }
}

/// Behaviour of a NIC in sending.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Transmit {
    /// Shortest time from the scheduling of one packet to the next, in ns; 0 where only the link limits.
    pub packet_ns: u64,
    /// Packets of a QP's requests that are sent before it is the next one's turn; answers take turns packet by packet.
    pub burst: u32,
    /// MigReq bit of the packets that it sends (IBA 17.2.8).
    pub mig_req: bool,
    /// Packets that are scheduled ahead of the cable, in bytes of frames: retransmissions join behind them
    /// (Lumina (preprint) §6.2, figure 11).
    pub pipeline_bytes: u64,
}

impl Default for Transmit {
    fn default() -> Self {
        Self { packet_ns: 0, burst: 1, mig_req: true, pipeline_bytes: 0 }
    }
}

/// Behaviour of a NIC in receiving.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Receive {
    /// From the last bit of a packet to the transport, in ns.
    pub latency_ns: Span<u64>,
    /// Shortest time between two packets at the transport, in ns; 0 where only the link limits.
    pub packet_ns: u64,
    /// Buffer before the transport, in bytes of frames; packets that do not fit are discarded and counted.
    pub buffer_bytes: u64,
}

impl Default for Receive {
    fn default() -> Self {
        Self { latency_ns: Span::exactly(300), packet_ns: 0, buffer_bytes: 1 << 20 }
    }
}

/// The part of a QP that posts requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RequesterProfile {
    /// AckReq on every so many packets, besides the last of each message; 0 for the last only.
    pub ack_req_every: u32,
    /// Unacknowledged packets of a QP at the most, responses to Reads counted; 0 for any number.
    pub window_packets: u32,
}

/// The part of a QP that answers requests.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ResponderProfile {
    /// From a request to its ACK, in ns.
    pub ack_ns: Span<u64>,
    /// True if ACKs that wait to be sent are merged into one for the latest PSN (coalescing).
    pub merge_acks: bool,
    /// An ACK after so many packets even without AckReq; 0 for never.
    pub ack_every: u32,
    /// True if duplicates without AckReq are acknowledged again too.
    pub reack_all: bool,
}

impl Default for ResponderProfile {
    fn default() -> Self {
        Self { ack_ns: Span::exactly(0), merge_acks: true, ack_every: 0, reack_all: false }
    }
}

/// Speed of retransmission, in the phases of the Lumina paper (Lumina §6.1).
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Retransmission {
    /// From the packet that shows a loss to the NACK, by the receiver of data: a NAK, or a Read's repeated request.
    pub nack_generation_ns: PerVerb,
    /// From the NACK to the repeated packet, by the sender of data.
    pub nack_reaction_ns: PerVerb,
    /// Further packets out of order that a NAK waits for before it is made; 0 for none.
    pub confirmation_packets: u32,
    /// Longest wait for them, in ns.
    pub confirmation_ns: Span<u64>,
}

impl Default for Retransmission {
    fn default() -> Self {
        let latency = PerVerb::all(Span::exactly(2_000));
        Self {
            nack_generation_ns: latency,
            nack_reaction_ns: latency,
            confirmation_packets: 0,
            confirmation_ns: Span::exactly(0),
        }
    }
}

/// Expiry of the ACK timer, in multiples of T = 4.096 µs x 2^timeout (IBA vol. 1, 9.7.6.1.3: T to 4T).
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TimeoutProfile {
    /// The first expiry without progress.
    pub first: Span<f64>,
    /// Every further one.
    pub further: Span<f64>,
    /// True if a retransmission that a NAK requested restarts the timer.
    pub restart_on_nak: bool,
}

impl Default for TimeoutProfile {
    fn default() -> Self {
        Self { first: Span::new(1.0, 4.0), further: Span::new(1.0, 4.0), restart_on_nak: true }
    }
}

/// Adaptive retransmission (Lumina §6.3): the ACK timer follows a schedule and not its configuration, and
/// requests are retried more often than configured. In force where the host's `adaptive-retrans` is on; a NIC
/// without schedules does not have it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Adaptive {
    /// Expiries of the timer in multiples of T, one list for each message of a QP that is timed out on; the last list
    /// serves all further messages, the last expiry of a list all further expiries.
    pub schedules: Vec<Vec<f64>>,
    /// Retries beyond the configured ones, for each such message; the last one serves all further ones.
    pub extra_retries: Vec<u32>,
}

/// Path migration of packets with MigReq clear (Lumina §6.2.3): the first packet of a QP that has it takes a
/// context for a while. A packet that finds none free stops all that arrive behind it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Apm {
    /// Contexts; 0 where MigReq means nothing.
    pub contexts: u32,
    /// Time for which a QP keeps its context, in ns.
    pub resolve_ns: Span<u64>,
}

/// Loss recovery through a slow path: a receiver of data that waits to make a NACK holds a context, and while more
/// connections wait than there are contexts, nothing that arrives is taken out of the receive buffer.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SlowPath {
    /// Contexts; 0 for no limit.
    pub contexts: u32,
    /// Verbs whose losses are recovered so.
    pub verbs: Vec<Verb>,
}

/// A verb, in profiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// RDMA Write.
    Write,
    /// Send.
    Send,
    /// RDMA Read.
    Read,
}

impl From<Verb> for corpus::Verb {
    fn from(verb: Verb) -> Self {
        match verb {
            Verb::Write => Self::Write,
            Verb::Send => Self::Send,
            Verb::Read => Self::Read,
        }
    }
}

/// Scope of one CNP interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CnpScope {
    /// Each QP has its own.
    #[default]
    Qp,
    /// All QPs of a destination address share one.
    DestinationIp,
    /// The whole port shares one.
    Port,
}

/// Notification point: ECN-marked packets in, CNPs out (annex A17.9.3; Lumina §6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Notification {
    /// Shortest time between two CNPs that the NIC keeps whatever is configured, in µs.
    pub hidden_interval_us: u64,
    /// True if the NIC obeys the host's `min-time-between-cnps`.
    pub configurable: bool,
    /// Scope of one interval.
    pub scope: CnpScope,
    /// True if packets out of order cause CNPs like marked ones, where the host's `slow-restart` is on (lossy
    /// RoCE).
    pub on_loss: bool,
}

impl Default for Notification {
    fn default() -> Self {
        Self { hidden_interval_us: 0, configurable: true, scope: CnpScope::Qp, on_loss: false }
    }
}

/// Reaction point: the rate of each QP that sends data, which its CNPs lower (DCQCN, SIGCOMM'15, §3 and §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reaction {
    /// 1 / g, the weight of one CNP in alpha.
    pub g_inverse: u32,
    /// Time without a CNP after which alpha falls, in µs.
    pub alpha_timer_us: u64,
    /// Time after which the rate is raised, in µs.
    pub rate_timer_us: u64,
    /// Bytes sent after which the rate is raised.
    pub byte_counter: u64,
    /// F: timer and byte-counter events of fast recovery.
    pub fast_recovery: u32,
    /// R_AI: additive increase, in Mb/s.
    pub additive_increase_mbps: u32,
    /// R_HAI: hyper increase, in Mb/s.
    pub hyper_increase_mbps: u32,
    /// Lowest rate, in Mb/s.
    pub min_rate_mbps: u32,
}

impl Default for Reaction {
    fn default() -> Self {
        Self {
            g_inverse: 256,
            alpha_timer_us: 55,
            rate_timer_us: 55,
            byte_counter: 10_000_000,
            fast_recovery: 5,
            additive_increase_mbps: 40,
            hyper_increase_mbps: 400,
            min_rate_mbps: 100,
        }
    }
}

/// Transmission selection (IEEE 802.1Qaz).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EtsProfile {
    /// Largest share of a weighted class, in percent of its guaranteed share, even if other classes leave the link
    /// idle; 0 where nothing but the link limits it, so that it is work-conserving.
    pub ceiling_percent: u32,
}

/// The counters of a NIC.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CounterProfile {
    /// Whose names: a family of `data/counters.toml`.
    pub family: String,
}

impl Default for CounterProfile {
    fn default() -> Self {
        Self { family: "nvidia".into() }
    }
}
