//! Equations 1 and 2 with their parameters (table 3), and what a fit of our own measurements predicts (figure 17).

use super::{
    BF3, Basis, CX4, CX5, CX6, CX7, Claim, E810, Formula, IN_TURN, NICS, Nics, Point, Published, Seen,
    TableTest, Value, WRITES, claim, goodput, latency, mean, points,
};
use crate::paper::fit::{Line, Mechanism, Plane, Surface, distances, goodness};
use crate::paper::tables::Place;

/// A NIC's row of table 3: Gb/s by equation 1, and µs by equation 2.
struct Parameters {
    nic: &'static str,
    goodput: Surface,
    latency: Plane,
}

const fn parameters(nic: &'static str, [u, v, m, n, w]: [f64; 5], [a, b, c]: [f64; 3]) -> Parameters {
    Parameters { nic, goodput: Surface { u, v, m, n, w }, latency: Plane { a, b, c } }
}

const TABLE_3: &[Parameters] = &[
    parameters("rcn-cx4", [78.86, 39.14, -28.25, -43.19, 4.91], [0.049, 0.063, 5.02]),
    parameters("rcn-cx5", [148.97, 42.34, -29.37, -45.14, 12.43], [0.051, 0.074, 4.93]),
    parameters("rcn-cx6", [324.47, 42.13, -26.92, -49.71, 26.28], [0.047, 0.068, 2.69]),
    parameters("rcn-cx7", [739.52, 48.66, -33.53, -52.88, 29.32], [0.036, 0.045, 2.57]),
    parameters("rcn-bf3", [748.52, 48.01, -33.40, -52.42, 30.65], [0.037, 0.043, 2.56]),
    parameters("rcn-e810", [335.64, 43.54, -27.01, -49.55, 25.16], [0.042, 0.069, 2.74]),
];

/// Masks of the surface in each direction.
const GRID: [u32; 5] = [1, 5, 10, 20, 30];
/// Masks of the plane.
const CORNERS: [u32; 3] = [1, 10, 30];
/// Means between those of the surface: twice as many masks but one, over which connections are spread.
const BETWEEN: [u32; 4] = [3, 8, 15, 25];

const fn square<const SIDE: usize, const ALL: usize>(
    places: [u32; SIDE],
    test: TableTest,
) -> [TableTest; ALL] {
    let mut tests = [test; ALL];
    let mut at = 0;
    while at < ALL {
        tests[at] = test.of_data(places[at / SIDE], places[at % SIDE]);
        at += 1;
    }
    tests
}

const fn spread<const ALL: usize>(mut tests: [TableTest; ALL]) -> [TableTest; ALL] {
    let mut at = 0;
    while at < tests.len() {
        let [egress, _, _, ingress] = tests[at].masks;
        let test = TableTest { place: Place::Spread, ..tests[at].of_data(2 * egress - 1, 2 * ingress - 1) };
        // Entries have nothing to do with masks.
        tests[at] = test.with_flows(1_000 + 500 * (7 * at as u32 % 12));
        at += 1;
    }
    tests
}

/// In turn: both hosts send, and so both have masks in both directions.
const fn both_ways<const ALL: usize>(mut tests: [TableTest; ALL]) -> [TableTest; ALL] {
    let mut at = 0;
    while at < tests.len() {
        let TableTest { masks: [egress, _, _, ingress], flows, .. } = tests[at];
        tests[at] = tests[at].at([egress, ingress, egress, ingress]).with_flows(flows);
        at += 1;
    }
    tests
}

const SURFACE: [TableTest; 25] = square(GRID, WRITES);
const PLANE: [TableTest; 9] = both_ways(square(CORNERS, IN_TURN));
/// Connections spread over masks, those means that the others are predicted from, and others.
const MIXES: [TableTest; 25] = spread(square(GRID, WRITES));
const MIXED: [TableTest; 16] = spread(square(BETWEEN, WRITES));
const MIXED_IN_TURN: [TableTest; 16] = both_ways(spread(square(BETWEEN, IN_TURN)));

