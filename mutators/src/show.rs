//! Values as files have them.

use crate::axis::Kind;
use crate::values::Values;

/// One value, as in a file.
pub(crate) fn word(kind: Kind, value: u64) -> String {
    match kind {
        Kind::Words(words) => {
            let word = usize::try_from(value).ok().and_then(|index| words.get(index)).copied();
            format!("\"{}\"", word.unwrap_or_default())
        }
        Kind::Flags | Kind::Switch => (value != 0).to_string(),
        Kind::NumberOrRandom(field) if value > field.max => "\"random\"".into(),
        Kind::Number(_) | Kind::NumberOrRandom(_) | Kind::OneOf(_) | Kind::Limit(_) => value.to_string(),
    }
}

/// All values, as in a file.
pub(crate) fn toml(kind: Kind, values: &Values) -> String {
    match values {
        Values::Range { min, max } => format!("{{ min = {min}, max = {max} }}"),
        Values::List(list) => {
            let words: Vec<String> = list.iter().map(|value| word(kind, *value)).collect();
            match &words[..] {
                [one] => one.clone(),
                _ => format!("[{}]", words.join(", ")),
            }
        }
    }
}

/// All values, as a phrase.
pub(crate) fn allowed(kind: Kind, values: &Values) -> String {
    match values {
        Values::Range { min, max } => format!("{min} to {max}"),
        Values::List(list) => list.iter().map(|value| word(kind, *value)).collect::<Vec<_>>().join(", "),
    }
}

/// Values that a target may list for an axis, as a phrase.
pub(crate) fn allowed_by(kind: Kind) -> String {
    match kind {
        Kind::Number(field) => format!("{}; one, a list, or {{ min = .., max = .. }}", field.range()),
        Kind::NumberOrRandom(field) => {
            format!("{} or \"random\"; one, a list, or {{ min = .., max = .. }}", field.range())
        }
        Kind::OneOf(values) => {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            format!("{}; one or a list", values.join(", "))
        }
        Kind::Words(words) => format!("{}; one or a list", words.join(", ")),
        Kind::Flags => "true, false or [false, true]".into(),
        Kind::Limit(field) => field.range(),
        Kind::Switch => "true or false".into(),
    }
}
