//! What is asked of completion times.

use std::fmt;
use std::str::FromStr;

use dumper::Nanos;
use serde::Serialize;

/// So many percent of all messages complete within a time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Slo {
    /// Percent of the messages, above 0 and below 100.
    pub percent: f64,
    /// The time.
    pub bound_ns: Nanos,
}

impl Slo {
    /// That of reports: 99.9 % within a millisecond, which a time-out exceeds.
    pub const USUAL: Self = Self { percent: 99.9, bound_ns: Nanos::from_millis(1) };

    /// Share of the messages that may take longer.
    #[must_use]
    pub fn late(&self) -> f64 {
        1.0 - self.percent / 100.0
    }
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            "is not as p99.9=1ms: percent of the messages, and the time within which they complete".to_owned()
        };
        let (percent, bound) =
            text.strip_prefix('p').and_then(|text| text.split_once('=')).ok_or_else(form)?;
        let percent: f64 = percent.parse().map_err(|_| form())?;
        if !(percent > 0.0 && percent < 100.0) {
            return Err(format!("p{percent}: percent must be above 0 and below 100"));
        }
        let bound = humantime::parse_duration(bound.trim()).map_err(|error| format!("{bound}: {error}"))?;
        match u64::try_from(bound.as_nanos()) {
            Ok(ns @ 1..) => Ok(Self { percent, bound_ns: Nanos(ns) }),
            Ok(0) => Err("no message takes no time: give a time above 0".into()),
            Err(_) => Err(format!("{}: is too long", humantime::format_duration(bound))),
        }
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} % of the messages within {}", self.percent, self.bound_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let slo: Slo = "p99.9=1ms".parse().unwrap();
        assert_eq!(slo, Slo::USUAL);
        assert_eq!(slo.to_string(), "99.9 % of the messages within 1.00 ms");
        assert_eq!("p50=1s 500ms".parse::<Slo>().unwrap().bound_ns, Nanos(1_500_000_000));
        for (text, says) in [
            ("", "p99.9=1ms"),
            ("99.9=1ms", "p99.9=1ms"),
            ("p99.9", "p99.9=1ms"),
            ("px=1ms", "p99.9=1ms"),
            ("p100=1ms", "below 100"),
            ("p0=1ms", "above 0"),
            ("p-1=1ms", "above 0"),
            ("pNaN=1ms", "above 0"),
            ("p99=1", "1"),
            ("p99=fast", "fast"),
            ("p99=0ms", "above 0"),
            ("p99=9999999y", ""),
        ] {
            let error = text.parse::<Slo>().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
