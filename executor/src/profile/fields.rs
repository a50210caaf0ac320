//! Every field of a profile: one entry each, read by the loader, the printer, `nics check` and the test that keeps
//! `docs/nic-profiles.md` honest.

use std::fmt::{self, Display};

use toml::Value;

/// Families of counter names.
pub const FAMILIES: [&str; 3] = ["nvidia", "intel", "rxe"];

/// Longest latency in nanoseconds: 10 s is beyond every time-out of a test, and keeps a simulation finite.
const MAX_LATENCY: i64 = 10_000_000_000;
/// Longest latency, in nanoseconds, of a NIC that conforms. The specification has none; a fiftieth of the time that
/// the analyzers give an answer before its absence counts.
const PATIENCE: i64 = 1_000_000;
/// Longest latency, in nanoseconds, of a step of making or answering a NACK by a NIC that conforms. A phase
/// above 100 µs is slow: the slowest NACK is confirmed, made, and sent over cables of 5 µs each way through a
/// receiver of 10 µs, and may wait behind an ACK.
const NACK_PATIENCE: i64 = 30_000;
const NACK_LATENCY: &str = "10 s is beyond every time-out of a test; 100 µs in total is slow (Lumina §6.1)";
const LATENCY: &str = "10 s is beyond every time-out of a test";
const RATES: &str = "DCQCN has 55 µs, 10 MB, 5 and 40 Mb/s; far off it neither reacts nor recovers in a test";
const VERBS: &[&str] = &["write", "send", "read"];
/// Longest list of numbers.
pub(super) const LONGEST_LIST: usize = 64;
const OFTEN: &str = "no test needs a rarer one; 0 is never";
const MAX_COUNT: i64 = 1_000_000;
const MAX_OFFSET: i64 = 1_000;
const OFFSET: &str = "further off is no other fault";

/// Smallest and largest value, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds<T> {
    /// Smallest allowed value.
    pub min: T,
    /// Largest allowed value.
    pub max: T,
    /// Smallest and largest value of a NIC that follows the specification and that the analyzers find nothing wrong
    /// with.
    pub conformant: (T, T),
}

impl<T: Copy + PartialOrd + Display> Bounds<T> {
    /// Returns true if `value` is inside the bounds; NaN is outside.
    pub fn allows(&self, value: T) -> bool {
        self.min <= value && value <= self.max
    }

    fn conforms(&self, value: T) -> bool {
        self.conformant.0 <= value && value <= self.conformant.1
    }
}

/// Type and bounds of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// One line of text of at most so many characters.
    Line(usize),
    /// Text.
    Text,
    /// True or false; the one that conforms, if only one does.
    Flag(Option<bool>),
    /// A whole number.
    Int(Bounds<i64>),
    /// A whole number, or a span of them.
    IntSpan(Bounds<i64>),
    /// A number, or a span of them.
    FactorSpan(Bounds<f64>),
    /// One of the words; those that conform.
    Choice(&'static [&'static str], &'static [&'static str]),
    /// A list of some of the words.
    Choices(&'static [&'static str]),
    /// A list of counters of the profile's family; only an empty one conforms.
    Counters,
    /// A list of whole numbers.
    Ints(Bounds<i64>),
    /// A list of lists of numbers; no list may be empty.
    FactorLists(Bounds<f64>),
}

/// A field of a profile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// Its sections and key, as in `link.rate-gbps`.
    pub path: &'static str,
    /// Type and bounds.
    pub kind: Kind,
    /// Unit, empty for plain counts.
    pub unit: &'static str,
    /// Meaning of the field.
    pub meaning: &'static str,
    /// Source of the bounds; empty for a field without bounds.
    pub why: &'static str,
}

impl Field {
    const fn new(path: &'static str, kind: Kind, unit: &'static str, meaning: &'static str) -> Self {
        Self { path, kind, unit, meaning, why: "" }
    }

    const fn why(self, why: &'static str) -> Self {
        Self { why, ..self }
    }

    /// The narrower range of a conforming NIC.
    const fn conforming(mut self, low: i64, high: i64) -> Self {
        if let Kind::Int(bounds) | Kind::IntSpan(bounds) = &mut self.kind {
            bounds.conformant = (low, high);
        }
        self
    }

    /// Section, empty at the top of the file, and key.
    pub fn section_and_key(&self) -> (&'static str, &'static str) {
        self.path.rsplit_once('.').unwrap_or(("", self.path))
    }

