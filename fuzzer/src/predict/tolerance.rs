//! The loss of links that a NIC stands, by what a campaign has seen of it.

use std::fmt;
use std::path::Path;

use corpus::plural;
use corpus::store::Archive;
use dumper::Nanos;
use scoring::losses::{Confidence, LossKind, Losses, Waits};
use scoring::theory::corruption::{
    Behaviour, Conditions, Interval, Links, Observed, Protection, Quantity, Tolerated, beyond,
    beyond_of_sizes, tolerated,
};
use serde::Serialize;

use super::{Messages, Slo};
use crate::campaign::{CampaignError, Settings, read_settings};
use crate::losses;
use crate::measure::digits;

/// Time-outs of a message beyond which their number is not told apart.
const MOST_ALLOWED: usize = 64;

/// Occasions beyond which none are asked for: no campaign has more.
const MOST_OCCASIONS: u64 = 1 << 40;

/// The NICs of a campaign, and what it has seen of their losses.
#[derive(Clone, PartialEq, Debug)]
pub struct Nics {
    /// Settings of the campaign.
    pub settings: Settings,
    /// Its executions.
    pub executions: u64,
    /// What came of their losses.
    pub losses: Losses,
}

/// What is asked.
#[derive(Clone, PartialEq, Debug)]
pub struct ToleranceQuestion<'a> {
    /// Links of each direction; their loss is what is looked for.
    pub links: Links,
    /// Messages, each of which follows the one before it at once.
    pub messages: &'a Messages,
    /// Copies and dummies.
    pub protection: Protection,
    /// What their completion times have to keep.
    pub slo: Slo,
    /// `min-retransmit-timeout` of the QPs, at least 1.
    pub timeout: u8,
    /// How far the ends of the interval may be from the answer, as a part of it.
    pub within: f64,
}

/// The loss that NICs tolerate.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Tolerance {
    /// What was asked of completion times.
    pub slo: Slo,
    /// The largest loss of a link, as a part of the full packets.
    pub loss: Tolerated,
    /// The same with every probability at that end of its interval that has more time-outs.
    pub loss_least: Tolerated,
    /// The same at the ends with fewer time-outs.
    pub loss_most: Tolerated,
    /// Time-outs that a message may have.
    pub time_outs_allowed: usize,
    /// Waits of the ACK timer.
    pub timer: Timer,
    /// Losses that were seen.
    pub kinds: Vec<Kind>,
}

/// Losses of a kind.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Kind {
    /// The kind.
    pub kind: LossKind,
    /// How many were seen.
    pub occasions: u64,
    /// How many of them ended in a time-out.
    pub time_outs: u64,
    /// Probability of a time-out.
    pub probability: f64,
    /// Interval that holds it with 95 % (Clopper and Pearson).
    pub interval: [f64; 2],
    /// Probability by the standard.
    pub by_standard: f64,
}

/// Waits of the ACK timer.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Timer {
    /// For the first expiry.
    pub first: Wait,
    /// For each further one without progress.
    pub further: Wait,
    /// The `min-retransmit-timeout` at which they were seen; they are scaled from there.
    pub seen_at: u8,
}

/// Shortest, mean and longest wait.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Wait {
    /// The shortest one.
    pub least_ns: Nanos,
    /// Their mean.
    pub mean_ns: Nanos,
    /// The longest one.
    pub most_ns: Nanos,
}

/// Reason for which there is no answer. `Display` is a sentence.
#[derive(Clone, PartialEq, Debug)]
pub enum ToleranceError {
    /// No loss was seen, or no time-out.
    NoLosses,
    /// The interval would be wider than was asked for: occasions that were seen, and how many are needed.
    TooFew {
        /// Occasions in words, those that were seen, and those that are needed.
        lacking: Vec<(&'static str, u64, u64)>,
        /// Executions of as many tests in all that would have them, where that can be told.
        executions: Option<u64>,
    },
    /// The bound is below the completion time of any message, or of one whose loss is repaired without a time-out.
    TooFast {
        /// The bound.
        bound: Nanos,
        /// What takes so long.
        what: &'static str,
        /// How long it takes.
        takes: Nanos,
    },
}

impl fmt::Display for ToleranceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLosses => f.write_str(
                "too few: the campaign has seen no loss that ended in a time-out; a campaign of the target `corruption` on these NICs has them",
            ),
            Self::TooFew { lacking, executions } => {
                let lacking: Vec<String> = lacking
                    .iter()
                    .map(|(what, seen, needed)| format!("{needed} {what} needed, {seen} seen"))
                    .collect();
                write!(f, "too few: {}", lacking.join("; "))?;
                match executions {
                    Some(executions) => write!(f, "; about {executions} executions of this target have them"),
                    None => f.write_str("; a campaign of the target `corruption` on these NICs has them"),
                }
            }
            Self::TooFast { bound, what, takes } => {
                write!(f, "no loss keeps messages within {bound}: {what} {takes}; give a longer time")
            }
        }
    }
}

