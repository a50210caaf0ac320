//! A parsed script, as data.

use std::collections::BTreeMap;

use super::{At, Name, Placed, Span, Window};
use crate::ActionKind;
use crate::observation::CompletionStatus;

/// A packet script: one test with its expected packets and results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// Name of the file, for messages; paths in the script are relative to its folder.
    pub file: String,
    /// The comment that the file begins with, line by line, without `#`.
    pub prose: Vec<String>,
    /// Keys of a test file, each once in its scope.
    pub settings: Vec<Setting>,
    /// The messages.
    pub post: Post,
    /// Events that no packet line bears.
    pub injections: Vec<Injection>,
    /// Packets, in order.
    pub steps: Vec<Step>,
    /// Expectations for the end of the test.
    pub expectations: Vec<Expectation>,
}

impl Script {
    /// All packet lines, those of groups included.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.steps.iter().flat_map(Step::packets)
    }
}

/// One key with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// First character of the line.
    pub at: At,
    /// Scope of the key.
    pub scope: Scope,
    /// The key, `nic` in the scope of both hosts, `control` in that of operations.
    pub key: Placed<String>,
    /// The value as it is written, without comment.
    pub value: Placed<String>,
}

/// Scope of a setting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// Both hosts; only `nic`.
    Hosts,
    /// The requester.
    Requester,
    /// The responder.
    Responder,
    /// The traffic.
    Traffic,
    /// The network between the hosts.
    Network,
    /// Operations on the hosts' flow tables; only `control`, once for each.
    Control,
}

impl Scope {
    /// First word of its lines; none where that is the key.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hosts | Self::Control => "",
            Self::Requester => "requester",
            Self::Responder => "responder",
            Self::Traffic => "traffic",
            Self::Network => "network",
        }
    }
}

/// The messages of the test: all are alike, and on every connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Post {
    /// First character of the line.
    pub at: At,
    /// Verb that is posted.
    pub verb: Placed<PostVerb>,
    /// Bytes of each message.
    pub size: Placed<u32>,
    /// Path MTU in bytes; the test file's default if absent.
    pub mtu: Option<Placed<u32>>,
    /// Messages of each connection; 1 if absent.
    pub count: Option<Placed<u32>>,
}

/// Verbs of the `post` line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PostVerb {
    /// RDMA Write.
    Write,
    /// RDMA Read.
    Read,
    /// Send.
    Send,
    /// Sends and Reads.
    SendRead,
}

impl PostVerb {
    /// Verbs with their names.
    pub const NAMES: [(&str, Self); 4] =
        [("write", Self::Write), ("read", Self::Read), ("send", Self::Send), ("send-read", Self::SendRead)];
}

/// An `inject` line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Injection {
    /// First character of the line.
    pub at: At,
    /// On which connections.
    pub connections: Connections,
    /// The first packet.
    pub target: Target,
    /// Also every so many packets after it.
    pub every: Option<u32>,
    /// So many packets in all; only with `every`.
    pub count: Option<u32>,
    /// Actions on them, at least one.
    pub actions: Vec<Placed<Action>>,
}

/// A set of connections, which count from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Connections {
    /// `qp 3`
    One(u32),
    /// `qp 1,4,5`, at least two.
    List(Vec<u32>),
    /// `qp first 8`
    First(u32),
    /// `qp all`
    All,
}

/// First packet of an `inject` line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// `psn 7 iter 2`: a data packet by relative PSN and round of transmission.
    Data {
        /// Relative PSN, from 1.
        psn: u32,
        /// Round, from 1.
        iter: u32,
    },
    /// `nak nth 1`: a control packet by its occurrence.
    Control {
        /// Kind of control packet.
        kind: ControlKind,
        /// Occurrence on its connection, from 1.
        nth: u32,
    },
}

/// Kinds of control packets, as the injector tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ControlKind {
    /// A positive acknowledgement.
    Ack,
    /// A NAK or RNR NAK.
    Nak,
    /// A CNP.
    Cnp,
    /// A Read request.
    ReadRequest,
}

impl ControlKind {
    /// Kinds with their names.
    pub const NAMES: [(&str, Self); 4] =
        [("nak", Self::Nak), ("ack", Self::Ack), ("cnp", Self::Cnp), ("read-request", Self::ReadRequest)];
}

/// Action of the injector on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Action {
    /// The action.
    pub kind: ActionKind,
    /// Its operand, in the [`Form`](crate::Form) of the action.
    pub operand: Operand,
}

/// Operand of an [`Action`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// None.
    Alone,
    /// The packet and its copies.
    AllCopies,
    /// One of its copies, from 1.
    Copy(u8),
    /// A time.
    Time(Span),
    /// A number.
    Number(u16),
    /// A header field and its value.
    Field {
        /// One of [`SETTABLE`].
        field: &'static str,
        /// The value.
        value: u64,
    },
}

/// Header fields that can be rewritten, with the largest operands. Those of test files; a script has the same
/// actions as a test.
pub const SETTABLE: [(&str, u64); 15] = [
    ("mig-req", 1),
    ("opcode", 0xff),
    ("psn", 0xff_ffff),
    ("dest-qpn", 0xff_ffff),
    ("ack-req", 1),
    ("p-key", 0xffff),
    ("pad-count", 3),
    ("udp-length", 0xffff),
    ("ip-length", 0xffff),
    ("reth-address", i64::MAX as u64),
    ("reth-key", 0xffff_ffff),
    ("reth-length", 0xffff_ffff),
    ("aeth-syndrome", 0xff),
    ("msn", 0xff_ffff),
    ("payload", 4096),
];

