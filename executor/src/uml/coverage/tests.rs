//! The counts held to those of gcov, the compiler's own program.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;

/// A program with loops, branches that are not taken, functions that do not return and several blocks on a line.
const COUNTED: &str = "#include <setjmp.h>
static jmp_buf back;
static int odd(int n) { return n & 1 ? n * 3 : n; }
static __attribute__((noreturn)) void leave(int n) { longjmp(back, n); }
__attribute__((noinline)) int sum(int n)
{
	int i, s = 0;
	for (i = 0; i < n; i++) {
		switch (i % 4) {
		case 0:
			s += odd(i);
			continue;
		case 1:
			if (i > 100)
				return -1;
			/* fallthrough */
		default:
			s += i > 5 ? 1 : 2;
		}
		while (s % 7 && s % 5) s--;
	}
	return s;
}
int never(int n) { return n ? sum(n) : 0; }
int work(void)
{
	volatile int s = 0;
	if (setjmp(back) > 3)
		return s;
	s += sum(9) + sum(20 + s);
	leave(4);
}
";
const MAIN: &str = "#include <stdio.h>
int work(void);
int main(void) { work(); puts(\"worked\"); fflush(stdout); return getchar() != 'x'; }
";

/// How often functions and lines ran, by file, as gcov says it of the data in a folder.
#[derive(Debug, Default)]
pub(in crate::uml) struct Gcov {
    /// Entries, blocks that ran, by file and name.
    functions: BTreeMap<(String, String), (u64, usize)>,
    lines: BTreeMap<(String, u32), u64>,
}

/// Asks gcov about files of notes, beside which their data are; what it says of a function in several files is added up.
pub(in crate::uml) fn gcov(folder: &Path, notes: &[String]) -> Gcov {
    let mut all = Gcov::default();
    for notes in notes {
        let said =
            Command::new("gcov").args(["--json-format", "--stdout", notes]).current_dir(folder).output();
        let said = said.unwrap().stdout;
        let document: serde_json::Value = serde_json::from_slice(&said).unwrap();
        for file in document["files"].as_array().unwrap() {
            let name = file["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            for function in file["functions"].as_array().unwrap() {
                let key = (name.clone(), function["name"].as_str().unwrap().to_owned());
                let (entries, blocks) = all.functions.entry(key).or_default();
                *entries += function["execution_count"].as_u64().unwrap();
                *blocks += function["blocks_executed"].as_u64().unwrap() as usize;
            }
            for line in file["lines"].as_array().unwrap() {
                let number = line["line_number"].as_u64().unwrap() as u32;
                *all.lines.entry((name.clone(), number)).or_default() += line["count"].as_u64().unwrap();
            }
        }
    }
    all
}

/// Holds the counts of the blocks between two readings to those of gcov.
pub(in crate::uml) fn assert_as_gcov(code: &Code, (before, after): (&Counters, &Counters), gcov: &Gcov) {
    let counts: BTreeMap<usize, i64> = code.counts(before, after).collect();
    let mut functions: BTreeMap<(String, String), (u64, usize)> = BTreeMap::new();
    for function in &code.functions {
        let key = (function.file.clone(), function.name.clone());
        let (entries, blocks) = functions.entry(key).or_default();
        *entries += counts[&(function.first + ENTRY)] as u64;
        let inner = function.first + 1..function.first + function.flow.blocks - 1;
        *blocks += inner.filter(|block| counts[block] > 0).count();
    }
    assert!(functions.values().filter(|(entries, _)| *entries > 0).count() > 1);
    for (function, ours) in &functions {
        assert_eq!(gcov.functions.get(function), Some(ours), "{function:?}");
    }
    for (line, blocks) in &code.lines {
        let theirs = gcov.lines.get(line).copied();
        let ours: u64 = blocks.iter().map(|block| counts[block] as u64).sum();
        // How often a line of several blocks ran is a matter of the cycles between them.
        if blocks.len() == 1 {
            assert_eq!(theirs, Some(ours), "{line:?}");
        } else {
            assert_eq!(theirs.map(|ran| ran > 0), Some(ours > 0), "{line:?}");
        }
    }
}

#[test]
fn counts_from_outside_are_those_that_the_program_writes_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("counted.c"), COUNTED).unwrap();
    fs::write(path("main.c"), MAIN).unwrap();
    let cc = |arguments: &[&str]| {
        let built = Command::new("gcc").args(arguments).current_dir(folder.path()).status().unwrap();
        assert!(built.success());
    };
    cc(&["-O2", "-fprofile-arcs", "-ftest-coverage", "-fno-tree-loop-im", "-c", "counted.c"]);
    cc(&["-no-pie", "-o", "program", "main.c", "counted.o", "-lgcov"]);
    let code = Code::of(&path("program"), folder.path()).unwrap();
    let mut child = Command::new(path("program"))
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    BufReader::new(child.stdout.take().unwrap()).lines().next();
    let after = code.read(child.id().cast_signed()).unwrap();
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    assert!(child.wait().unwrap().success());
    let before = Counters::default();
    assert_as_gcov(&code, (&before, &after), &gcov(folder.path(), &["counted.gcno".to_owned()]));
    let ran = code.ran(&before, &after);
    let Shares { lines, functions, files } = code.shares(&ran);
    assert_eq!((functions, files), (Share { run: 3, all: 4 }, Share { run: 1, all: 1 }));
    assert!(lines.run < lines.all);
    let text = code.lcov(Path::new("/src"), |block| ran.has(block).into());
    assert!(
        text.contains("SF:/src/counted.c") && text.contains("FNDA:0,never") && text.contains("FNDA:1,sum")
    );
    assert!(text.contains("DA:24,0") && text.contains("DA:11,1"), "{text}");
}

