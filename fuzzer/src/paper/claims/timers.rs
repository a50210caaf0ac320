//! Time-outs and retries (Lumina (preprint) §6.3, Lumina §6.3).

use crate::measure::{Seen, Value};
use crate::paper::nics::{CX4, CX5, CX6};
use crate::paper::{Basis, Claim, Nics, Published, Setup};

const ADAPTIVE: Setup = Setup::Tails { adaptive: true };
const CONFIGURED: Setup = Setup::Tails { adaptive: false };
/// Messages of these experiments; each gets stuck once.
const MESSAGES: usize = 5;

/// Waits for the messages of a test, in order; none if not each was timed out on.
fn waits(seen: &[Seen<'_>]) -> Option<Vec<Vec<f64>>> {
    seen.first().map(Seen::waits).filter(|waits| waits.len() == MESSAGES)
}

/// Time-outs on each message in the test that it fails in: the last time that it got stuck there.
fn retries(seen: &[Seen<'_>]) -> Option<Value> {
    let counts = (1..=MESSAGES).zip(seen).map(|(message, run)| {
        let waits = run.waits();
        (waits.len() == message).then(|| waits[message - 1].len() as u64)
    });
    Some(Value::counts(counts.collect::<Option<Vec<_>>>()?))
}

/// T to 4 T, between which the specification has the timer expire, with T as Lumina (preprint) §6.3 gives it.
const SPECIFIED: Published = Published::Between(0.0671, 4.0 * 0.0671);

/// Claims of the paper on the waits.
pub(super) const TIMEOUTS: &[Claim] = &[
    Claim {
        what: "Shortest wait, T or more",
        nics: &[Nics::both("reference")],
        published: SPECIFIED,
        basis: Basis::Derived,
        unit: "s",
        source: "Lumina (preprint) §6.3",
        setup: CONFIGURED,
        measure: |seen| Some(Value::Number(waits(seen)?.concat().into_iter().reduce(f64::min)?)),
    },
    Claim {
        what: "Waits, adaptive, message 1",
        nics: &[CX6],
        published: Published::Each(&[0.0056, 0.0041, 0.0084, 0.0167, 0.0251, 0.0671, 0.1342]),
        basis: Basis::Calibrated,
        unit: "s",
        source: "Lumina §6.3",
        setup: ADAPTIVE,
        measure: |seen| Some(Value::Numbers(waits(seen)?.first()?.clone())),
    },
    Claim {
        what: "First waits, adaptive, messages 2 to 5",
        nics: &[CX6],
        published: Published::Each(&[0.267, 0.671, 0.671, 0.671]),
        basis: Basis::Calibrated,
        unit: "s",
        source: "Lumina (preprint) §6.3",
        setup: ADAPTIVE,
        measure: |seen| {
            let first = waits(seen)?.into_iter().skip(1).map(|waits| waits.first().copied());
            Some(Value::Numbers(first.collect::<Option<_>>()?))
        },
    },
    Claim {
        what: "Shortest first wait, not adaptive",
        nics: &[CX4, CX5, CX6],
        published: Published::Between(0.2, 0.4),
        basis: Basis::Calibrated,
        unit: "s",
        source: "Lumina (preprint) §6.3",
        setup: CONFIGURED,
        measure: |seen| Some(Value::Number(first_waits(seen)?.into_iter().reduce(f64::min)?)),
    },
    Claim {
        what: "Longest first wait, not adaptive",
        nics: &[CX4, CX5, CX6],
        published: Published::Between(0.2, 0.4),
        basis: Basis::Calibrated,
        unit: "s",
        source: "Lumina (preprint) §6.3",
        setup: CONFIGURED,
        measure: |seen| Some(Value::Number(first_waits(seen)?.into_iter().reduce(f64::max)?)),
    },
    Claim {
        what: "Shortest and longest further wait, not adaptive",
        nics: &[CX4, CX5, CX6],
        published: Published::Each(&[0.537, 0.537]),
        basis: Basis::Calibrated,
        unit: "s",
        source: "Lumina (preprint) §6.3",
        setup: CONFIGURED,
        measure: |seen| {
            let further: Vec<f64> =
                waits(seen)?.into_iter().flat_map(|waits| waits.into_iter().skip(1)).collect();
            let (low, high) =
                (further.iter().copied().reduce(f64::min), further.iter().copied().reduce(f64::max));
            Some(Value::Numbers(vec![low?, high?]))
        },
    },
];

fn first_waits(seen: &[Seen<'_>]) -> Option<Vec<f64>> {
    waits(seen)?.into_iter().map(|waits| waits.first().copied()).collect()
}

const RETRIES_ADAPTIVE: Setup = Setup::Retries { adaptive: true };
const RETRIES_CONFIGURED: Setup = Setup::Retries { adaptive: false };

/// Claims of the paper on the number of retries.
pub(super) const RETRIES: &[Claim] = &[
    Claim {
        what: "Retries of messages 1 to 5, adaptive",
        nics: &[CX4],
        published: Published::Counts(&[13, 8, 7, 7, 7]),
        basis: Basis::Calibrated,
        unit: "",
        source: "Lumina (preprint) table 2",
        setup: RETRIES_ADAPTIVE,
        measure: retries,
    },
    Claim {
        what: "Retries of messages 1 to 5, adaptive",
        nics: &[CX5, CX6],
        published: Published::Counts(&[13, 8, 8, 8, 8]),
        basis: Basis::Calibrated,
        unit: "",
        source: "Lumina (preprint) table 2",
        setup: RETRIES_ADAPTIVE,
        measure: retries,
    },
    Claim {
        what: "Retries of messages 1 to 5, not adaptive",
        nics: &[CX4, CX5, CX6],
        published: Published::Counts(&[7, 7, 7, 7, 7]),
        basis: Basis::Derived,
        unit: "",
        source: "Lumina (preprint) table 2",
        setup: RETRIES_CONFIGURED,
        measure: retries,
    },
];
