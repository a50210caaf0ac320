//! Traffic of the generators.

use std::fmt;

use super::Role;
use super::fields::{self, IntField};
use super::words::words;
use serde::{Deserialize, Serialize};

/// A field of [`Traffic`] with one value: whatever reads, writes, checks or changes fields goes through
/// [`TrafficField::ALL`].
#[derive(Debug, Clone, Copy)]
pub struct TrafficField {
    /// Key in files.
    pub key: &'static str,
    /// Form of its values.
    pub form: Form,
    /// Files that have it.
    pub files: Files,
    /// Value when the key is absent.
    pub default: u64,
    /// Reads it.
    pub get: fn(&Traffic) -> u64,
    /// Sets it; values that the field's type cannot hold are cut to it.
    pub set: fn(&mut Traffic, u64),
}

/// Form of the values of a field, and the numbers that stand for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A whole number. [`TrafficField::ABSENT`] stands for none, where that is the default.
    Number(&'static IntField),
    /// True or false: 1 and 0.
    Flag,
    /// An [`Mtu`]: its bytes.
    Mtu,
    /// One of some words: its index.
    Word(&'static [&'static str]),
}

/// Files that have a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Ours and Lumina's.
    All,
    /// Ours; the published tool of Lumina does not have it.
    Ours,
    /// The same, and tests have not had it from the first: the canonical text has it only where it is not at its
    /// default, and where a target gives it one value, random tests draw nothing for it. So texts, identities and
    /// campaigns from before stay as they are.
    Later,
}

impl TrafficField {
    /// The value of an optional number that is absent.
    pub const ABSENT: u64 = u64::MAX;

    /// Its bounds, if it is a number.
    #[must_use]
    pub const fn number(&self) -> Option<&'static IntField> {
        match self.form {
            Form::Number(field) => Some(field),
            Form::Flag | Form::Mtu | Form::Word(_) => None,
        }
    }

    /// Path in a test file.
    #[must_use]
    pub fn path(&self) -> impl fmt::Display {
        fmt::from_fn(|f| write!(f, "traffic.{}", self.key))
    }

    /// Returns true if it is at its default.
    #[must_use]
    pub fn is_default(&self, traffic: &Traffic) -> bool {
        (self.get)(traffic) == self.default
    }

    /// Returns true if it is optional, and absent.
    pub(crate) fn is_absent(&self, traffic: &Traffic) -> bool {
        self.default == Self::ABSENT && self.is_default(traffic)
    }

    /// Its value as files write it; a word without quotes.
    #[must_use]
    pub fn text(&self, traffic: &Traffic) -> String {
        let value = (self.get)(traffic);
        match self.form {
            Form::Flag => (value != 0).to_string(),
            Form::Word(words) => words.get(value as usize).copied().unwrap_or_default().to_owned(),
            Form::Number(_) | Form::Mtu => value.to_string(),
        }
    }
}

/// The type of a field: the number that stands for a value.
trait Value: Sized {
    fn number(&self) -> u64;
    fn of(number: u64) -> Self;
}

macro_rules! values {
    ($($type:ty, $value:ident => $number:expr, $given:ident => $of:expr;)*) => {
        $(impl Value for $type {
            fn number(&self) -> u64 {
                let $value = self;
                $number
            }
            fn of($given: u64) -> Self {
                $of
            }
        })*
    };
}

values! {
    u8, value => (*value).into(), number => number as Self;
    u32, value => (*value).into(), number => number as Self;
    u64, value => *value, number => number;
    bool, value => (*value).into(), number => number != 0;
    Option<u32>, value => value.map_or(TrafficField::ABSENT, u64::from),
        number => (number != TrafficField::ABSENT).then_some(number as u32);
    Mtu, value => value.bytes().into(), number => {
        let mut mtus = Self::ALL.into_iter().rev();
        mtus.find(|mtu| u64::from(mtu.bytes()) <= number).unwrap_or(Self::B256)
    };
    IterMode, value => *value as u64, number => if number == 0 { Self::Paper } else { Self::PerMessage };
    DummyRule, value => *value as u64, number => if number == 0 { Self::IdleAfter } else { Self::GapBefore };
    Pattern, value => *value as u64, number => if number == 0 { Self::OneWay } else { Self::PingPong };
}

macro_rules! traffic {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $row:ident $key:literal $form:expr, $default:expr, $files:expr;)*) => {
        /// The traffic of a test. Lumina, Listing 2, and our additions.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Traffic {
            /// Verbs and number of connections (`rdma-verb`, `num-connections`).
            pub load: Load,
            $($(#[$doc])* pub $name: $type,)*
        }

        impl Default for Traffic {
            fn default() -> Self {
                Self {
                    load: Load::Same { verb: Verb::Write, connections: fields::NUM_CONNECTIONS.default as u32 },
                    $($name: Value::of($default),)*
                }
            }
        }

        /// The fields, one by one.
        #[allow(missing_docs)] // The fields of `Traffic` say what they mean.
        impl TrafficField {
            $(pub const $row: Self = Self {
                key: $key, form: $form, files: $files, default: $default,
                get: |traffic| traffic.$name.number(),
                set: |traffic, value| traffic.$name = Value::of(value),
            };)*

            /// Every field but [`Traffic::load`], in the order of the canonical text.
            pub const ALL: &[Self] = &[$(Self::$row),*];
        }
    };
}