    /// The field with this path.
    pub fn find(path: &str) -> Option<&'static Self> {
        FIELDS.iter().find(|field| field.path == path)
    }

    /// Allowed values, as a phrase: `1 to 800 Gb/s`.
    pub fn allowed(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match self.kind {
            Kind::Line(longest) => format!("a line of at most {longest} characters"),
            Kind::Text => "text".into(),
            Kind::Flag(_) => "true or false".into(),
            Kind::Int(Bounds { min, max, .. }) => format!("{min} to {max}{unit}"),
            Kind::IntSpan(Bounds { min, max, .. }) => {
                format!("{min} to {max}{unit}, or a span as in [100, 200]")
            }
            Kind::FactorSpan(Bounds { min, max, .. }) => {
                format!("{min} to {max}{unit}, or a span as in [1.0, 4.0]")
            }
            Kind::Choice(words, _) => words.join(", "),
            Kind::Choices(words) => format!("a list of {}", words.join(", ")),
            Kind::Counters => "a list of counters of the family".into(),
            Kind::Ints(Bounds { min, max, .. }) => {
                format!("a list of at most {LONGEST_LIST} whole numbers from {min} to {max}{unit}")
            }
            Kind::FactorLists(Bounds { min, max, .. }) => {
                format!(
                    "a list of at most {LONGEST_LIST} lists of 1 to {LONGEST_LIST} numbers from {min} to {max}{unit}"
                )
            }
        }
    }

    /// Values of a conforming NIC, as a phrase; empty if every allowed value conforms.
    pub fn conformant(&self) -> String {
        fn range<T: Copy + PartialOrd + Display>(bounds: Bounds<T>) -> String {
            match bounds.conformant {
                (low, high) if low == bounds.min && high == bounds.max => String::new(),
                (low, high) if low == high => low.to_string(),
                (low, high) => format!("{low} to {high}"),
            }
        }
        match self.kind {
            Kind::Int(bounds) | Kind::IntSpan(bounds) => range(bounds),
            Kind::FactorSpan(bounds) => range(bounds),
            Kind::Flag(only) => only.map(|flag| flag.to_string()).unwrap_or_default(),
            Kind::Choice(words, conformant) if words.len() > conformant.len() => conformant.join(", "),
            Kind::Counters => "none".into(),
            Kind::Choice(..) | Kind::Choices(_) | Kind::Line(_) | Kind::Text => String::new(),
            Kind::Ints(_) | Kind::FactorLists(_) => "none".into(),
        }
    }

    /// Returns true if an allowed value is also one of a conforming NIC.
    pub(super) fn conforms(&self, value: &Value) -> bool {
        match self.kind {
            Kind::Int(bounds) | Kind::IntSpan(bounds) => {
                ends(value).iter().all(|end| end.as_integer().is_some_and(|int| bounds.conforms(int)))
            }
            Kind::FactorSpan(bounds) => {
                ends(value).iter().all(|end| end.as_float().is_some_and(|factor| bounds.conforms(factor)))
            }
            Kind::Flag(only) => only.is_none() || value.as_bool() == only,
            Kind::Choice(_, conformant) => value.as_str().is_some_and(|word| conformant.contains(&word)),
            Kind::Counters | Kind::Ints(_) | Kind::FactorLists(_) => {
                value.as_array().is_some_and(Vec::is_empty)
            }
            Kind::Choices(_) | Kind::Line(_) | Kind::Text => true,
        }
    }
}

/// Both ends of a span, or the one value.
fn ends(value: &Value) -> &[Value] {
    match value {
        Value::Array(ends) => ends,
        one => std::slice::from_ref(one),
    }
}

impl Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)
    }
}

const fn bounds<T: Copy>(min: T, max: T) -> Bounds<T> {
    Bounds { min, max, conformant: (min, max) }
}

const fn int(path: &'static str, min: i64, max: i64, unit: &'static str, meaning: &'static str) -> Field {
    Field::new(path, Kind::Int(bounds(min, max)), unit, meaning)
}

const fn latency(path: &'static str, meaning: &'static str) -> Field {
    let kind = Kind::IntSpan(bounds(0, MAX_LATENCY));
    Field::new(path, kind, "ns", meaning).why(LATENCY).conforming(0, PATIENCE)
}

/// A latency that adds to those of fast retransmissions.
const fn nack_latency(path: &'static str, meaning: &'static str) -> Field {
    latency(path, meaning).why(NACK_LATENCY).conforming(0, NACK_PATIENCE)
}

