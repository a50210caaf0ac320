//! The text of a profile against the table of fields.

use std::ops::Range;

use corpus::{ConfigErrors, Finding, MAX_PROBLEMS, clip, nearest};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::contradictions::Written;
use super::counters::Listed;
use super::field::{Bounds, Field, Kind, LONGEST_LIST};
use super::fields;

/// A correct text: its fields, and the profile that it starts from.
pub(super) struct Checked {
    /// The fields that it lists.
    pub(super) table: Table,
    /// Value of the profile's key `base`, with its place.
    pub(super) base: Option<(String, Range<usize>)>,
    /// Its counters, which depend on the family that it or its base names.
    pub(super) listed: Listed,
    /// Its fields of the reorder engine, which may contradict those of its base.
    pub(super) written: Written,
}

/// Reads the text of a profile.
///
/// # Errors
/// Everything that is wrong with it.
pub(super) fn check(file: &str, text: &str) -> Result<Checked, ConfigErrors> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let findings = errors.into_iter().map(|error| {
            let message = format!("not TOML: {}", error.message());
            Finding { span: error.span(), field: String::new(), message, help: String::new() }
        });
        return Err(ConfigErrors::new(file, text, findings.collect(), 0));
    }
    let mut checker = Checker {
        text,
        findings: Vec::new(),
        unkept: 0,
        base: None,
        listed: Listed::default(),
        written: Written::default(),
    };
    let table = checker.table(table.get_ref(), "");
    if checker.findings.is_empty() {
        Ok(Checked { table, base: checker.base, listed: checker.listed, written: checker.written })
    } else {
        Err(ConfigErrors::new(file, text, checker.findings, checker.unkept))
    }
}

struct Checker<'t> {
    text: &'t str,
    /// At most [`MAX_PROBLEMS`]: a hostile file can have a quarter of a million.
    findings: Vec<Finding>,
    unkept: usize,
    base: Option<(String, Range<usize>)>,
    listed: Listed,
    written: Written,
}

