//! The packet scripts of `tests/scripts` on `rdma_rxe`, but for those that `scripts.toml` says cannot run there.

mod adapt;
#[path = "../../../../tests/scripts/files.rs"]
mod files;
mod list;

use std::fs;
use std::path::PathBuf;

use corpus::{Role, TestConfig};
use dumper::script::{Found, Script};
use executor::script::{compare, to_config};

use super::pair::{Ran, alone};
use super::site::{TRIES, capabilities, for_a_script};
use adapt::adapt;
use files::{root, scripts};
use list::List;

/// The names of the scripts: folder and file, without its end.
fn names() -> Vec<String> {
    let root = root();
    let name =
        |path: PathBuf| path.strip_prefix(&root).unwrap().with_extension("").to_str().unwrap().to_owned();
    scripts().into_iter().map(name).collect()
}

/// Differences of the run from a script.
fn differences(script: &Script, config: &TestConfig) -> Vec<String> {
    let ran = Ran::of(&for_a_script(), config.clone());
    let found = Found::from(&ran.analysis());
    compare(script, config, &ran.observation, &found).iter().map(ToString::to_string).collect()
}

/// Runs a script until it holds, or often enough; what is wrong with it.
fn check(name: &str) -> Vec<String> {
    let path = root().join(name).with_extension("rds");
    let script = dumper::script::parse(&format!("{name}.rds"), &fs::read_to_string(path).unwrap());
    let script = adapt(script.unwrap_or_else(|errors| panic!("{errors}")));
    let mut config = to_config(&script).unwrap_or_else(|errors| panic!("{name}: {errors}"));
    for role in Role::ALL {
        let roce = &mut config.host_mut(role).roce;
        if *roce == corpus::RoceParameters::default() {
            *roce = capabilities().fixed;
        }
    }
    let beyond = capabilities().violations(&config);
    assert!(beyond.is_empty(), "{name}: {beyond:?}");
    let mut wrong = Vec::new();
    for tried in 1..=TRIES {
        let _alone = alone();
        wrong = differences(&script, &config);
        if wrong.is_empty() {
            if tried > 1 {
                eprintln!("{name}: holds in run {tried}");
            }
            break;
        }
    }
    wrong
}

/// `LUMINA_SCRIPTS` chooses among them by a part of their names.
#[test]
fn scripts_hold_but_those_that_are_listed() {
    let list = List::read();
    let names = names();
    list.is_of(&names);
    let only = std::env::var("LUMINA_SCRIPTS").unwrap_or_default();
    let mut wrong = Vec::new();
    for name in names.iter().filter(|name| name.contains(&only) && list.runs(name)) {
        let differences = check(name);
        match (list.fails(name), differences.is_empty()) {
            (None, false) => wrong.push(differences.join("\n")),
            (Some(finding), true) => {
                wrong.push(format!("{name} holds: it is no longer a case of \"{finding}\""));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} scripts:\n{}", wrong.len(), wrong.join("\n\n"));
}
