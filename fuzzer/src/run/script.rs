//! Packet scripts as tests: reading one, holding a run to it, and writing a run as one.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::path::Path;

use corpus::{ConfigErrors, Finding, Role, TestConfig};
use dumper::Observation;
use dumper::observation::write_whole;
use dumper::script::{
    Anomalies, At, Expected, Found, FoundAnomaly, MAX_BYTES, Problem, Script, ScriptErrors, parse,
};
use executor::script::{Mismatch, compare, to_config};
use serde::Serialize;

use super::{KeepError, Test};
use crate::analyze::Report;
use crate::export::script;
use crate::signature::check_rule;

/// Extension of the names of scripts.
const EXTENSION: &str = "rds";

/// Returns true if a path is that of a packet script, by its name.
pub fn is_script(path: &Path) -> bool {
    path.extension()
        .and_then(OsStr::to_str)
        .is_some_and(|extension| extension.eq_ignore_ascii_case(EXTENSION))
}

/// A packet script that a test comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketScript {
    script: Script,
    /// The file as it is.
    pub text: String,
}

impl PacketScript {
    /// Reads a script, and makes the test that it describes.
    ///
    /// # Errors
    /// The file cannot be read; or everything that is wrong with it.
    pub fn load(path: &Path) -> Result<(Self, TestConfig), ConfigErrors> {
        let file = path.display().to_string();
        let text = text_of(path).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                ConfigErrors::whole_file(&file, "is not text in UTF-8", "save it as UTF-8")
            }
            _ => {
                let help = "check the name and its permissions";
                ConfigErrors::whole_file(&file, format!("cannot be read: {error}"), help)
            }
        })?;
        let parsed = parse(&file, &text).and_then(|script| {
            let config = to_config(&script)?;
            let problems = wrong_anomalies(&script);
            match problems.is_empty() {
                true => Ok((script, config)),
                false => Err(ScriptErrors::new(&file, problems, 0)),
            }
        });
        match parsed {
            Ok((script, config)) => Ok((Self { script, text }, config)),
            Err(errors) => Err(in_text(&errors, &text)),
        }
    }

    /// Compares an observation with the script.
    pub fn check(&self, config: &TestConfig, observation: &Observation, report: &Report<'_>) -> Checked {
        let anomalies = report.judged.iter().flat_map(|judged| judged.sightings());
        let found = Found {
            anomalies: anomalies.map(FoundAnomaly::from).collect(),
            timeouts: report.judged.map(|judged| judged.analysis.timeouts()).unwrap_or_default(),
        };
        Checked {
            file: self.script.file.clone(),
            mismatches: compare(&self.script, config, observation, &found),
            is_complete: !report.integrity.is_invalid(),
            found_nothing: found.anomalies.is_empty(),
        }
    }
}

/// Expectations of anomalies that there are not, or that contradict each other.
fn wrong_anomalies(script: &Script) -> Vec<Problem> {
    let of_anomalies = || {
        script.expectations.iter().filter_map(|one| match &one.expected {
            Expected::Anomaly(anomalies) => Some((one.at, anomalies)),
            _ => None,
        })
    };
    let expects_none = of_anomalies().any(|(_, anomalies)| *anomalies == Anomalies::No);
    let wrong = |(at, anomalies): (At, &Anomalies)| {
        let Anomalies::Some { kind, rule } = anomalies else { return None };
        match check_rule(kind, rule.as_deref()) {
            Err(unknown) => Some(Problem::new(at, unknown, "docs/analyzers.md has all")),
            Ok(()) if expects_none => {
                Some(Problem::new(at, "another line expects no anomaly", "keep one of the two"))
            }
            Ok(()) => None,
        }
    };
    of_anomalies().filter_map(wrong).collect()
}

/// A script that was run. `Display` is a line that says that it holds, or every difference and how many there are.
#[derive(Debug)]
pub struct Checked {
    file: String,
    mismatches: Vec<Mismatch>,
    /// The trace has all packets.
    is_complete: bool,
    /// There is no anomaly.
    found_nothing: bool,
}

impl Checked {
    /// Returns true if everything is as the script says. An invalid trace shows nothing.
    pub fn holds(&self) -> bool {
        self.is_complete && self.mismatches.is_empty()
    }

