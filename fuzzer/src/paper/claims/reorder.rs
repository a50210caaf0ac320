//! Reorder engines behind two paths (LEFT, APNET'24, §4.2 and §4.3).
//!
//! Every throughput is that of two paths over that of one, on the same NIC, from completions in the middle of a run. Packets take either path
//! at random; flow control has the sender wait. A packet takes 40.96 ns, and 6 µs are a round trip of the shorter path: host, two switches, host
//! at links of 1 µs (§4.1). The paper says which RTTs, not in which direction the longer one is: all of it delays data here, as with
//! half of it MELO+ and LEFT- would have 49 and 66 %.

use corpus::LossRecovery::{GoBackN, SelectiveRepeat};
use dumper::Nanos;
use executor::profile::{Reorder, ReorderEngine};

use crate::measure::{Seen, Value};
use crate::paper::engines::LONGEST;
use crate::paper::nics::shipped;
use crate::paper::{Basis, Claim, Formula, Nics, Published, Setup};
use crate::predict::multipath::Setting;

/// Excess of the second path where its RTT is so many times 6 µs.
const fn excess(ratio: u64) -> u64 {
    (ratio - 1) * 6_000
}

const IDEAL: Nics = Nics::both("ideal");
const POOL: Nics = Nics::both("MELO+");
const NO_GATHER: Nics = Nics::both("LEFT-");
const LEFT: Nics = Nics::both("LEFT");
const GBN: &[Nics] = &[Nics::both("GBN")];

/// The engines, from the slowest to the fastest.
const ENGINES: &[Nics] = &[POOL, NO_GATHER, LEFT, IDEAL];

/// Ratios of the figure, and those at which all engines differ.
const RATIOS: &[u64] = &[excess(1), excess(2), excess(4), excess(8), excess(16), excess(32)];
const APART: &[u64] = &[excess(8), excess(16), excess(32)];
const WIDEST: &[u64] = &[excess(32)];

