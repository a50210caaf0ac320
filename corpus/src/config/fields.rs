//! The numeric fields of a test configuration: one entry each, read by the file readers, the
//! checker, the property-test generator and the test that keeps `docs/test-config.md` honest.

/// A whole-number field: its key, its bounds (both inclusive) and the reason for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntField {
    /// Key in TOML (and, where Lumina has the field, in its YAML).
    pub key: &'static str,
    /// Smallest allowed value.
    pub min: u64,
    /// Largest allowed value.
    pub max: u64,
    /// Value when the key is absent.
    pub default: u64,
    /// Unit for messages, empty for plain counts.
    pub unit: &'static str,
    /// Source of the bounds.
    pub why: &'static str,
}

impl IntField {
    /// Returns true if `value` is inside the bounds.
    #[must_use]
    pub const fn allows(&self, value: u64) -> bool {
        self.min <= value && value <= self.max
    }

    /// The bounds as a phrase: `1 to 10000`, with the unit where there is one.
    #[must_use]
    pub fn range(&self) -> String {
        let space = if self.unit.is_empty() { "" } else { " " };
        format!("{} to {}{space}{}", self.min, self.max, self.unit)
    }
}

/// A whole-number field of a part of a test, for code that goes through all of them.
#[derive(Debug, Clone, Copy)]
pub struct NumberOf<Part> {
    /// Key and bounds.
    pub field: &'static IntField,
    /// Reads it.
    pub get: fn(&Part) -> u64,
    /// Sets it to a number inside the bounds.
    pub set: fn(&mut Part, u64),
}

/// Upper bound on the data packets of one test, over all connections, without retransmissions.
/// A trace keeps about 64 bytes a packet, so this is 256 MiB; it also keeps every connection
/// inside half of the 24-bit PSN space, where serial comparison is unambiguous.
pub const MAX_TOTAL_PACKETS: u64 = 1 << 22;

/// Upper bound on the pauses of a connection (`gap-ns`), all together: hosts wait as long for the end of a test.
pub const MAX_PAUSES_NS: u64 = 60_000_000_000;

/// Upper bound on `[[event]]` entries. One entry can name many packets (connection sets,
/// progressions), so this is far more than a test needs, and comparing all pairs stays cheap.
pub const MAX_EVENTS: usize = 4096;

/// Most operations on flow tables of a test.
pub const MAX_CONTROLS: usize = 1024;

/// Most rules between the tables of a host: two for each direction and version of IP in each of eight tables.
pub const MAX_RULES: usize = 64;

/// Upper bound on addresses per host: one per connection of the largest test would be absurd;
/// NIC GID tables hold 256 entries at most.
pub const MAX_ADDRESSES: usize = 256;

/// Upper bound, in bytes, on names and paths (NIC, interface, workspace): Linux's `PATH_MAX`.
pub const MAX_NAME_LEN: usize = 4096;

/// Retransmissions beyond `max-retransmit-retry` that an event may still name. Adaptive retransmission was
/// measured at 13 tries where 7 were configured (Lumina §6.3), and a test must be able to point beyond that.
pub const RETRY_SLACK: u64 = 8;

