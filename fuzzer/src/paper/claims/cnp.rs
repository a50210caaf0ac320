//! CNP generation (Lumina §6.3, Lumina (preprint) §6.4).

use corpus::Role;
use scoring::CnpScope;

use crate::measure::{Seen, Value, scope_words};
use crate::paper::nics::{CX4, CX5, CX6, E810};
use crate::paper::{Basis, Claim, Published, Setup};

/// The responder's scope, as the analyzers infer it.
fn scope(seen: &[Seen<'_>]) -> Option<Value> {
    seen.first()?.cnp_scope(Role::Responder)
}

fn interval(seen: &[Seen<'_>]) -> Option<Value> {
    seen.first()?.shortest_cnp_gap().map(Value::Number)
}

fn counts(seen: &[Seen<'_>]) -> Option<Value> {
    Some(Value::counts(seen.first()?.cnp_counts()))
}

/// First marks of QP 1, 2, 3, then the second ones.
fn arrivals(seen: &[Seen<'_>]) -> Option<Value> {
    let times = seen.first()?.marked_times();
    let ordered = (0..2).flat_map(|mark| times.iter().map(move |of_qp| of_qp.get(mark).copied()));
    Some(Value::Numbers(ordered.collect::<Option<_>>()?))
}

fn after_loss(seen: &[Seen<'_>]) -> Option<Value> {
    Some(Value::count(seen.first()?.cnp_counts().iter().sum()))
}

/// Claims of the paper.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        what: "Shortest interval of CNPs, default",
        nics: &[CX4, CX5, CX6],
        published: Published::About(4.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.3",
        setup: Setup::AllMarked,
        measure: interval,
    },
    Claim {
        what: "Shortest interval of CNPs, hidden",
        nics: &[E810],
        published: Published::About(50.0),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina §6.3",
        setup: Setup::AllMarked,
        measure: interval,
    },
    Claim {
        what: "Scope of the interval, inferred",
        nics: &[CX4],
        published: Published::Words(scope_words(CnpScope::DestinationIp)),
        basis: Basis::Calibrated,
        unit: "",
        source: "Lumina §6.3",
        setup: Setup::Scope,
        measure: scope,
    },
    Claim {
        what: "Scope of the interval, inferred",
        nics: &[CX5, CX6],
        published: Published::Words(scope_words(CnpScope::Port)),
        basis: Basis::Calibrated,
        unit: "",
        source: "Lumina §6.3",
        setup: Setup::Scope,
        measure: scope,
    },
    Claim {
        what: "Scope of the interval, inferred",
        nics: &[E810],
        published: Published::Words(scope_words(CnpScope::Qp)),
        basis: Basis::Calibrated,
        unit: "",
        source: "Lumina §6.3",
        setup: Setup::Scope,
        measure: scope,
    },
    Claim {
        what: "CNPs to QP 1, 2, 3, two marks each, interval 50 µs",
        nics: &[CX4, E810],
        published: Published::Counts(&[2, 2, 2]),
        basis: Basis::Derived,
        unit: "",
        source: "Lumina (preprint) §6.4",
        setup: Setup::ThreeMarkedTwice,
        measure: counts,
    },
    Claim {
        what: "CNPs to QP 1, 2, 3, two marks each, interval 50 µs",
        nics: &[CX5, CX6],
        published: Published::Counts(&[2, 0, 0]),
        basis: Basis::Derived,
        unit: "",
        source: "Lumina (preprint) §6.4",
        setup: Setup::ThreeMarkedTwice,
        measure: counts,
    },
    Claim {
        what: "Marks of QP 1, 2, 3: first, then second",
        nics: &[CX4],
        published: Published::Each(&[10.0, 31.0, 45.0, 616.0, 630.0, 643.0]),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina (preprint) table 3",
        setup: Setup::ThreeMarkedTwice,
        measure: arrivals,
    },
    Claim {
        what: "Marks of QP 1, 2, 3: first, then second",
        nics: &[CX5],
        published: Published::Each(&[8.0, 17.0, 18.0, 246.0, 255.0, 258.0]),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina (preprint) table 3",
        setup: Setup::ThreeMarkedTwice,
        measure: arrivals,
    },
    Claim {
        what: "Marks of QP 1, 2, 3: first, then second",
        nics: &[CX6],
        published: Published::Each(&[9.0, 16.0, 17.0, 246.0, 254.0, 259.0]),
        basis: Basis::Calibrated,
        unit: "µs",
        source: "Lumina (preprint) table 3",
        setup: Setup::ThreeMarkedTwice,
        measure: arrivals,
    },
    Claim {
        what: "CNPs for one lost packet, slow restart",
        nics: &[CX5, CX6],
        published: Published::Above(0.0),
        basis: Basis::Calibrated,
        unit: "",
        source: "published checker",
        setup: Setup::LossWithSlowRestart,
        measure: after_loss,
    },
    Claim {
        what: "CNPs for one lost packet, slow restart",
        nics: &[CX4, E810],
        published: Published::Exactly(0),
        basis: Basis::Calibrated,
        unit: "",
        source: "published checker",
        setup: Setup::LossWithSlowRestart,
        measure: after_loss,
    },
];
