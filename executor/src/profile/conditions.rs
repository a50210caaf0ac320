//! Conditions of quirks: a fault that shows only where several things come together, as those of real NICs do.

use corpus::config::fields as limits;
use serde::{Deserialize, Serialize, Serializer};
use toml::{Table, Value};

use super::field::{Field, Kind, MAX_COUNT, VERBS, bounds, int};
use super::quirks::CONDITIONAL;
use super::{Quirks, Span, Verb};

/// Most entries of a profile: each set of those whose conditions hold has its quirks ready.
pub(super) const MAX_CONDITIONAL: usize = 8;

/// Quirks that a NIC has while conditions hold.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConditionalQuirk {
    /// What must hold, all of it.
    pub when: When,
    /// The quirks, in place of those of `[quirks]`.
    #[serde(flatten)]
    pub quirks: Quirks,
}

impl Serialize for ConditionalQuirk {
    /// Only what is listed.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let error = serde::ser::Error::custom;
        let mut table = Table::try_from(&self.quirks).map_err(error)?;
        let none = Table::try_from(Quirks::default()).map_err(error)?;
        table.retain(|key, value| none.get(key) != Some(value));
        table.insert("when".into(), Value::try_from(&self.when).map_err(error)?);
        table.serialize(serializer)
    }
}

/// Conditions on what a NIC handles at the moment; one that is not listed always holds. A responder handles the request
/// packet that arrives, or the answer that it sends; a requester the packet that it sends, the one that an ACK or NAK names, or
/// when a timer expires its oldest unacknowledged one.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct When {
    /// Verbs of the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verb: Vec<Verb>,
    /// Positions of the packet in its message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub position: Vec<Position>,
    /// Number of the message on its QP, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Span<u32>>,
    /// Bytes of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_size: Option<Span<u32>>,
    /// MTUs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mtu: Vec<u32>,
    /// Traffic classes of the QP.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub class: Vec<u8>,
    /// QPs of the NIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Span<u32>>,
    /// QPs of the NIC that recover from a loss at the moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovering: Option<Span<u32>>,
    /// Retries that the requester has spent since its last progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<Span<u32>>,
    /// Counters of the NIC that have counted `counted` times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<String>,
    /// How often each of `counters` has counted, at the least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<u64>,
}

/// Position of a packet in its message, in profiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// The first of several.
    First,
    /// Neither the first nor the last.
    Middle,
    /// The last of several.
    Last,
    /// The only one.
    Only,
}

impl From<Position> for dumper::wire::Position {
    fn from(position: Position) -> Self {
        match position {
            Position::First => Self::First,
            Position::Middle => Self::Middle,
            Position::Last => Self::Last,
            Position::Only => Self::Only,
        }
    }
}

const fn span(path: &'static str, min: i64, max: i64, unit: &'static str, meaning: &'static str) -> Field {
    Field::new(path, Kind::IntSpan(bounds(min, max)), unit, meaning).why("as in a test")
}

const fn numbers(path: &'static str, min: i64, max: i64, meaning: &'static str) -> Field {
    Field::new(path, Kind::Ints(bounds(min, max)), "", meaning).why("as in a test")
}

const fn limit(field: limits::IntField) -> (i64, i64) {
    (field.min as i64, field.max as i64)
}

const MESSAGES: (i64, i64) = limit(limits::NUM_MSGS_PER_QP);
const BYTES: (i64, i64) = limit(limits::MESSAGE_SIZE);
const CONNECTIONS: (i64, i64) = limit(limits::NUM_CONNECTIONS);
const CLASS: (i64, i64) = limit(limits::TRAFFIC_CLASS);

/// The conditions.
const WHEN: &[Field] = &[
    Field::new("quirk.when.verb", Kind::Choices(VERBS), "", "Verb of the message: one of these."),
    Field::new(
        "quirk.when.position",
        Kind::Choices(&["first", "middle", "last", "only"]),
        "",
        "Position of the packet in its message or Read response: one of these. A Read request is `only`.",
    ),
    span("quirk.when.message", MESSAGES.0, MESSAGES.1, "", "Number of the message on its QP, from 1."),
    span("quirk.when.message-size", BYTES.0, BYTES.1, "bytes", "Bytes of the QP's messages."),
    numbers("quirk.when.mtu", 256, 4_096, "MTU: one of these."),
    numbers("quirk.when.class", CLASS.0, CLASS.1, "Traffic class of the QP: one of these."),
    span("quirk.when.connections", CONNECTIONS.0, CONNECTIONS.1, "", "QPs of the NIC."),
    span(
        "quirk.when.recovering",
        0,
        CONNECTIONS.1,
        "",
        "QPs of the NIC that recover from a loss: a requester's that has spent retries since its last progress, a responder's that has refused a packet and waits for it.",
    ),
    span(
        "quirk.when.retries",
        0,
        64,
        "",
        "Retries that the requester has spent since its last progress; a responder has none.",
    ),
    Field::new(
        "quirk.when.counters",
        Kind::Counters,
        "",
        "Counters of the NIC that have counted `counted` times.",
    ),
    int(
        "quirk.when.counted",
        1,
        MAX_COUNT,
        "",
        "How often each of `counters` has counted in the test, at the least; 1 where it is not given.",
    )
    .why("beyond the packets of any usable test"),
];

/// Every field of a `[[quirk]]`: its conditions, and the quirks. Counters are wrong for a whole test, or not.
pub fn conditional_fields() -> impl Iterator<Item = &'static Field> {
    WHEN.iter().chain(CONDITIONAL.iter().filter(|field| field.kind != Kind::Counters))
}