macro_rules! int_fields {
    ($($(#[$doc:meta])* $name:ident = $key:literal, $min:expr, $max:expr, $default:expr, $unit:literal, $why:literal;)*) => {
        $($(#[$doc])* pub const $name: IntField = IntField {
            key: $key, min: $min, max: $max, default: $default, unit: $unit, why: $why,
        };)*
        /// Every numeric field.
        pub const ALL: &[IntField] = &[$($name),*];
    };
}

int_fields! {
    /// Connections (queue pairs) of a test. Lumina, Listing 2; its published tool says `num-qps`.
    NUM_CONNECTIONS = "num-connections", 1, 10_000, 1, "connections",
        "the paper sizes the injector for 10 K connections";
    /// Messages that each connection posts. Lumina, Listing 2.
    NUM_MSGS_PER_QP = "num-msgs-per-qp", 1, 1_000_000, 10, "messages",
        "the cap on packets binds first for all but one-packet messages";
    /// Size of every message. IBA: a message has 0 to 2^31 bytes.
    MESSAGE_SIZE = "message-size", 0, 1 << 31, 10_240, "bytes", "IBA vol. 1: a message has 0 to 2^31 bytes";
    /// Requests that a QP may have outstanding. Lumina, Listing 2.
    TX_DEPTH = "tx-depth", 1, 32_768, 1, "requests", "the largest send queue of common NICs";
    /// ACK timeout exponent t: T = 4.096 µs x 2^t, 0 waits for ever (IBA 9.7.6.1.3).
    MIN_RETRANSMIT_TIMEOUT = "min-retransmit-timeout", 0, 31, 14, "",
        "5 bits in the QP attributes; 0 disables the timer";
    /// Retry budget `retry_cnt` of time-outs and NAKs (IBA 9.7.6.1.3).
    MAX_RETRANSMIT_RETRY = "max-retransmit-retry", 0, 7, 7, "", "3 bits in the QP attributes; 7 means 7";
    /// Receive requests that the responder keeps posted for Sends.
    RECV_DEPTH = "recv-depth", 1, 32_768, 128, "requests", "the largest receive queue of common NICs";
    /// Retry budget of RNR NAKs; 7 is unlimited (IBA 9.7.5.2.8).
    RNR_RETRY = "rnr-retry", 0, 7, 7, "", "3 bits in the QP attributes; 7 is unlimited";
    /// RNR NAK timer code (IBA table 45).
    MIN_RNR_TIMER = "min-rnr-timer", 0, 31, 12, "", "5 bits in the AETH; 12 is 0.64 ms, 0 is 655.36 ms";
    /// Outstanding Reads per QP, as initiator and as responder.
    MAX_RD_ATOMIC = "max-rd-atomic", 1, 128, 16, "requests", "the largest that common RDMA stacks offer";
    /// First PSN of the requester; absent means random.
    INITIAL_PSN = "initial-psn", 0, (1 << 24) - 1, 0, "", "a PSN has 24 bits";
    /// Seed of the random choices of a run (QPNs, PSNs, payload).
    SEED = "seed", 0, (1 << 63) - 1, 1, "", "a TOML integer is signed and has 64 bits";
    /// Pause of a connection between the completion of a message and the posting of the next.
    GAP_NS = "gap-ns", 0, 10_000_000_000, 0, "ns",
        "10 s is beyond every retransmission timeout that a test waits for";
    /// Receives that the responder posts at once, when so many have completed.
    RECV_BATCH = "recv-batch", 1, 32_768, 1, "requests", "the largest receive queue of common NICs";
    /// Requests of 0 bytes behind each message, whose arrival shows that a packet before them is lost. Gao et al. (JCST 2022) §4.3.
    DUMMY_HEADERS = "dummy-headers", 0, 8, 0, "requests", "after a few the loss of all of them is less likely than any other";
    /// Time without a further request after which the dummies are sent; 0 sends them right behind each message. Gao et al. (JCST 2022) §4.3.
    DUMMY_IDLE_NS = "dummy-idle-ns", 0, 10_000_000_000, 0, "ns", "10 s is beyond every retransmission timeout that a test waits for";
    /// Packets of the reference size that a link loses at random, of 10^9; 0 loses none.
    LOSS_PPB = "loss-ppb", 0, 500_000_000, 0, "packets in 10^9", "with more than half of the packets lost no QP makes progress";
    /// Size that the losses are of, with frame check sequence; absent means that of a full MIDDLE packet.
    LOSS_BYTES = "loss-bytes", 64, 4_240, 1_086, "bytes", "the shortest Ethernet frame, and the longest of an MTU of 4096";
    /// Links of each direction, one behind the other, each of which loses packets.
    LINKS = "links", 0, 16, 1, "links", "no path through a data centre has more";
    /// Probability, in percent, that a link loses packets at all: it does or does not for the whole test.
    CORRUPTED_LINKS_PERCENT = "corrupted-links-percent", 0, 100, 100, "%", "a probability";
    /// Copies of a sequence NAK that reach the requester, itself included ("Repeat" of corruption papers counts the extra ones).
    NAKS = "naks", 1, 8, 1, "packets", "an injector makes up to seven copies; 1 is the NAK alone";
    /// Transmissions of the packet that a NAK asks for, its retransmission included.
    RETRANSMISSIONS = "retransmissions", 1, 8, 1, "packets", "an injector makes up to seven copies; 1 is the packet alone";
    /// Copies of the last packet of a message, itself included.
    TAILS = "tails", 1, 8, 1, "packets", "an injector makes up to seven copies; 1 is the packet alone";
    /// Delay of a path between the hosts.
    PATH_DELAY_NS = "delay-ns", 0, 10_000_000_000, 0, "ns", "10 s is beyond every retransmission timeout that a test waits for";
    /// Rate of a path; 0 is no limit.
    RATE_GBPS = "rate-gbps", 0, 800, 0, "Gbps", "the fastest Ethernet; 0 is no limit";
    /// Share of the packets that take a path, of the sum over all paths.
    WEIGHT = "weight", 1, 100, 1, "", "shares are percentages";
    /// Packets that wait at a path with a rate.
    QUEUE_PACKETS = "queue-packets", 1, 1_000_000, 1_024, "packets", "a switch has megabytes of buffer";
    /// Pause after which the packets of a flow may take another path.
    FLOWLET_GAP_NS = "flowlet-gap-ns", 1, 10_000_000_000, 50_000, "ns", "10 s is beyond every retransmission timeout that a test waits for";
    /// Number of one copy, the original not included.
    COPY = "copies", 1, 7, 1, "", "an injector makes up to seven copies";
    /// Shortest time between two CNPs of a notification point. Lumina, Listing 1.
    MIN_TIME_BETWEEN_CNPS = "min-time-between-cnps", 0, 1_000_000, 4, "µs",
        "4 µs is the default of NVIDIA NICs; beyond a second no test would see a second CNP";
    /// Traffic class of a connection (IEEE 802.1Q priorities).
    TRAFFIC_CLASS = "traffic-class", 0, 7, 0, "", "Ethernet has 8 traffic classes";
    /// ETS weight of a traffic class; 0 where the class is strict or unused.
    ETS_WEIGHT = "weights", 0, 100, 0, "", "IEEE 802.1Qaz: bandwidth shares are percentages";
    /// Entries of a NIC's flow table.
    OFFLOAD_FLOWS = "flows", 1, 65_536, 1, "", "ScalaCN's largest table has 15 thousand";
    /// Masks of a flow table for packets that leave.
    EGRESS_MASKS = "egress-masks", 1, 4_096, 1, "", "ScalaCN §4.1: tables of hundreds of entries, each with a mask of its own";
    /// Masks of a flow table for packets that arrive.
    INGRESS_MASKS = "ingress-masks", 1, 4_096, 1, "", "as `egress-masks`";
    /// Mask of a connection's entry.
    PLACE = "place", 1, 4_096, 1, "", "masks count from 1";
    /// Tables that each packet is looked up in.
    OFFLOAD_TABLES = "tables", 1, 8, 1, "", "longer than any chain of a container network";
    /// Table of a rule.
    RULE_TABLE = "table", 1, 8, 1, "", "as many as a chain can have";
    /// Table that a rule forwards packets to.
    FORWARD_TO = "forward-to", 1, 8, 1, "", "as many as a chain can have";
    /// Actions on each packet.
    OFFLOAD_ACTIONS = "actions", 0, 8, 1, "", "more than any rule of a container network has";
    /// Virtual functions of a NIC.
    VIRTUAL_FUNCTIONS = "virtual-functions", 1, 256, 1, "", "the most that NICs of today have on a port";
    /// Time without packets after which an entry is deleted.
    MAX_IDLE_MS = "max-idle-ms", 1, 600_000, 10_000, "ms", "10 s is the default of Open vSwitch (`max-idle`); ten minutes are beyond a usable test";
    /// Time from one look at the entries to the next.
    REVALIDATE_MS = "revalidate-ms", 1, 60_000, 500, "ms", "500 ms is the default of Open vSwitch (`max-revalidator`)";
    /// Entries of the hyper mask.
    HYPER_ENTRIES = "hyper-entries", 1, 65_536, 4_096, "", "as many as a table can have";
    /// Time of an operation on a flow table.
    CONTROL_AT_MS = "at-ms", 0, 3_600_000, 0, "ms", "an hour is beyond a usable test";
    /// Flows, masks or connections of an operation.
    CONTROL_COUNT = "count", 1, 65_536, 1, "", "as many as a table can have";
    /// Virtual function of an operation.
    CONTROL_VF = "virtual-function", 1, 256, 1, "", "functions count from 1";
    /// Switch port of a host (physical testbeds).
    SWITCH_PORT = "switch-port", 0, 65_535, 0, "", "P4 targets number ports in at most 16 bits";
    /// Port of the RDMA device (physical testbeds).
    IB_PORT = "ib-port", 1, 255, 1, "", "a port number has 8 bits and starts at 1";
    /// Relative QPN of an event: the connection's number.
    QPN = "qpn", 1, 10_000, 1, "", "connections count from 1";
    /// Relative PSN of an event, over the whole connection in posting order.
    PSN = "psn", 1, MAX_TOTAL_PACKETS, 1, "", "packets of a connection count from 1";
    /// Transmission round of an event; 1 is the first transmission. Lumina §3.3.
    ITER = "iter", 1, 255, 1, "", "rounds count from 1; the injector matches 8 bits";
    /// Occurrence of a control packet on its connection.
    NTH = "nth", 1, MAX_TOTAL_PACKETS, 1, "", "occurrences count from 1";
    /// Step of a progression.
    EVERY = "every", 1, MAX_TOTAL_PACKETS, 1, "packets", "a step of 0 would name one packet again and again";
    /// Length of a progression; absent means to the end of the connection.
    COUNT = "count", 1, MAX_TOTAL_PACKETS, 1, "", "no test has more packets";
    /// Delay of the `delay` action, in microseconds.
    DELAY_US = "delay-us", 1, 10_000_000, 1, "µs", "10 s is beyond every retransmission timeout that a test waits for";
    /// Delay of the `delay` action, in nanoseconds.
    DELAY_NS = "delay-ns", 1, 10_000_000_000, 1, "ns",
        "10 s is beyond every retransmission timeout that a test waits for";
    /// Time of the `hold` action, in microseconds.
    HOLD_US = "hold-us", 1, 10_000_000, 1, "µs", "10 s is beyond every retransmission timeout that a test waits for";
    /// Time of the `hold` action, in nanoseconds.
    HOLD_NS = "hold-ns", 1, 10_000_000_000, 1, "ns",
        "10 s is beyond every retransmission timeout that a test waits for";
    /// Later packets of its connection that overtake a reordered one.
    BY = "by", 1, 1024, 1, "packets", "a switch holds the packet meanwhile; buffers are finite";
    /// Extra copies that `duplicate` sends.
    COPIES = "copies", 1, 16, 1, "copies", "more would measure the link, not the NIC";
    /// Operand of `set-field`; each field has narrower bounds ([`HeaderField::largest`](super::HeaderField::largest)).
    VALUE = "value", 0, i64::MAX as u64, 0, "", "a TOML integer is signed and has 64 bits";
}
