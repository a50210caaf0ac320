//! `lumina-fuzz testbed uml coverage`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use dumper::observation::write_whole;
use executor::uml::{KernelCode, Uncovered};

use super::output::{complain, fail, print, print_json};
use super::{Exit, Format};
use crate::campaign::{Reached, report};

/// Arguments of `testbed uml coverage`.
#[derive(clap::Args)]
pub(super) struct CoverageArgs {
    /// Folders of campaigns on a kernel that counts (`testbed uml build --coverage`); several are added up.
    #[arg(required = true, value_name = "CAMPAIGN")]
    campaigns: Vec<PathBuf>,
    /// The tracefile [default: coverage.info in the first campaign's folder].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// List the lines of which no test has run every block.
    #[arg(long)]
    uncovered: bool,
}

pub(super) fn coverage(args: &CoverageArgs, format: Format) -> Exit {
    let reached = match Reached::read(&args.campaigns) {
        Ok(reached) => reached,
        Err(error) => return fail(error, format),
    };
    let out = args.out.clone().unwrap_or_else(|| args.campaigns[0].join("coverage.info"));
    let traced: String = reached.codes.each().map(|code| tracefile(code, &reached)).collect();
    if let Err(error) = write_whole(&out, |file| file.write_all(traced.as_bytes())) {
        complain(&format!("error: {}: cannot be written: {error}", out.display()));
        return Exit::Failed;
    }
    let all = reached.all();
    let shares = reached.codes.shares(&all);
    if format == Format::Json {
        let kernels: Vec<_> = reached
            .codes
            .each()
            .zip(&shares)
            .map(|(code, shares)| {
                let ran = code.ran(&all);
                let uncovered = args.uncovered.then(|| code.code.uncovered(&ran).collect::<Vec<_>>());
                serde_json::json!({ "coverage": shares, "files": code.code.by_file(&ran), "uncovered": uncovered })
            })
            .collect();
        return print_json(&serde_json::json!({ "tracefile": out, "kernels": kernels }));
    }
    let mut text = String::new();
    for (code, shares) in reached.codes.each().zip(&shares) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", report::ran(shares));
        let ran = code.ran(&all);
        for (file, shares) in code.code.by_file(&ran) {
            let (lines, functions) = (shares.lines, shares.functions);
            let _ = writeln!(
                text,
                "  {file:<20} {:>4} of {:>4} lines ({:>5.1} %), {:>3} of {:>3} functions",
                lines.run,
                lines.all,
                lines.percent(),
                functions.run,
                functions.all,
            );
        }
        if args.uncovered {
            text.push_str(&uncovered(code, code.code.uncovered(&ran)));
        }
    }
    let _ = writeln!(text, "{}: for genhtml and editors; it counts tests of the corpus", out.display());
    print(&text)
}

/// The tracefile of a kernel: how many of the kept tests ran each line.
fn tracefile(code: &KernelCode, reached: &Reached) -> String {
    let ran: Vec<_> = reached.tests().iter().map(|test| code.ran(test)).collect();
    code.code.lcov(&code.sources, |block| ran.iter().filter(|ran| ran.has(block)).count() as u64)
}

/// The lines of which no test has run every block, with their text; behind it how many of several blocks have run.
fn uncovered<'a>(code: &KernelCode, lines: impl Iterator<Item = Uncovered<'a>>) -> String {
    let mut text = String::new();
    let mut sources: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Uncovered { file, line, blocks } in lines {
        let source = sources.entry(file).or_insert_with(|| {
            let source = fs::read_to_string(code.sources.join(file)).unwrap_or_default();
            source.lines().map(|line| line.trim().to_owned()).collect()
        });
        let words = source.get(line as usize - 1).map_or("", |line| line);
        let part = if blocks.run > 0 {
            format!("   // {} of {} blocks", blocks.run, blocks.all)
        } else {
            String::new()
        };
        let _ = writeln!(text, "{file}:{line}: {words}{part}");
    }
    text
}
