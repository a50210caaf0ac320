//! Kernel logs of hosts, and their files: lines as `dmesg` prints them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest line that is kept, in bytes: the kernel cuts its records at some 1 000 (`PRINTKRB_RECORD_MAX`).
pub const MAX_LINE_BYTES: usize = 4096;

/// One line of a host's kernel log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LogLine {
    /// Time since the host's boot, in microseconds, as the kernel counts it.
    pub time_us: u64,
    /// The message, without its time.
    pub text: String,
}

impl LogLine {
    /// A line; control characters in its text become spaces, and a text that is too long is cut.
    pub fn new(time_us: u64, text: &str) -> Self {
        let cut = text.floor_char_boundary(MAX_LINE_BYTES);
        let text = text[..cut].replace(char::is_control, " ");
        Self { time_us, text: text.trim_end().to_owned() }
    }

    /// A line in the form of `dmesg`; none if it has none of this form.
    pub fn parse(line: &str) -> Option<Self> {
        let (time, text) = line.strip_prefix('[')?.split_once(']')?;
        let (seconds, micros) = time.trim_start_matches(' ').split_once('.')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if micros.len() != 6 || !digits(micros) || !digits(seconds) {
            return None;
        }
        let seconds: u64 = seconds.parse().ok()?;
        let time_us = seconds.checked_mul(1_000_000)?.checked_add(micros.parse().ok()?)?;
        Some(Self::new(time_us, text.strip_prefix(' ').unwrap_or(text)))
    }
}

impl fmt::Display for LogLine {
    /// `[   12.345678] text`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:5}.{:06}] {}", self.time_us / 1_000_000, self.time_us % 1_000_000, self.text)
    }
}

/// A log from the text of its file.
pub(super) fn read(text: &str) -> Result<Vec<LogLine>, String> {
    let line = |(number, line): (usize, &str)| {
        LogLine::parse(line).ok_or_else(|| {
            format!("line {number}: is no line of a kernel log; expected `[   12.345678] text`")
        })
    };
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_dmesg_are_read() {
        let line = LogLine::parse("[    0.000000] Linux version 6.1.0").unwrap();
        assert_eq!((line.time_us, line.text.as_str()), (0, "Linux version 6.1.0"));
        let line = LogLine::parse("[12345.678901]  RIP: 0010:rxe_responder+0x1/0x2 [rdma_rxe]").unwrap();
        assert_eq!(
            (line.time_us, line.text.as_str()),
            (12_345_678_901, " RIP: 0010:rxe_responder+0x1/0x2 [rdma_rxe]")
        );
        for foreign in [
            "",
            "hello",
            "[1.5] x",
            "[ .000000] x",
            "[-1.000000] x",
            "[99999999999999999999.000000] x",
            "[1.00000µ",
        ] {
            assert_eq!(LogLine::parse(foreign), None, "{foreign}");
        }
        let error = read("[    1.000000] a\n\nb\n").unwrap_err();
        assert_eq!(error, "line 3: is no line of a kernel log; expected `[   12.345678] text`");
    }

    #[test]
    fn texts_are_bounded_lines() {
        assert_eq!(LogLine::new(1, "a\nb\u{1b}[0m  ").text, "a b [0m");
        assert!(LogLine::new(1, &"µ".repeat(MAX_LINE_BYTES)).text.len() <= MAX_LINE_BYTES);
    }

    proptest! {
        #[test]
        fn lines_round_trip(time_us in any::<u64>(), text in ".{0,80}") {
            let line = LogLine::new(time_us, &text);
            prop_assert_eq!(LogLine::parse(&line.to_string()), Some(line));
        }
    }
}
