//! Lengths of time as scripts write them: `20us`, `1.5ms`, `4T`.

use std::fmt;

use crate::Nanos;

/// Unit of a length of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
    /// T, the shortest ACK timeout of the test: 4.096 µs x 2^min-retransmit-timeout (IBA vol. 1, 9.7.6.1.3).
    Timeout,
}

impl Unit {
    /// Units with the names that scripts use.
    pub const NAMES: [(Self, &str); 5] =
        [(Self::Ns, "ns"), (Self::Us, "us"), (Self::Ms, "ms"), (Self::S, "s"), (Self::Timeout, "T")];

    const fn nanos(self, timeout: Nanos) -> u64 {
        match self {
            Self::Ns => 1,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
            Self::Timeout => timeout.0,
        }
    }
}

/// A length of time: thousandths of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    thousandths: u64,
    unit: Unit,
}

impl Span {
    /// No time.
    pub const ZERO: Self = Self { thousandths: 0, unit: Unit::Ns };
    /// Largest number before the unit.
    pub const MAX_WHOLE: u64 = 1_000_000_000_000;

    /// So many thousandths of a unit, at most [`Span::MAX_WHOLE`] units; zero has no unit. Nanoseconds come whole.
    pub fn new(thousandths: u64, unit: Unit) -> Option<Self> {
        let fits =
            thousandths <= Self::MAX_WHOLE * 1000 && (unit != Unit::Ns || thousandths.is_multiple_of(1000));
        match thousandths {
            0 => Some(Self::ZERO),
            _ => fits.then_some(Self { thousandths, unit }),
        }
    }

    /// So many whole units, or [`Span::MAX_WHOLE`].
    pub const fn whole(number: u64, unit: Unit) -> Self {
        match number {
            0 => Self::ZERO,
            Self::MAX_WHOLE.. => Self { thousandths: Self::MAX_WHOLE * 1000, unit },
            _ => Self { thousandths: number * 1000, unit },
        }
    }

    /// The length in nanoseconds, where T is `timeout`; saturating.
    pub fn nanos(self, timeout: Nanos) -> Nanos {
        let product = u128::from(self.thousandths) * u128::from(self.unit.nanos(timeout));
        Nanos(u64::try_from(product / 1000).unwrap_or(u64::MAX))
    }

    /// Returns true if the span is counted in T.
    pub fn counts_timeouts(self) -> bool {
        self.unit == Unit::Timeout
    }

    /// Reads a span; returns the error otherwise.
    pub(super) fn read(text: &str) -> Result<Self, &'static str> {
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
            return Err("is no time");
        }
        if fraction.len() > 3 {
            return Err("has more than three decimals");
        }
        let too_long = "is too long";
        let whole: u64 = whole.parse().map_err(|_| too_long)?;
        let scale = 10_u64.pow(3 - fraction.len() as u32);
        let fraction: u64 = fraction.parse().map_err(|_| "is no time")?;
        let thousandths = whole.checked_mul(1000).ok_or(too_long)? + fraction * scale;
        let unit = match (unit, thousandths) {
            ("", 0) => Unit::Ns,
            ("", _) => return Err("has no unit"),
            _ => {
                let known = Unit::NAMES.iter().find(|(_, name)| *name == unit);
                known.map(|(unit, _)| *unit).ok_or("has an unknown unit")?
            }
        };
        if unit == Unit::Ns && !thousandths.is_multiple_of(1000) {
            return Err("has a part of a nanosecond");
        }
        Self::new(thousandths, unit).ok_or(too_long)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.thousandths / 1000, self.thousandths % 1000);
        write!(f, "{whole}")?;
        if part != 0 {
            write!(f, ".{}", format!("{part:03}").trim_end_matches('0'))?;
        }
        let unit = Unit::NAMES.iter().find(|(unit, _)| *unit == self.unit).map_or("", |(_, name)| name);
        f.write_str(if self.thousandths == 0 { "" } else { unit })
    }
}

/// Time window of a packet's entry to the switch, counted from the packet of the line before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// No sooner than this.
    pub least: Span,
    /// No later than this, where it is said.
    pub most: Option<Span>,
}

impl Window {
    /// Any time later: `+0`.
    pub const ANY: Self = Self { least: Span::ZERO, most: None };

    /// Returns true if a span, in nanoseconds, lies in the window; both ends belong to it.
    pub fn holds(&self, span: Nanos, timeout: Nanos) -> bool {
        self.least.nanos(timeout) <= span && self.most.is_none_or(|most| span <= most.nanos(timeout))
    }

    /// Both ends, as far as they are said.
    pub fn ends(&self) -> impl Iterator<Item = Span> {
        [Some(self.least), self.most].into_iter().flatten()
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{}", self.least)?;
        match self.most {
            Some(most) => write!(f, "~+{most}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_they_are_written() {
        for text in ["0", "7ns", "1.5us", "20us", "0.025ms", "3s", "4T", "1.05T", "1000000000000s"] {
            assert_eq!(Span::read(text).map(|span| span.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(Span::read("0T"), Ok(Span::ZERO));
        assert_eq!(Span::read("1.50us").map(|span| span.to_string()), Ok("1.5us".to_owned()));
        for text in
            ["", "us", "5", "1.ns", ".5us", "1.2.3us", "1.0001us", "1.5ns", "2h", "1000000000001s", "-1us"]
        {
            assert!(Span::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn t_is_the_timeout() {
        let timeout = Nanos(4096 << 14);
        assert_eq!(Span::read("1.5T").map(|span| span.nanos(timeout)), Ok(Nanos(6144 << 14)));
        assert_eq!(Span::whole(u64::MAX, Unit::S).nanos(timeout), Nanos(u64::MAX));
    }

    #[test]
    fn windows_hold_their_ends() {
        let window = Window { least: Span::whole(1, Unit::Us), most: Some(Span::whole(2, Unit::Us)) };
        let held = [999, 1000, 2000, 2001].map(|ns| window.holds(Nanos(ns), Nanos::ZERO));
        assert_eq!(held, [false, true, true, false]);
        assert!(Window::ANY.holds(Nanos(u64::MAX), Nanos::ZERO));
    }
}
