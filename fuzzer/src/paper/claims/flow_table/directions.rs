//! Which masks cost which verb what (figures 10 and 11), entries, tunnels, and a slow flow (figure 5).

use corpus::Verb;

use super::{
    Basis, CX6, CX7, Claim, IN_TURN, Nics, Published, Seen, TableTest, Value, WRITES, change, claim,
    completion_time, goodput, latency, mean, of_all,
};
use crate::paper::tables::{Place, Traffic};

/// Masks of the direction that has many.
const MANY: u32 = 30;

/// One mask everywhere, then many at the local egress, at the remote ingress, at the local ingress and at the remote egress.
const fn by_place(test: TableTest) -> [TableTest; 5] {
    [
        test.at([1; 4]),
        test.at([MANY, 1, 1, 1]),
        test.at([1, 1, 1, MANY]),
        test.at([1, MANY, 1, 1]),
        test.at([1, 1, MANY, 1]),
    ]
}

const fn at_full_speed(verb: Verb) -> [TableTest; 5] {
    by_place(TableTest::new(Traffic::Saturating, verb))
}

const fn alone(verb: Verb) -> [TableTest; 5] {
    by_place(TableTest::new(Traffic::Alone, verb))
}

const WRITES_BY_PLACE: [TableTest; 5] = at_full_speed(Verb::Write);
const SENDS_BY_PLACE: [TableTest; 5] = at_full_speed(Verb::Send);
const READS_BY_PLACE: [TableTest; 5] = at_full_speed(Verb::Read);
const WRITES_ALONE: [TableTest; 5] = alone(Verb::Write);
const SENDS_ALONE: [TableTest; 5] = alone(Verb::Send);
const READS_ALONE: [TableTest; 5] = alone(Verb::Read);

/// Latency of Writes with one mask, and with many at the egress and at the ingress that data pass.
const ONE_WAY: [TableTest; 3] = [IN_TURN, IN_TURN.at([MANY, 1, MANY, 1]), IN_TURN.at([1, MANY, 1, MANY])];

/// Connections spread over so many masks of the direction of data: 1, 5, 10 and 20 in the mean.
const fn by_mean(verb: Verb, traffic: Traffic) -> [TableTest; 4] {
    let test = TableTest { place: Place::Spread, ..TableTest::new(traffic, verb) };
    [test, test.of_data(9, 9), test.of_data(19, 19), test.of_data(39, 39)]
}

const WRITES_BY_MEAN: [TableTest; 4] = by_mean(Verb::Write, Traffic::Saturating);
const SENDS_BY_MEAN: [TableTest; 4] = by_mean(Verb::Send, Traffic::Saturating);
const READS_BY_MEAN: [TableTest; 4] = by_mean(Verb::Read, Traffic::Saturating);
const WRITES_LATE_BY_MEAN: [TableTest; 4] = by_mean(Verb::Write, Traffic::Alone);
const SENDS_LATE_BY_MEAN: [TableTest; 4] = by_mean(Verb::Send, Traffic::Alone);
const READS_LATE_BY_MEAN: [TableTest; 4] = by_mean(Verb::Read, Traffic::Alone);

/// What each test after the first measured, in percent of that.
fn percent(seen: &[Seen<'_>], measured: fn(&Seen<'_>) -> Option<f64>) -> Option<Vec<f64>> {
    let (first, others) = seen.split_first()?;
    let first = measured(first)?;
    others.iter().map(|one| Some(100.0 * measured(one)? / first)).collect()
}

/// The places of [`by_place`] that requests, and data of Writes and Sends pass, behind the first test.
const OF_DATA: [usize; 2] = [0, 1];
/// Those that responses, and data of Reads pass.
const OF_RESPONSES: [usize; 2] = [2, 3];

