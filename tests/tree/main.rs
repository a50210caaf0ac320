//! The tree of modules: modules beside each other import each other in one direction only.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use imports::{Module, imports};

/// Folders of the sources that are held to it, below the project's. The others have circles that are known, and come here
/// when they are opened.
const HELD: [&str; 1] = ["scoring/src"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Imports among the modules of a crate, each by its path below the crate.
fn of_crate(folder: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
    let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    let files: BTreeMap<Module, PathBuf> = files
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "rs"))
        .map(|file| (imports::module(file.path().strip_prefix(folder).unwrap()), file.into_path()))
        .collect();
    files.iter().map(|(module, path)| (module.clone(), imports(module, path, &files))).collect()
}

/// Circles among the modules of one parent, for every parent.
fn circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<String> {
    let parents: BTreeSet<&[String]> = imports
        .keys()
        .filter(|module| !module.is_empty())
        .map(|module| &module[..module.len() - 1])
        .collect();
    let mut found = Vec::new();
    for parent in parents {
        let child = |module: &'_ Module| -> Option<String> {
            module.starts_with(parent).then(|| module.get(parent.len()).cloned()).flatten()
        };
        let mut names: BTreeSet<(String, String)> = BTreeSet::new();
        for (module, targets) in imports {
            let Some(from) = child(module) else { continue };
            names.extend(
                targets.iter().filter_map(child).filter(|to| *to != from).map(|to| (from.clone(), to)),
            );
        }
        let graph: DiGraphMap<&str, ()> = names.iter().map(|(from, to)| (&from[..], &to[..])).collect();
        for mut circle in tarjan_scc(&graph).into_iter().filter(|circle| circle.len() > 1) {
            circle.sort_unstable();
            let place = if parent.is_empty() { "the crate".to_owned() } else { parent.join("/") };
            found.push(format!("{place}: {}", circle.join(", ")));
        }
    }
    found
}

#[test]
fn modules_form_no_circle() {
    let of = |folder: &&str| {
        let found = circles(&of_crate(&root().join(folder)));
        found.into_iter().map(|circle| format!("{folder}, {circle}")).collect::<Vec<_>>()
    };
    let found: Vec<String> = HELD.iter().flat_map(of).collect();
    assert!(found.is_empty(), "modules that import each other:\n{}", found.join("\n"));
}