/// The parameters of the NIC of a test.
fn published(seen: &[Seen<'_>]) -> Option<&'static Parameters> {
    let nic = &seen.first()?.config.requester.nic;
    TABLE_3.iter().find(|row| nic.as_str() == row.nic)
}

fn plane(seen: &[Seen<'_>]) -> Option<Plane> {
    Plane::fit(&points(seen, latency)?)
}

/// Distance of equation 1 from measurements, the mean and the largest.
fn from_equation(seen: &[Seen<'_>]) -> Option<(f64, f64)> {
    let surface = published(seen)?.goodput;
    let of = |(local, remote, measured): Point| (measured / surface.at(local, remote) - 1.0).abs() * 100.0;
    let away: Vec<f64> = points(seen, goodput)?.into_iter().map(of).collect();
    Some((mean(away.iter().copied())?, away.iter().copied().fold(0.0, f64::max)))
}

/// Tests of the surface, the plane, and those that a fit of them is to predict.
const TO_PREDICT: &[&[TableTest]] = &[&MIXES, &PLANE, &MIXED, &MIXED_IN_TURN];

/// Measurements of [`TO_PREDICT`] on one NIC.
struct Measured {
    surface: Vec<Point>,
    plane: Plane,
    mixed: Vec<Point>,
    mixed_latency: Vec<Point>,
}

impl Measured {
    fn of(seen: &[Seen<'_>]) -> Option<Self> {
        let (surface, rest) = seen.split_at_checked(MIXES.len())?;
        let (corners, rest) = rest.split_at_checked(PLANE.len())?;
        let (mixed, in_turn) = rest.split_at_checked(MIXED.len())?;
        Some(Self {
            surface: points(surface, goodput)?,
            plane: plane(corners)?,
            mixed: points(mixed, goodput)?,
            mixed_latency: points(in_turn, latency)?,
        })
    }
}

/// Payload of a packet in Kbit, which is Gb/s in a µs.
fn payload(seen: &[Seen<'_>]) -> Option<f64> {
    Some(f64::from(seen.first()?.config.traffic.mtu.bytes()) * 8.0 / 1e3)
}

fn percent((mean, _): (f64, f64)) -> Value {
    Value::Number(without_noise(mean * 100.0))
}

/// Without what is only the rounding of a processor.
fn without_noise(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

const fn of_plane(
    what: &'static str,
    nics: &'static [Nics],
    value: f64,
    (unit, percent): (&'static str, f64),
    measure: fn(&[Seen<'_>]) -> Option<Value>,
) -> Claim {
    let published = Published::Near { value, percent };
    claim(what, nics, published, Basis::Calibrated, (unit, "ScalaCN table 3"), &[&PLANE], measure)
}

/// Time of each mask that data is looked up in as it leaves.
const fn egress(nics: &'static [Nics], ns: f64) -> Claim {
    of_plane("Each mask at the local egress (a)", nics, ns, ("ns", 2.0), |seen| {
        Some(Value::Number(plane(seen)?.a * 1e3))
    })
}

/// Time of each mask that data is looked up in as it arrives.
const fn ingress(nics: &'static [Nics], ns: f64) -> Claim {
    of_plane("Each mask at the remote ingress (b)", nics, ns, ("ns", 2.0), |seen| {
        Some(Value::Number(plane(seen)?.b * 1e3))
    })
}

/// Time of all else.
const fn constant(nics: &'static [Nics], us: f64) -> Claim {
    of_plane("Latency but for masks (c)", nics, us, ("µs", 5.0), |seen| Some(Value::Number(plane(seen)?.c)))
}

/// Equations 1 and 2 on all NICs.
pub(in super::super) const EQUATIONS: &[Claim] = &[
    egress(&[CX4], 49.0),
    egress(&[CX5], 51.0),
    egress(&[CX6], 47.0),
    egress(&[CX7], 36.0),
    egress(&[BF3], 37.0),
    egress(&[E810], 42.0),
    ingress(&[CX4], 63.0),
    ingress(&[CX5], 74.0),
    ingress(&[CX6], 68.0),
    ingress(&[CX7], 45.0),
    ingress(&[BF3], 43.0),
    ingress(&[E810], 69.0),
    constant(&[CX4], 5.02),
    constant(&[CX5], 4.93),
    constant(&[CX6], 2.69),
    constant(&[CX7], 2.57),
    constant(&[BF3], 2.56),
    constant(&[E810], 2.74),
    claim(
        "Goodput beside equation 1, {1, 5, 10, 20, 30}² masks, mean distance",
        NICS,
        Published::Below(12.0),
        Basis::Calibrated,
        ("%", "ScalaCN table 3"),
        &[&SURFACE],
        |seen| Some(Value::Number(from_equation(seen)?.0)),
    ),
    claim(
        "Goodput beside equation 1, largest distance",
        NICS,
        Published::Below(45.0),
        Basis::Calibrated,
        ("%", "ScalaCN table 3"),
        &[&SURFACE],
        |seen| Some(Value::Number(from_equation(seen)?.1)),
    ),
    claim(
        "Goodness of equation 1 fitted to our goodput (the paper's: 0.92 to 0.94)",
        NICS,
        Published::Above(0.9),
        Basis::Derived,
        ("", "ScalaCN table 3"),
        &[&SURFACE],
        |seen| {
            let points = points(seen, goodput)?;
            let fitted = Surface::fit(&points)?;
            Some(Value::Number(goodness(&points, |local, remote| fitted.at(local, remote))))
        },
    ),
];

/// Predictions of mixes of masks by fits of other tests.
pub(in super::super) const PREDICTIONS: &[Claim] = &[
    claim(
        "Goodput of mixes of masks, by equation 1 fitted to others: mean distance (the paper's: 1.1 %)",
        NICS,
        Published::Below(6.0),
        Basis::Derived,
        ("%", "ScalaCN §5.2"),
        TO_PREDICT,
        |seen| {
            let measured = Measured::of(seen)?;
            let fitted = Surface::fit(&measured.surface)?;
            Some(percent(distances(&measured.mixed, |local, remote| fitted.at(local, remote))))
        },
    ),
    claim(
        "The same by the mechanism fitted to others",
        NICS,
        Published::Below(3.0),
        Basis::Derived,
        ("%", "ScalaCN §5.2"),
        TO_PREDICT,
        |seen| {
            let measured = Measured::of(seen)?;
            let fitted = Mechanism::fit(&measured.surface, &measured.plane, payload(seen)?)?;
            Some(percent(distances(&measured.mixed, |local, remote| fitted.at(local, remote))))
        },
    ),
    claim(
        "Latency of mixes of masks, by equation 2 fitted to others: mean distance (the paper's: 1.5 %)",
        NICS,
        Published::Below(2.0),
        Basis::Derived,
        ("%", "ScalaCN §5.2"),
        TO_PREDICT,
        |seen| {
            let measured = Measured::of(seen)?;
            Some(percent(distances(&measured.mixed_latency, |local, remote| {
                measured.plane.at(local, remote)
            })))
        },
    ),
    claim(
        "Goodput by a line over the number of flows: farther off than by equation 1 by more than 5 times",
        NICS,
        Published::Words("yes"),
        Basis::Shape,
        ("", "ScalaCN figure 17"),
        TO_PREDICT,
        |seen| {
            let measured = Measured::of(seen)?;
            let fitted = Surface::fit(&measured.surface)?;
            let (near, _) = distances(&measured.mixed, |local, remote| fitted.at(local, remote));
            let flows = |seen: &Seen<'_>| Some(f64::from(seen.config.requester.offload.as_ref()?.flows));
            let by_flows = |seen: &[Seen<'_>]| -> Option<Vec<(f64, f64)>> {
                seen.iter().map(|one| Some((flows(one)?, goodput(one)?))).collect()
            };
            let others = by_flows(seen.get(..MIXES.len())?)?;
            let from = MIXES.len() + PLANE.len();
            let mixed = by_flows(seen.get(from..from + MIXED.len())?)?;
            let line = Line::fit(&others)?;
            let far = mean(mixed.iter().map(|(flows, goodput)| (line.at(*flows) / goodput - 1.0).abs()))?;
            Some(Value::Words(if far > 5.0 * near { "yes" } else { "no" }.into()))
        },
    ),
];

const fn formula(
    what: &'static str,
    published: Published,
    unit: &'static str,
    source: &'static str,
    value: fn() -> Value,
) -> Formula {
    Formula { what, published, unit, source, basis: Basis::Formula, value }
}

/// Masks, the same at both hosts, at which the goodput of a NIC's equation is that of one mask over a gain.
fn masks_of_gain(surface: &Surface, gain: f64) -> f64 {
    let (mut low, mut high) = (1.0, 100.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if surface.at(1.0, 1.0) / surface.at(middle, middle) < gain {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Gain of goodput with the scheduler and 15 thousand flows, in the mean.
const GAIN: f64 = 1.404;

/// Masks in the mean of 15 thousand flows of five patterns: two tables of 7,200 and one of 600, whose flows are looked up in 13, 8 and 3.
const MEAN_MASKS: f64 = 10.2;

/// What the paper's equations say by themselves.
pub(in super::super) const THEORY: &[Formula] = &[
    formula(
        "Equation 1 fitted to its own values: largest distance of a parameter",
        Published::Below(0.1),
        "%",
        "ScalaCN table 3",
        || {
            let refitted = |row: &Parameters| {
                let pairs = GRID
                    .into_iter()
                    .flat_map(|local| GRID.map(|remote| (f64::from(local), f64::from(remote))));
                let points: Vec<Point> =
                    pairs.map(|(local, remote)| (local, remote, row.goodput.at(local, remote))).collect();
                Surface::fit(&points).map_or(f64::INFINITY, |fitted| fitted.away_from(&row.goodput) * 100.0)
            };
            Value::Number(without_noise(TABLE_3.iter().map(refitted).fold(0.0, f64::max)))
        },
    ),
    formula(
        "Masks at which equation 1 gives the 40.4 % that the scheduler gains: CX-4, 5, 6, 7, BF-3, E810",
        Published::Open,
        "",
        "ScalaCN §5.2",
        || Value::Numbers(TABLE_3.iter().map(|row| masks_of_gain(&row.goodput, GAIN)).collect()),
    ),
    formula(
        "Latency with the scheduler by equation 2 at these masks, where the text has -30.5 %: both do not hold",
        Published::Open,
        "%",
        "ScalaCN §5.2",
        || {
            let change = |row: &Parameters| {
                let masks = masks_of_gain(&row.goodput, GAIN);
                (row.latency.at(1.0, 1.0) / row.latency.at(masks, masks) - 1.0) * 100.0
            };
            Value::Numbers(TABLE_3.iter().map(change).collect())
        },
    ),
    formula(
        "Gain by equation 1 from 10.2 masks to one, on CX-4, 5, 6, 7, BF-3, E810 (in production at most 43.9, 37.9, 41.8, 28.5, 31.2 %)",
        Published::Open,
        "%",
        "ScalaCN §5.3",
        || {
            let gain = |row: &Parameters| {
                (row.goodput.at(1.0, 1.0) / row.goodput.at(MEAN_MASKS, MEAN_MASKS) - 1.0) * 100.0
            };
            Value::Numbers(TABLE_3.iter().map(gain).collect())
        },
    ),
    formula(
        "Goodput by equation 1 at one mask (u + w, 351 Gb/s for CX-6, is never reached)",
        Published::Open,
        "Gbps",
        "ScalaCN table 3",
        || Value::Numbers(TABLE_3.iter().map(|row| row.goodput.at(1.0, 1.0)).collect()),
    ),
    formula(
        "Tests of causal inference against those of the grid (60 times fewer in hours)",
        Published::Open,
        "",
        "ScalaCN §4.1",
        || Value::Words("needs inference".into()),
    ),
];
