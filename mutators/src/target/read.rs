//! The text of a target.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use corpus::ConfigErrors;
use corpus::config::fields::IntField;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::contradictions::contradictions;
use super::fields::{DESCRIPTION, FRESH, MAX_WEIGHT, NAME, OBJECTIVES, OPERATORS, PACKET_CAP, POOL};
use super::report::{Report, Spans, instead};
use super::shipped::{SHIPPED, others};
use super::{Target, TargetError, Vocabulary};
use crate::axis::{AXES, Entry};
use crate::operators::{Race, all};
use crate::space::Space;

/// Keys at the top of a target.
const TOP: &[&str] = &[
    "base",
    "name",
    "description",
    "pool",
    "fresh",
    "packet-cap",
    "oracles",
    OBJECTIVES,
    OPERATORS,
    "traffic",
    "network",
    "hosts",
    "offload",
    "events",
];
/// Word in `oracles` that means every kind, but those that only targets which name them look for.
const ALL: &str = "all";

/// A target with its sources.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The target, every field of it.
    pub target: Target,
    /// The shipped target that it starts from, if it does.
    pub base: Option<Target>,
}

/// A target from its text, called as its file is where it has no name of its own.
pub(super) fn from_text(file: &str, text: &str, vocabulary: Vocabulary<'_>) -> Result<Loaded, TargetError> {
    let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
    read(file, text, &stem, vocabulary).map_err(TargetError)
}

/// Reads a target that is called `stem` where its text does not say.
///
/// # Errors
/// Everything that is wrong with it.
fn read(file: &str, text: &str, stem: &str, vocabulary: Vocabulary<'_>) -> Result<Loaded, ConfigErrors> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut report = Report::new(text);
    for error in &errors {
        report.note(error.span(), "", format!("not TOML: {}", error.message()), "");
    }
    if !report.is_empty() {
        return Err(report.into_errors(file));
    }
    let base = base(table.get_ref(), vocabulary, &mut report);
    let mut target = base.clone().unwrap_or_else(|| empty(vocabulary));
    // The name of the base is not that of this target.
    stem.clone_into(&mut target.name);
    target.description.clear();
    let mut reader = Reader { report, target, vocabulary, spans: BTreeMap::new() };
    reader.top(table.get_ref());
    let Reader { mut report, mut target, spans, .. } = reader;
    target.race = Race::new(&target.operators);
    if report.is_empty() {
        contradictions(&target.space, &spans, &mut report);
    }
    if report.is_empty() { Ok(Loaded { target, base }) } else { Err(report.into_errors(file)) }
}

/// The target that this one starts from.
fn base(table: &DeTable<'_>, vocabulary: Vocabulary<'_>, report: &mut Report<'_>) -> Option<Target> {
    let value = table.get("base")?;
    let DeValue::String(name) = value.get_ref() else {
        report.wrong(value, "base", "the name of a shipped target", others(""));
        return None;
    };
    let Some(shipped) = SHIPPED.iter().find(|shipped| shipped.name == &**name) else {
        report.note(value.span(), "base", "there is no shipped target of this name", others(name));
        return None;
    };
    match from_text(shipped.name, shipped.text, vocabulary) {
        Ok(loaded) => Some(loaded.target),
        Err(TargetError(errors)) => {
            report.note(value.span(), "base", errors.to_string(), "");
            None
        }
    }
}

/// A target that lists nothing.
fn empty(vocabulary: Vocabulary<'_>) -> Target {
    let operators: BTreeMap<String, f64> =
        all().map(|operator| (operator.name.to_owned(), operator.weight)).collect();
    Target {
        race: Race::new(&operators),
        name: String::new(),
        description: String::new(),
        pool: POOL.default as u32,
        fresh: FRESH.default as u32,
        weights: BTreeMap::new(),
        oracles: vocabulary.all(),
        operators,
        space: Space::default(),
    }
}

pub(super) struct Reader<'t, 'v> {
    pub(super) report: Report<'t>,
    pub(super) target: Target,
    vocabulary: Vocabulary<'v>,
    pub(super) spans: Spans,
}

