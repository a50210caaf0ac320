//! The counters of each family, and the names of counters in profiles.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use corpus::{Finding, clip, nearest};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use toml::Table;

use super::field::{Field, Kind};
use super::fields::FIELDS;

/// The names of one vendor's driver, in the groups of result folders, each with `T` of what it counts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Family<T> {
    pub(crate) name: String,
    #[serde(default = "BTreeMap::new")]
    pub(crate) port: BTreeMap<String, T>,
    #[serde(default = "BTreeMap::new")]
    pub(crate) hw: BTreeMap<String, T>,
    #[serde(default = "BTreeMap::new")]
    pub(crate) ethtool: BTreeMap<String, T>,
}

/// Reads `data/counters.toml`.
pub(crate) fn read_families<T: DeserializeOwned>() -> Vec<Family<T>> {
    #[derive(Deserialize)]
    #[serde(bound = "T: DeserializeOwned")]
    struct Data<T> {
        family: Vec<Family<T>>,
    }
    let data: Data<T> = toml::from_str(include_str!("../../data/counters.toml"))
        .expect("the shipped table is read by every test of the simulation");
    data.family
}

static FAMILIES: LazyLock<Vec<Family<IgnoredAny>>> = LazyLock::new(read_families);

/// The counters of a family by their groups (`port_counters`, `hw_counters`, `ethtool_counters`); a group without
/// any is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyCounters {
    /// The family, as in [`FAMILIES`](super::FAMILIES).
    pub family: &'static str,
    /// Each group with the names in it.
    pub groups: Vec<(&'static str, Vec<&'static str>)>,
}

/// The counters of every family.
pub fn family_counters() -> impl Iterator<Item = FamilyCounters> {
    FAMILIES.iter().map(|family| {
        let groups = [
            ("port_counters", &family.port),
            ("hw_counters", &family.hw),
            ("ethtool_counters", &family.ethtool),
        ];
        let groups = groups.into_iter().filter(|(_, counters)| !counters.is_empty());
        let groups = groups.map(|(group, counters)| (group, counters.keys().map(String::as_str).collect()));
        FamilyCounters { family: &family.name, groups: groups.collect() }
    })
}

/// All counters of a family; none of one that does not exist.
fn counters_of(family: &str) -> Vec<&'static str> {
    let found = family_counters().filter(|known| known.family == family);
    found.flat_map(|known| known.groups).flat_map(|(_, counters)| counters).collect()
}

/// Names of counters in the text of a profile, and its family, with their places.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Where the family is.
    pub(super) family: Option<Range<usize>>,
    /// The fields, names and places of counters.
    pub(super) counters: Vec<(&'static str, String, Range<usize>)>,
}

/// Counters that are none of the profile's family. `own` are the fields that the profile lists, `merged` has those of
/// its base too.
pub(super) fn unknown_counters(listed: &Listed, own: &Table, merged: &Table) -> Vec<Finding> {
    let Some(family) = find(merged, "counters.family").and_then(toml::Value::as_str) else {
        return Vec::new();
    };
    let counters = counters_of(family);
    let all = format!("counters of {family}: {}", counters.join(", "));
    let listed_here = listed.counters.iter().filter(|(_, name, _)| !counters.contains(&&**name));
    let mut findings: Vec<Finding> = listed_here
        .map(|(field, name, span)| Finding {
            span: Some(span.clone()),
            field: (*field).to_owned(),
            message: format!("\"{}\" is not a counter of the family {family}", clip(name)),
            help: format!("{}{all}", instead(name, &counters)),
        })
        .collect();
    // A profile with another family than its base's has that one's lists as well, unless it lists its own.
    for field in FIELDS.iter().filter(|field| field.kind == Kind::Counters) {
        let Field { path, .. } = field;
        let (Some(span), None) = (&listed.family, find(own, path)) else { continue };
        let inherited = find(merged, path).and_then(toml::Value::as_array).into_iter().flatten();
        let inherited = inherited.filter_map(toml::Value::as_str);
        findings.extend(inherited.filter(|name| !counters.contains(name)).map(|name| Finding {
            span: Some(span.clone()),
            field: "counters.family".to_owned(),
            message: format!(
                "{path} of the base has \"{name}\", which is not a counter of the family {family}"
            ),
            help: format!("list {path} in this file, if only as []; {all}"),
        }));
    }
    findings
}

/// The field at a path.
fn find<'t>(table: &'t Table, path: &str) -> Option<&'t toml::Value> {
    let (section, key) = path.rsplit_once('.')?;
    table.get(section)?.get(key)
}

/// A name to write in the place of a wrong one: a similar one, or the hint that another family has it.
fn instead(name: &str, counters: &[&'static str]) -> String {
    if let Some(meant) = nearest(name, counters.iter().copied()) {
        return format!("did you mean \"{meant}\"? ");
    }
    let other = FAMILIES.iter().find(|other| counters_of(&other.name).contains(&name));
    other.map(|other| format!("it is a counter of {}; ", other.name)).unwrap_or_default()
}