/// The one of two places that is nearer to the first test.
fn at(
    places: [usize; 2],
    seen: &[Seen<'_>],
    measured: fn(&Seen<'_>) -> Option<f64>,
    nearer: fn(f64, f64) -> f64,
) -> Option<Value> {
    let percent = percent(seen, measured)?;
    let [one, other] = places.map(|place| percent.get(place).copied());
    Some(Value::Number(nearer(one?, other?)))
}

/// A row about what 30 masks in a place do.
const fn direction(
    what: &'static str,
    published: Published,
    tests: &'static [&'static [TableTest]],
    measure: fn(&[Seen<'_>]) -> Option<Value>,
) -> Claim {
    claim(what, &[CX6], published, Basis::Derived, ("%", "ScalaCN figure 10"), tests, measure)
}

fn rises(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] < pair[1])
}

fn falls(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] > pair[1])
}

const BY_MEAN: &str = "Writes and Sends fall, Reads stay; all latencies rise";

fn by_means(seen: &[Seen<'_>]) -> Option<Value> {
    let groups: Vec<&[Seen<'_>]> = seen.chunks(4).collect();
    let of = |group: usize, measured: fn(&Seen<'_>) -> Option<f64>| -> Option<Vec<f64>> {
        groups.get(group)?.iter().map(measured).collect()
    };
    let reads = of(2, goodput)?;
    let stays = reads.iter().all(|value| (value / reads[0] - 1.0).abs() < 0.03);
    let holds = falls(&of(0, goodput)?) && falls(&of(1, goodput)?) && stays;
    let late = (3..6).map(|group| Some(rises(&of(group, completion_time)?)));
    let late = late.collect::<Option<Vec<bool>>>()?.into_iter().all(|rises| rises);
    Some(Value::Words(if holds && late { BY_MEAN } else { "otherwise" }.into()))
}

/// Without tunnels, then with.
const TUNNELS: [TableTest; 2] = [WRITES, TableTest { vxlan: true, ..WRITES }];
const TUNNELS_IN_TURN: [TableTest; 2] = [IN_TURN, TableTest { vxlan: true, ..IN_TURN }];

/// The mean change in percent over all NICs, two tests each.
fn mean_change(seen: &[Seen<'_>], measured: fn(&Seen<'_>) -> Option<f64>) -> Option<Value> {
    let of = |pair: &[Seen<'_>]| change(measured(pair.first()?), measured(pair.get(1)?));
    Value::mean(seen.chunks(2).map(of).collect::<Option<Vec<f64>>>()?)
}

/// A row about tunnels on all NICs.
const fn tunnels(
    what: &'static str,
    value: f64,
    tests: &'static [&'static [TableTest]],
    measure: fn(&[Seen<'_>]) -> Option<Value>,
) -> Claim {
    let published = Published::PlusMinus { value, by: 1.0 };
    of_all(what, published, Basis::Calibrated, ("%", "ScalaCN §4.2"), tests, measure)
}

/// One entry in a mask, then ten thousand, in a NIC that keeps all in one table.
const ENTRIES: [TableTest; 2] = [IN_TURN, IN_TURN.with_flows(10_000)];
const ONE_TABLE: &[Nics] = &[Nics::both("rcn-cx6, one table")];

/// Mask of figure 5's fourth flow: 2.57 µs and 709 times 81 ns.
const FOURTH: u32 = 709;
/// Figure 5: the fourth flow alone.
const FLOW_4: [TableTest; 1] = [IN_TURN.at([FOURTH; 4])];
/// Four flows in the first masks, and then the fourth in its own.
const FLOWS: [TableTest; 2] = [beside(&[1, 2, 3, 4]), beside(&[1, 2, 3, FOURTH])];

const fn beside(masks: &'static [u32]) -> TableTest {
    let test = TableTest::new(Traffic::Beside, Verb::Write).at([FOURTH; 4]);
    TableTest { place: Place::Of(masks), ..test }
}

/// Mean completion time of the first three connections in µs.
fn first_three(seen: &Seen<'_>) -> Option<f64> {
    mean(seen.completion_times(|one| one.connection <= 3))
}

/// Masks by direction, entries, tunnels, single flows.
pub(in super::super) const DIRECTIONS: &[Claim] = &[
    direction(
        "Goodput of Writes with 30 masks at the local egress or the remote ingress, of one",
        Published::Below(90.0),
        &[&WRITES_BY_PLACE],
        |seen| at(OF_DATA, seen, goodput, f64::max),
    ),
    direction("The same of Sends", Published::Below(90.0), &[&SENDS_BY_PLACE], |seen| {
        at(OF_DATA, seen, goodput, f64::max)
    }),
    direction(
        "The same of Reads, the lower",
        Published::PlusMinus { value: 100.0, by: 3.0 },
        &[&READS_BY_PLACE],
        |seen| at(OF_DATA, seen, goodput, f64::min),
    ),
    direction(
        "Goodput of Reads with 30 masks at the local ingress or the remote egress, of one",
        Published::Below(90.0),
        &[&READS_BY_PLACE],
        |seen| at(OF_RESPONSES, seen, goodput, f64::max),
    ),
    direction(
        "The same of Writes, of which the text has nothing (their ACKs pass these masks)",
        Published::Open,
        &[&WRITES_BY_PLACE],
        |seen| at(OF_RESPONSES, seen, goodput, f64::max),
    ),
    direction(
        "One-way latency of Writes with 30 masks at the local egress or the remote ingress, of one",
        Published::Above(110.0),
        &[&ONE_WAY],
        |seen| at(OF_DATA, seen, latency, f64::min),
    ),
    direction(
        "Completion time of Sends with these, of one",
        Published::Above(110.0),
        &[&SENDS_ALONE],
        |seen| at(OF_DATA, seen, completion_time, f64::min),
    ),
    direction(
        "Completion time of Reads with these, of one",
        Published::Above(110.0),
        &[&READS_ALONE],
        |seen| at(OF_DATA, seen, completion_time, f64::min),
    ),
    direction(
        "Completion time of Writes with masks at the local ingress or the remote egress, which ACKs pass",
        Published::Open,
        &[&WRITES_ALONE],
        |seen| at(OF_RESPONSES, seen, completion_time, f64::min),
    ),
    claim(
        "Goodput of Reads",
        &[CX6],
        Published::About(165.0),
        Basis::Calibrated,
        ("Gbps", "ScalaCN §4.2"),
        &[&READS_BY_PLACE],
        |seen| goodput(seen.first()?).map(Value::Number),
    ),
    claim(
        "1, 5, 10 and 20 masks in the mean",
        &[CX7],
        Published::Words(BY_MEAN),
        Basis::Derived,
        ("", "ScalaCN figure 11"),
        &[
            &WRITES_BY_MEAN,
            &SENDS_BY_MEAN,
            &READS_BY_MEAN,
            &WRITES_LATE_BY_MEAN,
            &SENDS_LATE_BY_MEAN,
            &READS_LATE_BY_MEAN,
        ],
        by_means,
    ),
    claim(
        "Latency with 10,000 entries of one mask, of that with two",
        ONE_TABLE,
        Published::PlusMinus { value: 100.0, by: 1.0 },
        Basis::Derived,
        ("%", "ScalaCN §4.2"),
        &[&ENTRIES],
        |seen| percent(seen, latency)?.first().copied().map(Value::Number),
    ),
    tunnels("Goodput with VXLAN, mean of all NICs", -6.0, &[&TUNNELS], |seen| mean_change(seen, goodput)),
    tunnels("Latency with VXLAN, mean of all NICs", 3.0, &[&TUNNELS_IN_TURN], |seen| {
        mean_change(seen, latency)
    }),
    claim(
        "Latency of flow 4, in mask 709 by equation 2",
        &[CX7],
        Published::About(60.0),
        Basis::Calibrated,
        ("µs", "ScalaCN figure 5"),
        &[&FLOW_4],
        |seen| latency(seen.first()?).map(Value::Number),
    ),
    claim(
        "Completion time of 64 KB on flows 1 to 3 beside flow 4, of beside one in the first masks (3 times, at a load that is not given)",
        &[CX7],
        Published::Above(1.5),
        Basis::Derived,
        ("", "ScalaCN figure 5"),
        &[&FLOWS],
        |seen| Some(Value::Number(first_three(seen.get(1)?)? / first_three(seen.first()?)?)),
    ),
];