#[test]
fn damaged_notes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("counted.c"), COUNTED).unwrap();
    let built = Command::new("gcc")
        .args(["-O2", "--coverage", "-c", "counted.c"])
        .current_dir(folder.path())
        .status();
    assert!(built.unwrap().success());
    let notes = fs::read(path("counted.gcno")).unwrap();
    let whole = Notes::read(&notes).unwrap();
    assert!(whole.functions.iter().all(|function| Flow::of(function).is_ok()));
    assert!(whole.functions.len() >= 4);
    for at in 0..notes.len() {
        // Whatever is in it: an error or other notes, but an answer.
        let mut damaged = notes.clone();
        damaged[at] ^= 0x55;
        for bytes in [&damaged[..], &notes[..at]] {
            if let Ok(notes) = Notes::read(bytes) {
                notes.functions.iter().for_each(|function| drop(Flow::of(function)));
            }
        }
    }
    let mut older = notes;
    older[4..8].copy_from_slice(&u32::from_be_bytes(*b"B02*").to_le_bytes());
    assert!(Notes::read(&older).unwrap_err().contains("gcc 10"));
}

/// Data files of the counters between two readings, as libgcov would write them.
#[cfg(feature = "uml")]
pub(in crate::uml) fn write_data(
    code: &Code,
    sources: &Path,
    (before, after): (&Counters, &Counters),
    folder: &Path,
) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "gcno") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let notes = Notes::read(&bytes).unwrap();
        let source = path.with_extension("c");
        let source = source.file_name().unwrap().to_string_lossy();
        let mut words = vec![u32::from_be_bytes(*b"gcda")];
        words.extend(notes.header);
        for function in &notes.functions {
            words.extend([0x0100_0000, 12]);
            words.extend(function.ident);
            let known = code.functions.iter().find(|one| one.name == function.name && one.unit == source);
            let Some(known) = known else { continue };
            words.extend([0x01a1_0000, (known.place.1 * 8) as u32]);
            for (after, before) in after.at(known.place).zip(before.at(known.place)) {
                let count = after - before;
                words.extend([count as u32, (count >> 32) as u32]);
            }
        }
        words.push(0);
        let data: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        fs::write(folder.join(&name), bytes).unwrap();
        fs::write(folder.join(name.replace("gcno", "gcda")), data).unwrap();
        files.push(name);
    }
    files
}
