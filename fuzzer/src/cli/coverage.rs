//! `lumina-fuzz testbed uml coverage`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use dumper::observation::write_whole;
use executor::uml::KernelCode;

use super::campaign::fail;
use super::output::{complain, print, print_json};
use super::{Exit, Format};
use crate::campaign::{Reached, report};

/// Arguments of `testbed uml coverage`.
#[derive(clap::Args)]
pub(super) struct CoverageArgs {
    /// Folder of a campaign on a kernel that counts (`testbed uml build --coverage`).
    campaign: PathBuf,
    /// The tracefile [default: coverage.info in the campaign's folder].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// List the lines that no test has run.
    #[arg(long)]
    uncovered: bool,
}

pub(super) fn coverage(args: &CoverageArgs, format: Format) -> Exit {
    let reached = match Reached::read(&args.campaign) {
        Ok(reached) => reached,
        Err(error) => return fail(error, format),
    };
    let out = args.out.clone().unwrap_or_else(|| args.campaign.join("coverage.info"));
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
                let uncovered = args.uncovered.then(|| code.code.uncovered(&ran));
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
            text.push_str(&uncovered(code, &code.code.uncovered(&ran)));
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

/// The lines that no test has run, with their text.
fn uncovered(code: &KernelCode, lines: &BTreeMap<&str, Vec<u32>>) -> String {
    let mut text = String::new();
    for (file, lines) in lines {
        let source = fs::read_to_string(code.sources.join(file)).unwrap_or_default();
        let source: Vec<&str> = source.lines().collect();
        for line in lines {
            let line_text = source.get(*line as usize - 1).copied().unwrap_or_default();
            let _ = writeln!(text, "{file}:{line}: {}", line_text.trim());
        }
    }
    text
}