/// Throughputs over two paths, in percent of that over one, which is the first test.
fn percent(seen: &[Seen<'_>]) -> Option<Vec<f64>> {
    let (one, two) = seen.split_first()?;
    let one = one.steady_rate()?;
    two.iter().map(|seen| Some(100.0 * seen.steady_rate()? / one)).collect()
}

fn all_percent(seen: &[Seen<'_>]) -> Option<Value> {
    percent(seen).map(Value::Numbers)
}

fn first_percent(seen: &[Seen<'_>]) -> Option<Value> {
    percent(seen)?.first().copied().map(Value::Number)
}

/// The throughputs of each of [`ENGINES`], rounded to percent: below that a seed decides.
fn by_engine(seen: &[Seen<'_>]) -> Option<Vec<Vec<f64>>> {
    let of_engine = seen.chunks(seen.len() / ENGINES.len()).map(percent);
    of_engine.map(|engine| Some(engine?.into_iter().map(f64::round).collect())).collect()
}

/// The order of the engines, if it is the same at all ratios.
fn order(seen: &[Seen<'_>]) -> Option<Value> {
    let engines = by_engine(seen)?;
    let below = |slow: usize, fast: usize, strictly: bool| {
        engines[slow]
            .iter()
            .zip(&engines[fast])
            .all(|(slow, fast)| slow < fast || (!strictly && slow == fast))
    };
    let holds = below(0, 1, true) && below(1, 2, true) && below(2, 3, false);
    Some(Value::Words(if holds { ORDER } else { "another order" }.into()))
}

const ORDER: &str = "MELO+ < LEFT- < LEFT <= ideal";
const FALLS: &str = "falls with each ratio";

fn falls(seen: &[Seen<'_>]) -> Option<Value> {
    let percent: Vec<f64> = percent(seen)?.into_iter().map(f64::round).collect();
    let holds = percent.windows(2).all(|pair| pair[1] < pair[0]);
    Some(Value::Words(if holds { FALLS } else { "does not" }.into()))
}

/// LEFT's throughput beyond those of LEFT- and MELO+, in percent of these.
fn gains(seen: &[Seen<'_>]) -> Option<Value> {
    let engines = by_engine(seen)?;
    let [pool, no_gather, left] = [0, 1, 2].map(|at| engines[at].first().copied().unwrap_or_default());
    Some(Value::Numbers(vec![(left / no_gather - 1.0) * 100.0, (left / pool - 1.0) * 100.0]))
}

const fn widest(nics: &'static [Nics], published: Published, basis: Basis) -> Claim {
    Claim {
        what: "Throughput, RTT ratio 32",
        nics,
        published,
        basis,
        unit: "%",
        source: "LEFT §4.2",
        setup: Setup::Paths { excess_ns: WIDEST, recovery: SelectiveRepeat },
        measure: first_percent,
    }
}

const fn go_back_n(
    what: &'static str,
    nics: &'static [Nics],
    excess_ns: &'static [u64],
    published: Published,
) -> Claim {
    Claim {
        what,
        nics,
        published,
        basis: Basis::Derived,
        unit: "%",
        source: "LEFT §2.1",
        setup: Setup::Paths { excess_ns, recovery: GoBackN },
        measure: all_percent,
    }
}

/// Throughput over two paths.
pub(super) const THROUGHPUT: &[Claim] = &[
    widest(&[IDEAL], Published::PlusMinus { value: 100.0, by: 2.0 }, Basis::Derived),
    widest(&[POOL], Published::PlusMinus { value: 33.0, by: 5.0 }, Basis::Derived),
    widest(&[NO_GATHER], Published::PlusMinus { value: 50.5, by: 5.0 }, Basis::Derived),
    // Among the few microseconds that the paper leaves for the FIFOs' time-out, 2 were chosen for this row.
    widest(&[LEFT], Published::PlusMinus { value: 94.0, by: 6.0 }, Basis::Calibrated),
    Claim {
        what: "Throughput, RTT ratios 1, 2, 4, 8, 16, 32",
        nics: &[IDEAL, POOL, NO_GATHER, LEFT],
        published: Published::Open,
        basis: Basis::Derived,
        unit: "%",
        source: "LEFT figure 6",
        setup: Setup::Paths { excess_ns: RATIOS, recovery: SelectiveRepeat },
        measure: all_percent,
    },
    Claim {
        what: "Order at RTT ratios 8, 16, 32",
        nics: &[Nics::both("all")],
        published: Published::Words(ORDER),
        basis: Basis::Shape,
        unit: "",
        source: "LEFT §4.2",
        setup: Setup::PathsOf { excess_ns: APART, nics: ENGINES },
        measure: order,
    },
    Claim {
        what: "From RTT ratio 8 to 32",
        nics: &[POOL],
        published: Published::Words(FALLS),
        basis: Basis::Shape,
        unit: "",
        source: "LEFT §4.2",
        setup: Setup::Paths { excess_ns: APART, recovery: SelectiveRepeat },
        measure: falls,
    },
    Claim {
        what: "LEFT beyond LEFT- and MELO+ at RTT ratio 32 (83 and 180 % in the text, 86 and 185 by its 94, 50.5 and 33)",
        nics: &[Nics::both("all")],
        published: Published::Open,
        basis: Basis::Derived,
        unit: "%",
        source: "LEFT §4.2",
        setup: Setup::PathsOf { excess_ns: WIDEST, nics: ENGINES },
        measure: gains,
    },
    widest(
        &[
            Nics::both("LEFT, FIFOs of 0.5 µs"),
            Nics::both("LEFT, FIFOs of 1 µs"),
            Nics::both("LEFT, FIFOs of 4 µs"),
            Nics::both("MELO+, 512 KiB"),
            Nics::both("MELO+, 1 MiB"),
        ],
        Published::Open,
        Basis::Assumed,
    ),
    Claim {
        what: "Go-back-N, RTT ratio 32",
        measure: first_percent,
        ..go_back_n("", GBN, WIDEST, Published::Below(10.0))
    },
    go_back_n(
        "Go-back-N at full speed, 0.5, 1, 2 and 5 µs between the paths",
        GBN,
        &[500, 1_000, 2_000, 5_000],
        Published::Open,
    ),
    go_back_n(
        "Go-back-N, 1 µs between the paths, of its load",
        &[
            Nics::both("GBN, load 0.1"),
            Nics::both("GBN, load 0.2"),
            Nics::both("GBN, load 0.3"),
            Nics::both("GBN, load 0.5"),
        ],
        &[1_000],
        Published::Open,
    ),
    Claim {
        what: "Go-back-N, 0.9 of the load of 5 packets in 1 µs, of it",
        source: "formula",
        measure: first_percent,
        ..go_back_n("", &[Nics::both("GBN, 0.9 of the cliff")], &[1_000], Published::Above(95.0))
    },
    Claim {
        what: "Go-back-N, 1.1 of that load, of it",
        source: "formula",
        measure: first_percent,
        ..go_back_n("", &[Nics::both("GBN, 1.1 of the cliff")], &[1_000], Published::Below(50.0))
    },
];

/// Connections of figure 7.
const CONNECTIONS: u64 = 5_000;

fn engine(nic: &str) -> Reorder {
    shipped(nic).reorder
}

fn bytes(nic: &str, connections: u64) -> f64 {
    engine(nic).memory_bytes(connections) as f64
}

/// Five rings of 512 bits for each connection, to which the figure compares.
fn baseline() -> f64 {
    let rings = Reorder { engine: ReorderEngine::Ring, span_packets: 512, ..Reorder::default() };
    rings.memory_bytes(CONNECTIONS) as f64
}

/// More bytes of LEFT than of another engine, in percent.
fn beyond(other: &str) -> Value {
    Value::Number((bytes("left", CONNECTIONS) / bytes(other, CONNECTIONS) - 1.0) * 100.0)
}

/// The setting of figure 6 at RTT ratio 32.
const FIGURE_6: Setting = Setting {
    rate_gbps: 216,
    mtu: 1_024,
    delay_ns: Nanos(excess(32)),
    connections: 5,
    receive_ns: Nanos::ZERO,
};

const fn formula(
    what: &'static str,
    published: Published,
    basis: Basis,
    unit: &'static str,
    source: &'static str,
    value: fn() -> Value,
) -> Formula {
    Formula { what, published, unit, source, basis, value }
}

/// Throughput by formula.
pub(super) const THROUGHPUT_BY_FORMULA: &[Formula] = &[
    formula(
        "MELO+ at RTT ratio 32, by formula",
        Published::PlusMinus { value: 33.0, by: 5.0 },
        Basis::Formula,
        "%",
        "LEFT §4.2",
        || Value::Number(100.0 * FIGURE_6.throughput(&engine("melo"))),
    ),
    formula(
        "MELO+ at RTT ratios 1, 2, 4, 8, 16, 32, by formula",
        Published::Open,
        Basis::Formula,
        "%",
        "LEFT figure 6",
        || {
            let melo = engine("melo");
            let of = |delay: &u64| 100.0 * Setting { delay_ns: Nanos(*delay), ..FIGURE_6 }.throughput(&melo);
            Value::Numbers(RATIOS.iter().map(of).collect())
        },
    ),
    formula(
        "LEFT- at RTT ratio 32, by formula",
        Published::PlusMinus { value: 50.5, by: 5.0 },
        Basis::Formula,
        "%",
        "LEFT §4.2",
        || Value::Number(100.0 * FIGURE_6.throughput(&engine("left-no-gather"))),
    ),
    formula(
        "Headlines: throughput 1.54 times and p99 -29 % (abstract), 1.4 times and p99 3.11 times (introduction)",
        Published::Open,
        Basis::Formula,
        "",
        "LEFT §1",
        || Value::Words("needs a fabric".into()),
    ),
];

/// Bytes of the engines, and what they say of the setting.
pub(super) const MEMORY: &[Formula] = &[
    // 27 KB, with the two increments, made the bytes of a connection, of the pool and of a FIFO.
    formula(
        "LEFT, 5,000 connections",
        Published::Near { value: 27.0 * 1024.0, percent: 2.0 },
        Basis::Calibrated,
        "B",
        "LEFT §4.3",
        || Value::Number(bytes("left", CONNECTIONS)),
    ),
    formula(
        "LEFT beyond MELO+",
        Published::Near { value: 9.1, percent: 2.0 },
        Basis::Calibrated,
        "%",
        "LEFT §4.3",
        || beyond("melo"),
    ),
    formula(
        "LEFT beyond LEFT-",
        Published::Near { value: 5.5, percent: 2.0 },
        Basis::Calibrated,
        "%",
        "LEFT §4.3",
        || beyond("left-no-gather"),
    ),
    formula(
        "LEFT of five bitmaps of 512 bits for each connection",
        Published::Near { value: 1.7, percent: 2.0 },
        Basis::Formula,
        "%",
        "LEFT §4.3",
        || Value::Number(100.0 * bytes("left", CONNECTIONS) / baseline()),
    ),
    formula(
        "Packets in flight on the longest path of figure 6, of those of figure 7's caches",
        Published::Near { value: 1.0, percent: 3.0 },
        Basis::Formula,
        "",
        "LEFT §3.5, §4.3",
        || Value::Number(f64::from(LONGEST) / (2.0 * f64::from(engine("left").cache_bits))),
    ),
    formula(
        "Most memory with 10 connections",
        Published::Words("LEFT"),
        Basis::Shape,
        "",
        "LEFT §4.3",
        || {
            let most = ["melo", "left-no-gather", "left"].map(|nic| bytes(nic, 10));
            Value::Words(if most[2] > most[1] && most[2] > most[0] { "LEFT" } else { "another" }.into())
        },
    ),
    formula(
        "LEFT, of each of 5,000 connections (7 B in the abstract and §1, which 27 KB do not give)",
        Published::Open,
        Basis::Formula,
        "B",
        "LEFT §1",
        || Value::Number(bytes("left", CONNECTIONS) / CONNECTIONS as f64),
    ),
    formula(
        "IRN, five bitmaps of 500 bits (about 500 B a connection, and 1.5 MB for 5,000: two numbers)",
        Published::Open,
        Basis::Formula,
        "B",
        "LEFT §1, §2.2",
        || {
            let irn = Reorder { engine: ReorderEngine::Ring, span_packets: 500, ..Reorder::default() };
            Value::Number(irn.memory_bytes(1) as f64)
        },
    ),
];
