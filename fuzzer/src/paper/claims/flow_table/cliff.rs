//! The cliff of goodput and latency beyond the entries of a table (figures 6, 14 and 15), and the scheduler (§4.3).
//!
//! The paper's mean of masks has no cliff. Here a table has room for 7,200 entries, and the next one is looked up before it: that is an
//! assumption. Five patterns in each direction of data are the number that makes the scheduler's gain.

use corpus::{Operation, Verb};

use super::{
    BF3, Basis, CX4, CX6, CX7, Claim, E810, NICS, Nics, Published, Seen, TableTest, Value, WRITES, change,
    claim, goodput, latency, of_all,
};
use crate::paper::tables::{BURST, Place, Traffic};

/// Patterns of the flows.
const PATTERNS: u32 = 5;

const fn writes(flows: u32) -> TableTest {
    WRITES.patterns(flows, PATTERNS)
}

/// Latencies take so long that the scheduler has seen enough packets.
const fn in_turn(flows: u32) -> TableTest {
    let test = TableTest::new(Traffic::InTurn { pairs: 1, iterations: 1_600 }, Verb::Write);
    TableTest { place: Place::Spread, ..test.at([PATTERNS; 4]) }.with_flows(flows)
}

const fn scheduled(test: TableTest) -> TableTest {
    TableTest { hyper: true, ..test }
}

/// Flows around the cliff, 0.5 % apart.
const AROUND: [TableTest; 17] = around(WRITES);
const SENDS_AROUND: [TableTest; 17] = around(TableTest::new(Traffic::Saturating, Verb::Send));

const fn around(test: TableTest) -> [TableTest; 17] {
    let mut tests = [test; 17];
    let mut at = 0;
    while at < tests.len() {
        tests[at] = test.patterns(6_912 + 36 * at as u32, PATTERNS);
        at += 1;
    }
    tests
}

