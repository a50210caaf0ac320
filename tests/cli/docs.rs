//! The parts of `docs/analyzers.md` that are made from the code. `UPDATE_DOCS=1 cargo test -p fuzzer` rewrites
//! them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use scoring::{Rule, analyzers};

fn rules() -> String {
    let mut text = String::from("| rule | kind | what is expected | source |\n|---|---|---|---|\n");
    for rule in Rule::ALL {
        let (name, kind) = (rule.name(), rule.kind());
        let _ = writeln!(text, "| `{name}` | `{kind}` | {} | {} |", rule.expected(), rule.source());
    }
    text
}

fn machines() -> String {
    let mut text = String::new();
    for (title, _, diagram) in analyzers::go_back_n_tables() {
        let _ = write!(text, "### {title}\n\n```mermaid\n{diagram}```\n\n");
    }
    text
}

/// `document` with the part named `name` replaced by `text`.
fn with_part(document: &str, name: &str, text: &str) -> String {
    let start = format!("<!-- generated: {name} -->\n");
    let at = document.find(&start).unwrap_or_else(|| panic!("no part {name}")) + start.len();
    let end = at + document[at..].find("<!-- end -->").expect("the part ends");
    format!("{}{}\n{}", &document[..at], text.trim_end(), &document[end..])
}

#[test]
fn generated_parts_are_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/analyzers.md");
    let document = fs::read_to_string(&path).unwrap();
    let expected = with_part(&with_part(&document, "rules", &rules()), "machines", &machines());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    assert!(document == expected || std::env::var_os("UPDATE_DOCS").is_some(), "run with UPDATE_DOCS=1");
}
