//! Messages of a forecast: all of one size, or drawn.

use std::path::Path;

use corpus::{ConfigErrors, Verb};
use scoring::theory::corruption::{Frames, Sizes, WEB_SEARCH};

/// Name of the distribution that is built in.
const WEB_SEARCH_NAME: &str = "websearch";

/// Messages.
#[derive(Clone, PartialEq, Debug)]
pub enum Messages {
    /// All of one size.
    Same(Frames),
    /// Their sizes are drawn.
    Drawn {
        /// Name of the distribution, or of its file.
        name: String,
        /// The distribution.
        sizes: Sizes,
        /// Packets, whatever their number: all are full.
        frames: Frames,
    },
}

impl Messages {
    /// Those of a distribution: `websearch`, or a file of lines with bytes and the percent of messages that are as large or smaller.
    ///
    /// # Errors
    /// The file cannot be read, a line is not two numbers, or the numbers are no distribution.
    pub fn drawn(name: &str, verb: Verb, mtu: u32) -> Result<Self, ConfigErrors> {
        let frames = Frames::of(verb, mtu.into(), mtu);
        let drawn = |points: &[(f64, f64)]| {
            let sizes = Sizes::of(points, mtu)
                .map_err(|error| wrong(name, format!("is no distribution: {error}")))?;
            Ok(Self::Drawn { name: name.into(), sizes, frames })
        };
        match name {
            WEB_SEARCH_NAME => drawn(WEB_SEARCH),
            _ => drawn(&points(name, &corpus::read_text(Path::new(name))?)?),
        }
    }

    /// Packets of a message in the mean.
    #[must_use]
    pub fn packets(&self) -> f64 {
        match self {
            Self::Same(frames) => frames.packets as f64,
            Self::Drawn { sizes, .. } => sizes.mean(),
        }
    }

    /// Mean of one over the packets of a message.
    #[must_use]
    pub fn inverse_packets(&self) -> f64 {
        match self {
            Self::Same(frames) => 1.0 / frames.packets as f64,
            Self::Drawn { sizes, .. } => sizes.mean_inverse(),
        }
    }

    /// Returns true if they are Reads.
    pub(super) const fn are_reads(&self) -> bool {
        self.frames().is_read()
    }

    /// Bytes of the packets.
    pub(super) const fn frames(&self) -> &Frames {
        match self {
            Self::Same(frames) | Self::Drawn { frames, .. } => frames,
        }
    }
}

fn wrong(file: &str, message: String) -> ConfigErrors {
    ConfigErrors::whole_file(
        file,
        message,
        "a line has bytes, and the percent of messages that are as large or smaller: 0 to 100, or 0 to 1; # begins a comment",
    )
}

/// Points of a distribution: bytes and percent.
fn points(file: &str, text: &str) -> Result<Vec<(f64, f64)>, ConfigErrors> {
    let mut points = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split_once('#').map_or(line, |(line, _)| line).trim();
        if line.is_empty() {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers: Option<Vec<f64>> = words.iter().map(|word| word.parse().ok()).collect();
        match numbers.as_deref() {
            Some([bytes, percent]) => points.push((*bytes, *percent)),
            _ => return Err(wrong(file, format!("line {}: `{line}` is not two numbers", at + 1))),
        }
    }
    // Probabilities instead of percent.
    if points.last().is_some_and(|(_, last)| *last == 1.0) {
        points.iter_mut().for_each(|(_, percent)| *percent *= 100.0);
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str) -> Result<Messages, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sizes.txt");
        std::fs::write(&file, text).unwrap();
        Messages::drawn(&file.display().to_string(), Verb::Write, 1024)
            .map_err(|error| format!("{:?}", miette::Report::new(error.into_diagnostic())).replace("\n", " "))
    }

    #[test]
    fn a_file_has_percent_or_probabilities() {
        let percent = drawn("# bytes, percent\n0 0\n2048 50\n\n4096 100 # the largest\n").unwrap();
        let probability = drawn("0 0\n2048 0.5\n4096 1\n").unwrap();
        assert_eq!(percent.packets(), probability.packets());
        assert_eq!(percent.packets(), 2.5);
    }

    #[test]
    fn wrong_files_are_refused() {
        for (text, says) in [
            ("", "no distribution"),
            ("0 0\n10 x\n", "line 2"),
            ("0 0\n10\n", "line 2"),
            ("0 0\n10 50 60\n", "line 2"),
            ("0 0\n10 50\n", "end at 100"),
            ("0 0\n10 50\n5 100\n", "point 3"),
            ("0 0\n10 nan\n20 100\n", "point 2"),
            ("-5 0\n20 100\n", "point 1"),
        ] {
            let error = drawn(text).unwrap_err();
            assert!(error.contains(says), "{text:?}: {error}");
        }
        assert!(Messages::drawn("./there-is-no.txt", Verb::Write, 1024).is_err());
    }
}
