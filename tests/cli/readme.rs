//! The README: its samples are the program's output, and its commands work in their order. `UPDATE_DOCS=1` rewrites
//! the samples.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Kinds of code blocks in the README.
#[derive(Debug)]
enum Block {
    /// Commands that work on any machine.
    Commands(String),
    /// A command and its output.
    Sample { command: String },
    /// A file that the commands made, or paragraphs of a report.
    Excerpt { file: String },
}

fn readme() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")
}

/// Code blocks of the README with the bytes of their content, in order.
fn blocks(text: &str) -> Vec<(Block, std::ops::Range<usize>)> {
    let mut blocks = Vec::new();
    let mut at = 0;
    let mut before = "";
    while let Some(line) = text[at..].lines().next() {
        let Some(language) = line.strip_prefix("```") else {
            if !line.is_empty() {
                before = line;
            }
            at += line.len() + 1;
            continue;
        };
        let start = at + line.len() + 1;
        let end = start + text[start..].find("```").expect("every block ends");
        let content = &text[start..end];
        let mark = |name: &str| before.strip_prefix(name)?.strip_suffix(" -->");
        if let Some(file) = mark("<!-- from: ") {
            blocks.push((Block::Excerpt { file: file.into() }, start..end));
        } else if let Some(command) = content.strip_prefix("$ ") {
            let command = command.lines().next().expect("a command").into();
            blocks.push((Block::Sample { command }, start..end));
        } else if language == "sh" && mark("<!-- not run: ").is_none() {
            blocks.push((Block::Commands(content.into()), start..end));
        }
        before = "";
        at = end + "```\n".len();
    }
    blocks
}

/// A folder with the files of the repository that the README names.
fn clone_like() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    for name in ["examples", "tests"] {
        symlink(root.join(name), folder.path().join(name)).unwrap();
    }
    folder
}

/// Output of commands, which have to succeed.
fn sh(folder: &Path, commands: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_lumina-fuzz")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("sh")
        .args(["-euc", &format!("exec 2>&1\n{commands}")])
        .current_dir(folder)
        .env("PATH", path)
        .output()
        .unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{commands}\n{said}");
    said
}

/// Output without the lines of progress, which only slow machines print.
fn without_progress(output: &str) -> String {
    let is_progress = |line: &&str| line.contains(" tests/s, ");
    output.lines().filter(|line| !is_progress(line)).map(|line| format!("{line}\n")).collect()
}

/// Output without the durations and rates, which no two runs share.
fn timeless(output: &str) -> String {
    let line = |line: &str| match (line.split_once(" executions in "), line.split_once(" tests/s")) {
        (Some((executions, rest)), Some((_, end))) => {
            let counts = rest.split_once('(').map_or(rest, |(_, counts)| counts);
            let counts = counts.rsplit_once(';').map_or(counts, |(counts, _)| counts);
            format!("{executions} executions in TIME ({counts}; RATE tests/s{end}")
        }
        _ => line.to_owned(),
    };
    output.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Paragraphs of a report that the README quotes: the expected and the observed behaviour, and the test in words.
fn excerpt(report: &str) -> String {
    let paragraphs: Vec<&str> = report.split("\n\n").collect();
    let quoted = |heading: &str| {
        let found = paragraphs.iter().find(|paragraph| paragraph.starts_with(heading));
        found.unwrap_or_else(|| panic!("no {heading} in {report}")).trim_end()
    };
    format!("{}\n", ["Expected\n", "Seen\n", "The test\n"].map(quoted).join("\n\n"))
}

#[test]
fn commands_work_in_their_order_and_samples_are_made_by_them() {
    let text = fs::read_to_string(readme()).unwrap();
    let folder = clone_like();
    let mut updated = text.clone();
    let mut moved = 0isize;
    let mut counts = [0, 0, 0];
    for (block, at) in blocks(&text) {
        let actual = match &block {
            Block::Commands(commands) => {
                counts[0] += 1;
                sh(folder.path(), commands);
                continue;
            }
            // The command of a sample is also among the commands, in a folder where its files are to stay.
            Block::Sample { command } => {
                counts[1] += 1;
                format!("$ {command}\n{}", without_progress(&sh(clone_like().path(), command)))
            }
            Block::Excerpt { file } => {
                counts[2] += 1;
                let text = fs::read_to_string(folder.path().join(file)).unwrap();
                if file.ends_with("report.txt") { excerpt(&text) } else { text }
            }
        };
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let at = at.start.strict_add_signed(moved)..at.end.strict_add_signed(moved);
            moved += actual.len() as isize - at.len() as isize;
            updated.replace_range(at, &actual);
        } else {
            assert_eq!(
                timeless(&text[at]),
                timeless(actual.trim_end_matches('\n')),
                "run with UPDATE_DOCS=1"
            );
        }
    }
    assert!(counts[0] >= 7 && counts[1..] == [3, 2], "{counts:?}");
    if updated != text {
        fs::write(readme(), updated).unwrap();
    }
}