impl Kind {
    /// The probability of a time-out, with its interval.
    #[must_use]
    pub fn share(&self) -> String {
        let [seen, least, most] = [self.probability, self.interval[0], self.interval[1]].map(digits);
        format!("{seen} ({least} to {most})")
    }
}

impl Nics {
    /// Those of the campaign in a folder.
    ///
    /// # Errors
    /// There is no campaign, or it cannot be read.
    pub fn read(folder: &Path) -> Result<Self, CampaignError> {
        let settings = read_settings(folder)?;
        let archive = Archive::read(folder)?;
        let losses = losses::decode(&archive.losses()?.unwrap_or_default());
        Ok(Self { settings, executions: archive.progress().executions, losses })
    }

    /// Losses that were seen, by kind.
    #[must_use]
    pub fn kinds(&self) -> Vec<Kind> {
        let seen = LossKind::ALL.into_iter().map(|kind| (kind, self.losses.of(kind)));
        let kind = |(kind, share): (LossKind, scoring::losses::Share)| Kind {
            kind,
            occasions: share.of,
            time_outs: share.yes,
            probability: share.or(0.0),
            interval: [share.at(Confidence::Least, 1.0), share.at(Confidence::Most, 1.0)],
            by_standard: kind.by_standard(),
        };
        seen.filter(|(_, share)| share.of > 0).map(kind).collect()
    }

    /// The loss that they tolerate.
    ///
    /// # Errors
    /// Too little was seen, or the bound is no matter of time-outs.
    pub fn tolerate(&self, question: &ToleranceQuestion<'_>) -> Result<Tolerance, ToleranceError> {
        let losses = &self.losses;
        let timer = Timer::of(losses, question.timeout).ok_or(ToleranceError::NoLosses)?;
        question.check_bound(losses)?;
        let reads = question.messages.are_reads();
        let observed = Observed::new(losses);
        let [loss_least, loss, loss_most] =
            [Interval::Worst, Interval::Seen, Interval::Best].map(|end| question.at(&observed, &timer, end));
        if !question.is_narrow([loss_least, loss, loss_most]) {
            return Err(self.too_few(question, &timer, reads));
        }
        Ok(Tolerance {
            slo: question.slo,
            loss,
            loss_least,
            loss_most,
            time_outs_allowed: timer.allowed(question.slo.bound_ns),
            timer,
            kinds: self.kinds(),
        })
    }

    /// What is needed for an interval that is narrow enough: as many occasions of each quantity that matters.
    fn too_few(&self, question: &ToleranceQuestion<'_>, timer: &Timer, reads: bool) -> ToleranceError {
        let is_enough = |observed: &Observed<'_>| {
            let ends = [Interval::Worst, Interval::Seen, Interval::Best];
            question.is_narrow(ends.map(|end| question.at(observed, timer, end)))
        };
        let with = |occasions| Observed::new(&self.losses).with_all_at_least(occasions);
        let mut needed = 16;
        while needed < MOST_OCCASIONS && !is_enough(&with(needed)) {
            needed *= 2;
        }
        let mut observed = with(needed);
        for quantity in Quantity::ALL {
            let without = observed.with_at_least(quantity, 0);
            if is_enough(&without) {
                observed = without;
            }
        }
        let is_needed =
            |quantity: &Quantity| observed.at_least(*quantity) > quantity.seen(&self.losses, reads);
        let lacking: Vec<_> = Quantity::ALL.into_iter().filter(is_needed).collect();
        let times = lacking.iter().map(|quantity| match quantity.seen(&self.losses, reads) {
            0 => None,
            seen => Some(needed.div_ceil(seen)),
        });
        let executions = times.reduce(|one, other| Some(one?.max(other?))).flatten();
        ToleranceError::TooFew {
            lacking: lacking
                .iter()
                .map(|quantity| (quantity.occasions(reads), quantity.seen(&self.losses, reads), needed))
                .collect(),
            executions: executions.map(|times| times.saturating_mul(self.executions)),
        }
    }

    /// In a line: the NICs, and the campaign.
    #[must_use]
    pub fn name(&self) -> String {
        let Settings { requester_nic, responder_nic, target, .. } = &self.settings;
        let nics = if requester_nic.given == responder_nic.given {
            requester_nic.given.clone()
        } else {
            format!("{} to {}", requester_nic.given, responder_nic.given)
        };
        format!("{nics}, by {} of {}", plural(self.executions, "execution"), target.given)
    }
}