const fn factor(path: &'static str, meaning: &'static str) -> Field {
    let kind = Kind::FactorSpan(Bounds { min: 0.01, max: 100.0, conformant: (1.0, 4.0) });
    Field::new(path, kind, "T", meaning).why("IBA vol. 1, 9.7.6.1.3 has T to 4T; a hundredfold either way")
}

const fn flag(path: &'static str, meaning: &'static str) -> Field {
    Field::new(path, Kind::Flag(None), "", meaning)
}

/// A flag that no conforming NIC has.
const fn fault(path: &'static str, meaning: &'static str) -> Field {
    Field::new(path, Kind::Flag(Some(false)), "", meaning)
}

/// A fault that happens every so many times.
const fn every(path: &'static str, meaning: &'static str) -> Field {
    int(path, 0, MAX_COUNT, "", meaning).why(OFTEN).conforming(0, 0)
}

const fn offset(path: &'static str, meaning: &'static str) -> Field {
    int(path, -MAX_OFFSET, MAX_OFFSET, "", meaning).why(OFFSET).conforming(0, 0)
}

/// Every field, in the order of a printed profile.
pub const FIELDS: &[Field] = &[
    Field::new("name", Kind::Line(64), "", "Name in reports; the name of its file where it has none."),
    Field::new("description", Kind::Line(200), "", "What it models, for `nics list`."),
    Field::new("source", Kind::Text, "", "Where its figures come from, and which of them are assumptions."),
    int("link.rate-gbps", 1, 800, "Gb/s", "Rate of the cable.")
        .why("800 Gb/s is the fastest Ethernet there is")
        .conforming(10, 800),
    int("link.propagation-ns", 0, MAX_LATENCY, "ns", "Propagation delay, one way.")
        .why(LATENCY)
        .conforming(0, 5_000),
    latency("host.post-ns", "From posting a request to its doorbell at the NIC; a host posts one request after the other."),
    latency("host.poll-ns", "From a completion to the host's seeing it."),
    latency("host.repost-ns", "From the completion of a Receive to the posting of its successor."),
    int("host.receive-bytes", 0, 1 << 31, "bytes", "Size of the Receives that it posts; a longer Send is refused as an invalid request (IBA vol. 1, 9.9.3).")
        .why("IBA vol. 1: a message has 0 to 2^31 bytes"),
    int("transmit.packet-ns", 0, 1_000_000, "ns", "Shortest time from the scheduling of one packet to the next; 0 where only the link limits.")
        .why("a thousand packets a second is slower than any NIC")
        .conforming(0, 1_000),
    int("transmit.burst", 1, MAX_COUNT, "packets", "Packets of a QP's requests that are sent before it is the next one's turn; answers take turns packet by packet.")
        .why("beyond any message of a usable test"),
    flag("transmit.mig-req", "MigReq bit of the packets that it sends (IBA vol. 1, 17.2.8)."),
    int("transmit.pipeline-bytes", 0, 1 << 20, "bytes", "Packets that are scheduled ahead of the cable, in bytes of frames: retransmitted packets join behind them (Lumina (preprint) §6.2, figure 11); 0 for none.")
        .why("more than any NIC keeps in its transmit pipeline")
        .conforming(0, 1 << 17),
    latency("receive.latency-ns", "From the last bit of a packet to the transport.").conforming(0, 10_000),
    int("receive.packet-ns", 0, 1_000_000, "ns", "Shortest time between two packets at the transport; 0 where only the link limits.")
        .why("a thousand packets a second is slower than any NIC")
        .conforming(0, 20),
    int("receive.buffer-bytes", 9_216, 1 << 30, "bytes", "Buffer before the transport, in bytes of frames; what does not fit is discarded and counted.")
        .why("one jumbo frame has to fit; no NIC has a gibibyte")
        .conforming(9_216, 1 << 20),
    int("requester.ack-req-every", 0, MAX_COUNT, "packets", "AckReq on every so many packets, besides the last of each message; 0 for the last only.")
        .why("beyond any message of a usable test"),
    nack_latency("responder.ack-ns", "From a request to its ACK."),
    flag("responder.merge-acks", "Whether ACKs that wait to be sent are merged into one for the latest PSN (coalescing)."),
    int("responder.ack-every", 0, MAX_COUNT, "packets", "An ACK after so many packets even without AckReq; 0 for never.")
        .why("beyond any message of a usable test"),
    flag("responder.reack-all", "Whether duplicates without AckReq are acknowledged again too."),
    nack_latency("retransmission.nack-generation-ns.write", "From the packet that shows a loss in a Write to the NAK, by the responder."),
    nack_latency("retransmission.nack-generation-ns.send", "The same in a Send."),
    nack_latency("retransmission.nack-generation-ns.read", "From the response that shows a loss in a Read to the repeated request, by the requester."),
    nack_latency("retransmission.nack-reaction-ns.write", "From the NAK to the repeated packet of a Write, by the requester."),
    nack_latency("retransmission.nack-reaction-ns.send", "The same of a Send."),
    nack_latency("retransmission.nack-reaction-ns.read", "From the repeated request of a Read to the repeated response, by the responder."),
    int("retransmission.confirmation-packets", 0, MAX_COUNT, "packets", "Further packets out of order that the responder waits for before it makes a NAK; 0 for none.")
        .why("beyond any message of a usable test"),
    nack_latency("retransmission.confirmation-ns", "How long it waits for them."),
    factor("timeout.first", "The first expiry of the ACK timer without progress, in multiples of T = 4.096 µs x 2^timeout."),
    factor("timeout.further", "Every further one."),
    flag("timeout.restart-on-nak", "Whether a retransmission that a NAK asked for starts the timer again."),
    Field::new("adaptive.schedules", Kind::FactorLists(bounds(0.001, 1_000.0)), "T", "With adaptive retransmission on: expiries of the ACK timer, one list for each message of a QP with a time-out; the last list serves all further messages, the last expiry of a list all further ones. A NIC without a list does not have adaptive retransmission.")
        .why("Lumina §6.3 has 0.06 to 10 T; a hundredfold either way"),
    Field::new("adaptive.extra-retries", Kind::Ints(bounds(0, 64)), "", "Retries beyond the configured ones, for each such message; the last one serves all further ones.")
        .why("Lumina §6.3 has 0 to 6"),
    int("slow-path.contexts", 0, MAX_COUNT, "", "Contexts of the slow path; while more connections wait for a NACK than there are, nothing is taken out of the receive buffer. 0 for no limit.")
        .why("more than any test has connections")
        .conforming(0, 0),
    Field::new("slow-path.verbs", Kind::Choices(VERBS), "", "Verbs whose losses are recovered through it."),
    int("apm.contexts", 0, MAX_COUNT, "", "Contexts of path migration: the first packet of a QP that has MigReq clear takes one, and if none is free stops all that arrive behind it until one is (Lumina §6.2.3). 0 where MigReq means nothing.")
        .why("more than any test has connections")
        .conforming(0, 0),
    latency("apm.resolve-ns", "How long a QP keeps its context of path migration."),
    int("notification.hidden-interval-us", 0, 10_000_000, "µs", "Shortest time between two CNPs that the NIC keeps whatever is configured.")
        .why(LATENCY)
        .conforming(0, 0),
    Field::new("notification.configurable", Kind::Flag(Some(true)), "", "Whether `min-time-between-cnps` of the host is obeyed."),
    Field::new("notification.scope", Kind::Choice(&["qp", "destination-ip", "port"], &["qp"]), "", "What shares one CNP interval."),
    flag("notification.on-loss", "Whether packets out of order make CNPs like marked ones, where the host's `slow-restart` is on (lossy RoCE)."),
    int("reaction.g-inverse", 1, 65_536, "", "1 / g, the weight of one CNP in alpha (DCQCN, SIGCOMM'15).")
        .why("a weight is a part of the whole")
        .conforming(16, 1_024),
    int("reaction.alpha-timer-us", 1, 1_000_000, "µs", "Time without a CNP after which alpha falls.").why(RATES).conforming(10, 1_000),
    int("reaction.rate-timer-us", 1, 1_000_000, "µs", "Time after which the rate is raised.").why(RATES).conforming(10, 1_000),
    int("reaction.byte-counter", 1_024, 1 << 40, "bytes", "Bytes sent after which the rate is raised.").why(RATES),
    int("reaction.fast-recovery", 1, 1_000, "", "Events of fast recovery: timer and byte counter are each raised so often half way to the rate before the last CNP, and beyond it from then on.")
        .why(RATES),
    int("reaction.additive-increase-mbps", 1, 800_000, "Mb/s", "Additive increase, R_AI.").why(RATES),
    int("reaction.hyper-increase-mbps", 1, 800_000, "Mb/s", "Hyper increase, R_HAI.").why(RATES),
    int("reaction.min-rate-mbps", 1, 800_000, "Mb/s", "Lowest rate of a QP.").why(RATES).conforming(100, 800_000),
    int("ets.ceiling-percent", 0, 10_000, "%", "Largest share of a weighted class, in percent of its guaranteed share, even if other classes leave the link idle (Lumina §6.2.1); 0 where only the link limits it, which is work-conserving.")
        .why("a class has one percent of the link or more")
        .conforming(0, 0),
    Field::new("counters.family", Kind::Choice(&FAMILIES, &["nvidia", "intel"]), "", "Whose names its counters have; rxe's say nothing of what is discarded."),
    int("quirks.nak-repeats", 0, MAX_COUNT, "", "Responder: further sequence NAKs for the same expected PSN, one for each further out-of-order packet, at most so many.")
        .why("beyond the packets of any usable test")
        .conforming(0, 0),
    offset("quirks.nak-psn-offset", "Responder: added to the PSN of a sequence NAK."),
    fault("quirks.nak-suppressed", "Responder: no sequence NAKs at all."),
    every("quirks.nak-unprovoked-every", "Responder: a sequence NAK for the expected PSN after every n-th packet that arrived in order."),
    offset("quirks.ack-psn-offset", "Responder: added to the PSN of ACKs that end a message."),
    fault("quirks.reack-own-psn", "Responder: duplicates are acknowledged with their own PSN, not with the latest."),
    fault("quirks.reack-missing", "Responder: duplicates are not acknowledged again."),
    fault("quirks.reread-missing", "Responder: duplicate Reads are not answered."),
    every("quirks.ack-missing-every", "Responder: every n-th due ACK is not sent."),
    fault("quirks.ack-passes-read", "Responder: ACKs overtake Read responses that wait."),
    offset("quirks.msn-offset", "Responder: added to the MSN of every ACK and response."),
    fault("quirks.duplicate-write-executed", "Responder: duplicate Writes are executed again and counted as messages."),
    every("quirks.response-gap-every", "Responder: every n-th packet of its Read responses is left out."),
    every("quirks.response-surplus-every", "Responder: one packet more than was asked for in every n-th Read response."),
    fault("quirks.response-never-ends", "Responder: the last packet of a Read response has the opcode MIDDLE."),
    offset("quirks.resume-offset", "Requester: added to the PSN that a NAK asks to resume from."),
    fault("quirks.nak-ignored", "Requester: sequence NAKs are not answered."),
    fault("quirks.implied-nak-ignored", "Requester: a gap in Read responses is noticed only when the ACK timer expires."),
    every("quirks.retransmits-unprovoked-every", "Requester: retransmits from the oldest unacknowledged packet after every n-th packet that it sends."),
    every("quirks.psn-skipped-every", "Requester: one PSN is left out after every n-th message."),
    every("quirks.first-in-the-middle-every", "Requester: the opcode of every n-th packet in the middle of a message is that of a first one."),
    fault("quirks.read-address-not-advanced", "Requester: a repeated Read request has the address of the whole Read."),
    offset("quirks.retry-offset", "Requester: added to the retry budget."),
    offset("quirks.rnr-retry-offset", "Requester: added to the RNR retry budget."),
    int("quirks.rnr-wait-short-percent", 0, 100, "%", "Requester: waits this part less than what an RNR NAK asks for; 0 waits all of it.")
        .why("a part of the whole")
        .conforming(0, 0),
    fault("quirks.timer-ignores-progress", "Requester: progress does not start the ACK timer again."),
    fault("quirks.fatal-nak-ignored", "Requester: requests go on after a NAK that ends the QP."),
    every("quirks.silent-discard-every", "Receiver: every n-th packet is lost before the transport, and no counter says so."),
    fault("quirks.cnp-suppressed", "Notification point: no CNPs, though they are enabled."),
    every("quirks.cnp-unprovoked-every", "Notification point: a CNP for every n-th packet that is not marked."),
    fault("quirks.cnp-interval-ignored", "Notification point: the interval is not kept."),
    Field::new("quirks.stuck-counters", Kind::Counters, "", "Counters that never move, by name."),
    Field::new("quirks.doubled-counters", Kind::Counters, "", "Counters that count each event twice, by name."),
];
