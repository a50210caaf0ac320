//! Flow tables of NICs in container networks (ScalaCN, NSDI'25, §3.2, §4.2 and §5.2).
//!
//! Goodput is that of 16 QPs in the middle of a run, latency half of an iteration of two hosts that post in turn. Masks are those of the
//! direction of data, at the local egress and the remote ingress, unless a row says otherwise.

mod cliff;
mod directions;
mod equations;
mod symptoms;

use corpus::{Offload, TestConfig, Verb};

use crate::measure::{Seen, Value, mean, micros};
use crate::paper::fit::Point;
use crate::paper::tables::{TableTest, Traffic};
use crate::paper::{Basis, Claim, Formula, Nics, Published, Setup};

pub(super) use cliff::CLIFFS;
pub(super) use directions::DIRECTIONS;
pub(super) use equations::{EQUATIONS, PREDICTIONS, THEORY};
pub(super) use symptoms::SYMPTOMS;

const CX4: Nics = Nics::both("rcn-cx4");
const CX5: Nics = Nics::both("rcn-cx5");
const CX6: Nics = Nics::both("rcn-cx6");
const CX7: Nics = Nics::both("rcn-cx7");
const BF3: Nics = Nics::both("rcn-bf3");
const E810: Nics = Nics::both("rcn-e810");

/// The NICs of table 3.
const NICS: &[Nics] = &[CX4, CX5, CX6, CX7, BF3, E810];
/// Name of a row about all of them.
const ALL: &[Nics] = &[Nics::both("all six")];

/// Writes at full speed.
const WRITES: TableTest = TableTest::new(Traffic::Saturating, Verb::Write);
/// Writes in turn, for their latency.
const IN_TURN: TableTest = TableTest::new(Traffic::InTurn { pairs: 1, iterations: 20 }, Verb::Write);

/// A row with its tests; the caller says which.
const fn claim(
    what: &'static str,
    nics: &'static [Nics],
    published: Published,
    basis: Basis,
    (unit, source): (&'static str, &'static str),
    tests: &'static [&'static [TableTest]],
    measure: fn(&[Seen<'_>]) -> Option<Value>,
) -> Claim {
    Claim { what, nics, published, basis, unit, source, setup: Setup::Tables(tests), measure }
}

/// A row about all NICs, from their tests one NIC after another.
const fn of_all(
    what: &'static str,
    published: Published,
    basis: Basis,
    of: (&'static str, &'static str),
    tests: &'static [&'static [TableTest]],
    measure: fn(&[Seen<'_>]) -> Option<Value>,
) -> Claim {
    let setup = Setup::TablesOf { tests, nics: NICS };
    Claim { setup, ..claim(what, ALL, published, basis, of, tests, measure) }
}

/// Goodput in Gb/s.
fn goodput(seen: &Seen<'_>) -> Option<f64> {
    seen.steady_rate().map(|bytes_per_ns| bytes_per_ns * 8.0)
}

/// One-way latency in µs, the mean of all pairs of connections.
fn latency(seen: &Seen<'_>) -> Option<f64> {
    mean(seen.analysis.iterations.iter().map(|pair| micros(pair.median_ns) / 2.0))
}

/// Completion time of a message in µs.
fn completion_time(seen: &Seen<'_>) -> Option<f64> {
    mean(seen.completion_times(|_| true))
}

/// Mean masks that packets of data are looked up in, at the local egress and the remote ingress.
fn means(config: &TestConfig) -> Option<(f64, f64)> {
    let connections = config.traffic.load.connections();
    let of = |offload: &Offload, masks: u32| {
        mean((1..=connections).map(|qpn| f64::from(offload.place.mask_of(qpn, connections, masks))))
    };
    let (local, remote) = (config.requester.offload.as_ref()?, config.responder.offload.as_ref()?);
    Some((of(local, local.egress_masks)?, of(remote, remote.ingress_masks)?))
}

/// What tests measured, by the means of their masks.
fn points(seen: &[Seen<'_>], measured: impl Fn(&Seen<'_>) -> Option<f64>) -> Option<Vec<Point>> {
    let point = |one: &Seen<'_>| {
        let (local, remote) = means(one.config)?;
        Some((local, remote, measured(one)?))
    };
    seen.iter().map(point).collect()
}

/// Second test over the first, as a change in percent.
fn change(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    Some((after? / before? - 1.0) * 100.0)
}
