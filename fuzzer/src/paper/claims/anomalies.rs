//! The bugs that the paper reports (Lumina §6.2, table 2).

use corpus::Role;

use crate::measure::{Seen, Value};
use crate::paper::nics::{CX4, CX5, CX6, E810};
use crate::paper::{Basis, Claim, Nics, Published, Queues, Setup};

const DISCARDS: &str = "rx_discards_phy";

fn goodput<const QP: usize>(seen: &[Seen<'_>]) -> Option<Value> {
    seen.first()?.goodputs().get(QP).copied().map(Value::Number)
}

/// Bandwidth of ConnectX-6 Dx.
pub(super) const ETS: &[Claim] = &[
    Claim {
        what: "Two queues, no marks: QP0",
        nics: &[CX6],
        published: Published::About(50.0),
        basis: Basis::Derived,
        unit: "Gb/s",
        source: "Lumina §6.2.1",
        setup: Setup::Ets(Queues::TwoUnmarked),
        measure: goodput::<0>,
    },
    Claim {
        what: "Two queues, no marks: QP1",
        nics: &[CX6],
        published: Published::About(50.0),
        basis: Basis::Derived,
        unit: "Gb/s",
        source: "Lumina §6.2.1",
        setup: Setup::Ets(Queues::TwoUnmarked),
        measure: goodput::<1>,
    },
    Claim {
        what: "Two queues, marks: QP0, slowed down",
        nics: &[CX6],
        published: Published::Below(42.5),
        basis: Basis::Shape,
        unit: "Gb/s",
        source: "Lumina §6.2.1",
        setup: Setup::Ets(Queues::TwoMarked),
        measure: goodput::<0>,
    },
    Claim {
        what: "Two queues, marks: QP1, not faster",
        nics: &[CX6],
        published: Published::About(50.0),
        basis: Basis::Calibrated,
        unit: "Gb/s",
        source: "Lumina §6.2.1",
        setup: Setup::Ets(Queues::TwoMarked),
        measure: goodput::<1>,
    },
    Claim {
        what: "One queue, marks: QP0, slowed down",
        nics: &[CX6],
        published: Published::Below(42.5),
        basis: Basis::Shape,
        unit: "Gb/s",
        source: "Lumina §6.2.1",
        setup: Setup::Ets(Queues::OneMarked),
        measure: goodput::<0>,
    },
    Claim {
        what: "One queue, marks: QP1 uses the rest",
        nics: &[CX6],
        published: Published::Above(57.5),
        basis: Basis::Shape,
        unit: "Gb/s",
        source: "Lumina §6.2.1",
        setup: Setup::Ets(Queues::OneMarked),
        measure: goodput::<1>,
    },
];

/// Mean completion time of the connections behind the first `NOISY`, in µs.
fn innocent<const NOISY: u32>(seen: &[Seen<'_>]) -> Option<Value> {
    Value::mean(seen.first()?.completion_times(|one| one.connection > NOISY))
}

/// A normal completion time of the innocent ones, and one with time-outs. Which ACK timeout these rest on the paper
/// does not say, so that less agreement is asked for.
const NORMAL: Published = Published::Near { value: 160.0, percent: 25.0 };
const STALLED: Published = Published::Near { value: 430_000.0, percent: 25.0 };

/// Neighbours on ConnectX-4 Lx.
pub(super) const NEIGHBOURS: &[Claim] = &[
    Claim {
        what: "MCT of uninvolved connections, i = 0",
        nics: &[CX4],
        published: NORMAL,
        basis: Basis::Derived,
        unit: "µs",
        source: "Lumina §6.2.2",
        setup: Setup::Neighbours(0),
        measure: innocent::<0>,
    },
    Claim {
        what: "MCT of uninvolved connections, i = 8",
        nics: &[CX4],
        published: NORMAL,
        basis: Basis::Derived,
        unit: "µs",
        source: "Lumina §6.2.2",
        setup: Setup::Neighbours(8),
        measure: innocent::<8>,
    },
    Claim {
        what: "MCT of uninvolved connections, i = 12",
        nics: &[CX4],
        published: STALLED,
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.2.2",
        setup: Setup::Neighbours(12),
        measure: innocent::<12>,
    },
    Claim {
        what: "MCT of uninvolved connections, i = 16",
        nics: &[CX4],
        published: STALLED,
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.2.2",
        setup: Setup::Neighbours(16),
        measure: innocent::<16>,
    },
    Claim {
        what: "Discards of the requester, i = 12",
        nics: &[CX4],
        published: Published::WithinFactor { value: 107.0, factor: 3.0 },
        basis: Basis::Calibrated,
        unit: "",
        source: "Lumina §6.2.2",
        setup: Setup::Neighbours(12),
        measure: |seen| seen.first()?.moved(Role::Requester, DISCARDS).map(Value::count),
    },
    Claim {
        what: "Time-outs of the requester, i = 12",
        nics: &[CX4],
        published: Published::Above(0.0),
        basis: Basis::Derived,
        unit: "",
        source: "Lumina §6.2.2",
        setup: Setup::Neighbours(12),
        measure: |seen| seen.first()?.moved(Role::Requester, "local_ack_timeout_err").map(Value::count),
    },
];

const MIXED: Nics = Nics { requester: "e810", responder: "cx5" };

const fn sends(connections: u32) -> Setup {
    Setup::Sends { connections, rewritten: false }
}

fn discards(seen: &[Seen<'_>]) -> Option<Value> {
    seen.first()?.moved(Role::Responder, DISCARDS).map(Value::count)
}

/// Mean completion time of the messages that something had to be repeated of, or of the others.
fn completion(seen: &[Seen<'_>], repeated: bool) -> Option<Value> {
    let run = seen.first()?;
    let messages = run.repeated_messages();
    Value::mean(
        run.completion_times(|one| {
            messages.binary_search(&(one.connection, one.message)).is_ok() == repeated
        }),
    )
}

/// Pairs of E810 and ConnectX-5.
pub(super) const PAIRS: &[Claim] = &[
    Claim {
        what: "Discards of the responder, 15 QPs",
        nics: &[MIXED],
        published: Published::Exactly(0),
        basis: Basis::Calibrated,
        unit: "",
        source: "Lumina §6.2.3",
        setup: sends(15),
        measure: discards,
    },
    Claim {
        what: "Discards of the responder, 16 QPs",
        nics: &[MIXED],
        published: Published::About(500.0),
        basis: Basis::Calibrated,
        unit: "",
        source: "Lumina §6.2.3",
        setup: sends(16),
        measure: discards,
    },
    Claim {
        what: "Discards of the responder, 32 QPs",
        nics: &[MIXED],
        published: Published::Above(500.0),
        basis: Basis::Shape,
        unit: "",
        source: "Lumina §6.2.3",
        setup: sends(32),
        measure: discards,
    },
    Claim {
        what: "Share of recoveries that are of first messages, 16 QPs",
        nics: &[MIXED],
        published: Published::Above(0.5),
        basis: Basis::Shape,
        unit: "",
        source: "Lumina §6.2.3",
        setup: sends(16),
        measure: |seen| seen.first()?.first_message_share().map(Value::Number),
    },
    Claim {
        what: "MCT of messages with drops, 16 QPs",
        nics: &[MIXED],
        published: Published::About(20_460.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.2.3",
        setup: sends(16),
        measure: |seen| completion(seen, true),
    },
    Claim {
        what: "MCT of messages without drops, 16 QPs",
        nics: &[MIXED],
        published: Published::About(156.0),
        basis: Basis::Derived,
        unit: "µs",
        source: "Lumina §6.2.3",
        setup: sends(16),
        measure: |seen| completion(seen, false),
    },
    Claim {
        what: "Discards of the responder, 16 QPs",
        nics: &[CX5],
        published: Published::Exactly(0),
        basis: Basis::Derived,
        unit: "",
        source: "Lumina §6.2.3",
        setup: sends(16),
        measure: discards,
    },
    Claim {
        what: "Discards of the responder, 16 QPs, MigReq set to 1",
        nics: &[MIXED],
        published: Published::Exactly(0),
        basis: Basis::Derived,
        unit: "",
        source: "Lumina §6.2.3",
        setup: Setup::Sends { connections: 16, rewritten: true },
        measure: discards,
    },
];

/// Increase of a CNP counter for each CNP in the trace.
fn per_cnp(seen: &[Seen<'_>], counter: &str) -> Option<Value> {
    let run = seen.first()?;
    let cnps: u64 = run.cnp_counts().iter().sum();
    (cnps > 0).then_some(Value::Number(run.moved(Role::Responder, counter)? as f64 / cnps as f64))
}

/// Increase of a counter of implied NAKs for each re-issued Read in the trace.
fn per_implied_nak(seen: &[Seen<'_>]) -> Option<Value> {
    let run = seen.first()?;
    let naks = run.phases().len();
    (naks > 0)
        .then_some(Value::Number(run.moved(Role::Requester, "implied_nak_seq_err")? as f64 / naks as f64))
}

/// Counters.
pub(super) const COUNTERS: &[Claim] = &[
    Claim {
        what: "cnpSent for each CNP on the wire",
        nics: &[E810],
        published: Published::Exactly(0),
        basis: Basis::Calibrated,
        unit: "",
        source: "Lumina §6.2.4",
        setup: Setup::AllMarked,
        measure: |seen| per_cnp(seen, "cnpSent"),
    },
    Claim {
        what: "np_cnp_sent for each CNP on the wire",
        nics: &[CX4, CX5, CX6],
        published: Published::Exactly(1),
        basis: Basis::Derived,
        unit: "",
        source: "Lumina §6.2.4",
        setup: Setup::AllMarked,
        measure: |seen| per_cnp(seen, "np_cnp_sent"),
    },
    Claim {
        what: "implied_nak_seq_err for each implied NAK",
        nics: &[CX4],
        published: Published::Exactly(0),
        basis: Basis::Calibrated,
        unit: "",
        source: "Lumina §6.2.4",
        setup: Setup::LostResponse,
        measure: per_implied_nak,
    },
    Claim {
        what: "implied_nak_seq_err for each implied NAK",
        nics: &[CX5, CX6],
        published: Published::Exactly(1),
        basis: Basis::Derived,
        unit: "",
        source: "Lumina §6.2.4",
        setup: Setup::LostResponse,
        measure: per_implied_nak,
    },
];
