//! A profile by name or path. A file lists its differences from its base.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use corpus::{ConfigErrors, Finding, MAX_PROBLEMS, nearest};
use serde::Deserialize;
use toml::{Table, Value};

use super::NicProfile;
use super::check::{Checked, check};
use super::contradictions::{contradictions, without_unused};
use super::counters::unknown_counters;

/// Profiles that a base may be away from the one that names it, so that a chain of files ends.
const MAX_DEPTH: usize = 8;

/// Base of a profile that names none.
const ROOT: &str = "reference";

/// A profile that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Every profile that comes with the program.
pub const SHIPPED: &[Shipped] = &[
    Shipped { name: ROOT, text: include_str!("../../profiles/reference.toml") },
    Shipped { name: "cx4-lx", text: include_str!("../../profiles/cx4-lx.toml") },
    Shipped { name: "cx5", text: include_str!("../../profiles/cx5.toml") },
    Shipped { name: "cx6-dx", text: include_str!("../../profiles/cx6-dx.toml") },
    Shipped { name: "cx6-perftest", text: include_str!("../../profiles/cx6-perftest.toml") },
    Shipped { name: "e810", text: include_str!("../../profiles/e810.toml") },
    Shipped { name: "left", text: include_str!("../../profiles/left.toml") },
    Shipped { name: "left-no-gather", text: include_str!("../../profiles/left-no-gather.toml") },
    Shipped { name: "melo", text: include_str!("../../profiles/melo.toml") },
    Shipped { name: "irn", text: include_str!("../../profiles/irn.toml") },
    Shipped { name: "rcn-cx4", text: include_str!("../../profiles/rcn-cx4.toml") },
    Shipped { name: "rcn-cx5", text: include_str!("../../profiles/rcn-cx5.toml") },
    Shipped { name: "rcn-cx6", text: include_str!("../../profiles/rcn-cx6.toml") },
    Shipped { name: "rcn-cx7", text: include_str!("../../profiles/rcn-cx7.toml") },
    Shipped { name: "rcn-bf3", text: include_str!("../../profiles/rcn-bf3.toml") },
    Shipped { name: "rcn-e810", text: include_str!("../../profiles/rcn-e810.toml") },
];

/// A profile that could not be loaded, with everything that is wrong with its text.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ProfileError(pub ConfigErrors);

/// A profile with its sources.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The profile, every field of it.
    pub profile: NicProfile,
    /// Base of the profile; `None` for `reference`.
    pub base: Option<Base>,
}

/// Base of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    /// Name or path, as the profile's text has it.
    pub nic: String,
    /// The profile.
    pub profile: NicProfile,
}

/// Returns true if this is the name of a profile that comes with the program, not a path.
#[must_use]
pub fn is_shipped(nic: &str) -> bool {
    SHIPPED.iter().any(|shipped| shipped.name == nic)
}

/// The profile that `nic` names: a shipped one, or (with a `/`, or ending in `.toml`) a file, relative to `folder`.
///
/// # Errors
/// There is no such profile, it cannot be read, something is wrong with its text or with that of one of its bases, or
/// its bases are more than eight or come back to it.
pub fn load(nic: &str, folder: &Path) -> Result<NicProfile, ProfileError> {
    load_with_base(nic, folder).map(|loaded| loaded.profile)
}

/// [`load`], and the profile that it starts from.
///
/// # Errors
/// Those of [`load`].
pub fn load_with_base(nic: &str, folder: &Path) -> Result<Loaded, ProfileError> {
    let read = || {
        let source = Source::of(nic, folder)
            .map_err(|unknown| ConfigErrors::whole_file(nic, unknown.message, unknown.help))?;
        let tables = Tables::read(source, &mut Vec::new())?;
        let profile = profile_of(nic, tables.merged)?;
        let base = match tables.base {
            Some((nic, merged)) => Some(Base { profile: profile_of(&nic, merged)?, nic }),
            None => None,
        };
        Ok(Loaded { profile, base })
    };
    read().map_err(ProfileError)
}

impl NicProfile {
    /// The profile with the fields of a table, and else the defaults.
    ///
    /// # Errors
    /// A field that no profile has, or a value that its type cannot have.
    pub fn from_table(table: Table) -> Result<Self, toml::de::Error> {
        Self::deserialize(Value::Table(table))
    }
}

/// A profile as [`NicProfile::to_toml`] writes it, or a part of it, without a base.
impl FromStr for NicProfile {
    type Err = toml::de::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_table(text.parse()?)
    }
}