traffic! {
    /// Messages per connection; see [`fields::NUM_MSGS_PER_QP`].
    num_msgs_per_qp: u32, NUM_MSGS_PER_QP "num-msgs-per-qp"
        Form::Number(&fields::NUM_MSGS_PER_QP), fields::NUM_MSGS_PER_QP.default, Files::All;
    /// Path MTU.
    mtu: Mtu, MTU "mtu" Form::Mtu, 1024, Files::All;
    /// Bytes of every message; see [`fields::MESSAGE_SIZE`].
    message_size: u32, MESSAGE_SIZE "message-size"
        Form::Number(&fields::MESSAGE_SIZE), fields::MESSAGE_SIZE.default, Files::All;
    /// Spread the connections over all addresses of the hosts.
    multi_gid: bool, MULTI_GID "multi-gid" Form::Flag, 0, Files::All;
    /// Post the next `tx-depth` messages only when all connections have completed theirs.
    barrier_sync: bool, BARRIER_SYNC "barrier-sync" Form::Flag, 0, Files::All;
    /// Requests that a connection may have outstanding; see [`fields::TX_DEPTH`].
    tx_depth: u32, TX_DEPTH "tx-depth" Form::Number(&fields::TX_DEPTH), fields::TX_DEPTH.default, Files::All;
    /// Timeout exponent; see [`fields::MIN_RETRANSMIT_TIMEOUT`].
    min_retransmit_timeout: u8, MIN_RETRANSMIT_TIMEOUT "min-retransmit-timeout"
        Form::Number(&fields::MIN_RETRANSMIT_TIMEOUT), fields::MIN_RETRANSMIT_TIMEOUT.default, Files::All;
    /// `retry_cnt`; see [`fields::MAX_RETRANSMIT_RETRY`].
    max_retransmit_retry: u8, MAX_RETRANSMIT_RETRY "max-retransmit-retry"
        Form::Number(&fields::MAX_RETRANSMIT_RETRY), fields::MAX_RETRANSMIT_RETRY.default, Files::All;
    /// Receive requests kept posted; see [`fields::RECV_DEPTH`].
    recv_depth: u32, RECV_DEPTH "recv-depth" Form::Number(&fields::RECV_DEPTH), fields::RECV_DEPTH.default, Files::Ours;
    /// `rnr_retry`; see [`fields::RNR_RETRY`].
    rnr_retry: u8, RNR_RETRY "rnr-retry" Form::Number(&fields::RNR_RETRY), fields::RNR_RETRY.default, Files::Ours;
    /// RNR timer code; see [`fields::MIN_RNR_TIMER`].
    min_rnr_timer: u8, MIN_RNR_TIMER "min-rnr-timer"
        Form::Number(&fields::MIN_RNR_TIMER), fields::MIN_RNR_TIMER.default, Files::Ours;
    /// Outstanding Reads per connection; see [`fields::MAX_RD_ATOMIC`].
    max_rd_atomic: u8, MAX_RD_ATOMIC "max-rd-atomic"
        Form::Number(&fields::MAX_RD_ATOMIC), fields::MAX_RD_ATOMIC.default, Files::Ours;
    /// First PSN of every requester, 24 bits; random if absent.
    initial_psn: Option<u32>, INITIAL_PSN "initial-psn"
        Form::Number(&fields::INITIAL_PSN), TrafficField::ABSENT, Files::Ours;
    /// Seed of QPNs, PSNs and payload; see [`fields::SEED`].
    seed: u64, SEED "seed" Form::Number(&fields::SEED), fields::SEED.default, Files::Ours;
    /// Counting of rounds of transmission in the injector.
    iter_mode: IterMode, ITER_MODE "iter-mode" Form::Word(IterMode::WORDS), 0, Files::Ours;
    /// Pause between the completion of a message and the posting of the next; see [`fields::GAP_NS`].
    gap_ns: u64, GAP_NS "gap-ns" Form::Number(&fields::GAP_NS), fields::GAP_NS.default, Files::Later;
    /// Receives posted at once; see [`fields::RECV_BATCH`] and [`Traffic::receives_at_once`].
    recv_batch: u32, RECV_BATCH "recv-batch" Form::Number(&fields::RECV_BATCH), fields::RECV_BATCH.default, Files::Later;
    /// Dummies behind each message; see [`fields::DUMMY_HEADERS`] and [`Verb::dummy`].
    dummy_headers: u8, DUMMY_HEADERS "dummy-headers"
        Form::Number(&fields::DUMMY_HEADERS), fields::DUMMY_HEADERS.default, Files::Later;
    /// Time after which dummies are sent; see [`fields::DUMMY_IDLE_NS`] and [`DummyRule`].
    dummy_idle_ns: u64, DUMMY_IDLE_NS "dummy-idle-ns"
        Form::Number(&fields::DUMMY_IDLE_NS), fields::DUMMY_IDLE_NS.default, Files::Later;
    /// When that time is looked at.
    dummy_rule: DummyRule, DUMMY_RULE "dummy-rule" Form::Word(DummyRule::WORDS), 0, Files::Later;
    /// Posting of messages at both hosts; see [`Traffic::end_at`].
    pattern: Pattern, PATTERN "pattern" Form::Word(Pattern::WORDS), 0, Files::Later;
}

