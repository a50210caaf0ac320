//! Latency of fast retransmission (Lumina §6.1, Lumina (preprint) §6.2).

use corpus::Verb;

use crate::measure::{Phase, Seen, Value, mean};
use crate::paper::nics::{CX4, CX5, CX6, E810};
use crate::paper::{Basis, Claim, Published, SIZE_STEP, SIZES as KILOBYTES, Setup};

/// Packets of the messages, of 1 KB each.
const LONG: u32 = 100;
const SHORT: u32 = 20;
/// Last packets of a message whose loss ConnectX-4 Lx detects late, the tail included (Lumina (preprint)
/// §6.2: "one of the last several").
const LATE: u32 = 3;
/// Packets whose retransmission waits for the rest of a long message (Lumina (preprint) §6.2).
const EARLY: u32 = 20;

const LONG_WRITES: Setup = Setup::Losses { verb: Verb::Write, packets: LONG };
const SHORT_WRITES: Setup = Setup::Losses { verb: Verb::Write, packets: SHORT };
const LONG_SENDS: Setup = Setup::Losses { verb: Verb::Send, packets: LONG };
const LONG_READS: Setup = Setup::Losses { verb: Verb::Read, packets: LONG };

/// The mean over the retransmissions of lost packets that are asked for.
fn of_phases(seen: &[Seen<'_>], which: impl Fn(&Phase) -> bool, what: fn(&Phase) -> f64) -> Option<Value> {
    Value::mean(phases(seen).iter().filter(|phase| which(phase)).map(what))
}

fn phases(seen: &[Seen<'_>]) -> Vec<Phase> {
    seen.iter().flat_map(Seen::phases).collect()
}

fn generation(seen: &[Seen<'_>]) -> Option<Value> {
    of_phases(seen, |_| true, |phase| phase.generation_us)
}

fn reaction(seen: &[Seen<'_>]) -> Option<Value> {
    of_phases(seen, |_| true, |phase| phase.reaction_us)
}

fn total(seen: &[Seen<'_>]) -> Option<Value> {
    of_phases(seen, |_| true, Phase::total_us)
}

/// Generation where one of the last packets before the tail is lost, and elsewhere.
fn late<const PACKETS: u32>(seen: &[Seen<'_>]) -> Option<Value> {
    of_phases(seen, |phase| phase.packet > PACKETS - LATE, |phase| phase.generation_us)
}

fn not_late<const PACKETS: u32>(seen: &[Seen<'_>]) -> Option<Value> {
    of_phases(seen, |phase| phase.packet <= PACKETS - LATE, |phase| phase.generation_us)
}

/// Claims of the paper on both phases, message by message.
pub(super) const PHASES: &[Claim] = &[
    Claim {
        what: "NACK generation, Write 100 KB",
        nics: &[CX5, CX6],
        published: Published::About(2.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.1",
        setup: LONG_WRITES,
        measure: generation,
    },
    Claim {
        what: "NACK generation, Write 20 KB",
        nics: &[CX5, CX6],
        published: Published::About(2.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.1",
        setup: SHORT_WRITES,
        measure: generation,
    },
    Claim {
        what: "NACK generation, Send 100 KB",
        nics: &[CX5, CX6],
        published: Published::About(2.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.1",
        setup: LONG_SENDS,
        measure: generation,
    },
    Claim {
        what: "NACK generation, Read over Write, 100 KB",
        nics: &[CX5, CX6],
        published: Published::Above(1.0),
        basis: Basis::Shape,
        unit: "",
        source: "Lumina §6.1",
        setup: Setup::ReadsAndWrites { packets: LONG },
        measure: |seen| {
            let [reads, writes] = seen else { return None };
            let mean_of = |one: &Seen<'_>| mean(one.phases().iter().map(|phase| phase.generation_us));
            Some(Value::Number(mean_of(reads)? / mean_of(writes)?))
        },
    },
    Claim {
        what: "NACK generation, Write 100 KB",
        nics: &[CX4],
        published: Published::About(1.1),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina (preprint) §6.2",
        setup: LONG_WRITES,
        measure: not_late::<LONG>,
    },
    Claim {
        what: "NACK generation, Write 100 KB, last packets",
        nics: &[CX4],
        published: Published::About(13.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina (preprint) §6.2",
        setup: LONG_WRITES,
        measure: late::<LONG>,
    },
    Claim {
        what: "NACK generation, Write 20 KB",
        nics: &[CX4],
        published: Published::About(1.1),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina (preprint) §6.2",
        setup: SHORT_WRITES,
        measure: not_late::<SHORT>,
    },
    Claim {
        what: "NACK generation, Write 20 KB, last packets",
        nics: &[CX4],
        published: Published::About(13.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina (preprint) §6.2",
        setup: SHORT_WRITES,
        measure: late::<SHORT>,
    },
    Claim {
        what: "NACK generation, Send 100 KB",
        nics: &[CX4],
        published: Published::About(1.1),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina (preprint) §6.2",
        setup: LONG_SENDS,
        measure: not_late::<LONG>,
    },
    Claim {
        what: "NACK generation, Read 100 KB",
        nics: &[CX4],
        published: Published::About(150.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.1",
        setup: LONG_READS,
        measure: generation,
    },
    Claim {
        what: "NACK generation, Write 100 KB",
        nics: &[E810],
        published: Published::About(10.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.1",
        setup: LONG_WRITES,
        measure: generation,
    },
    Claim {
        what: "NACK generation, Write 20 KB",
        nics: &[E810],
        published: Published::About(10.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.1",
        setup: SHORT_WRITES,
        measure: generation,
    },
    Claim {
        what: "NACK generation, Send 100 KB",
        nics: &[E810],
        published: Published::About(10.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.1",
        setup: LONG_SENDS,
        measure: generation,
    },
    Claim {
        what: "NACK generation, Read 100 KB",
        nics: &[E810],
        published: Published::About(83_000.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.1",
        setup: LONG_READS,
        measure: generation,
    },
    Claim {
        what: "NACK reaction, Write 100 KB, packets 1 to 20",
        nics: &[CX5, CX6],
        published: Published::About(6.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina (preprint) §6.2",
        setup: LONG_WRITES,
        measure: |seen| of_phases(seen, |phase| phase.packet <= EARLY, |phase| phase.reaction_us),
    },
    Claim {
        what: "NACK reaction, Write 100 KB, later packets",
        nics: &[CX5, CX6],
        published: Published::About(3.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina (preprint) §6.2",
        setup: LONG_WRITES,
        measure: |seen| of_phases(seen, |phase| phase.packet > EARLY, |phase| phase.reaction_us),
    },
    Claim {
        what: "NACK reaction, Write 20 KB",
        nics: &[CX5, CX6],
        published: Published::Between(2.0, 6.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.1",
        setup: SHORT_WRITES,
        measure: reaction,
    },
    Claim {
        what: "NACK reaction, Send 100 KB",
        nics: &[CX5, CX6],
        published: Published::Between(2.0, 6.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.1",
        setup: LONG_SENDS,
        measure: reaction,
    },
    Claim {
        what: "NACK reaction, Read 100 KB",
        nics: &[CX5, CX6],
        published: Published::Between(2.0, 6.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.1",
        setup: LONG_READS,
        measure: reaction,
    },
    Claim {
        what: "NACK reaction, Write 100 KB",
        nics: &[CX4],
        published: Published::Between(150.0, 200.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina (preprint) §6.2",
        setup: LONG_WRITES,
        measure: reaction,
    },
    Claim {
        what: "NACK reaction, Write 20 KB",
        nics: &[CX4],
        published: Published::Between(150.0, 200.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina (preprint) §6.2",
        setup: SHORT_WRITES,
        measure: reaction,
    },
    Claim {
        what: "NACK reaction, Write 100 KB",
        nics: &[E810],
        published: Published::Open,
        basis: Basis::Assumed,
        unit: "µs",
        source: "Lumina §6.1",
        setup: LONG_WRITES,
        measure: reaction,
    },
    Claim {
        what: "Retransmission delay, Write 100 KB",
        nics: &[CX5, CX6],
        published: Published::Between(4.0, 8.0),
        basis: Basis::Derived,
        unit: "µs",
        source: "Lumina §6.1",
        setup: LONG_WRITES,
        measure: total,
    },
    Claim {
        what: "Retransmission delay, Write 100 KB",
        nics: &[CX4],
        published: Published::About(200.0),
        basis: Basis::Derived,
        unit: "µs",
        source: "Lumina (preprint) §6.2",
        setup: LONG_WRITES,
        measure: total,
    },
    Claim {
        what: "Retransmission delay, Read 100 KB",
        nics: &[CX4],
        published: Published::Between(200.0, 1000.0),
        basis: Basis::Derived,
        unit: "µs",
        source: "Lumina §6.1",
        setup: LONG_READS,
        measure: total,
    },
];

/// Message sizes up to which the latency is flat, and from which it is constant (Lumina (preprint) §6.2,
/// figure 10), in KB.
const FLAT: u32 = 50;
const CONSTANT: u32 = 120;
/// Largest ratio between latencies that count as flat.
const FLATNESS: f64 = 1.05;
/// From an ideal retransmission to its end, beside the message completion time without loss (Lumina
/// (preprint) §6.2), in µs.
const IDEAL_US: f64 = 4.5;

/// Of each message size in KB: the mean latency of retransmission, and the mean completion times with and without it.
pub(in crate::paper) fn by_size(seen: &[Seen<'_>]) -> Option<Vec<(u32, f64, [f64; 2])>> {
    KILOBYTES
        .step_by(SIZE_STEP)
        .zip(seen.chunks_exact(2))
        .map(|(size, runs)| {
            let completion = |run: &Seen<'_>| mean(run.completion_times(|_| true));
            let latency = mean(runs[0].phases().iter().map(Phase::total_us))?;
            Some((size, latency, [completion(&runs[0])?, completion(&runs[1])?]))
        })
        .collect()
}

/// Mean latency of the messages up to where it is said to be flat, and from where it is said to be constant.
fn plateaus(sizes: &[(u32, f64, [f64; 2])]) -> Option<(f64, f64)> {
    let flat = mean(sizes.iter().filter(|one| one.0 <= FLAT).map(|one| one.1))?;
    let constant = mean(sizes.iter().filter(|one| one.0 >= CONSTANT).map(|one| one.1))?;
    Some((flat, constant))
}

/// Completion time over the ideal one, for the messages of some sizes.
fn over_ideal(seen: &[Seen<'_>], sizes: std::ops::RangeInclusive<u32>) -> Option<Value> {
    let by_size = by_size(seen)?;
    let wanted = by_size.iter().filter(|one| sizes.contains(&one.0));
    Value::mean(wanted.map(|(_, _, [actual, without])| actual / (without + IDEAL_US)))
}

/// Claims of the paper on messages of many sizes.
pub(super) const SIZES: &[Claim] = &[
    Claim {
        what: "Latency up to 50 KB, longest over shortest",
        nics: &[CX5, CX6],
        published: Published::About(1.0),
        basis: Basis::Derived,
        unit: "",
        source: "Lumina (preprint) §6.2",
        setup: Setup::Sizes,
        measure: |seen| {
            let flat: Vec<f64> = by_size(seen)?.iter().filter(|one| one.0 <= FLAT).map(|one| one.1).collect();
            let (low, high) =
                (flat.iter().copied().reduce(f64::min)?, flat.iter().copied().reduce(f64::max)?);
            Some(Value::Number(high / low))
        },
    },
    Claim {
        what: "Message size up to which the latency is flat",
        nics: &[CX5, CX6],
        published: Published::About(50.0),
        basis: Basis::Calibrated,
        unit: "KB",
        source: "Lumina (preprint) §6.2",
        setup: Setup::Sizes,
        measure: |seen| {
            let sizes = by_size(seen)?;
            let lowest = sizes.iter().map(|one| one.1).reduce(f64::min)?;
            let flat = sizes.iter().take_while(|one| one.1 <= lowest * FLATNESS);
            Some(Value::Number(f64::from(flat.last()?.0)))
        },
    },
    Claim {
        what: "Message size from which the latency is constant",
        nics: &[CX5, CX6],
        published: Published::About(120.0),
        basis: Basis::Calibrated,
        unit: "KB",
        source: "Lumina (preprint) §6.2",
        setup: Setup::Sizes,
        measure: |seen| {
            let sizes = by_size(seen)?;
            let highest = sizes.iter().map(|one| one.1).reduce(f64::max)?;
            let constant = sizes.iter().rev().take_while(|one| one.1 >= highest / FLATNESS);
            Some(Value::Number(f64::from(constant.last()?.0)))
        },
    },
    Claim {
        what: "Latency from 120 KB over that up to 50 KB",
        nics: &[CX5, CX6],
        published: Published::Above(1.0),
        basis: Basis::Shape,
        unit: "",
        source: "Lumina (preprint) §6.2",
        setup: Setup::Sizes,
        measure: |seen| {
            let (flat, constant) = plateaus(&by_size(seen)?)?;
            Some(Value::Number(constant / flat))
        },
    },
    Claim {
        what: "MCT over ideal MCT (without loss, and 4.5 µs), 10 to 50 KB",
        nics: &[CX5, CX6],
        published: Published::About(1.0),
        basis: Basis::Derived,
        unit: "",
        source: "Lumina (preprint) §6.2",
        setup: Setup::Sizes,
        measure: |seen| over_ideal(seen, 0..=FLAT),
    },
    Claim {
        what: "MCT over ideal MCT, 120 KB over 50 KB",
        nics: &[CX5, CX6],
        published: Published::Above(1.0),
        basis: Basis::Shape,
        unit: "",
        source: "Lumina (preprint) §6.2",
        setup: Setup::Sizes,
        measure: |seen| {
            let (Value::Number(at_50), Value::Number(at_120)) =
                (over_ideal(seen, FLAT..=FLAT)?, over_ideal(seen, CONSTANT..=CONSTANT)?)
            else {
                return None;
            };
            Some(Value::Number(at_120 / at_50))
        },
    },
];
