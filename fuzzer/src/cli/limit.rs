//! A limit of a campaign as a user gives it: a value, or `unlimited`.

use std::num::IntErrorKind;

/// Lifts a limit.
const UNLIMITED: &str = "unlimited";

/// A limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limit {
    /// At this value, in the limit's unit.
    At(u64),
    /// There is none; one that a resumed campaign has is lifted.
    Unlimited,
}

impl Limit {
    pub(super) const fn value(self) -> Option<u64> {
        match self {
            Self::At(value) => Some(value),
            Self::Unlimited => None,
        }
    }

    /// From an argument, whose value `parse` reads.
    fn parse(text: &str, parse: impl FnOnce(&str) -> Result<u64, String>) -> Result<Self, String> {
        if text == UNLIMITED { Ok(Self::Unlimited) } else { parse(text).map(Self::At) }
    }
}

/// Returns true if a limit is to be lifted.
pub(super) fn is_lifted(limit: Option<Limit>) -> bool {
    limit == Some(Limit::Unlimited)
}

fn is_negative(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// A number from `least` on.
fn number(text: &str, least: u64) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(number) if number >= least => Ok(number),
        Ok(_) => Err(format!("must be at least {least}")),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
            Err(format!("must be at most {}", u64::MAX))
        }
        Err(_) if is_negative(text) => Err(format!("must be at least {least}")),
        Err(_) => Err(format!("is neither a number nor `{UNLIMITED}`")),
    }
}

pub(super) fn executions(text: &str) -> Result<Limit, String> {
    Limit::parse(text, |text| number(text, 1))
}

/// Below some batches a search has nothing to choose from.
pub(super) fn max_corpus(text: &str) -> Result<Limit, String> {
    Limit::parse(text, |text| number(text, 64))
}

pub(super) fn duration(text: &str) -> Result<Limit, String> {
    Limit::parse(text, |text| {
        if is_negative(text) {
            return Err("must be at least 1s".into());
        }
        let parsed = humantime::parse_duration(text);
        let seconds = parsed.map_err(|error| format!("{error}; write it as in 90s or 8h"))?.as_secs();
        if seconds == 0 { Err("is shorter than a second".into()) } else { Ok(seconds) }
    })
}

pub(super) fn size(text: &str) -> Result<Limit, String> {
    Limit::parse(text, |text| {
        if is_negative(text) {
            return Err("must be at least 0".into());
        }
        let size: Result<bytesize::ByteSize, _> = text.parse();
        // The words of the library's error are those of its parser.
        size.map(|size| size.as_u64()).map_err(|_| "is no size below 16E; write it as in 500M or 20G".into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_value_or_none() {
        assert_eq!(executions("12"), Ok(Limit::At(12)));
        assert_eq!(duration("1h 30m"), Ok(Limit::At(5_400)));
        assert_eq!(size("2KiB"), Ok(Limit::At(2_048)));
        for parse in [executions, max_corpus, duration, size] {
            assert_eq!(parse("unlimited"), Ok(Limit::Unlimited));
            assert!(parse("much").is_err() && parse("-1").is_err() && parse("").is_err());
        }
        assert_eq!(executions("0"), Err("must be at least 1".into()));
        assert_eq!(max_corpus("63"), Err("must be at least 64".into()));
        assert_eq!(executions("many"), Err("is neither a number nor `unlimited`".into()));
        let no_size = Err("is no size below 16E; write it as in 500M or 20G".into());
        assert_eq!([size("9x"), size("99999999999999999999")], [no_size.clone(), no_size]);
        assert_eq!(duration("10ms"), Err("is shorter than a second".into()));
    }
}
