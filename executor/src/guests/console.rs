//! Console of a guest: its last lines, and the troubles of its kernel among them.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dumper::LogLine;
use dumper::observation::kernel::{Reader, Trouble};

use crate::lock::locked;

/// Lines that are kept, the last ones.
const LINES: usize = 2_000;

/// Interval at which several consoles are checked for their end.
const LOOK: Duration = Duration::from_millis(20);

/// Bytes of a line that are kept; the kernel's own are shorter.
const LINE: usize = 1_024;

/// The console of a running guest.
#[derive(Debug, Clone, Default)]
pub struct Console(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    log: Mutex<Log>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Log {
    lines: VecDeque<String>,
    /// Lines ever read.
    read: u64,
    reader: Reader,
    ended: bool,
}

impl Console {
    /// Reads a guest's console, in a thread, until it ends.
    pub(crate) fn of(stream: impl Read + Send + 'static) -> Self {
        let console = Self::default();
        let shared = Arc::clone(&console.0);
        thread::spawn(move || {
            read(stream, |line| shared.add(line));
            shared.log().ended = true;
            shared.changed.notify_all();
        });
        console
    }

    /// Troubles of the kernel so far.
    #[must_use]
    pub fn troubles(&self) -> Vec<Trouble> {
        self.0.log().reader.troubles().to_vec()
    }

    /// Number of lines so far; [`Self::since`] takes it.
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.0.log().read
    }

    /// Lines since a mark, as far as they are kept.
    #[must_use]
    pub fn since(&self, mark: u64) -> Vec<String> {
        let log = self.0.log();
        let new = usize::try_from(log.read.saturating_sub(mark)).unwrap_or(usize::MAX);
        log.lines.iter().skip(log.lines.len().saturating_sub(new)).cloned().collect()
    }

    /// The last lines, to show the output of a guest before it went wrong.
    #[must_use]
    pub fn tail(&self, lines: usize) -> String {
        let log = self.0.log();
        log.lines
            .iter()
            .skip(log.lines.len().saturating_sub(lines))
            .fold(String::new(), |text, line| text + line + "\n")
    }

    /// Waits for a line after a mark that `wanted` finds something in; nothing if none came in time, or the
    /// console ended.
    pub fn wait_for<T>(&self, mark: u64, limit: Duration, wanted: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = |log: &Log| {
            let new = usize::try_from(log.read.saturating_sub(mark)).unwrap_or(usize::MAX);
            log.lines.iter().skip(log.lines.len().saturating_sub(new)).find_map(|line| wanted(line))
        };
        let log = self.0.log();
        let waited = self.0.changed.wait_timeout_while(log, limit, |log| !log.ended && found(log).is_none());
        found(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Waits until the console has ended, so that all that was said is read; whether it has.
    pub fn wait_end(&self, limit: Duration) -> bool {
        let log = self.0.log();
        let waited = self.0.changed.wait_timeout_while(log, limit, |log| !log.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }

    /// Waits until one of several consoles has ended; whether one has.
    pub fn wait_any_end(consoles: &[&Self], limit: Duration) -> bool {
        let started = Instant::now();
        loop {
            if consoles.iter().any(|console| console.wait_end(Duration::ZERO)) {
                return true;
            }
            if started.elapsed() >= limit {
                return false;
            }
            thread::sleep(LOOK);
        }
    }
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        // A log is whole after every statement.
        locked(&self.log)
    }

    fn add(&self, line: String) {
        let mut log = self.log();
        // Output of programs has no time in front.
        if let Some(line) = LogLine::parse(&line) {
            log.reader.line(&line);
        }
        if log.lines.len() == LINES {
            log.lines.pop_front();
        }
        log.lines.push_back(line);
        log.read += 1;
        self.changed.notify_all();
    }
}

/// Reads a stream to its end, line by line.
fn read(mut stream: impl Read, mut tell: impl FnMut(String)) {
    let mut buffer = [0; 4096];
    let mut lines = Lines::default();
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        lines.take(&buffer[..read], &mut tell);
    }
    lines.end(tell);
}

/// Splits a stream into lines; bytes of a line beyond [`LINE`] are left out.
#[derive(Debug, Default)]
struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8], mut tell: impl FnMut(String)) {
        for byte in bytes {
            match byte {
                b'\n' => self.tell(&mut tell),
                _ if self.begun.len() < LINE => self.begun.push(*byte),
                _ => {}
            }
        }
    }

    fn end(&mut self, mut tell: impl FnMut(String)) {
        if !self.begun.is_empty() {
            self.tell(&mut tell);
        }
    }

    fn tell(&mut self, tell: &mut impl FnMut(String)) {
        tell(String::from_utf8_lossy(&self.begun).trim_end().to_owned());
        self.begun.clear();
    }
}

/// A console whose bytes are handed over as they come, by whoever waits for them.
#[derive(Debug, Default)]
pub(crate) struct Fed {
    console: Console,
    lines: Lines,
}

impl Fed {
    /// Adds bytes of the console.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let shared = &self.console.0;
        self.lines.take(bytes, |line| shared.add(line));
    }

    /// The console.
    pub(crate) const fn console(&self) -> &Console {
        &self.console
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        read(bytes, |line| lines.push(line));
        lines
    }

    #[test]
    fn lines_are_split_bounded_and_made_text() {
        assert_eq!(lines(b"one\r\n\ntwo"), ["one", "", "two"]);
        assert_eq!(lines(b"\xff\n"), ["\u{fffd}"]);
        assert_eq!(lines(&vec![b'x'; LINE * 3])[0].len(), LINE);
    }

    #[test]
    fn the_last_lines_are_kept() {
        let text: String = (0..LINES + 10).map(|line| format!("line {line}\n")).collect();
        let console = Console::of(std::io::Cursor::new(text));
        assert!(console.wait_end(Duration::from_secs(20)));
        assert_eq!(console.tail(1), format!("line {}\n", LINES + 9));
        assert_eq!(console.since(console.mark() - 2).len(), 2);
        assert_eq!(console.since(0).len(), LINES);
        let found =
            console.wait_for(0, Duration::ZERO, |line| line.strip_prefix("line 20").map(str::to_owned));
        assert_eq!(found.as_deref(), Some(""));
    }

    #[test]
    fn the_end_of_one_console_is_enough() {
        let (stream, _words) = std::io::pipe().unwrap();
        let goes_on = Console::of(stream);
        assert!(!Console::wait_any_end(&[&goes_on], Duration::from_millis(50)));
        let ends = Console::of(std::io::empty());
        assert!(Console::wait_any_end(&[&goes_on, &ends], Duration::from_secs(20)));
        assert!(!goes_on.wait_end(Duration::ZERO));
    }
}
