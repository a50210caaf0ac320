//! From measures to objectives: one table.

use super::Objective::{self, *};
use crate::oracles::Measure;

/// Contribution of a measure to an objective: 0 up to `zero`, `most` from `one` on, logarithmic between.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Calibration {
    /// The objective: the largest contribution of its measures.
    pub objective: Objective,
    /// Measure.
    pub measure: Measure,
    /// Its value at which it is nothing odd.
    pub zero: f64,
    /// Its value at which it cannot be odder.
    pub one: f64,
    /// Its contribution then: less than 1 where it is only an occasion for the fault that the objective
    /// seeks.
    pub most: f64,
    /// Reason for these values.
    pub reason: &'static str,
}

const fn row(
    objective: Objective,
    measure: Measure,
    (zero, one): (f64, f64),
    most: f64,
    reason: &'static str,
) -> Calibration {
    Calibration { objective, measure, zero, one, most, reason }
}

/// Contribution of an occasion: a test that gives no occasion cannot show the fault, and one fault outweighs
/// all occasions.
const OCCASION: f64 = 0.2;

/// Every measure of every objective.
#[rustfmt::skip]
pub const TABLE: &[Calibration] = &[
    row(NoisyNeighbor, Measure::InnocentSlowdown, (1.0, 1_000.0), 1.0, "Lumina §6.2.2: 160 µs against 430 ms is 2,700"),
    row(NoisyNeighbor, Measure::InnocentRepeats, (0.0, 100.0), 0.8, "Lumina §6.2.2: 107 packets discarded"),
    row(NoisyNeighbor, Measure::AtOnce, (1.0, 64.0), 0.4, "Lumina §6.2.2: 12 Reads in recovery stall others, 8 do not; a margin for other NICs"),
    row(Discards, Measure::Discards, (0.0, 1_000.0), 1.0, "Lumina §6.2.2 and §6.2.3: 107 and 500 packets"),
    row(Latency, Measure::SlowestPhase, (10_000.0, 100_000_000.0), 1.0, "Lumina §6.1: good NICs need 1 to 10 µs, the slowest 83 ms"),
    row(Timeouts, Measure::Expiries, (0.0, 1_000.0), OCCASION, "an occasion: timers expire after lost tails"),
    row(Timeouts, Measure::RetriesSpent, (0.0, 1.0), 0.4, "a requester exhausts its retries before it exceeds them"),
    row(Timeouts, Measure::UnexplainedExpiries, (0.0, 10.0), 1.0, "Gao §3.1: a NIC that does its part has only those that a loss explains"),
    row(Timeouts, Measure::BrokenTimers, (0.0, 10.0), 1.0, "Lumina §6.3: a handful of expiries show the schedule of a NIC"),
    row(Fsm, Measure::Retransmissions, (0.0, 1_000.0), OCCASION, "an occasion: most rules are about loss recovery"),
    row(Fsm, Measure::BrokenRules, (0.0, 100.0), 1.0, "a NIC that breaks a rule does so on every occasion"),
    row(Counters, Measure::CountersMoved, (0.0, 20.0), OCCASION, "an occasion: a stuck counter shows only if its event happens"),
    row(Counters, Measure::CounterDifference, (0.0, 1_000.0), 1.0, "Lumina §6.2.4: a stuck counter differs by every event that it missed"),
    row(Cnp, Measure::Notifications, (0.0, 1_000.0), OCCASION, "an occasion: without marks there are no CNPs"),
    row(Cnp, Measure::BrokenNotifications, (0.0, 100.0), 1.0, "Lumina §6.3: a broken CNP limiter shows at every mark"),
    row(Goodput, Measure::Unevenness, (2.0, 16.0), 0.5, "barriers and tails leave half of the time idle; 16 is all payload in one sixteenth"),
    row(Goodput, Measure::GoodputLost, (1.0, 1_000.0), 1.0, "Lumina figure 11: three orders of magnitude"),
    row(Sharing, Measure::Classes, (1.0, 8.0), OCCASION, "an occasion: one class alone shares nothing"),
    row(Sharing, Measure::IdleShare, (1.0, 8.0), 1.0, "Lumina §6.2.1: half of the link stays idle, a factor of 2; 8 with eight classes"),
    row(Stall, Measure::Silence, (1.0, 32.0), 0.8, "an ACK timer may run 4T, a stall is 8 times that"),
    row(Stall, Measure::Stalls, (0.0, 1.0), 1.0, "one is enough"),
    row(Integrity, Measure::Retransmissions, (0.0, 1_000.0), OCCASION, "an occasion: data is rarely written twice without a retransmission"),
    row(Integrity, Measure::Corruptions, (0.0, 10.0), 1.0, "one is already severe"),
    row(Reorder, Measure::SpuriousRetransmissions, (0.0, 1_000.0), 0.4, "LEFT §2.1: a NIC that takes reordering for loss repeats what it has, on its way to the collapse"),
    row(Reorder, Measure::GoodputUnderReordering, (1.0, 100.0), 1.0, "LEFT figure 1: go-back-N keeps less than a tenth, and 1 % in the worst case"),
    row(Offload, Measure::TableWork, (1.0, 1e6), OCCASION, "an occasion: limits and cliffs show with many entries and masks, and with operations on them"),
    row(Offload, Measure::SlowestFlow, (1.0, 30.0), 0.8, "ScalaCN figure 5: 60 µs beside 4"),
    row(Offload, Measure::GoodputBesideFewerFlows, (1.0, 2.0), 0.8, "ScalaCN figure 6: 13 to 37 % are lost at a cliff"),
    row(Offload, Measure::OperationSlowdown, (1.0, 30.0), 0.8, "ScalaCN table 1: deletion takes 9 times as long"),
    row(Offload, Measure::BrokenEntries, (0.0, 10.0), 1.0, "each entry that goes while it is used takes its flow to software"),
    row(Tail, Measure::SlowestMessage, (1.0, 10_000.0), 0.8, "Gao §6.2: 266 ms where others take 3 µs; an occasion is no fault"),
];

