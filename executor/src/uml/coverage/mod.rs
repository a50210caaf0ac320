//! Code of rdma_rxe that runs in a test: a kernel built with counters of its arcs is read from outside, whose time it does not
//! take.

mod counters;
mod flow;
mod lcov;
mod notes;
#[cfg(test)]
pub(super) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::Add;
use std::path::Path;

use dumper::observation::Coverage;
use serde::{Deserialize, Serialize};

pub(in crate::uml) use self::counters::Counters;
use self::counters::{Places, Span};
use self::flow::{ENTRY, Flow};
use self::notes::Notes;

/// The code of a kernel that counts.
#[derive(Debug)]
pub struct Code {
    functions: Vec<Function>,
    /// Blocks that say how often a line runs, by its file and number.
    lines: BTreeMap<(String, u32), Vec<usize>>,
    span: Span,
}

/// A function that counts.
#[derive(Debug)]
struct Function {
    /// The file that it is in, and its first line.
    file: String,
    line: u32,
    name: String,
    /// The file that was compiled.
    #[cfg(all(test, feature = "uml"))]
    unit: String,
    /// The number of its first block among those of all functions.
    first: usize,
    flow: Flow,
    /// Its counters.
    place: (u64, usize),
}

/// How much of something has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Share {
    /// That which has run.
    pub run: usize,
    /// All.
    pub all: usize,
}

impl FromIterator<bool> for Share {
    /// One of each, with those that have run.
    fn from_iter<I: IntoIterator<Item = bool>>(ran: I) -> Self {
        ran.into_iter().fold(Self::default(), |share, ran| share + Self { run: usize::from(ran), all: 1 })
    }
}

impl Add for Share {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { run: self.run + other.run, all: self.all + other.all }
    }
}

impl Share {
    /// The share in percent; 100 of nothing.
    #[must_use]
    pub fn percent(self) -> f64 {
        if self.all == 0 { 100.0 } else { self.run as f64 * 100.0 / self.all as f64 }
    }
}

/// How much of rdma_rxe has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shares {
    /// Lines with code.
    pub lines: Share,
    /// Functions.
    pub functions: Share,
    /// Source files.
    pub files: Share,
}

/// A line of which not every block has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Uncovered<'a> {
    /// Its file.
    pub file: &'a str,
    /// Its number.
    pub line: u32,
    /// Its blocks.
    pub blocks: Share,
}

/// What ran of a file.
#[derive(Debug, Default)]
struct File<'a> {
    /// Functions by name, with their first lines, and how often they ran.
    functions: BTreeMap<&'a str, (u32, u64)>,
    /// How often each line ran.
    lines: BTreeMap<u32, u64>,
}

impl Code {
    /// The code of a program, by the compiler's notes in a folder.
    ///
    /// # Errors
    /// The notes or the program are damaged, or not of each other, in words.
    pub(super) fn of(program: &Path, folder: &Path) -> Result<Self, String> {
        let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
        let places = Places::of(&read(program)?).map_err(|why| format!("{}: {why}", program.display()))?;
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(|error| format!("{}: {error}", folder.display()))?;
        let names: BTreeSet<String> =
            entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        let mut code = Self { functions: Vec::new(), lines: BTreeMap::new(), span: Span::default() };
        for name in names.iter().filter(|name| name.ends_with(".gcno")) {
            let path = folder.join(name);
            let source = name.replace(".gcno", ".c");
            let added =
                Notes::read(&read(&path)?).and_then(|notes| code.add(&source, notes, &places, &names));
            added.map_err(|why| format!("{}: {why}", path.display()))?;
        }
        code.span = Span::of(code.functions.iter().map(|function| function.place))?;
        Ok(code)
    }

