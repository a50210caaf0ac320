//! Differences of an observation from a script.

use std::fmt;

use dumper::script::At;

/// One difference between a script and an observation. `Display` is made for people:
///
/// ```text
/// lost.rds:9: psn: expected 2, seen 3
///   expected  < NAK-SEQ psn 2
///   seen      < NAK-SEQ psn 3 msn 0
///   trace       4  +80ns      > WRITE_LAST psn 4 ackreq
///             * 5  +1204ns    < NAK-SEQ psn 3 msn 0
/// ```
#[derive(Debug, Clone)]
pub struct Mismatch {
    /// The script.
    pub file: String,
    /// The line that does not hold.
    pub at: At,
    /// The difference: the field, the expected value, the observed one.
    pub what: String,
    /// The packet that the script says, in its words.
    pub expected: Option<String>,
    /// The packet that was seen in its place, in the words of scripts.
    pub seen: Option<String>,
    /// Packets around it.
    pub trace: Vec<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.at.line, self.what)?;
        if let Some(expected) = &self.expected {
            write!(f, "\n  expected  {expected}")?;
        }
        if let Some(seen) = &self.seen {
            write!(f, "\n  seen      {seen}")?;
        }
        for (index, line) in self.trace.iter().enumerate() {
            let label = if index == 0 { "trace" } else { "" };
            write!(f, "\n  {label:<10}{line}")?;
        }
        Ok(())
    }
}
