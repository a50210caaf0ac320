//! Writing to stdout and stderr, so that a closed pipe does not end in a panic.

use std::fmt::Display;
use std::io::{self, Write};

use corpus::{ConfigErrors, Loaded};
use serde::Serialize;

use super::{Exit, Format};
use crate::campaign::CampaignError;

/// A text without the control characters of names and titles. A line break is escaped where an argument has it: any other is
/// the text's own.
fn without_controls(text: &str) -> String {
    let broken = |argument: &String| argument.contains('\n') && text.contains(argument);
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let unbroken = |text: String, argument: String| text.replace(&argument, &argument.replace('\n', "\\n"));
    let text = arguments.filter(broken).fold(text.to_owned(), unbroken);
    corpus::without_controls(&text, &['\n', '\t'])
}

/// Prints text on stdout. A reader that has gone away (`| head`) is not an error.
pub(super) fn print(text: &str) -> Exit {
    let mut out = io::stdout().lock();
    match out.write_all(without_controls(text).as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            complain(&format!("cannot write to standard output: {error}"));
            Exit::Failed
        }
    }
}

/// Prints one JSON document on stdout.
pub(super) fn print_json(document: &impl Serialize) -> Exit {
    match serde_json::to_string_pretty(document) {
        Ok(mut text) => {
            text.push('\n');
            print(&text)
        }
        Err(error) => {
            complain(&format!("the result cannot be written as JSON: {error}"));
            Exit::Failed
        }
    }
}

/// Prints a message on stderr. A closed stderr is ignored.
pub(super) fn complain(message: &dyn Display) {
    let _ = writeln!(io::stderr(), "{}", without_controls(&message.to_string()));
}

/// Message for a valid file: its name, and the number of differences from its base; the differences follow.
pub(super) fn is_valid(file: &str, name: &str, base: Option<&str>, changes: usize) -> String {
    let differs = match (base, changes) {
        (None, _) => String::new(),
        (Some(base), 0) => format!(", the same as {base}"),
        (Some(base), _) => format!(", different from {base} in"),
    };
    format!("{file}: valid, called {name}{differs}\n")
}

/// An error as a JSON document.
#[derive(Serialize)]
struct ErrorDocument<'a, T> {
    error: &'a str,
    #[serde(flatten)]
    details: T,
}

/// Reports bad input in one message: on stderr, and with JSON on stdout too.
pub(super) fn bad_message(error: &str, message: &dyn Display, format: Format) -> Exit {
    complain(&format!("error: {message}"));
    bad_input(error, serde_json::json!({ "message": message.to_string() }), format)
}

/// Reports everything that is wrong with a file: in its text on stderr, and with JSON on stdout too.
pub(super) fn bad_file(error: &str, errors: ConfigErrors, format: Format) -> Exit {
    let exit = bad_input(error, &errors, format);
    // Its own control characters are colours; those of the file and its name are escaped.
    let _ = writeln!(io::stderr(), "{:?}", miette::Report::new(errors.into_diagnostic()));
    exit
}

/// Says why a campaign cannot be started or cannot go on.
pub(super) fn fail(error: CampaignError, format: Format) -> Exit {
    match error {
        CampaignError::Input(errors) => bad_file("bad input", errors, format),
        CampaignError::Usage(_) => bad_message("bad request", &error, format),
        error => {
            complain(&format!("error: {error}"));
            Exit::Failed
        }
    }
}

fn bad_input(error: &str, details: impl Serialize, format: Format) -> Exit {
    if format == Format::Json {
        print_json(&ErrorDocument { error, details });
    }
    Exit::Usage
}

/// Prints on stderr the parts of a Lumina file that a configuration does not hold as they stand.
pub(super) fn complain_notes(loaded: &Loaded) {
    for note in &loaded.notes {
        complain(&format!("note: {note}"));
    }
}
