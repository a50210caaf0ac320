//! Traffic of the generators.

use super::fields;
use serde::{Deserialize, Serialize};

/// The traffic of a test. Lumina, Listing 2, and our additions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Verbs and number of connections (`rdma-verb`, `num-connections`).
    pub load: Load,
    /// Messages per connection; see [`fields::NUM_MSGS_PER_QP`].
    pub num_msgs_per_qp: u32,
    /// Path MTU.
    pub mtu: Mtu,
    /// Bytes of every message; see [`fields::MESSAGE_SIZE`].
    pub message_size: u32,
    /// Spread the connections over all addresses of the hosts.
    pub multi_gid: bool,
    /// Post the next `tx-depth` messages only when all connections have completed theirs.
    pub barrier_sync: bool,
    /// Requests that a connection may have outstanding; see [`fields::TX_DEPTH`].
    pub tx_depth: u32,
    /// Timeout exponent; see [`fields::MIN_RETRANSMIT_TIMEOUT`].
    pub min_retransmit_timeout: u8,
    /// `retry_cnt`; see [`fields::MAX_RETRANSMIT_RETRY`].
    pub max_retransmit_retry: u8,
    /// Receive requests kept posted; see [`fields::RECV_DEPTH`].
    pub recv_depth: u32,
    /// `rnr_retry`; see [`fields::RNR_RETRY`].
    pub rnr_retry: u8,
    /// RNR timer code; see [`fields::MIN_RNR_TIMER`].
    pub min_rnr_timer: u8,
    /// Outstanding Reads per connection; see [`fields::MAX_RD_ATOMIC`].
    pub max_rd_atomic: u8,
    /// First PSN of every requester, 24 bits; random if absent.
    pub initial_psn: Option<u32>,
    /// Seed of QPNs, PSNs and payload; see [`fields::SEED`].
    pub seed: u64,
    /// Counting of rounds of transmission in the injector.
    pub iter_mode: IterMode,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            load: Load::Same { verb: Verb::Write, connections: fields::NUM_CONNECTIONS.default as u32 },
            num_msgs_per_qp: fields::NUM_MSGS_PER_QP.default as u32,
            mtu: Mtu::B1024,
            message_size: fields::MESSAGE_SIZE.default as u32,
            multi_gid: false,
            barrier_sync: false,
            tx_depth: fields::TX_DEPTH.default as u32,
            min_retransmit_timeout: fields::MIN_RETRANSMIT_TIMEOUT.default as u8,
            max_retransmit_retry: fields::MAX_RETRANSMIT_RETRY.default as u8,
            recv_depth: fields::RECV_DEPTH.default as u32,
            rnr_retry: fields::RNR_RETRY.default as u8,
            min_rnr_timer: fields::MIN_RNR_TIMER.default as u8,
            max_rd_atomic: fields::MAX_RD_ATOMIC.default as u8,
            initial_psn: None,
            seed: fields::SEED.default,
            iter_mode: IterMode::Paper,
        }
    }
}

/// An RDMA verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Verb {
    /// RDMA Write.
    Write,
    /// RDMA Read: the responder sends the data.
    Read,
    /// Send, with a Recv at the responder.
    Send,
}

impl Verb {
    /// Name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Send => "send",
        }
    }
}

/// Verbs, with the number of connections that use each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Load {
    /// `write`, `read` or `send` on every connection.
    Same {
        /// The verb of every message.
        verb: Verb,
        /// Number of connections.
        connections: u32,
    },
    /// `send_read` with one number: on every connection, messages 1, 3, 5 ... are Sends and
    /// messages 2, 4, 6 ... are Reads.
    Alternating {
        /// Number of connections.
        connections: u32,
    },
    /// `send_read` with a pair (Lumina's `num-qps: "a,b"`): the first connections only send, the
    /// others only read.
    Split {
        /// Connections 1 to `send`.
        send: u32,
        /// Connections `send + 1` to `send + read`.
        read: u32,
    },
}

impl Load {
    /// Number of connections.
    #[must_use]
    pub const fn connections(self) -> u32 {
        match self {
            Self::Same { connections, .. } | Self::Alternating { connections } => connections,
            Self::Split { send, read } => send.saturating_add(read),
        }
    }

    /// The verb of a message (index from 0) of a connection (relative QPN, from 1).
    #[must_use]
    pub const fn verb(self, qpn: u32, message: u32) -> Verb {
        match self {
            Self::Same { verb, .. } => verb,
            Self::Alternating { .. } if message.is_multiple_of(2) => Verb::Send,
            Self::Split { send, .. } if qpn <= send => Verb::Send,
            Self::Alternating { .. } | Self::Split { .. } => Verb::Read,
        }
    }

    /// Returns true if some message of a connection (relative QPN, from 1) with `messages` messages has the
    /// verb.
    #[must_use]
    pub fn carries(self, qpn: u32, messages: u32, verb: Verb) -> bool {
        // The pattern has a period of two messages.
        (0..messages.min(2)).any(|message| self.verb(qpn, message) == verb)
    }
}

/// RDMA path MTU (IBA: five values exist).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)] // The names are the values.
pub enum Mtu {
    B256,
    B512,
    B1024,
    B2048,
    B4096,
}

impl Mtu {
    /// All of them, ascending.
    pub const ALL: [Self; 5] = [Self::B256, Self::B512, Self::B1024, Self::B2048, Self::B4096];

    /// Payload bytes of a full packet.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::B256 => 256,
            Self::B512 => 512,
            Self::B1024 => 1024,
            Self::B2048 => 2048,
            Self::B4096 => 4096,
        }
    }
}

/// Counting of ITER, the round of transmission, in the injector (Lumina §3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IterMode {
    /// The paper: +1 whenever a PSN is not larger than the last one; never back.
    Paper,
    /// The published switch program: +1 whenever a PSN is not the expected one, back to 1 at the
    /// first packet of a message that arrives in order.
    PerMessage,
}

impl IterMode {
    /// Names in files.
    pub const NAMES: &[(&str, Self)] = &[("paper", Self::Paper), ("per-message", Self::PerMessage)];
}