impl ToleranceQuestion<'_> {
    /// Completion times within the bound must be a matter of time-outs.
    fn check_bound(&self, losses: &Losses) -> Result<(), ToleranceError> {
        let bound = self.slo.bound_ns;
        let fastest = (losses.messages.count > 0).then_some(Nanos(losses.messages.least_ns));
        let takes = [
            ("the fastest message of the campaign takes", fastest),
            ("half of the repairs without a time-out take at least", losses.repairs.half_reach()),
        ];
        for (what, takes) in takes {
            if let Some(takes) = takes.filter(|takes| bound < *takes) {
                return Err(ToleranceError::TooFast { bound, what, takes });
            }
        }
        Ok(())
    }

    /// The tolerated loss at a place in the intervals of what was seen.
    fn at(&self, observed: &Observed<'_>, timer: &Timer, interval: Interval) -> Tolerated {
        let allowed = timer.allowed(self.slo.bound_ns);
        let behaviour = observed.behaviour(interval);
        tolerated(self.slo.late(), &self.links, |links| self.late(allowed, *links, &behaviour))
    }

    /// Share of the messages with more time-outs than are allowed.
    fn late(&self, allowed: usize, links: Links, behaviour: &Behaviour) -> f64 {
        let conditions = Conditions { links, protection: self.protection, behaviour: behaviour.clone() };
        match self.messages {
            Messages::Same(frames) => beyond(allowed, frames, &conditions),
            Messages::Drawn { sizes, frames, .. } => beyond_of_sizes(allowed, frames, sizes, &conditions),
        }
    }

    fn is_narrow(&self, [least, seen, most]: [Tolerated; 3]) -> bool {
        let number = |loss| match loss {
            Tolerated::None => 0.0,
            Tolerated::UpTo(loss) | Tolerated::AtLeast(loss) => loss,
        };
        let [least, seen, most] = [least, seen, most].map(number);
        seen <= least * (1.0 + self.within) && most <= seen * (1.0 + self.within)
    }
}

impl Timer {
    /// As they were seen at a `min-retransmit-timeout`, or scaled from the nearest one; none if none was seen.
    fn of(losses: &Losses, timeout: u8) -> Option<Self> {
        let seen = losses.waits.iter().filter(|(_, [first, _])| first.count > 0);
        let (seen_at, [first, further]) = seen.min_by_key(|(at, _)| at.abs_diff(timeout))?;
        // T doubles with each step.
        let scale = 2_f64.powi(i32::from(timeout) - i32::from(*seen_at));
        let scaled = |waits: &Waits| {
            let [least_ns, most_ns] =
                [waits.least_ns, waits.most_ns].map(|ns| Nanos((ns as f64 * scale) as u64));
            let mean_ns = Nanos((waits.mean()?.0 as f64 * scale) as u64);
            Some(Wait { least_ns, mean_ns, most_ns })
        };
        let first = scaled(first)?;
        Some(Self { first, further: scaled(further).unwrap_or(first), seen_at: *seen_at })
    }

    /// Time-outs that a message may have, by their means: all but the first one count as further ones.
    fn allowed(&self, bound: Nanos) -> usize {
        let [first, further] = [&self.first, &self.further].map(|wait| wait.mean_ns.0.max(1));
        match bound.0.checked_sub(first) {
            None => 0,
            Some(left) => {
                usize::try_from(left / further).map_or(MOST_ALLOWED, |more| (1 + more).min(MOST_ALLOWED))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(ms: u64) -> Wait {
        let ns = Nanos::from_millis(ms);
        Wait { least_ns: ns, mean_ns: ns, most_ns: Nanos(2 * ns.0) }
    }

    #[test]
    fn time_outs_within_a_bound() {
        let timer = Timer { first: wait(10), further: wait(3), seen_at: 10 };
        let allowed = |ms| timer.allowed(Nanos::from_millis(ms));
        assert_eq!([1, 9, 10, 12, 13, 19, 1_000].map(allowed), [0, 0, 1, 1, 2, 4, MOST_ALLOWED]);
    }
}