    /// Adds the functions of a source file that are in the program, and whose own source is one of these files.
    fn add(
        &mut self,
        source: &str,
        notes: Notes,
        places: &Places,
        files: &BTreeSet<String>,
    ) -> Result<(), String> {
        // Blocks that end with the line, and all others.
        let mut lines: BTreeMap<(String, u32), [Vec<usize>; 2]> = BTreeMap::new();
        for function in notes.functions {
            let own = |path: &str| {
                let name = path.rsplit('/').next().unwrap_or(path);
                files.contains(name).then(|| name.to_owned())
            };
            let Some(place) = places.of_function(source, &function.name) else { continue };
            let Some(file) = own(&function.source) else { continue };
            if place.1 != function.counters() {
                return Err(format!("{} has other counters in the program", function.name));
            }
            let flow = Flow::of(&function)?;
            let first = self.functions.last().map_or(0, |before| before.first + before.flow.blocks);
            for line in function.lines {
                let Some(file) = own(&line.source) else { continue };
                let [ending, others] = lines.entry((file, line.line)).or_default();
                if line.is_last { ending } else { others }.push(first + line.block);
            }
            let (line, name) = (function.line, function.name);
            self.functions.push(Function {
                file,
                line,
                name,
                #[cfg(all(test, feature = "uml"))]
                unit: source.to_owned(),
                first,
                flow,
                place,
            });
        }
        for (line, [ending, others]) in lines {
            // As in gcov: blocks that go on to another line say nothing of this one if others end with it.
            self.lines.entry(line).or_default().extend(if ending.is_empty() { others } else { ending });
        }
        Ok(())
    }

    /// Reads the counters of a process that does not run meanwhile.
    pub(super) fn read(&self, process: i32) -> io::Result<Counters> {
        self.span.read(process)
    }

    /// How often each block ran between two readings.
    fn counts<'a>(
        &'a self,
        before: &'a Counters,
        after: &'a Counters,
    ) -> impl Iterator<Item = (usize, i64)> + 'a {
        self.functions.iter().flat_map(move |function| {
            let counters = after.at(function.place).zip(before.at(function.place));
            let counts = function.flow.blocks(counters.map(|(after, before)| after.wrapping_sub(before)));
            (function.first..).zip(counts)
        })
    }

    /// The blocks that ran between two readings.
    pub(super) fn ran(&self, before: &Counters, after: &Counters) -> Coverage {
        self.counts(before, after).filter(|(_, count)| *count > 0).map(|(block, _)| block).collect()
    }

    /// The files, with how often each function and line ran, if `count` says it of a block. A line with several blocks ran as
    /// often as that of them which ran most.
    fn files(&self, count: impl Fn(usize) -> u64) -> BTreeMap<&str, File<'_>> {
        let mut files: BTreeMap<&str, File<'_>> = BTreeMap::new();
        for function in &self.functions {
            let file = files.entry(&function.file).or_default();
            let (_, ran) = file.functions.entry(&function.name).or_insert((function.line, 0));
            *ran = (*ran).max(count(function.first + ENTRY));
        }
        for ((name, line), blocks) in &self.lines {
            let ran = blocks.iter().map(|block| count(*block)).max().unwrap_or(0);
            files.entry(name).or_default().lines.insert(*line, ran);
        }
        files
    }

    /// How much has run, if these blocks have.
    #[must_use]
    pub fn shares(&self, coverage: &Coverage) -> Shares {
        let all = self.by_file(coverage).into_values();
        all.reduce(|all, file| Shares {
            lines: all.lines + file.lines,
            functions: all.functions + file.functions,
            files: all.files + file.files,
        })
        .unwrap_or_default()
    }

    /// How much of each file has run, if these blocks have.
    #[must_use]
    pub fn by_file(&self, coverage: &Coverage) -> BTreeMap<&str, Shares> {
        let files = self.files(|block| coverage.has(block).into());
        files.into_iter().map(|(name, file)| (name, file.shares())).collect()
    }

    /// Lines with blocks that have not run, if these blocks have: in the order of files and lines.
    pub fn uncovered(&self, coverage: &Coverage) -> impl Iterator<Item = Uncovered<'_>> {
        self.lines.iter().filter_map(|((file, line), blocks)| {
            let blocks: Share = blocks.iter().map(|block| coverage.has(*block)).collect();
            (blocks.run < blocks.all).then_some(Uncovered { file, line: *line, blocks })
        })
    }
}

impl File<'_> {
    fn shares(&self) -> Shares {
        let lines: Share = self.lines.values().map(|count| *count > 0).collect();
        let functions = self.functions.values().map(|(_, count)| *count > 0).collect();
        Shares { lines, functions, files: [lines.run > 0].into_iter().collect() }
    }
}
