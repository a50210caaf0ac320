//! Imports of a module, by its syntax.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, UseTree};

/// Path of a module below its crate; empty for the crate itself.
pub(crate) type Module = Vec<String>;

/// The module of a file, by its path below the crate's folder of sources.
pub(crate) fn module(file: &Path) -> Module {
    let mut names: Module =
        file.with_extension("").components().map(|part| part.as_os_str().display().to_string()).collect();
    if names.last().is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str())) {
        names.pop();
    }
    names
}

/// Modules of the crate that a module names in `use` and in paths, but not in its tests.
pub(crate) fn imports(module: &Module, path: &Path, all: &BTreeMap<Module, PathBuf>) -> BTreeSet<Module> {
    let source = fs::read_to_string(path).unwrap();
    let file = syn::parse_file(&source).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut names = Names { module, all, found: BTreeSet::new() };
    names.visit_file(&file);
    names.found
}

struct Names<'a> {
    module: &'a Module,
    all: &'a BTreeMap<Module, PathBuf>,
    found: BTreeSet<Module>,
}

impl Names<'_> {
    /// Takes a path as it is written.
    fn takes(&mut self, names: &[String]) {
        let mut place = match names.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self") => self.module.clone(),
            Some("super") => self.module[..self.module.len().saturating_sub(1)].to_vec(),
            // A module of this one, or nothing of the crate.
            Some(_) if self.is_module(&[self.module, &names[..1]].concat()) => {
                [self.module, &names[..1]].concat()
            }
            _ => return,
        };
        for name in &names[1..] {
            match name.as_str() {
                "super" => drop(place.pop()),
                _ => place.push(name.clone()),
            }
        }
        // What is not a module is an item of the one before.
        while !self.is_module(&place) {
            place.pop();
        }
        if place != *self.module {
            self.found.insert(place);
        }
    }

    fn is_module(&self, place: &[String]) -> bool {
        place.is_empty() || self.all.contains_key(place)
    }

    fn tree(&mut self, before: &mut Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(before, &path.tree);
                before.pop();
            }
            UseTree::Name(name) => self.name(before, &name.ident.to_string()),
            UseTree::Rename(name) => self.name(before, &name.ident.to_string()),
            UseTree::Glob(_) => self.takes(before),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(before, item)),
        }
    }

    fn name(&mut self, before: &[String], name: &str) {
        let own = (name != "self").then(|| name.to_owned());
        self.takes(&before.iter().cloned().chain(own).collect::<Vec<_>>());
    }
}

/// Returns true if an item is only for tests.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        // What a module passes on from its own modules is no import of it.
        if !is_for_tests(&item.attrs) {
            self.tree(&mut Vec::new(), &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 {
            self.takes(&names);
        }
        visit::visit_path(self, path);
    }
}
