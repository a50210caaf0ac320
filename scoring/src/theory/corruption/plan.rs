//! The least protection that keeps time-outs seldom enough.

use corpus::config::fields::{self, IntField};

use super::protection::Protection;
use super::time_outs::TimeOuts;

/// Protection, and the time-outs that are left with it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plan {
    /// Copies and dummies; tails are not copied, which costs more than dummies.
    pub protection: Protection,
    /// Time-outs with it.
    pub time_outs: TimeOuts,
}

/// The protection with the fewest NAKs, retransmissions and dummies with which there are `at_most` so many time-outs in all, by a
/// function that gives their number; or the most that there can be, where that is not enough.
///
/// Each cause has its own remedy. So the one with the most time-outs gets one more, until there are few enough; what then
/// turns out not to be needed is taken away.
///
/// # Errors
/// The time-outs that are left with the most protection.
pub fn plan(at_most: f64, time_outs: impl Fn(&Protection) -> TimeOuts) -> Result<Plan, TimeOuts> {
    let mut plan = Plan::of(Protection::default(), &time_outs);
    while plan.time_outs.total() > at_most {
        let steps =
            STEPS.iter().filter_map(|step| step(plan.protection, 1)).map(|more| Plan::of(more, &time_outs));
        let next = steps.min_by(|one, other| one.time_outs.total().total_cmp(&other.time_outs.total()));
        // Where nothing helps any more, nothing will.
        plan = next.filter(|next| next.time_outs.total() < plan.time_outs.total()).ok_or(plan.time_outs)?;
    }
    for step in STEPS {
        while let Some(less) = step(plan.protection, -1).map(|less| Plan::of(less, &time_outs)) {
            if less.time_outs.total() > at_most {
                break;
            }
            plan = less;
        }
    }
    Ok(plan)
}

impl Plan {
    fn of(protection: Protection, time_outs: &impl Fn(&Protection) -> TimeOuts) -> Self {
        Self { protection, time_outs: time_outs(&protection) }
    }
}

type Step = fn(Protection, i8) -> Option<Protection>;

/// One more or less of each remedy; none if there can be none.
const STEPS: [Step; 3] = [
    |mut protection, by| {
        protection.repeat.naks = within(protection.repeat.naks, by, &fields::NAKS)?;
        Some(protection)
    },
    |mut protection, by| {
        protection.repeat.retransmissions =
            within(protection.repeat.retransmissions, by, &fields::RETRANSMISSIONS)?;
        Some(protection)
    },
    |mut protection, by| {
        protection.dummies = within(protection.dummies, by, &fields::DUMMY_HEADERS)?;
        Some(protection)
    },
];

fn within(number: u8, by: i8, field: &IntField) -> Option<u8> {
    number.checked_add_signed(by).filter(|number| field.allows((*number).into()))
}

#[cfg(test)]
mod tests {
    use corpus::{Repeat, Verb};

    use super::super::{Behaviour, Conditions, Frames, Links, of_message, printed};
    use super::*;

    const LINKS: Links = Links { loss: 0.01, of_bytes: 1086, links: 2, corrupted: 1.0 };

    fn with(naks: u8, retransmissions: u8, dummies: u8) -> Protection {
        Protection { repeat: Repeat { naks, retransmissions, ..Repeat::default() }, dummies }
    }

    /// Theorem 8 for packets: at most 2e-8 with three transmissions in all.
    #[test]
    fn three_transmissions_as_in_the_paper() {
        let only_again = |protection: &Protection| TimeOuts {
            lost_again: printed(&LINKS, 0.0, protection).lost_again,
            ..TimeOuts::default()
        };
        assert_eq!(plan(2.001e-8, only_again).unwrap().protection, with(1, 3, 0));
    }

    /// Every plan keeps what is asked for, and with less of anything it does not.
    #[test]
    fn plans_are_as_small_as_they_can_be() {
        for bytes in [1024, 10 * 1024] {
            let frames = Frames::of(Verb::Write, bytes, 1024);
            let of = |protection: &Protection| {
                of_message(
                    &frames,
                    &Conditions { links: LINKS, protection: *protection, behaviour: Behaviour::standard() },
                )
            };
            for at_most in [1.0, 1e-2, 1e-4, 1e-6, 1e-9] {
                let plan = plan(at_most, of).unwrap();
                assert!(plan.time_outs.total() <= at_most);
                for less in STEPS.iter().filter_map(|step| step(plan.protection, -1)) {
                    assert!(of(&less).total() > at_most, "{at_most}: {less:?} is enough");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_reached_is_said() {
        let frames = Frames::of(Verb::Write, 1024, 1024);
        let of = |protection: &Protection| {
            of_message(
                &frames,
                &Conditions { links: LINKS, protection: *protection, behaviour: Behaviour::merging_acks() },
            )
        };
        // A merged ACK has no second one.
        let left = plan(1e-6, of).unwrap_err();
        assert!(left.ack_lost > 1e-4 && left.tail_lost < 1e-6, "{left:?}");
    }
}