impl Checker<'_> {
    fn report(&mut self, span: Range<usize>, field: &str, message: String, help: String) {
        if self.findings.len() < MAX_PROBLEMS {
            self.findings.push(Finding { span: Some(span), field: field.to_owned(), message, help });
        } else {
            self.unkept += 1;
        }
    }

    /// A value as it stands in the file, on one line and not too long.
    fn written(&self, span: &Range<usize>) -> String {
        clip(self.text.get(span.clone()).unwrap_or_default())
    }

    /// The fields of a section that are in order. The parser bounds nesting, and sections without fields are unknown
    /// keys, so that this ends.
    fn table(&mut self, table: &DeTable<'_>, section: &str) -> Table {
        let mut checked = Table::new();
        for (key, value) in table {
            let name: &str = key.get_ref();
            let path = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
            let inside = format!("{path}.");
            if path == "base" {
                match value.get_ref() {
                    DeValue::String(base) => self.base = Some((base.clone().into_owned(), value.span())),
                    _ => self.wrong(value, &path, "the name or path of a profile", String::new()),
                }
            } else if let Some(field) = Field::find(&path) {
                if path == "counters.family" {
                    self.listed.family = Some(value.span());
                }
                self.written.note(section, name, value.span());
                checked.extend(self.value(field, value).map(|value| (name.to_owned(), value)));
            } else if !fields::all().any(|field| field.path.starts_with(&inside)) {
                self.report(key.span(), &clip(&path), "unknown key".into(), instead(section, name));
            } else if let DeValue::Table(table) = value.get_ref() {
                checked.insert(name.to_owned(), Value::Table(self.table(table, &path)));
            } else {
                self.wrong(value, &path, "a section", format!("its keys are {}", keys_of(&path).join(", ")));
            }
        }
        checked
    }

    fn wrong(&mut self, value: &Spanned<DeValue<'_>>, path: &str, expected: &str, help: String) {
        let found = match value.get_ref() {
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Array(_) => format!("the list {}", self.written(&value.span())),
            DeValue::Boolean(_) => self.written(&value.span()),
            DeValue::Integer(_) | DeValue::Float(_) => format!("the number {}", self.written(&value.span())),
            DeValue::String(_) => format!("the text {}", self.written(&value.span())),
            DeValue::Datetime(_) => format!("the date {}", self.written(&value.span())),
        };
        self.report(value.span(), path, format!("expected {expected}, found {found}"), help);
    }

    /// The value of a field, if it is one that the field may have.
    fn value(&mut self, field: &Field, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        match (field.kind, value.get_ref()) {
            (Kind::Line(longest), DeValue::String(text)) => {
                if text.chars().count() > longest || text.contains(char::is_control) {
                    let message = "is too long, or not one line of text".into();
                    self.report(value.span(), field.path, message, allowed(field));
                    return None;
                }
                Some(Value::String(text.clone().into_owned()))
            }
            (Kind::Text, DeValue::String(text)) => Some(Value::String(text.clone().into_owned())),
            (Kind::Flag(_), DeValue::Boolean(flag)) => Some(Value::Boolean(*flag)),
            (Kind::Int(bounds), _) => self.number(field, value, &bounds, integer),
            (Kind::IntSpan(bounds), _) => self.span(field, value, &bounds, integer),
            (Kind::FactorSpan(bounds), _) => self.span(field, value, &bounds, float),
            (Kind::Choice(words, _), DeValue::String(_)) => self.word(field, value, words),
            (Kind::Choices(words), DeValue::Array(items)) => {
                all_of(items, |item| self.word(field, item, words))
            }
            (Kind::Counters, DeValue::Array(items)) => all_of(items, |item| match item.get_ref() {
                DeValue::String(name) => {
                    let name = name.clone().into_owned();
                    self.listed.counters.push((field.path, name.clone(), item.span()));
                    Some(Value::String(name))
                }
                _ => {
                    self.wrong(item, field.path, "a name", "put it in quotation marks".into());
                    None
                }
            }),
            (Kind::Ints(bounds), DeValue::Array(items)) if items.len() <= LONGEST_LIST => {
                all_of(items, |item| self.number(field, item, &bounds, integer))
            }
            (Kind::FactorLists(bounds), DeValue::Array(lists)) if lists.len() <= LONGEST_LIST => {
                all_of(lists, |list| self.factors(field, list, &bounds))
            }
            (Kind::Quirks(most), DeValue::Array(items)) => self.quirks(field, most, items, value),
            (Kind::Line(_) | Kind::Text, _) => self.wrong_kind(field, value, "text"),
            (Kind::Flag(_), _) => self.wrong_kind(field, value, "true or false"),
            (Kind::Choice(..), _) => self.wrong_kind(field, value, "a word"),
            (Kind::Choices(_) | Kind::Counters | Kind::Ints(_) | Kind::FactorLists(_), _) => {
                self.wrong_kind(field, value, "a list")
            }
            (Kind::Quirks(_), _) => self.wrong_kind(field, value, "tables `[[quirk]]`"),
        }
    }

    /// Quirks under conditions, each with at least one of both.
    fn quirks(
        &mut self,
        field: &Field,
        most: usize,
        items: &[Spanned<DeValue<'_>>],
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        if items.len() > most {
            self.report(value.span(), field.path, format!("has {} tables", items.len()), allowed(field));
            return None;
        }
        all_of(items, |item| {
            let DeValue::Table(table) = item.get_ref() else {
                return self.wrong_kind(field, item, "a table");
            };
            let quirk = self.table(table, field.path);
            let conditions = quirk.get("when").and_then(Value::as_table).map_or(0, Table::len);
            if !self.findings.is_empty() {
                return None;
            }
            if conditions == 0 {
                let help = format!(
                    "conditions: {}; what is always so belongs in [quirks]",
                    keys_of("quirk.when").join(", ")
                );
                self.report(item.span(), "quirk.when", "has no condition".into(), help);
                return None;
            }
            if quirk.len() < 2 {
                let help = "a quirk of [quirks], as in `nak-suppressed = true`".into();
                self.report(item.span(), field.path, "has no quirk".into(), help);
                return None;
            }
            Some(Value::Table(quirk))
        })
    }

    /// One list of a list of them.
    fn factors(&mut self, field: &Field, list: &Spanned<DeValue<'_>>, bounds: &Bounds<f64>) -> Option<Value> {
        match list.get_ref() {
            DeValue::Array(items) if !items.is_empty() && items.len() <= LONGEST_LIST => {
                all_of(items, |item| self.number(field, item, bounds, float))
            }
            _ => self.wrong_kind(field, list, "a list of numbers in the list"),
        }
    }

    fn wrong_kind(&mut self, field: &Field, value: &Spanned<DeValue<'_>>, expected: &str) -> Option<Value> {
        self.wrong(value, field.path, expected, allowed(field));
        None
    }

    fn word(&mut self, field: &Field, value: &Spanned<DeValue<'_>>, words: &[&'static str]) -> Option<Value> {
        let DeValue::String(word) = value.get_ref() else { return self.wrong_kind(field, value, "a word") };
        if words.contains(&&**word) {
            return Some(Value::String(word.clone().into_owned()));
        }
        let meant = nearest(word, words.iter().copied()).map(|word| format!("did you mean \"{word}\"? "));
        let help = format!("{}{}", meant.unwrap_or_default(), allowed(field));
        self.report(
            value.span(),
            field.path,
            format!("{} is not known here", self.written(&value.span())),
            help,
        );
        None
    }

    /// A number inside its bounds; `read` tells numbers of the right kind from others.
    fn number<T: Copy + PartialOrd + std::fmt::Display + Into<Value>>(
        &mut self,
        field: &Field,
        value: &Spanned<DeValue<'_>>,
        bounds: &Bounds<T>,
        read: impl Fn(&DeValue<'_>) -> Number<T>,
    ) -> Option<Value> {
        match read(value.get_ref()) {
            Number::Of(number) if bounds.allows(number) => Some(number.into()),
            Number::Of(_) | Number::TooLarge => {
                let message = format!("{} is out of range", self.written(&value.span()));
                self.report(value.span(), field.path, message, allowed(field));
                None
            }
            Number::None(expected) => self.wrong_kind(field, value, expected),
        }
    }

    fn span<T: Copy + PartialOrd + std::fmt::Display + Into<Value>>(
        &mut self,
        field: &Field,
        value: &Spanned<DeValue<'_>>,
        bounds: &Bounds<T>,
        read: impl Fn(&DeValue<'_>) -> Number<T>,
    ) -> Option<Value> {
        let DeValue::Array(items) = value.get_ref() else { return self.number(field, value, bounds, read) };
        let numbers = all_of(items, |item| self.number(field, item, bounds, &read))?;
        match items.iter().map(|item| read(item.get_ref())).collect::<Vec<_>>()[..] {
            [Number::Of(min), Number::Of(max)] if min <= max => Some(numbers),
            [_, _] => {
                let message = format!("the span {} ends before it begins", self.written(&value.span()));
                self.report(value.span(), field.path, message, "write the smaller number first".into());
                None
            }
            _ => self.wrong_kind(field, value, "a number, or a span of two"),
        }
    }
}

/// The list that items make; none from the first that is not in order.
fn all_of(
    items: &[Spanned<DeValue<'_>>],
    item: impl FnMut(&Spanned<DeValue<'_>>) -> Option<Value>,
) -> Option<Value> {
    items.iter().map(item).collect::<Option<_>>().map(Value::Array)
}

/// A value read as a number.
enum Number<T> {
    Of(T),
    TooLarge,
    /// Another type; the expected one.
    None(&'static str),
}

fn integer(value: &DeValue<'_>) -> Number<i64> {
    match value {
        DeValue::Integer(int) => {
            i64::from_str_radix(int.as_str(), int.radix()).map_or(Number::TooLarge, Number::Of)
        }
        _ => Number::None("a whole number"),
    }
}

fn float(value: &DeValue<'_>) -> Number<f64> {
    match value {
        DeValue::Float(float) => float.as_str().parse().map_or(Number::TooLarge, Number::Of),
        DeValue::Integer(int) => i64::from_str_radix(int.as_str(), int.radix())
            .map_or(Number::TooLarge, |int| Number::Of(int as f64)),
        _ => Number::None("a number"),
    }
}

fn allowed(field: &Field) -> String {
    let why = if field.why.is_empty() { String::new() } else { format!(" ({})", field.why) };
    format!("allowed: {}{why}", field.allowed())
}

/// Keys of a section, sections in it included.
fn keys_of(section: &str) -> Vec<&'static str> {
    let base = section.is_empty().then_some("base");
    let of_fields = fields::all()
        .filter_map(|field| match section {
            "" => Some(field.path),
            _ => field.path.strip_prefix(section)?.strip_prefix('.'),
        })
        .filter_map(|rest| rest.split('.').next());
    let mut keys: Vec<&str> = Vec::new();
    for key in base.into_iter().chain(of_fields) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// Help for an unknown key: the nearest known one, or the list of all.
fn instead(section: &str, key: &str) -> String {
    let keys = keys_of(section);
    if let Some(key) = nearest(key, keys.iter().copied()) {
        return format!("did you mean `{key}`?");
    }
    match fields::all().map(Field::section_and_key).find(|(_, known)| *known == key) {
        Some((home, _)) => format!("`{key}` belongs in [{home}]"),
        None => format!("known keys here: {}", keys.join(", ")),
    }
}
