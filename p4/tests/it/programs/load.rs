//! A program with the files that it includes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use p4::source::{Control, Declaration, Expression, Fields, Instance, Parser, Table, Type, Variable, parse};

/// Declarations of a program by their names.
#[derive(Default)]
pub(crate) struct Loaded {
    pub(crate) constants: BTreeMap<String, Variable>,
    pub(crate) headers: BTreeMap<String, Fields>,
    pub(crate) structs: BTreeMap<String, Fields>,
    pub(crate) parsers: BTreeMap<String, Parser>,
    pub(crate) controls: BTreeMap<String, Control>,
    pub(crate) instances: BTreeMap<String, Instance>,
}

/// Folder of the programs.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

impl Loaded {
    /// A program of the folder.
    pub(crate) fn unchanged(name: &str) -> Self {
        Self::new(name, &mut |_, text| text)
    }

    /// A program of the folder, whose texts may be changed before they are read.
    pub(crate) fn new(name: &str, change: &mut dyn FnMut(&Path, String) -> String) -> Self {
        let mut all = Self::default();
        all.include(&folder().join(name), &mut BTreeSet::new(), change);
        all
    }

    fn include(
        &mut self,
        path: &Path,
        seen: &mut BTreeSet<PathBuf>,
        change: &mut dyn FnMut(&Path, String) -> String,
    ) {
        let path = path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if !seen.insert(path.clone()) {
            return;
        }
        let text = change(&path, fs::read_to_string(&path).unwrap());
        let program = parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for declaration in program.declarations {
            let is_new = match declaration {
                Declaration::Include(file) => {
                    self.include(&path.parent().unwrap().join(file), seen, change);
                    true
                }
                Declaration::Const(it) => self.constants.insert(it.name.clone(), it).is_none(),
                Declaration::Header(it) => self.headers.insert(it.name.clone(), it).is_none(),
                Declaration::Struct(it) => self.structs.insert(it.name.clone(), it).is_none(),
                Declaration::Parser(it) => self.parsers.insert(it.name.clone(), it).is_none(),
                Declaration::Control(it) => self.controls.insert(it.name.clone(), it).is_none(),
                Declaration::Instance(it) => self.instances.insert(it.name.clone(), it).is_none(),
            };
            assert!(is_new, "{}: a name is declared twice", path.display());
        }
    }

    /// All tables that a controller writes, each with its control.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&Control, &Table)> {
        let all = self
            .controls
            .values()
            .flat_map(|control| control.tables.iter().map(move |table| (control, table)));
        all.filter(|(_, table)| annotation(&table.annotations, "hidden").is_none())
    }

    /// A number that is known when the program is compiled.
    pub(crate) fn number(&self, expression: &Expression) -> u128 {
        match expression {
            Expression::Number(value, _) => *value,
            Expression::Name(name) => {
                let constant = self.constants.get(name).unwrap_or_else(|| panic!("{name} is no constant"));
                self.number(constant.value.as_ref().unwrap())
            }
            other => panic!("{other:?} is no number"),
        }
    }

    /// The number of a constant.
    pub(crate) fn constant(&self, name: &str) -> u128 {
        self.number(&Expression::Name(name.to_owned()))
    }

    /// The fields of a header or struct type.
    pub(crate) fn fields(&self, r#type: &Type) -> Option<(&Fields, bool)> {
        let Type::Named(name, _) = r#type else { return None };
        let header = self.headers.get(name).map(|fields| (fields, true));
        header.or_else(|| self.structs.get(name).map(|fields| (fields, false)))
    }
}

/// The arguments of an annotation.
pub(crate) fn annotation<'a>(all: &'a [p4::source::Annotation], name: &str) -> Option<&'a [Expression]> {
    all.iter().find(|annotation| annotation.name == name).map(|annotation| annotation.arguments.as_slice())
}

/// The number of an annotation such as `@id(1)`.
pub(crate) fn number_of(all: &[p4::source::Annotation], name: &str) -> u32 {
    match annotation(all, name) {
        Some([Expression::Number(value, _)]) => *value as u32,
        other => panic!("@{name} has one number, not {other:?}"),
    }
}

/// The text of an annotation such as `@name("flow")`.
pub(crate) fn text_of<'a>(all: &'a [p4::source::Annotation], name: &str) -> &'a str {
    match annotation(all, name) {
        Some([Expression::Text(text)]) => text,
        other => panic!("@{name} has one text, not {other:?}"),
    }
}
