//! Random conforming profiles, drawn from the ranges that the field reference states.

use executor::NicProfile;
use executor::profile::{FIELDS, Kind};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest as _, Sha256};

/// A random stream by its name, so that what draws from one moves no other.
pub(crate) fn stream(seed: u64, name: &str) -> ChaCha8Rng {
    let key = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(name).finalize();
    ChaCha8Rng::from_seed(key.into())
}

/// A conforming profile of a host: each field has its default or, half of the time, anything that conforms. A field has a
/// stream of its own, so that a new one moves no other.
pub(crate) fn draw(seed: u64, host: &str) -> NicProfile {
    let mut table = toml::Table::new();
    for field in FIELDS {
        let rng = &mut stream(seed, &format!("{host}/{}", field.path));
        if rng.random_bool(0.5) {
            continue;
        }
        let value = match field.kind {
            Kind::Flag(only) => toml::Value::Boolean(only.unwrap_or_else(|| rng.random_bool(0.5))),
            Kind::Int(bounds) => toml::Value::Integer(int(bounds.conformant, rng)),
            Kind::IntSpan(bounds) => {
                let (a, b) = (int(bounds.conformant, rng), int(bounds.conformant, rng));
                toml::Value::Array([a.min(b), a.max(b)].map(toml::Value::Integer).to_vec())
            }
            Kind::FactorSpan(bounds) => {
                let (a, b) = (factor(bounds.conformant, rng), factor(bounds.conformant, rng));
                toml::Value::Array([a.min(b), a.max(b)].map(toml::Value::Float).to_vec())
            }
            Kind::Choice(_, words) => toml::Value::String(words[rng.random_range(0..words.len())].to_owned()),
            Kind::Choices(_)
            | Kind::Counters
            | Kind::Ints(_)
            | Kind::FactorLists(_)
            | Kind::Quirks(_)
            | Kind::Line(_)
            | Kind::Text => continue,
        };
        let mut table = &mut table;
        let mut keys = field.path.split('.').peekable();
        while let Some(key) = keys.next() {
            if keys.peek().is_none() {
                table.insert(key.to_owned(), value);
                break;
            }
            let section = table.entry(key).or_insert_with(|| toml::Table::new().into());
            table = section.as_table_mut().unwrap();
        }
    }
    NicProfile::from_table(table).unwrap()
}

/// Part of the values that are an end of their range: what is at a limit shows what is off by one there.
const AT_AN_END: f64 = 0.25;

/// An end of a range, if the dice say so.
fn end<T>((low, high): (T, T), rng: &mut ChaCha8Rng) -> Option<T> {
    rng.random_bool(AT_AN_END).then(|| if rng.random_bool(0.5) { low } else { high })
}

/// A factor of T.
fn factor(range: (f64, f64), rng: &mut ChaCha8Rng) -> f64 {
    end(range, rng).unwrap_or_else(|| rng.random_range(range.0..=range.1))
}

/// Small numbers as often as large ones.
fn int(range: (i64, i64), rng: &mut ChaCha8Rng) -> i64 {
    if let Some(end) = end(range, rng) {
        return end;
    }
    let (low, high) = range;
    let span = (high - low) as f64;
    let exponent = rng.random_range(0.0..=1.0);
    low + ((span + 1.0).powf(exponent) - 1.0).round() as i64
}
