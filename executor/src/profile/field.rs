//! The form of a profile's field: its type, its bounds, its meaning.

use std::fmt::{self, Display};

use toml::Value;

/// Families of counter names.
pub const FAMILIES: [&str; 3] = ["nvidia", "intel", "rxe"];

/// Longest latency in nanoseconds: 10 s is beyond every time-out of a test, and keeps a simulation finite.
pub(super) const MAX_LATENCY: i64 = 10_000_000_000;
/// Longest latency, in nanoseconds, of a NIC that conforms. The specification has none; a fiftieth of the time that
/// the analyzers give an answer before its absence counts.
pub(super) const PATIENCE: i64 = 1_000_000;
/// Longest latency, in nanoseconds, of a step of making or answering a NACK by a NIC that conforms. A phase
/// above 100 µs is slow: the slowest NACK is confirmed, made, and sent over cables of 5 µs each way through a
/// receiver of 10 µs, and may wait behind an ACK.
pub(super) const NACK_PATIENCE: i64 = 30_000;
pub(super) const NACK_LATENCY: &str =
    "10 s is beyond every time-out of a test; 100 µs in total is slow (Lumina §6.1)";
pub(super) const LATENCY: &str = "10 s is beyond every time-out of a test";
pub(super) const RATES: &str =
    "DCQCN has 55 µs, 10 MB, 5 and 40 Mb/s; far off it neither reacts nor recovers in a test";
pub(super) const VERBS: &[&str] = &["write", "send", "read"];
/// Longest list of numbers.
pub(super) const LONGEST_LIST: usize = 64;
pub(super) const ACCESS: &str = "LEFT has 5 to 40 ns";
pub(super) const OFTEN: &str = "no test needs a rarer one; 0 is never";
pub(super) const MAX_COUNT: i64 = 1_000_000;
pub(super) const MAX_OFFSET: i64 = 1_000;
pub(super) const OFFSET: &str = "further off is no other fault";

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
    /// Tables of quirks under conditions; only an empty list conforms.
    Quirks(usize),
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
    pub(super) const fn new(
        path: &'static str,
        kind: Kind,
        unit: &'static str,
        meaning: &'static str,
    ) -> Self {
        Self { path, kind, unit, meaning, why: "" }
    }

    pub(super) const fn why(self, why: &'static str) -> Self {
        Self { why, ..self }
    }

    /// The narrower range of a conforming NIC.
    pub(super) const fn conforming(mut self, low: i64, high: i64) -> Self {
        if let Kind::Int(bounds) | Kind::IntSpan(bounds) = &mut self.kind {
            bounds.conformant = (low, high);
        }
        self
    }

    /// Section, empty at the top of the file, and key.
    pub fn section_and_key(&self) -> (&'static str, &'static str) {
        self.path.rsplit_once('.').unwrap_or(("", self.path))
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
            Kind::Quirks(most) => format!("at most {most} tables `[[quirk]]`"),
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
            Kind::Counters | Kind::Quirks(_) => "none".into(),
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
            Kind::Counters | Kind::Ints(_) | Kind::FactorLists(_) | Kind::Quirks(_) => {
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

pub(super) const fn bounds<T: Copy>(min: T, max: T) -> Bounds<T> {
    Bounds { min, max, conformant: (min, max) }
}

pub(super) const fn int(
    path: &'static str,
    min: i64,
    max: i64,
    unit: &'static str,
    meaning: &'static str,
) -> Field {
    Field::new(path, Kind::Int(bounds(min, max)), unit, meaning)
}

pub(super) const fn latency(path: &'static str, meaning: &'static str) -> Field {
    let kind = Kind::IntSpan(bounds(0, MAX_LATENCY));
    Field::new(path, kind, "ns", meaning).why(LATENCY).conforming(0, PATIENCE)
}

/// A latency that adds to those of fast retransmissions.
pub(super) const fn nack_latency(path: &'static str, meaning: &'static str) -> Field {
    latency(path, meaning).why(NACK_LATENCY).conforming(0, NACK_PATIENCE)
}

pub(super) const fn factor(path: &'static str, meaning: &'static str) -> Field {
    let kind = Kind::FactorSpan(Bounds { min: 0.01, max: 100.0, conformant: (1.0, 4.0) });
    Field::new(path, kind, "T", meaning).why("IBA vol. 1, 9.7.6.1.3 has T to 4T; a hundredfold either way")
}

pub(super) const fn flag(path: &'static str, meaning: &'static str) -> Field {
    Field::new(path, Kind::Flag(None), "", meaning)
}

/// A flag that no conforming NIC has.
pub(super) const fn fault(path: &'static str, meaning: &'static str) -> Field {
    Field::new(path, Kind::Flag(Some(false)), "", meaning)
}

/// A fault that happens every so many times.
pub(super) const fn every(path: &'static str, meaning: &'static str) -> Field {
    int(path, 0, MAX_COUNT, "", meaning).why(OFTEN).conforming(0, 0)
}

pub(super) const fn offset(path: &'static str, meaning: &'static str) -> Field {
    int(path, -MAX_OFFSET, MAX_OFFSET, "", meaning).why(OFFSET).conforming(0, 0)
}

/// Counters that a NIC gets wrong, by name.
pub(super) const fn counters(path: &'static str, meaning: &'static str) -> Field {
    Field::new(path, Kind::Counters, "", meaning)
}
