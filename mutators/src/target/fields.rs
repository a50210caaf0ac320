//! The fields of a target, for printing and for reading.

use corpus::config::fields::{self, IntField};

use crate::axis::AXES;
use crate::show;

/// Random tests at the start; 32 as in the search that Algorithm 1 of Lumina was grown into.
pub(super) const POOL: IntField = IntField {
    key: "pool",
    min: 1,
    max: 100_000,
    default: 32,
    unit: "tests",
    why: "beyond it a campaign would be a random one",
};
/// Tests that are drawn afresh after the start; none in Algorithm 1 of Lumina.
pub(super) const FRESH: IntField =
    IntField { key: "fresh", min: 0, max: 100, default: 0, unit: "percent", why: "there are no more" };
pub(super) const PACKET_CAP: IntField = IntField {
    key: "packet-cap",
    min: 1,
    max: fields::MAX_TOTAL_PACKETS,
    default: 20_000,
    unit: "packets",
    why: "no test has more",
};
/// Sections of weights by name.
pub(super) const OBJECTIVES: &str = "objectives";
pub(super) const OPERATORS: &str = "operators";
/// Largest weight of an objective or an operator.
pub(super) const MAX_WEIGHT: f64 = 1e6;
/// Longest name and description, in characters.
pub(super) const NAME: usize = 64;
pub(super) const DESCRIPTION: usize = 200;

/// A field, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Section, if any, and key.
    pub path: &'static str,
    /// Value of a target without a base that does not list it, as in a file.
    pub default: String,
    /// Allowed values, as a phrase.
    pub allowed: String,
    /// Meaning of the field.
    pub meaning: &'static str,
}

/// Every field, in the order of a printed target.
#[must_use]
pub fn fields() -> Vec<Field> {
    let top = |path, default: &str, allowed: String, meaning| Field {
        path,
        default: default.into(),
        allowed,
        meaning,
    };
    let int = |field: &IntField, meaning| top(field.key, &field.default.to_string(), field.range(), meaning);
    let weight = format!("0 to {MAX_WEIGHT}");
    let mut all = vec![
        top(
            "name",
            "\"\"",
            format!("a line of at most {NAME} characters"),
            "Name in reports; the name of its file where it has none.",
        ),
        top(
            "description",
            "\"\"",
            format!("a line of at most {DESCRIPTION} characters"),
            "One line for `targets list`.",
        ),
        int(&POOL, "Random tests that a `genetic` search starts with."),
        int(
            &FRESH,
            "How many of the tests after these are random ones too, and not mutated: a pool in a wide space grows alike.",
        ),
        int(&PACKET_CAP, "Most data packets of a test over all connections, retransmissions not counted."),
        top(
            "oracles",
            "\"all\"",
            "a list of kinds of anomaly, or \"all\"".into(),
            "Kinds of anomaly that are findings; others are counted in the score only.",
        ),
        top(
            OBJECTIVES,
            "",
            weight.clone(),
            "Weight of each objective in the score, by name; those that are absent have 0.",
        ),
        top(
            OPERATORS,
            "",
            weight,
            "Weight of each operator, by name; those that are absent have their own; 0 switches one off.",
        ),
    ];
    all.extend(AXES.iter().map(|entry| Field {
        path: entry.path,
        default: show::word(entry.kind, entry.default),
        allowed: show::allowed_by(entry.kind),
        meaning: entry.meaning,
    }));
    all
}