fn profile_of(nic: &str, table: Table) -> Result<NicProfile, ConfigErrors> {
    NicProfile::from_table(without_unused(table))
        .map_err(|error| ConfigErrors::whole_file(nic, error.message().to_owned(), ""))
}

/// Source of the text of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Shipped(Shipped),
    /// A file, by the path that messages name.
    File(PathBuf),
}

/// A name that no profile has.
struct Unknown {
    message: String,
    help: String,
}

impl Source {
    fn of(nic: &str, folder: &Path) -> Result<Self, Unknown> {
        let ends_in_toml = Path::new(nic).extension().is_some_and(|extension| extension == "toml");
        if nic.contains('/') || ends_in_toml {
            return Ok(Self::File(folder.join(nic)));
        }
        SHIPPED.iter().find(|shipped| shipped.name == nic).copied().map(Self::Shipped).ok_or_else(|| {
            let names = || SHIPPED.iter().map(|shipped| shipped.name);
            let meant = nearest(nic, names()).map(|name| format!("did you mean `{name}`? "));
            Unknown {
                message: "there is no NIC profile of this name".into(),
                help: format!(
                    "{}shipped: {}; the path of a file has a `/` or ends in .toml",
                    meant.unwrap_or_default(),
                    names().collect::<Vec<_>>().join(", ")
                ),
            }
        })
    }

    /// Returns true if both have the same text, by whichever path they were found.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(other)) => {
                one == other
                    || one
                        .canonicalize()
                        .is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
            }
            _ => self == other,
        }
    }

    /// Name in messages.
    fn name(&self) -> String {
        match self {
            Self::Shipped(shipped) => shipped.name.to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    fn text(&self) -> Result<String, ConfigErrors> {
        match self {
            Self::Shipped(shipped) => Ok(shipped.text.to_owned()),
            Self::File(path) => corpus::read_text(path),
        }
    }

    /// Folder that the paths of its base start from.
    fn folder(&self) -> &Path {
        match self {
            Self::Shipped(_) => Path::new(""),
            Self::File(path) => path.parent().unwrap_or(Path::new("")),
        }
    }
}

/// A profile before its fields are typed.
struct Tables {
    merged: Table,
    base: Option<(String, Table)>,
}

impl Tables {
    /// Reads a profile and its bases. `chain` has the profiles that led here.
    fn read(source: Source, chain: &mut Vec<Source>) -> Result<Self, ConfigErrors> {
        let (file, text) = (source.name(), source.text()?);
        let Checked { mut table, base, listed, written } = check(&file, &text)?;
        if base.is_none() && matches!(source, Source::Shipped(Shipped { name: ROOT, .. })) {
            return Ok(Self { merged: table, base: None });
        }
        // Name and origin of the base are not those of this profile.
        if let Source::File(path) = &source {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            table.entry("name").or_insert_with(|| Value::String(stem.into_owned()));
        }
        for key in ["description", "source"] {
            table.entry(key).or_insert_with(|| Value::String(String::new()));
        }
        let (nic, span) = base.map_or((ROOT.to_owned(), None), |(nic, span)| (nic, Some(span)));
        let fault = |message: String, help: String| {
            let finding = Finding { span: span.clone(), field: "base".into(), message, help };
            ConfigErrors::new(&file, &text, vec![finding], 0)
        };
        let next =
            Source::of(&nic, source.folder()).map_err(|unknown| fault(unknown.message, unknown.help))?;
        chain.push(source);
        if chain.iter().any(|before| before.is_same(&next)) {
            return Err(fault(
                "its bases come back to it".into(),
                "a profile cannot start from itself".into(),
            ));
        }
        if chain.len() > MAX_DEPTH {
            let help = format!("at most {MAX_DEPTH} profiles may stand behind one");
            return Err(fault("too many bases, one behind the other".into(), help));
        }
        let beneath = Self::read(next, chain)?.merged;
        let mut merged = beneath.clone();
        merge(&mut merged, table.clone());
        let mut findings = unknown_counters(&listed, &table, &merged);
        findings.extend(contradictions(&written, &merged));
        if findings.is_empty() {
            return Ok(Self { merged, base: Some((nic, beneath)) });
        }
        let unkept = findings.split_off(findings.len().min(MAX_PROBLEMS)).len();
        Err(ConfigErrors::new(&file, &text, findings, unkept))
    }
}

/// Puts the values of `over` in the place of those beneath, section by section.
fn merge(beneath: &mut Table, over: Table) {
    for (key, value) in over {
        match (beneath.get_mut(&key), value) {
            (Some(Value::Table(beneath)), Value::Table(over)) => merge(beneath, over),
            (_, value) => drop(beneath.insert(key, value)),
        }
    }
}