    /// Returns true if there is no more to report than that it holds.
    pub fn says_all(&self) -> bool {
        self.holds() && self.found_nothing
    }

    /// The result for programs.
    pub fn document(&self) -> ScriptDocument<'_> {
        let mismatches = self.mismatches.iter().map(|mismatch| MismatchDocument {
            line: mismatch.at.line,
            what: &mismatch.what,
            expected: mismatch.expected.as_deref(),
            seen: mismatch.seen.as_deref(),
            trace: &mismatch.trace,
        });
        ScriptDocument { file: &self.file, holds: self.holds(), mismatches: mismatches.collect() }
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mismatch in &self.mismatches {
            writeln!(f, "{mismatch}\n")?;
        }
        match self.mismatches.len() {
            0 if self.is_complete => writeln!(f, "{}: holds", self.file),
            0 => writeln!(f, "{}: is not shown to hold: the trace is invalid", self.file),
            1 => writeln!(f, "{}: does not hold: 1 difference", self.file),
            count => writeln!(f, "{}: does not hold: {count} differences", self.file),
        }
    }
}

/// A script that was run, for programs.
#[derive(Serialize)]
pub struct ScriptDocument<'a> {
    file: &'a str,
    holds: bool,
    mismatches: Vec<MismatchDocument<'a>>,
}

#[derive(Serialize)]
struct MismatchDocument<'a> {
    line: u32,
    what: &'a str,
    expected: Option<&'a str>,
    seen: Option<&'a str>,
    trace: &'a [String],
}

/// The text of a file, never much more than a script may have.
fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    // One byte more, so that the parser says that it is too large.
    corpus::open_regular(path)?.take(MAX_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Errors of a script, in the form of errors of any file that describes a test.
fn in_text(errors: &ScriptErrors, text: &str) -> ConfigErrors {
    let findings = errors.problems.iter().map(|problem| Finding {
        span: span_of(text, problem.at),
        field: String::new(),
        message: problem.message.clone(),
        help: problem.help.clone(),
    });
    ConfigErrors::new(&errors.file, text, findings.collect(), errors.omitted)
}

/// The word that stands at a place.
fn span_of(text: &str, at: At) -> Option<Range<usize>> {
    let line = text.split_inclusive('\n').nth((at.line as usize).checked_sub(1)?)?;
    let line_start = line.as_ptr() as usize - text.as_ptr() as usize;
    let from_word =
        line.char_indices().nth((at.column as usize).checked_sub(1)?).map_or("", |(byte, _)| &line[byte..]);
    let start = line_start + line.len() - from_word.len();
    let word = from_word.find(char::is_whitespace).unwrap_or(from_word.len());
    Some(start..start + word)
}

/// Writes the observation of a test as a script beside which its paths start, which the test fits.
///
/// # Errors
/// The file cannot be written.
pub fn write_script(
    test: &Test,
    observation: &Observation,
    report: &Report<'_>,
    path: &Path,
) -> Result<(), KeepError> {
    let script = recorded(test, observation, report, path.parent().unwrap_or(Path::new("")));
    write_whole(path, |out| write!(out, "{script}"))
        .map_err(|source| KeepError::Io { path: path.into(), source })
}

/// The observation of a test as a script, of which paths begin in a folder.
pub fn recorded(test: &Test, observation: &Observation, report: &Report<'_>, folder: &Path) -> Script {
    let mut config = test.config.clone();
    for (role, file) in Role::ALL.into_iter().zip(&test.nic_files) {
        if let Some(file) = file {
            config.host_mut(role).nic = path_from(folder, file);
        }
    }
    let mut script = script(&config, observation, report.judged);
    let file = test.file.display().to_string();
    script.prose =
        vec![format!("{} on {}, seed {}.", file.escape_debug(), test.testbed, config.traffic.seed)];
    script
}

/// A file by the way from a folder, if it is in there, or by its whole path.
fn path_from(folder: &Path, file: &Path) -> String {
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (folder, file) = (whole(&Path::new(".").join(folder)), whole(file));
    match file.strip_prefix(&folder) {
        Ok(inside) => format!("./{}", inside.display()),
        Err(_) => file.display().to_string(),
    }
}
