//! Doc comments in the words of the field: a doc line begins with a noun or a verb, and papers have names.

use std::fs;
use std::path::{Path, PathBuf};

/// First words of a clause that stands for a noun.
const CLAUSE_WORDS: [&str; 4] = ["What", "Whether", "How", "Which"];

/// Largest share of doc lines that may begin with one of these words, in percent.
const MOST_PERCENT: usize = 3;

/// Doc lines of the workspace, at least: with fewer of them the walk has missed a crate.
const FEWEST_LINES: usize = 5_000;

/// Text of a doc line; `None` for code, plain comments and empty doc lines.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! "))
}

/// Returns true if a doc line begins with a clause instead of a noun or a verb.
fn begins_with_clause(text: &str) -> bool {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    CLAUSE_WORDS.contains(&word.as_str())
}

/// Returns true if a comment in the line cites a paper by its number (three digits and a section sign).
fn cites_by_number(line: &str) -> bool {
    let Some(start) = line.find("//") else { return false };
    (0..5).any(|paper| line[start..].contains(&format!("00{paper} §")))
}

/// Rust files below a folder, in order; not those that cargo or git made.
fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            rust_files(&path, files);
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
}

/// Lines of all Rust files of the repository, each with its place.
fn lines() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    rust_files(&root, &mut files);
    let numbered = |file: &PathBuf| {
        let name = file.strip_prefix(&root).unwrap_or(file).display().to_string();
        let text = fs::read_to_string(file).unwrap();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.into_iter().enumerate().map(move |(at, line)| (format!("{name}:{}", at + 1), line))
    };
    files.iter().flat_map(numbered).collect()
}

#[test]
fn few_doc_lines_begin_with_a_clause() {
    let lines = lines();
    let docs: Vec<_> = lines.iter().filter_map(|(place, line)| Some((place, doc_text(line)?))).collect();
    assert!(docs.len() >= FEWEST_LINES, "{} doc lines", docs.len());
    let clauses: Vec<_> = docs
        .iter()
        .filter(|(_, text)| begins_with_clause(text))
        .map(|(place, text)| format!("{place} {text}"))
        .collect();
    assert!(
        clauses.len() * 100 < docs.len() * MOST_PERCENT,
        "{} of {} doc lines begin with one of {CLAUSE_WORDS:?}:\n{}",
        clauses.len(),
        docs.len(),
        clauses.join("\n"),
    );
}

#[test]
fn comments_cite_papers_by_name() {
    let numbers: Vec<_> = lines().into_iter().filter(|(_, line)| cites_by_number(line)).collect();
    assert!(numbers.is_empty(), "{numbers:#?}");
}

#[test]
fn doc_lines_are_told_from_others() {
    let clause = |line: &str| doc_text(line).is_some_and(begins_with_clause);
    assert!(clause("    /// What it does."));
    assert!(clause("//! How: by name."));
    assert!(!clause("/// Whatever comes, whether early or late."));
    assert!(!clause("// Which of them does not matter."));
    assert!(!clause("let text = \"/// What\";"));
    assert!(cites_by_number(&format!("    // {} §6.1 has it.", "001")));
    assert!(!cites_by_number(&format!("let source = \"{} §6.1\";", "001")));
}
