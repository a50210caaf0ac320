//! The schema as a P4Info: as a message, and in the text form for people and other controllers.

use std::fmt::Write;

use super::program::{PROGRAM_COUNTER_SIZE, PROGRAM_COUNTERS, PROGRAM_TABLES};
use super::schema::{Action, COUNTER_SIZE, COUNTERS, Counter, TABLES, Table};
use crate::proto::config::{
    Action as ActionInfo, ActionRef, Counter as CounterInfo, CounterSpec, Documentation, MatchField, P4Info,
    PkgInfo, Preamble, Table as TableInfo, action::Param, counter_spec::Unit, match_field,
};

/// The P4Info of the software switch as a message.
#[must_use]
pub fn p4info() -> P4Info {
    info("lumina-switch", &TABLES, &COUNTERS, COUNTER_SIZE)
}

/// The P4Info of the P4 programs, but for the architecture, which is that of the target.
#[must_use]
pub fn program_p4info(arch: &str) -> P4Info {
    info(arch, &PROGRAM_TABLES, &PROGRAM_COUNTERS, PROGRAM_COUNTER_SIZE)
}

fn info(arch: &str, tables: &[&Table], counters: &[&Counter], counter_size: i64) -> P4Info {
    let mut actions: Vec<&Action> = tables.iter().map(|table| table.action).collect();
    actions.sort_unstable_by_key(|action| action.id);
    actions.dedup_by_key(|action| action.id);
    P4Info {
        pkg_info: Some(PkgInfo {
            name: "lumina-injector".to_owned(),
            version: "1".to_owned(),
            doc: doc("event injector of lumina-fuzz"),
            arch: arch.to_owned(),
        }),
        tables: tables.iter().map(|table| table_info(table)).collect(),
        actions: actions.into_iter().map(action_info).collect(),
        counters: counters
            .iter()
            .map(|counter| CounterInfo {
                preamble: preamble(counter.id, counter.name, counter.doc),
                spec: Some(CounterSpec { unit: Unit::Packets.into() }),
                size: counter_size,
            })
            .collect(),
    }
}

fn table_info(table: &Table) -> TableInfo {
    let exact = match_field::Match::MatchType(match_field::MatchType::Exact.into());
    let keys = table.keys.iter().map(|key| MatchField {
        id: key.id,
        name: key.name.to_owned(),
        bitwidth: key.bits as i32,
        r#match: Some(exact),
        doc: doc(key.doc),
    });
    TableInfo {
        preamble: preamble(table.id, table.name, table.doc),
        match_fields: keys.collect(),
        action_refs: vec![ActionRef { id: table.action.id }],
        size: table.size as i64,
    }
}

fn action_info(action: &Action) -> ActionInfo {
    let params = action.params.iter().map(|param| Param {
        id: param.id,
        name: param.name.to_owned(),
        bitwidth: param.bits as i32,
        doc: doc(param.doc),
    });
    ActionInfo { preamble: preamble(action.id, action.name, action.doc), params: params.collect() }
}

fn preamble(id: u32, name: &str, brief: &str) -> Option<Preamble> {
    let alias = name.rsplit('.').next().unwrap_or(name).to_owned();
    Some(Preamble { id, name: name.to_owned(), alias, doc: doc(brief) })
}

fn doc(brief: &str) -> Option<Documentation> {
    Some(Documentation { brief: brief.to_owned() })
}

/// A P4Info in the text form of protocol buffers, which other controllers read.
#[must_use]
pub fn p4info_text(info: &P4Info) -> String {
    let mut out = Text::default();
    if let Some(package) = &info.pkg_info {
        out.block("pkg_info", |out| {
            out.string("name", &package.name);
            out.string("version", &package.version);
            out.doc(package.doc.as_ref());
            out.string("arch", &package.arch);
        });
    }
    for table in &info.tables {
        out.block("tables", |out| {
            out.preamble(table.preamble.as_ref());
            for key in &table.match_fields {
                out.block("match_fields", |out| {
                    out.named(key.id, &key.name, key.bitwidth);
                    out.line("match_type: EXACT");
                    out.doc(key.doc.as_ref());
                });
            }
            for action in &table.action_refs {
                out.block("action_refs", |out| out.line(&format!("id: {}", action.id)));
            }
            out.line(&format!("size: {}", table.size));
        });
    }
    for action in &info.actions {
        out.block("actions", |out| {
            out.preamble(action.preamble.as_ref());
            for param in &action.params {
                out.block("params", |out| {
                    out.named(param.id, &param.name, param.bitwidth);
                    out.doc(param.doc.as_ref());
                });
            }
        });
    }
    for counter in &info.counters {
        out.block("counters", |out| {
            out.preamble(counter.preamble.as_ref());
            out.block("spec", |out| out.line("unit: PACKETS"));
            out.line(&format!("size: {}", counter.size));
        });
    }
    out.text
}

/// Lines of the text form.
#[derive(Default)]
struct Text {
    text: String,
    depth: usize,
}

impl Text {
    fn line(&mut self, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:width$}{line}", "", width = 2 * self.depth);
    }

    fn block(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        self.line(&format!("{name} {{"));
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.line("}");
    }

    fn string(&mut self, name: &str, value: &str) {
        self.line(&format!("{name}: {value:?}"));
    }

    fn doc(&mut self, doc: Option<&Documentation>) {
        if let Some(doc) = doc {
            self.block("doc", |out| out.string("brief", &doc.brief));
        }
    }

    fn named(&mut self, id: u32, name: &str, bits: i32) {
        self.line(&format!("id: {id}"));
        self.string("name", name);
        self.line(&format!("bitwidth: {bits}"));
    }

    fn preamble(&mut self, preamble: Option<&Preamble>) {
        if let Some(preamble) = preamble {
            self.block("preamble", |out| {
                out.line(&format!("id: {}", preamble.id));
                out.string("name", &preamble.name);
                out.string("alias", &preamble.alias);
                out.doc(preamble.doc.as_ref());
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files are written by `UPDATE_DOCS=1`, as all generated documents are.
    #[test]
    fn the_files_for_other_controllers_are_these() {
        for (name, info) in [("lumina", p4info()), ("event_injector", program_p4info("v1model"))] {
            let path = format!("{}/p4info/{name}.p4info.txt", env!("CARGO_MANIFEST_DIR"));
            let text = p4info_text(&info);
            if std::env::var_os("UPDATE_DOCS").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            assert_eq!(std::fs::read_to_string(path).unwrap(), text, "UPDATE_DOCS=1 writes it anew");
        }
    }
}
