//! `lumina-fuzz targets`.

use std::fmt::Write as _;
use std::path::Path;

use clap::Subcommand;
use corpus::config::default_address;
use corpus::{Host, Role, TestConfig};
use mutators::{Loaded, SHIPPED, Target, TargetError, load_with_base};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::output::{bad_file, is_valid, print, print_json};
use super::{Exit, Format};
use crate::campaign::vocabulary;

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz targets list
  lumina-fuzz targets show noisy-neighbor
  lumina-fuzz targets check ./my-target.toml

A target is named by its name, or by the path of its file (with a `/`, or ending in .toml).";

/// Random tests that `check` draws to describe a space, always the same ones.
const SAMPLE: usize = 1_000;
const SAMPLE_SEED: u64 = 1;

/// Tests with at least so many percent of the packets that the cap allows are near it: where they are many,
/// the space is larger than its cap, and most of it is out of reach.
const NEAR_CAP_PERCENT: u64 = 90;

/// Arguments of `targets`.
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
    /// One line for each target that comes with the program.
    List,
    /// Print a target with every field and its meaning, as TOML.
    Show {
        /// Name or path of the target.
        target: String,
    },
    /// Check that a file is a valid target, and print its differences from its base and properties of its
    /// random tests.
    Check {
        /// Path (or name) of the target.
        target: String,
    },
}

/// A shipped target in the list, as JSON.
#[derive(Serialize)]
struct Listed {
    name: String,
    description: String,
}

/// A target with its fields, as JSON.
#[derive(Serialize)]
struct Document {
    name: String,
    description: String,
    fields: Vec<FieldDocument>,
}

#[derive(Serialize)]
struct FieldDocument {
    field: String,
    /// As in a file.
    value: String,
    meaning: &'static str,
}

/// A target that is valid, as JSON.
#[derive(Serialize)]
struct Checked {
    valid: bool,
    name: String,
    base: Option<String>,
    changes: Vec<ChangeDocument>,
    sample: Sample,
}

#[derive(Serialize)]
struct ChangeDocument {
    field: String,
    from: Option<String>,
    to: String,
}

/// Properties of random tests of a target.
#[derive(Serialize)]
struct Sample {
    tests: usize,
    packets: Spread,
    /// Tests with at least [`NEAR_CAP_PERCENT`] of the packets that the cap allows, in percent.
    near_cap_percent: f64,
    connections: Spread,
    events: Spread,
    /// Connections that have events.
    connections_with_events: Spread,
}

/// Distribution of a number over tests.
#[derive(Serialize)]
struct Spread {
    least: u64,
    /// One test in ten has at most this.
    tenth: u64,
    median: u64,
    /// Nine tests in ten have at most this.
    nine_tenths: u64,
    most: u64,
}

impl Spread {
    fn of(tests: &[TestConfig], number: impl Fn(&TestConfig) -> u64) -> Self {
        let mut numbers: Vec<u64> = tests.iter().map(number).collect();
        numbers.sort_unstable();
        let at = |percent: usize| numbers[(numbers.len() - 1) * percent / 100];
        Self { least: at(0), tenth: at(10), median: at(50), nine_tenths: at(90), most: at(100) }
    }
}

pub(super) fn run(args: &Args) -> Exit {
    let load = |target: &str| load_with_base(target, Path::new(""), vocabulary());
    let done = match &args.action {
        Action::List => list(args.format),
        Action::Show { target } => load(target).map(|loaded| match args.format {
            Format::Json => print_json(&document(&loaded.target)),
            Format::Text => print(&loaded.target.to_toml()),
        }),
        Action::Check { target } => load(target).map(|loaded| check(target, loaded, args.format)),
    };
    done.unwrap_or_else(|TargetError(errors)| bad_file("bad target", errors, args.format))
}

fn list(format: Format) -> Result<Exit, TargetError> {
    let listed = SHIPPED
        .iter()
        .map(|shipped| {
            let target = Target::load(shipped.name, Path::new(""), vocabulary())?;
            Ok(Listed { name: target.name, description: target.description })
        })
        .collect::<Result<Vec<_>, TargetError>>()?;
    Ok(match format {
        Format::Json => print_json(&listed),
        Format::Text => {
            let lines = listed.iter().map(|target| format!("{:<16}{}\n", target.name, target.description));
            print(&lines.collect::<String>())
        }
    })
}

fn document(target: &Target) -> Document {
    let fields = target.lines().into_iter().map(|line| FieldDocument {
        field: line.path,
        value: line.value,
        meaning: line.meaning,
    });
    let (name, description) = (target.name.clone(), target.description.clone());
    Document { name, description, fields: fields.collect() }
}

fn check(file: &str, Loaded { target, base }: Loaded, format: Format) -> Exit {
    let changes = base.as_ref().map(|base| target.changes_from(base)).unwrap_or_default();
    let changes = changes
        .into_iter()
        .map(|change| ChangeDocument { field: change.path, from: change.from, to: change.to })
        .collect();
    let sample = sample(&target);
    let base = base.map(|base| base.name);
    let checked = Checked { valid: true, name: target.name, base, changes, sample };
    match format {
        Format::Json => print_json(&checked),
        Format::Text => print(&describe(file, &checked)),
    }
}

fn sample(target: &Target) -> Sample {
    let hosts = Role::ALL.map(|role| Host::new(Host::DEFAULT_NIC, default_address(role)));
    let mut rng = ChaCha8Rng::seed_from_u64(SAMPLE_SEED);
    let tests: Vec<TestConfig> = (0..SAMPLE).map(|_| target.random(&hosts, &mut rng)).collect();
    let near = u64::from(target.space.packet_cap) * NEAR_CAP_PERCENT;
    let near_cap = tests.iter().filter(|test| test.traffic.total_packets() * 100 >= near).count();
    Sample {
        tests: tests.len(),
        packets: Spread::of(&tests, |test| test.traffic.total_packets()),
        near_cap_percent: near_cap as f64 * 100.0 / tests.len() as f64,
        connections: Spread::of(&tests, |test| test.traffic.load.connections().into()),
        events: Spread::of(&tests, |test| test.events.len() as u64),
        connections_with_events: Spread::of(&tests, |test| test.connections_with_events() as u64),
    }
}

fn describe(file: &str, checked: &Checked) -> String {
    let mut text = is_valid(file, &checked.name, checked.base.as_deref(), checked.changes.len());
    for change in &checked.changes {
        let from = change.from.as_deref().unwrap_or("nothing");
        let _ = writeln!(text, "  {:<32} {from} -> {}", change.field, change.to);
    }
    let sample = &checked.sample;
    let _ = writeln!(
        text,
        "\n{:<32}{:>8}{:>8}{:>8}{:>8}{:>8}",
        format!("{} random tests", sample.tests),
        "least",
        "10 %",
        "median",
        "90 %",
        "most"
    );
    for (name, spread) in [
        ("data packets", &sample.packets),
        ("connections", &sample.connections),
        ("events", &sample.events),
        ("connections with events", &sample.connections_with_events),
    ] {
        let Spread { least, tenth, median, nine_tenths, most } = spread;
        let _ = writeln!(text, "  {name:<30}{least:>8}{tenth:>8}{median:>8}{nine_tenths:>8}{most:>8}");
    }
    let _ = writeln!(
        text,
        "  {:.1} % of the tests are near the cap on packets, at {NEAR_CAP_PERCENT} % of it or more",
        sample.near_cap_percent
    );
    text
}
