//! Lines on stderr, few whatever clients do.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between two lines of the same kind.
const INTERVAL: Duration = Duration::from_secs(10);

/// The subject of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A connection is closed, or not taken.
    Connection,
    /// A message is refused.
    Message,
    /// The system hands out no connection.
    Accept,
}

/// The number of kinds.
const KINDS: usize = 3;

/// The lines of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Lines {
    last: Option<Instant>,
    /// Lines that were not written since.
    left_out: u64,
}

/// Where a service says what it refuses.
#[derive(Debug)]
pub(super) struct Log {
    program: &'static str,
    lines: Mutex<[Lines; KINDS]>,
}

impl Log {
    pub(super) fn new(program: &'static str) -> Self {
        Self { program, lines: Mutex::default() }
    }

    /// A line that is always written.
    pub(super) fn warn(&self, what: &str) {
        self.write(&format!("warning: {what}"));
    }

    /// A line that is written if none of its kind was in the last [`INTERVAL`].
    pub(super) fn say(&self, kind: Kind, what: &str) {
        if let Some(left_out) = self.turn(kind, Instant::now()) {
            match left_out {
                0 => self.write(what),
                others => self.write(&format!("{what} ({others} more like this since the last such line)")),
            }
        }
    }

    /// The number of lines that were left out before one that is to be written now; none if it is left out too.
    fn turn(&self, kind: Kind, now: Instant) -> Option<u64> {
        let lines = &mut self.lines.lock().unwrap_or_else(PoisonError::into_inner)[kind as usize];
        if lines.last.is_some_and(|last| now.duration_since(last) < INTERVAL) {
            lines.left_out += 1;
            return None;
        }
        lines.last = Some(now);
        Some(std::mem::take(&mut lines.left_out))
    }

    fn write(&self, what: &str) {
        // A closed stderr only means that nobody reads it.
        let _ = writeln!(std::io::stderr(), "{}: {what}", self.program);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_kind_are_counted_between_two() {
        let (log, begun) = (Log::new("test"), Instant::now());
        assert_eq!(log.turn(Kind::Message, begun), Some(0));
        for _ in 0..5 {
            assert_eq!(log.turn(Kind::Message, begun + INTERVAL / 2), None);
        }
        assert_eq!(log.turn(Kind::Connection, begun + INTERVAL / 2), Some(0));
        assert_eq!(log.turn(Kind::Message, begun + INTERVAL), Some(5));
        assert_eq!(log.turn(Kind::Message, begun + INTERVAL * 2), Some(0));
    }
}
