//! Numbers of time-outs by cause.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use serde::Serialize;

use crate::ExpiryCause;

/// Expected numbers of time-outs, of the causes that losses alone have, and of faults: a NIC that does its part has none of these.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct TimeOuts {
    /// See [`ExpiryCause::TailLost`].
    pub tail_lost: f64,
    /// See [`ExpiryCause::LostAgain`].
    pub lost_again: f64,
    /// See [`ExpiryCause::NakLost`].
    pub nak_lost: f64,
    /// See [`ExpiryCause::AckLost`].
    pub ack_lost: f64,
    /// An end did not do its part: [`ExpiryCause::is_fault`].
    #[serde(skip_serializing_if = "is_zero")]
    pub faults: f64,
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl TimeOuts {
    /// Each cause of a loss with its number.
    #[must_use]
    pub const fn by_cause(&self) -> [(ExpiryCause, f64); 4] {
        [
            (ExpiryCause::TailLost, self.tail_lost),
            (ExpiryCause::LostAgain, self.lost_again),
            (ExpiryCause::NakLost, self.nak_lost),
            (ExpiryCause::AckLost, self.ack_lost),
        ]
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.by_cause().into_iter().map(|(_, number)| number).sum::<f64>() + self.faults
    }
}

impl Add for TimeOuts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tail_lost: self.tail_lost + other.tail_lost,
            lost_again: self.lost_again + other.lost_again,
            nak_lost: self.nak_lost + other.nak_lost,
            ack_lost: self.ack_lost + other.ack_lost,
            faults: self.faults + other.faults,
        }
    }
}

impl Sum for TimeOuts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

impl AddAssign for TimeOuts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<f64> for TimeOuts {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self {
            tail_lost: self.tail_lost * factor,
            lost_again: self.lost_again * factor,
            nak_lost: self.nak_lost * factor,
            ack_lost: self.ack_lost * factor,
            faults: self.faults * factor,
        }
    }
}
