//! Specification of a world: plain data, to be edited by tests.

use std::ops::RangeInclusive;

use super::faults::Fault;

/// One of the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// The host of the first connection's requester.
    A,
    /// The other one.
    B,
}

impl Side {
    /// The other host.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// Verb of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    /// Send.
    Send,
    /// RDMA Write.
    Write,
    /// RDMA Read.
    Read,
    /// Fetch and Add.
    Atomic,
}

/// One work request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Operation.
    pub verb: Verb,
    /// Bytes.
    pub bytes: u32,
}

impl Message {
    /// A message.
    pub const fn new(verb: Verb, bytes: u32) -> Self {
        Self { verb, bytes }
    }
}

/// Choices that the specification leaves to a requester.
#[derive(Clone, Debug)]
pub struct RequesterHabits {
    /// Nanoseconds between two packets of a QP.
    pub pace: RangeInclusive<u64>,
    /// Nanoseconds from the arrival of a NAK to the retransmission.
    pub reaction: RangeInclusive<u64>,
    /// Continues to send new packets until it retransmits.
    pub drains_pipeline: bool,
    /// Goes back again for a second NAK of the same PSN.
    pub repeats_for_each_nak: bool,
    /// Restarts the ACK timer when it repeats on a NAK.
    pub restarts_timer: bool,
    /// Expiry of the ACK timer in hundredths of T.
    pub expiry_percent: RangeInclusive<u64>,
    /// Transport retries.
    pub retry_count: u32,
    /// RNR retries; `None` is without end.
    pub rnr_retries: Option<u32>,
    /// Reads and atomics outstanding at once.
    pub max_reads: usize,
}

impl Default for RequesterHabits {
    fn default() -> Self {
        Self {
            pace: 300..=300,
            reaction: 2_000..=2_000,
            drains_pipeline: true,
            repeats_for_each_nak: false,
            restarts_timer: true,
            expiry_percent: 150..=150,
            retry_count: 7,
            rnr_retries: None,
            max_reads: 16,
        }
    }
}

/// Choices that the specification leaves to a responder.
#[derive(Clone, Debug)]
pub struct ResponderHabits {
    /// Nanoseconds between two packets of a QP.
    pub pace: RangeInclusive<u64>,
    /// Nanoseconds from a packet to the start of its answer.
    pub delay: RangeInclusive<u64>,
    /// Percentage of ACKs that are left to a following one.
    pub coalesces: u64,
    /// Percentage of packets without AckReq that are acknowledged all the same.
    pub volunteers: u64,
    /// Acknowledges every duplicate, not only those that ask for it.
    pub acknowledges_all_duplicates: bool,
    /// Leaves the response under way when a Read is re-issued.
    pub abandons_old_stream: bool,
    /// Sends a sequence NAK for what follows an RNR-NAKed request.
    pub naks_after_rnr: bool,
}

impl Default for ResponderHabits {
    fn default() -> Self {
        Self {
            pace: 300..=300,
            delay: 1_000..=1_000,
            coalesces: 0,
            volunteers: 0,
            acknowledges_all_duplicates: false,
            abandons_old_stream: false,
            naks_after_rnr: false,
        }
    }
}

/// Behaviour of both ends of a connection.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// Of the requester.
    pub requester: RequesterHabits,
    /// Of the responder.
    pub responder: ResponderHabits,
}

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Host {
    /// Last byte of its address.
    pub address: u8,
    /// QPN.
    pub qpn: u32,
    /// UDP source port of what it sends.
    pub port: u16,
}

/// A connection with its work.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Host that the requester is on.
    pub requester_side: Side,
    /// Requester.
    pub requester: Host,
    /// Responder.
    pub responder: Host,
    /// Initial PSN.
    pub initial_psn: u32,
    /// Work, in posting order.
    pub messages: Vec<Message>,
    /// Messages outstanding at once.
    pub tx_depth: usize,
    /// AckReq on every so many packets beside the last of each message.
    pub ack_every: Option<u64>,
    /// Messages (from 0) whose receive is missing when they first arrive, and how often.
    pub not_ready: Vec<(usize, u32)>,
    /// Message (from 0) that the responder refuses for good.
    pub refused: Option<usize>,
    /// Posting time of the first message.
    pub starts_at: u64,
    /// Behaviour of both ends.
    pub habits: Habits,
}

impl Connection {
    /// Connection number `number`, from 1, between the first addresses of the hosts.
    pub fn new(number: u32, messages: Vec<Message>) -> Self {
        Self {
            requester_side: Side::A,
            requester: Host { address: 1, qpn: 0x100 + number, port: 50_000 + number as u16 },
            responder: Host { address: 2, qpn: 0x200 + number, port: 50_000 + number as u16 },
            initial_psn: 1_000 * number,
            messages,
            tx_depth: 1,
            ack_every: None,
            not_ready: Vec::new(),
            refused: None,
            starts_at: 0,
            habits: Habits::default(),
        }
    }
}

/// Links between the hosts and the switch. Order is kept in each direction, whatever the delays.
#[derive(Clone, Debug)]
pub struct Links {
    /// From each host to the switch.
    pub up: [RangeInclusive<u64>; 2],
    /// From the switch to each host.
    pub down: [RangeInclusive<u64>; 2],
    /// Picoseconds that a byte takes.
    pub byte_time_ps: u64,
}

impl Default for Links {
    fn default() -> Self {
        let delay = || 500..=500;
        Self { up: [delay(), delay()], down: [delay(), delay()], byte_time_ps: 80 }
    }
}

/// CNPs that share an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Those to one QP.
    Qp,
    /// Those to one address.
    Address,
    /// All of a host.
    Port,
}

/// Notification points of both hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notifications {
    /// Interval in microseconds.
    pub interval_us: u32,
    /// Its scope.
    pub scope: Scope,
    /// Packets out of order are a reason, too.
    pub on_loss: bool,
}

/// A whole world.
#[derive(Clone, Debug)]
pub struct World {
    /// Seed of delays and other choices while the world runs.
    pub seed: u64,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Timeout exponent; 0 is never.
    pub timeout: u8,
    /// Timer code of RNR NAKs: 1 is 10 µs, 11 is 480 µs, 25 is 61.44 ms; no other one is used.
    pub rnr_timer: u8,
    /// Connections.
    pub connections: Vec<Connection>,
    /// Faults of the network.
    pub faults: Vec<Fault>,
    /// Links.
    pub links: Links,
    /// Notification points, if they are on.
    pub notifications: Option<Notifications>,
}

impl World {
    /// A quiet world of these connections: MTU 1024, timeout 10 (T = 4.19 ms).
    pub fn of(connections: Vec<Connection>) -> Self {
        Self {
            seed: 0,
            mtu: 1024,
            timeout: 10,
            rnr_timer: 11,
            connections,
            faults: Vec::new(),
            links: Links::default(),
            notifications: None,
        }
    }

    /// A world of one connection.
    pub fn with(messages: Vec<Message>) -> Self {
        Self::of(vec![Connection::new(1, messages)])
    }

    /// With a fault on the first connection.
    pub fn fault(mut self, target: super::Target, action: super::Action) -> Self {
        self.faults.push(Fault { connection: 1, target, action });
        self
    }

    /// Nanoseconds of an RNR wait.
    pub fn rnr_wait(&self) -> u64 {
        match self.rnr_timer {
            1 => 10_000,
            11 => 480_000,
            25 => 61_440_000,
            other => unreachable!("RNR timer code {other}"),
        }
    }

    /// T in nanoseconds.
    pub const fn timer(&self) -> u64 {
        4_096 << self.timeout
    }
}