impl Reader<'_, '_> {
    fn top(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match &**key.get_ref() {
                "base" => {}
                "name" => self.line("name", NAME, value, |target, text| target.name = text),
                "description" => {
                    self.line("description", DESCRIPTION, value, |target, text| target.description = text);
                }
                "pool" => self.int(&POOL, value, |target, number| target.pool = number as u32),
                "fresh" => self.int(&FRESH, value, |target, number| target.fresh = number as u32),
                "packet-cap" => {
                    self.int(&PACKET_CAP, value, |target, number| target.space.packet_cap = number as u32);
                    self.spans.insert(PACKET_CAP.key, value.span());
                }
                "oracles" => self.oracles(value),
                OBJECTIVES => {
                    let known = self.vocabulary.objectives.to_vec();
                    self.weights(OBJECTIVES, value, &known, |target| &mut target.weights);
                }
                OPERATORS => {
                    let known: Vec<&str> = all().map(|operator| operator.name).collect();
                    self.weights(OPERATORS, value, &known, |target| &mut target.operators);
                }
                section @ ("traffic" | "network" | "hosts" | "offload" | "events") => {
                    self.section(section, value);
                }
                unknown => self.unknown_key(&key.span(), unknown, unknown, TOP),
            }
        }
    }

    fn unknown_key(&mut self, span: &Range<usize>, path: &str, key: &str, known: &[&str]) {
        let home = AXES.iter().map(Entry::section_and_key).find(|(_, home)| *home == key);
        let help = match home {
            Some((section, _)) => format!("`{key}` belongs in [{section}]"),
            None => instead(key, known),
        };
        self.report.note(span.clone(), path, "unknown key", help);
    }

    fn table<'d, 'i>(&mut self, value: &'d Spanned<DeValue<'i>>, path: &str) -> Option<&'d DeTable<'i>> {
        match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                self.report.wrong(value, path, "a section", format!("write it as [{path}]"));
                None
            }
        }
    }

    fn section(&mut self, section: &str, value: &Spanned<DeValue<'_>>) {
        let Some(table) = self.table(value, section) else { return };
        for (key, value) in table {
            let path = format!("{section}.{}", key.get_ref());
            match AXES.iter().find(|entry| entry.path == path) {
                Some(entry) => self.axis(entry, value),
                None => {
                    let here = AXES.iter().map(Entry::section_and_key).filter(|(home, _)| *home == section);
                    let known: Vec<&str> = here.map(|(_, key)| key).collect();
                    self.unknown_key(&key.span(), &path, key.get_ref(), &known);
                }
            }
        }
    }

    /// A whole number inside of the bounds of a field.
    pub(super) fn whole(
        &mut self,
        field: &IntField,
        path: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<u64> {
        let number = integer(value.get_ref());
        let number =
            number.and_then(|number| u64::try_from(number).ok()).filter(|number| field.allows(*number));
        if number.is_none() {
            let message = format!("{} is out of range", self.report.written(value));
            let help = format!("allowed: {} ({})", field.range(), field.why);
            self.report.note(value.span(), path, message, help);
        }
        number
    }

    fn int(&mut self, field: &IntField, value: &Spanned<DeValue<'_>>, set: fn(&mut Target, u64)) {
        match value.get_ref() {
            DeValue::Integer(_) => {
                if let Some(number) = self.whole(field, field.key, value) {
                    set(&mut self.target, number);
                }
            }
            _ => {
                let help = format!("allowed: {}", field.range());
                self.report.wrong(value, field.key, "a whole number", help);
            }
        }
    }

    fn line(
        &mut self,
        path: &str,
        longest: usize,
        value: &Spanned<DeValue<'_>>,
        set: fn(&mut Target, String),
    ) {
        let help = format!("allowed: a line of at most {longest} characters");
        match value.get_ref() {
            DeValue::String(text) if text.chars().count() > longest || text.contains(char::is_control) => {
                self.report.note(value.span(), path, "is too long, or not one line of text", help);
            }
            DeValue::String(text) => set(&mut self.target, text.clone().into_owned()),
            _ => self.report.wrong(value, path, "text", help),
        }
    }

    fn oracles(&mut self, value: &Spanned<DeValue<'_>>) {
        let known = self.vocabulary.kinds;
        let help = || format!("a list of kinds, or \"{ALL}\"; there are {}", known.join(", "));
        match value.get_ref() {
            DeValue::String(all) if all == ALL => {
                self.target.oracles = self.vocabulary.all();
            }
            DeValue::Array(items) if items.is_empty() => {
                self.report.note(
                    value.span(),
                    "oracles",
                    "the list is empty: nothing would be a finding",
                    help(),
                );
            }
            DeValue::Array(items) => {
                let mut kinds: Vec<String> = Vec::new();
                for item in items {
                    match item.get_ref() {
                        DeValue::String(kind) if kinds.iter().any(|listed| listed == kind) => {
                            let message = format!("{} is listed twice", self.report.written(item));
                            self.report.note(item.span(), "oracles", message, "list each kind once");
                        }
                        DeValue::String(kind) if known.contains(&&**kind) => {
                            kinds.push(kind.clone().into_owned());
                        }
                        DeValue::String(kind) => self.report.unknown(item, "oracles", kind, known),
                        _ => self.report.wrong(item, "oracles", "a kind of anomaly", help()),
                    }
                }
                self.target.oracles = kinds;
            }
            _ => self.report.wrong(value, "oracles", "a list", help()),
        }
    }

    fn weights(
        &mut self,
        section: &str,
        value: &Spanned<DeValue<'_>>,
        known: &[&str],
        of: fn(&mut Target) -> &mut BTreeMap<String, f64>,
    ) {
        let Some(table) = self.table(value, section) else { return };
        for (key, value) in table {
            let name: &str = key.get_ref();
            let path = format!("{section}.{name}");
            if !known.contains(&name) {
                self.report.note(key.span(), &path, "unknown key", instead(name, known));
                continue;
            }
            let help = format!("allowed: 0 to {MAX_WEIGHT}");
            match number(value.get_ref()) {
                Some(weight) if (0.0..=MAX_WEIGHT).contains(&weight) => {
                    of(&mut self.target).insert(name.to_owned(), weight);
                }
                Some(_) => {
                    let message = format!("{} is out of range", self.report.written(value));
                    self.report.note(value.span(), &path, message, help);
                }
                None => self.report.wrong(value, &path, "a number", help),
            }
        }
    }
}

/// A whole number; none of one that does not fit 64 bits.
pub(super) fn integer(value: &DeValue<'_>) -> Option<i64> {
    let DeValue::Integer(int) = value else { return None };
    i64::from_str_radix(int.as_str(), int.radix()).ok()
}

/// A number of either kind; one that does not fit is larger than any weight.
fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(float) => Some(float.as_str().parse().unwrap_or(f64::INFINITY)),
        DeValue::Integer(_) => Some(integer(value).map_or(f64::INFINITY, |int| int as f64)),
        _ => None,
    }
}
