//! Modules beside each other import each other in one direction only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use crate::imports::{self, Module, imports};
use crate::root;

/// Folders of the sources that are held to it, below the project's.
const HELD: [&str; 8] = [
    "corpus/src",
    "dumper/src",
    "executor/src",
    "fuzzer/src",
    "mutators/src",
    "p4/src",
    "scoring/src",
    "tests/support",
];

/// Imports among the modules of a crate, each by its path below the crate.
fn of_crate(folder: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
    let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    let files: BTreeMap<Module, PathBuf> = files
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "rs"))
        .map(|file| (imports::module(file.path().strip_prefix(folder).unwrap()), file.into_path()))
        .collect();
    files.iter().map(|(module, path)| (module.clone(), imports(module, path, &files))).collect()
}

/// A circle: its place and members, and the files that tie it.
struct Circle {
    name: String,
    ties: String,
}

/// Circles among the modules of one parent, for every parent.
fn circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Circle> {
    let parents: BTreeSet<&[String]> = imports
        .keys()
        .filter(|module| !module.is_empty())
        .map(|module| &module[..module.len() - 1])
        .collect();
    parents.into_iter().flat_map(|parent| circles_below(parent, imports)).collect()
}

/// Circles among the modules of one parent.
fn circles_below(parent: &[String], imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Circle> {
    let child = |module: &Module| -> Option<String> {
        module.starts_with(parent).then(|| module.get(parent.len()).cloned()).flatten()
    };
    // From and to, and the files that import so.
    let mut edges: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (module, targets) in imports {
        let Some(from) = child(module) else { continue };
        for to in targets.iter().filter_map(child).filter(|to| *to != from) {
            edges.entry((from.clone(), to)).or_default().insert(module.join("/"));
        }
    }
    let graph: DiGraphMap<&str, ()> = edges.keys().map(|(from, to)| (&from[..], &to[..])).collect();
    let place = if parent.is_empty() { "the crate".to_owned() } else { parent.join("/") };
    let circle = |mut members: Vec<&str>| {
        members.sort_unstable();
        let is_member = |name: &String| members.contains(&&name[..]);
        let ties = edges.iter().filter(|((from, to), _)| is_member(from) && is_member(to));
        let ties = ties.map(|((_, to), files)| {
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            format!("\n    {to} is imported by {}", files.join(", "))
        });
        Circle { ties: ties.collect(), name: format!("{place}: {}", members.join(", ")) }
    };
    tarjan_scc(&graph).into_iter().filter(|members| members.len() > 1).map(circle).collect()
}

#[test]
fn modules_form_no_circle() {
    let mut found = String::new();
    for folder in HELD {
        for Circle { name, ties } in circles(&of_crate(&root().join(folder))) {
            found += &format!("{folder}, {name}{ties}\n");
        }
    }
    assert!(found.is_empty(), "modules that import each other:\n{found}");
}