impl Calibration {
    /// Contribution of a value of the measure.
    #[must_use]
    pub fn scale(&self, value: f64) -> f64 {
        let part = (value.max(0.0).ln_1p() - self.zero.ln_1p()) / (self.one.ln_1p() - self.zero.ln_1p());
        // Not a number is nothing that was measured.
        if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) * self.most }
    }
}

/// The objectives that measured values give.
pub(super) fn objectives(values: &[f64; Measure::COUNT]) -> [f64; Objective::ALL.len()] {
    Objective::ALL.map(|objective| {
        let rows = TABLE.iter().filter(|row| row.objective == objective);
        rows.map(|row| row.scale(values[row.measure as usize])).fold(0.0, f64::max)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn objective(objective: Objective, measured: &[(Measure, f64)]) -> f64 {
        let mut values = [0.0; Measure::COUNT];
        for (measure, value) in measured {
            values[*measure as usize] = *value;
        }
        let at = Objective::ALL.iter().position(|one| *one == objective).unwrap();
        objectives(&values)[at]
    }

    fn about(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-3, "{value}, where {expected} is right");
    }

    #[test]
    fn hand_computed_values() {
        // ln 108 / ln 1001: the 107 discards of Lumina §6.2.2.
        about(objective(Discards, &[(Measure::Discards, 107.0)]), 0.678);
        // (ln 2701 - ln 2) / (ln 1001 - ln 2) is more than all: 160 µs against 430 ms.
        about(objective(NoisyNeighbor, &[(Measure::InnocentSlowdown, 2_700.0)]), 1.0);
        about(objective(NoisyNeighbor, &[(Measure::InnocentSlowdown, 1.0)]), 0.0);
        // 0.4 (ln 13 - ln 2) / (ln 65 - ln 2): twelve connections at once, before anything happens to the others.
        about(objective(NoisyNeighbor, &[(Measure::AtOnce, 12.0)]), 0.215);
        // (ln 150 µs - ln 10 µs) / (ln 100 ms - ln 10 µs), a NACK of a Read on ConnectX-4 Lx.
        about(objective(Latency, &[(Measure::SlowestPhase, 150_000.0)]), 0.294);
        about(objective(Stall, &[(Measure::Stalls, 1.0)]), 1.0);
        // An objective is its worst measure: 0.5 (ln 17 - ln 3) / (ln 17 - ln 3), and goodput halved (ln 3 - ln 2) /
        // (ln 1001 - ln 2).
        about(objective(Goodput, &[(Measure::Unevenness, 16.0), (Measure::GoodputLost, 2.0)]), 0.5);
        about(objective(Goodput, &[(Measure::GoodputLost, 2.0)]), 0.065);
    }

    #[test]
    fn the_table_is_sound() {
        for row in TABLE {
            assert!(0.0 <= row.zero && row.zero < row.one, "{row:?}");
            assert!(0.0 < row.most && row.most <= 1.0, "{row:?}");
            assert!(!row.reason.is_empty());
        }
        for objective in Objective::ALL {
            let reaches = TABLE.iter().filter(|row| row.objective == objective).map(|row| row.most);
            // A slow message is no fault by itself.
            about(reaches.fold(0.0, f64::max), if objective == Tail { 0.8 } else { 1.0 });
        }
        for measure in 0..Measure::COUNT {
            assert!(
                TABLE.iter().any(|row| row.measure as usize == measure),
                "measure {measure} is of no use"
            );
        }
    }

    proptest! {
        #[test]
        fn objectives_are_between_0_and_1_and_grow_with_what_is_measured(
            values in prop::array::uniform30(any::<f64>()), at in 0..Measure::COUNT, more in 1.0..1e12
        ) {
            let before = objectives(&values);
            prop_assert!(before.iter().all(|value| (0.0..=1.0).contains(value)), "{before:?}");
            let mut larger = values;
            larger[at] = values[at].max(0.0) + more;
            let after = objectives(&larger);
            prop_assert!(before.iter().zip(&after).all(|(before, after)| before <= after), "{before:?} {after:?}");
        }
    }
}