/// A step of the expected trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// One packet.
    Packet(Packet),
    /// Packets in any order, at least one.
    Group(Vec<Packet>),
    /// Any packets, until one fits the next step.
    Skip(At),
}

impl Step {
    /// The packet lines of the step.
    pub fn packets(&self) -> &[Packet] {
        match self {
            Self::Packet(packet) => std::slice::from_ref(packet),
            Self::Group(packets) => packets,
            Self::Skip(_) => &[],
        }
    }
}

/// A packet line; also a packet that was seen, with all its fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Place of the packet in its line.
    pub at: At,
    /// Time of its entry to the switch, from the packet of the line before.
    pub time: Window,
    /// Direction of the packet.
    pub direction: Direction,
    /// Name of the packet.
    pub name: Name,
    /// Its connection, from 1.
    pub qp: u32,
    /// Fields that are checked, all of which its name has.
    pub fields: BTreeMap<Field, i64>,
    /// Actions of the injector on the packet.
    pub actions: Vec<Placed<Action>>,
}

/// Direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// `>`: from requester to responder.
    ToResponder,
    /// `<`: from responder to requester.
    ToRequester,
}

/// Fields of a packet line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Field {
    /// Relative PSN, from 1, of the requester's space in both directions.
    Psn,
    /// Round of transmission of a data packet, from 1, as the injector counts.
    Iter,
    /// Occurrence of a control packet on its connection, from 1.
    Nth,
    /// MSN of the AETH.
    Msn,
    /// AckReq of the BTH.
    AckReq,
    /// Payload in bytes.
    Len,
    /// DMA length of the RETH in bytes.
    Dma,
    /// Virtual address of the RETH, from that of the first RETH seen of the same message.
    Offset,
    /// Timer code of an RNR NAK.
    Timer,
    /// MigReq of the BTH, as it entered.
    MigReq,
    /// 1 if the packet entered marked Congestion Experienced, else 0.
    Ce,
}

impl Field {
    /// Number fields with their names and bounds, both inclusive.
    pub const NUMBERS: [(&str, Self, i64, i64); 9] = [
        ("psn", Self::Psn, 1, 1 << 24),
        ("iter", Self::Iter, 1, u32::MAX as i64),
        ("nth", Self::Nth, 1, u32::MAX as i64),
        ("msn", Self::Msn, 0, (1 << 24) - 1),
        ("len", Self::Len, 0, u16::MAX as i64),
        ("dma", Self::Dma, 0, u32::MAX as i64),
        ("offset", Self::Offset, -i64::MAX, i64::MAX),
        ("timer", Self::Timer, 0, 31),
        ("mig-req", Self::MigReq, 0, 1),
    ];

    /// Fields that are a word, with the value that it stands for.
    pub const WORDS: [(&str, Self, i64); 4] = [
        ("ackreq", Self::AckReq, 1),
        ("noackreq", Self::AckReq, 0),
        ("ce", Self::Ce, 1),
        ("noce", Self::Ce, 0),
    ];

    /// Name in messages.
    pub fn name(self) -> &'static str {
        let numbers = Self::NUMBERS.iter().map(|(name, field, ..)| (*name, *field));
        let words = Self::WORDS.iter().map(|(name, field, _)| (*name, *field));
        numbers.chain(words).find(|(_, field)| *field == self).map_or("", |(name, _)| name)
    }
}

/// An `expect` line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    /// First character of the line.
    pub at: At,
    /// The expectation.
    pub expected: Expected,
}

/// Expectation for the end of the test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expected {
    /// Anomalies that the analyzers find.
    Anomaly(Anomalies),
    /// A counter of a host moved by exactly so much.
    Counter {
        /// Whose counter.
        host: Host,
        /// Its vendor's name.
        name: String,
        /// Increase of the counter.
        moved: u64,
    },
    /// The messages ended in this way.
    Completion {
        /// On one connection; on all if absent.
        qp: Option<u32>,
        /// The messages meant; all if absent.
        messages: Option<Messages>,
        /// Status of their completions.
        status: CompletionStatus,
    },
    /// Messages that arrived exactly once and intact.
    Delivered(Delivered),
    /// Packets of the whole trace.
    Packets(u64),
    /// Time-outs of all connections that have a cause.
    TimeOuts {
        /// The cause, such as `tail-lost`.
        cause: String,
        /// How many, at least one.
        number: u64,
    },
}

/// Anomalies that the analyzers find.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Anomalies {
    /// Nothing.
    No,
    /// At least one of this kind.
    Some {
        /// Kind, such as `gbn-violation`.
        kind: String,
        /// The rule that it breaks, where it matters.
        rule: Option<String>,
    },
}

/// One of the hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Host {
    /// Posts the requests.
    Requester,
    /// Answers them.
    Responder,
}

impl Host {
    /// Hosts with their names.
    pub const NAMES: [(&str, Self); 2] = [("requester", Self::Requester), ("responder", Self::Responder)];
}

/// A range of messages, from 1, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Messages {
    /// The first.
    pub first: u32,
    /// The last, not before the first.
    pub last: u32,
}

/// Number of messages that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivered {
    /// All.
    All,
    /// Exactly so many.
    Some {
        /// Messages that arrived.
        arrived: u64,
        /// Messages of the test.
        of: u64,
    },
}

/// Ends of a message with their names.
pub const STATUSES: [(&str, CompletionStatus); 6] = [
    ("success", CompletionStatus::Success),
    ("retry-exceeded", CompletionStatus::RetryExceeded),
    ("rnr-retry-exceeded", CompletionStatus::RnrRetryExceeded),
    ("flushed", CompletionStatus::Flushed),
    ("remote-error", CompletionStatus::RemoteError),
    ("error", CompletionStatus::Error),
];
