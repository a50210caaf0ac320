//! `lumina-fuzz nics`.

use std::fmt::Write as _;
use std::path::Path;

use clap::Subcommand;
use executor::NicProfile;
use executor::profile::{self, Field, Loaded, MAX_CONDITIONS, ProfileError, SHIPPED, drawn};
use serde::Serialize;

use super::output::{bad_file, is_valid, print, print_json};
use super::{Exit, Format};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz nics list
  lumina-fuzz nics show reference
  lumina-fuzz nics fields rnr                 fields that have to do with RNR NAKs
  lumina-fuzz nics check ./my-nic.toml
  lumina-fuzz nics draw --seed 7 --conditions 3 > drawn.toml

A profile is named by its name, or by the path of its file (with a `/`, or ending in .toml).";

/// Arguments of `nics`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t, global = true)]
    format: Format,
}

#[derive(Subcommand)]
enum Action {
    /// One line for each profile that comes with the program.
    List,
    /// A profile with every field, as TOML.
    Show {
        /// Name or path of the profile.
        nic: String,
    },
    /// Every field of a profile: its bounds, its default, its values in NICs that conform, its meaning; then the conditions of quirks.
    Fields {
        /// Only fields whose name or meaning has this in it.
        containing: Option<String>,
    },
    /// A profile by seed with a quirk that shows only under conditions, as TOML: unknown to whoever looks for it.
    Draw {
        /// Seed of the profile.
        #[arg(long, value_name = "N")]
        seed: u64,
        /// Conditions that have to hold at once.
        #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CONDITIONS)))]
        conditions: u32,
    },
    /// Check that a file is a valid profile, and print its differences from its base.
    Check {
        /// Path (or name) of the profile.
        nic: String,
    },
}

/// A shipped profile in the list, as JSON.
#[derive(Serialize)]
struct Listed {
    name: String,
    description: String,
    source: String,
}

/// A field, as JSON.
#[derive(Serialize)]
struct FieldDocument {
    field: &'static str,
    allowed: String,
    default: Option<String>,
    /// Values of NICs that conform; empty if all do.
    conforming: String,
    meaning: &'static str,
}

/// A drawn profile, as JSON.
#[derive(Serialize)]
struct Drawn {
    seed: u64,
    conditions: u32,
    /// Its text.
    profile: String,
}

/// A profile that is valid, as JSON.
#[derive(Serialize)]
struct Checked {
    valid: bool,
    name: String,
    base: Option<String>,
    changes: Vec<ChangeDocument>,
    /// Fields with values outside the conforming ranges.
    not_conforming: Vec<&'static str>,
}

#[derive(Serialize)]
struct ChangeDocument {
    field: &'static str,
    from: String,
    to: String,
}

pub(super) fn run(args: &Args) -> Exit {
    let here = Path::new("");
    let done = match &args.action {
        Action::List => list(args.format),
        Action::Show { nic } => profile::load(nic, here).map(|profile| match args.format {
            Format::Json => print_json(&profile),
            Format::Text => print(&profile.to_toml()),
        }),
        Action::Fields { containing } => Ok(fields(containing.as_deref(), args.format)),
        Action::Draw { seed, conditions } => Ok(draw(*seed, *conditions, args.format)),
        Action::Check { nic } => {
            profile::load_with_base(nic, here).map(|loaded| check(nic, loaded, args.format))
        }
    };
    done.unwrap_or_else(|ProfileError(errors)| bad_file("bad NIC profile", errors, args.format))
}

/// The fields of profiles, in the order of their files.
fn fields(containing: Option<&str>, format: Format) -> Exit {
    let of = |field: &Field, default: Option<String>| FieldDocument {
        field: field.path,
        allowed: field.allowed(),
        default,
        conforming: field.conformant(),
        meaning: field.meaning,
    };
    let defaults = NicProfile::default().values();
    let plain = defaults.into_iter().map(|(field, value)| of(field, Some(value.to_string())));
    let conditions = profile::conditional_fields().map(|field| of(field, None));
    let word = containing.unwrap_or_default().to_lowercase();
    let is_asked = |field: &FieldDocument| {
        [field.field, field.meaning].iter().any(|text| text.to_lowercase().contains(&word))
    };
    let listed: Vec<_> = plain.chain(conditions).filter(is_asked).collect();
    match format {
        Format::Json => print_json(&listed),
        Format::Text if listed.is_empty() => {
            print(&format!("no field has `{}` in its name or meaning\n", word.escape_debug()))
        }
        Format::Text => print(&listed.iter().map(described).collect::<String>()),
    }
}

fn described(document: &FieldDocument) -> String {
    let FieldDocument { field, allowed, default, conforming, meaning } = document;
    let mut text = format!("{field}\n  {meaning}\n  {allowed}");
    if let Some(default) = default {
        let _ = write!(text, "; default {default}");
    }
    if !conforming.is_empty() {
        let _ = write!(text, "; conforming: {conforming}");
    }
    text + "\n"
}

/// The text of a drawn profile.
fn draw(seed: u64, conditions: u32, format: Format) -> Exit {
    let text = drawn(seed, conditions);
    match format {
        Format::Text => print(&text),
        Format::Json => print_json(&Drawn { seed, conditions, profile: text }),
    }
}

fn list(format: Format) -> Result<Exit, ProfileError> {
    let listed = SHIPPED
        .iter()
        .map(|shipped| {
            let profile = profile::load(shipped.name, Path::new(""))?;
            Ok(Listed { name: profile.name, description: profile.description, source: profile.source })
        })
        .collect::<Result<Vec<_>, ProfileError>>()?;
    Ok(match format {
        Format::Json => print_json(&listed),
        Format::Text => {
            let lines = listed.iter().map(|nic| format!("{:<16}{}\n", nic.name, nic.description));
            print(&lines.collect::<String>())
        }
    })
}

fn check(nic: &str, Loaded { profile, base }: Loaded, format: Format) -> Exit {
    let changes = base.as_ref().map(|base| profile.changes_from(&base.profile)).unwrap_or_default();
    let changes = changes
        .into_iter()
        .map(|change| ChangeDocument { field: change.field.path, from: change.from, to: change.to })
        .collect();
    let not_conforming = profile.not_conforming().iter().map(|field| field.path).collect();
    let base = base.map(|base| base.nic);
    let checked = Checked { valid: true, name: profile.name, base, changes, not_conforming };
    match format {
        Format::Json => print_json(&checked),
        Format::Text => print(&describe(nic, &checked)),
    }
}

fn describe(nic: &str, checked: &Checked) -> String {
    let mut text = is_valid(nic, &checked.name, checked.base.as_deref(), checked.changes.len());
    for change in &checked.changes {
        let _ = writeln!(text, "  {:<44} {} -> {}", change.field, change.from, change.to);
    }
    match &checked.not_conforming[..] {
        [] => text.push_str("conforms\n"),
        fields => {
            let _ = writeln!(text, "not conforming: {}", fields.join(", "));
        }
    }
    text
}