impl Traffic {
    /// Receives that the responder posts at once: `recv-batch`, and no more than it keeps posted.
    #[must_use]
    pub const fn receives_at_once(&self) -> u32 {
        if self.recv_batch < self.recv_depth { self.recv_batch } else { self.recv_depth }
    }

    /// The end of a connection (relative QPN, from 1) that a host has, where hosts are named by their ends of connection 1; as well,
    /// the host that has an end.
    #[must_use]
    pub const fn end_at(&self, host: Role, qpn: u32) -> Role {
        match self.pattern {
            Pattern::PingPong if qpn.is_multiple_of(2) => host.peer(),
            Pattern::OneWay | Pattern::PingPong => host,
        }
    }

    /// The other connection of a pair, where the hosts post in turn (both relative QPNs, from 1).
    #[must_use]
    pub const fn paired_with(&self, qpn: u32) -> Option<u32> {
        match self.pattern {
            Pattern::PingPong if qpn.is_multiple_of(2) => Some(qpn - 1),
            Pattern::PingPong => Some(qpn + 1),
            Pattern::OneWay => None,
        }
    }

    /// Pauses of a connection, one after the other: after each message but the last, or each `tx-depth` of them.
    #[must_use]
    pub const fn pauses(&self) -> u64 {
        let depth = if self.tx_depth == 0 { 1 } else { self.tx_depth };
        (self.num_msgs_per_qp.saturating_sub(1) / depth) as u64
    }

    /// Time that they take, in ns.
    #[must_use]
    pub const fn pauses_ns(&self) -> u64 {
        self.pauses().saturating_mul(self.gap_ns)
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

    /// Verb of the dummies behind its messages, whose data goes the same way. A Send would take a Receive, so that it is a Write.
    #[must_use]
    pub const fn dummy(self) -> Self {
        match self {
            Self::Write | Self::Send => Self::Write,
            Self::Read => Self::Read,
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

words! {
    /// Counting of ITER, the round of transmission, in the injector (Lumina §3.3).
    IterMode:
        /// The paper: +1 whenever a PSN is not larger than the last one; never back.
        Paper "paper",
        /// The published switch program: +1 whenever a PSN is not the expected one, back to 1 at the
        /// first packet of a message that arrives in order.
        PerMessage "per-message";
    /// When the requester's host sends the dummies that wait for `dummy-idle-ns`.
    DummyRule:
        /// When no request was posted for that time behind one that has not completed: a timer of the driver.
        IdleAfter "idle-after",
        /// Before a request that is posted later than that after the one before it, as Gao et al., §4.3, word it: nothing is behind the last
        /// request of a burst then.
        GapBefore "gap-before";
    /// Posting of messages at both hosts.
    Pattern:
        /// The requester's host posts all of them.
        OneWay "one-way",
        /// Connections are pairs, and the hosts post in turn, as perftest's latency tests do: of the second of a pair the responder's
        /// host is the requester, and answers each message of the first one with a message as large. The next one is posted when
        /// the answer has arrived and the message before it has completed.
        PingPong "ping-pong";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_keys_and_defaults_of_their_bounds() {
        for field in TrafficField::ALL {
            assert!(field.is_default(&Traffic::default()), "{}", field.key);
            if let Some(number) = field.number() {
                assert_eq!(field.key, number.key);
                assert!([number.default, TrafficField::ABSENT].contains(&field.default), "{}", field.key);
            }
        }
    }

    #[test]
    fn a_field_that_is_set_is_read_back_and_moves_no_other() {
        for field in TrafficField::ALL {
            let values = match field.form {
                Form::Number(number) => vec![number.min, number.max, field.default],
                Form::Flag => vec![0, 1],
                Form::Word(words) => (0..words.len() as u64).collect(),
                Form::Mtu => Mtu::ALL.map(|mtu| mtu.bytes().into()).to_vec(),
            };
            for value in values {
                let mut traffic = Traffic::default();
                (field.set)(&mut traffic, value);
                assert_eq!((field.get)(&traffic), value, "{}", field.key);
                (field.set)(&mut traffic, field.default);
                assert_eq!(traffic, Traffic::default(), "{}", field.key);
            }
        }
    }
}
