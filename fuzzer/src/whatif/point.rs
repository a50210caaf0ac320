//! Settings that are varied, and their combinations.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use corpus::{ConfigErrors, TestConfig};

/// A key of a test, and values that it is given one after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct Vary {
    /// Path of the key, as `network.repeat.naks`.
    pub key: String,
    /// Values.
    pub values: Vec<toml::Value>,
}

impl FromStr for Vary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, values) = text.split_once('=').ok_or("is not KEY=VALUE,VALUE")?;
        let is_path =
            |key: &str| key.split('.').all(|part| !part.is_empty() && !part.contains(char::is_whitespace));
        if !is_path(key) || values.is_empty() {
            return Err("is not KEY=VALUE,VALUE, as in network.repeat.naks=1,2".into());
        }
        Ok(Self { key: key.into(), values: values.split(',').map(value).collect() })
    }
}

/// A number, a truth value or a list as TOML has it; any other text is a string.
fn value(text: &str) -> toml::Value {
    let parsed = format!("value = {text}").parse::<toml::Table>().ok();
    parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| text.into())
}

/// One value of each key that is varied.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Point(pub Vec<(String, toml::Value)>);

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.joined(str::to_owned))
    }
}

impl Point {
    /// Its settings by the last parts of their keys, where those differ.
    #[must_use]
    pub fn in_short(&self) -> String {
        let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
        let is_unique = |key: &str| self.0.iter().filter(|(other, _)| last(other) == last(key)).count() == 1;
        self.joined(|key| if is_unique(key) { last(key) } else { key.to_owned() })
    }

    /// Its settings, with keys by these names.
    fn joined(&self, name: impl Fn(&str) -> String) -> String {
        let settings = self.0.iter().map(|(key, value)| format!("{}={}", name(key), shown(value)));
        settings.collect::<Vec<_>>().join(" ")
    }
}

/// A value without the quotes of a string.
fn shown(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// All combinations, the first value of each key first.
pub(super) fn grid(varied: &[Vary]) -> Vec<Point> {
    varied.iter().fold(vec![Point::default()], |points, Vary { key, values }| {
        let with = |point: &Point, value: &toml::Value| {
            let mut point = point.clone();
            point.0.push((key.clone(), value.clone()));
            point
        };
        points.iter().flat_map(|point| values.iter().map(move |value| with(point, value))).collect()
    })
}

impl Point {
    /// The test of a file with these settings.
    ///
    /// # Errors
    /// A key is none of a test, or a value is not allowed there.
    pub fn applied_to(&self, file: &Path, config: &TestConfig) -> Result<TestConfig, ConfigErrors> {
        let name = format!("{} with {self}", file.display());
        let mut table = config.to_toml().parse::<toml::Table>().expect("a test is written as TOML");
        for (key, value) in &self.0 {
            if let Err(part) = set(&mut table, key, value.clone()) {
                let message = format!("{key}: `{part}` is a value, and has no keys");
                return Err(ConfigErrors::whole_file(
                    &name,
                    message,
                    "name a key of a test, as network.repeat.naks",
                ));
            }
        }
        corpus::from_toml(&name, &table.to_string())
    }
}

/// Sets a key by its path; the part of the path that is no table, if one is none.
fn set<'k>(table: &mut toml::Table, key: &'k str, value: toml::Value) -> Result<(), &'k str> {
    let Some((section, rest)) = key.split_once('.') else {
        table.insert(key.into(), value);
        return Ok(());
    };
    let inner = table.entry(section).or_insert_with(|| toml::Table::new().into());
    set(inner.as_table_mut().ok_or(section)?, rest, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vary(text: &str) -> Vary {
        text.parse().unwrap()
    }

    #[test]
    fn a_grid_has_all_combinations() {
        let points = grid(&[vary("network.repeat.naks=1,2"), vary("traffic.dummy-headers=0,1,2")]);
        assert_eq!(points.len(), 6);
        assert_eq!(points[0].to_string(), "network.repeat.naks=1 traffic.dummy-headers=0");
        assert_eq!(points[5].to_string(), "network.repeat.naks=2 traffic.dummy-headers=2");
        assert_eq!(points[5].in_short(), "naks=2 dummy-headers=2");
        let hosts = grid(&[vary("requester.nic=cx5"), vary("responder.nic=e810")]);
        assert_eq!(hosts[0].in_short(), "requester.nic=cx5 responder.nic=e810");
        assert_eq!(grid(&[]), [Point::default()]);
    }

    #[test]
    fn settings_are_those_of_the_file() {
        let config = TestConfig::default();
        let with = |text: &str| grid(&[vary(text)])[0].applied_to(Path::new("test.toml"), &config);
        assert_eq!(with("network.repeat.naks=3").unwrap().network.repeat.naks, 3);
        assert_eq!(with("traffic.message-size=10_240").unwrap().traffic.message_size, 10_240);
        assert_eq!(with("responder.nic=cx5").unwrap().responder.nic, "cx5");
        assert!(with("network.pfc=true").unwrap().network.pfc);
        for (wrong, says) in [
            ("network.repeat.naks=9", "network.repeat.naks"),
            ("traffic.no-such-key=1", "no-such-key"),
            ("traffic.seed.more=1", "seed"),
        ] {
            let error = format!("{:?}", miette::Report::new(with(wrong).unwrap_err().into_diagnostic()));
            assert!(error.contains(says), "{wrong}: {error}");
        }
        for wrong in ["", "x", "=1", "a.=1", "a b=1", "traffic.seed="] {
            assert!(wrong.parse::<Vary>().is_err(), "{wrong}");
        }
    }
}