/// Most flows before goodput falls by more than a twentieth.
fn threshold(seen: &[Seen<'_>]) -> Option<Value> {
    let goodputs = seen.iter().map(goodput).collect::<Option<Vec<f64>>>()?;
    let at = goodputs.windows(2).position(|pair| pair[1] < 0.95 * pair[0])?;
    Some(Value::count(seen.get(at)?.config.requester.offload.as_ref()?.flows.into()))
}

/// Before the cliff, and behind it.
const OVER: [TableTest; 2] = [writes(7_128), writes(7_272)];
const OVER_IN_TURN: [TableTest; 2] = [in_turn(7_128), in_turn(7_272)];

/// 7,272 flows of which 600 are left after some seconds, and 600 from the start.
const FEW_LEFT: [TableTest; 2] = [
    TableTest { at_both: true, ..bursts(7_272) }.operating(1_000, Operation::RemoveFlows(7_272 - 600)),
    bursts(600),
];

const fn bursts(flows: u32) -> TableTest {
    let test = TableTest::new(Traffic::Bursts, Verb::Write).patterns(flows, PATTERNS);
    // What is measured is the table, not its counters.
    TableTest { max_idle_ms: 600_000, ..test }
}

/// Goodput of the middle of the last burst, in Gb/s.
fn last_burst(seen: &Seen<'_>) -> Option<f64> {
    let last = seen.config.traffic.num_msgs_per_qp - BURST;
    seen.steady_rate_of(|one| one.message > last).map(|bytes_per_ns| bytes_per_ns * 8.0)
}

/// Flows of which none, 7,200 and 14,400 are in tables before those of the connections: these are among the oldest of 15 thousand, in the
/// second table, and in the third.
const AGES: [u32; 3] = [600, 7_800, 15_000];
/// Shares of them.
const SHARES: [f64; 3] = [0.04, 0.48, 0.48];

/// Without flows of others; then 15 thousand without the scheduler, and with it, where connections are of each age.
const MANY: [TableTest; 7] = [
    WRITES,
    writes(AGES[0]),
    writes(AGES[1]),
    writes(AGES[2]),
    scheduled(writes(AGES[0])),
    scheduled(writes(AGES[1])),
    scheduled(writes(AGES[2])),
];
const MANY_IN_TURN: [TableTest; 6] = [
    in_turn(AGES[0]),
    in_turn(AGES[1]),
    in_turn(AGES[2]),
    scheduled(in_turn(AGES[0])),
    scheduled(in_turn(AGES[1])),
    scheduled(in_turn(AGES[2])),
];

/// Mean over flows of every age.
fn of_ages(seen: &[Seen<'_>], measured: impl Fn(&Seen<'_>) -> Option<f64>) -> Option<f64> {
    let shares = seen.iter().zip(SHARES).map(|(one, share)| Some(share * measured(one)?));
    (seen.len() == SHARES.len()).then(|| shares.sum::<Option<f64>>())?
}

/// Goodput of flows of every age: packets take their mean.
fn of_all_ages(seen: &[Seen<'_>]) -> Option<f64> {
    of_ages(seen, |one| goodput(one).map(f64::recip)).map(f64::recip)
}

/// What the scheduler gains with 15 thousand flows, in percent.
fn gain(seen: &[Seen<'_>]) -> Option<f64> {
    change(of_all_ages(seen.get(1..4)?), of_all_ages(seen.get(4..7)?))
}

fn latency_gain(seen: &[Seen<'_>]) -> Option<f64> {
    change(of_ages(seen.get(..3)?, latency), of_ages(seen.get(3..6)?, latency))
}

/// For each NIC.
fn each(seen: &[Seen<'_>], tests: usize, of: fn(&[Seen<'_>]) -> Option<f64>) -> Option<Vec<f64>> {
    seen.chunks(tests).map(of).collect()
}

const ORDER: &str = "CX-4 most, CX-7 and BF-3 least";

/// The NICs that gain most and least.
fn order(seen: &[Seen<'_>]) -> Option<Value> {
    let gains = each(seen, MANY.len(), gain)?;
    let mut gains: Vec<(f64, Nics)> = gains.into_iter().zip(NICS.iter().copied()).collect();
    gains.sort_by(|one, other| one.0.total_cmp(&other.0));
    let of: Vec<Nics> = gains.into_iter().map(|(_, nics)| nics).collect();
    let least = of.get(..2)?;
    let holds = of.last() == Some(&CX4) && least.contains(&CX7) && least.contains(&BF3);
    let words = || of.iter().map(ToString::to_string).collect::<Vec<_>>().join(" < ");
    Some(Value::Words(if holds { ORDER.into() } else { words() }))
}

const fn derived(
    what: &'static str,
    nics: &'static [Nics],
    published: Published,
    (unit, source): (&'static str, &'static str),
    tests: &'static [&'static [TableTest]],
    measure: fn(&[Seen<'_>]) -> Option<Value>,
) -> Claim {
    claim(what, nics, published, Basis::Derived, (unit, source), tests, measure)
}

/// Thousands of flows, with the scheduler and without.
pub(in super::super) const CLIFFS: &[Claim] = &[
    claim(
        "Most flows before goodput falls, Writes",
        &[CX6],
        Published::Near { value: 7_200.0, percent: 1.0 },
        Basis::Calibrated,
        ("", "ScalaCN figure 6"),
        &[&AROUND],
        threshold,
    ),
    claim(
        "The same, Sends (8 K in the paper: here all verbs have one threshold)",
        &[CX6],
        Published::Open,
        Basis::Calibrated,
        ("", "ScalaCN figure 14"),
        &[&SENDS_AROUND],
        threshold,
    ),
    derived(
        "Goodput of Writes beyond it",
        &[CX6],
        Published::Between(-37.0, -13.0),
        ("%", "ScalaCN figure 6"),
        &[&OVER],
        |seen| change(goodput(seen.first()?), goodput(seen.get(1)?)).map(Value::Number),
    ),
    derived(
        "Latency of Writes beyond it (27 to 34 %)",
        &[CX6],
        Published::WithinFactor { value: 30.0, factor: 1.6 },
        ("%", "ScalaCN figure 6"),
        &[&OVER_IN_TURN],
        |seen| change(latency(seen.first()?), latency(seen.get(1)?)).map(Value::Number),
    ),
    derived(
        "Goodput with 600 flows left for half a minute (6 min in the paper), of that with 600 from the start",
        &[CX6],
        Published::Below(87.0),
        ("%", "ScalaCN figure 6"),
        &[&FEW_LEFT],
        |seen| Some(Value::Number(100.0 * last_burst(seen.first()?)? / last_burst(seen.get(1)?)?)),
    ),
    derived(
        "Goodput with 15 thousand flows of every age, of one mask",
        &[CX4],
        Published::PlusMinus { value: -41.0, by: 10.0 },
        ("%", "ScalaCN §5.2"),
        &[&MANY],
        |seen| change(goodput(seen.first()?), of_all_ages(seen.get(1..4)?)).map(Value::Number),
    ),
    derived(
        "Goodput lost with 15 thousand flows of every age",
        &[E810],
        Published::WithinFactor { value: 70.0, factor: 1.6 },
        ("Gbps", "ScalaCN §5.2"),
        &[&MANY],
        |seen| Some(Value::Number(goodput(seen.first()?)? - of_all_ages(seen.get(1..4)?)?)),
    ),
    // Five patterns were chosen for it.
    of_all(
        "Gain of the scheduler, mean of all NICs",
        Published::About(40.4),
        Basis::Calibrated,
        ("%", "ScalaCN §5.2"),
        &[&MANY],
        |seen| Value::mean(each(seen, MANY.len(), gain)?),
    ),
    of_all(
        "Latency with the scheduler, mean of all NICs (-30.5 % in the text, which equations 1 and 2 do not give with 40.4 %)",
        Published::Between(-32.0, -15.0),
        Basis::Derived,
        ("%", "ScalaCN §5.2"),
        &[&MANY_IN_TURN],
        |seen| Value::mean(each(seen, MANY_IN_TURN.len(), latency_gain)?),
    ),
    of_all(
        "Who gains from the scheduler (in production 43.9, 37.9, 41.8, 28.5, 31.2 % at most)",
        Published::Words(ORDER),
        Basis::Shape,
        ("", "ScalaCN §5.2"),
        &[&MANY],
        order,
    ),
    of_all(
        "Gain of the scheduler on CX-4, 5, 6, 7, BF-3, E810",
        Published::Open,
        Basis::Derived,
        ("%", "ScalaCN §5.2"),
        &[&MANY],
        |seen| each(seen, MANY.len(), gain).map(Value::Numbers),
    ),
];
