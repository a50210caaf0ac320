//! Which anomalies are only symptoms of another one in the same test, so that one fault is one finding.

use std::collections::BTreeMap;

use crate::analyzers;
use crate::anomaly::Anomaly;
use crate::counters::{Cause, cause_of};
use crate::rules::Rule;

use super::consequences::{CONSEQUENCES, Consequence, one_fault};

/// One anomaly of each signature, in the order of their evidence, and the symptoms among them, each with its cause.
///
/// Of each signature it is the earliest one that nothing explains, or else the earliest: a signature is explained if all
/// that was kept of it is.
pub(super) fn conclude(anomalies: impl Iterator<Item = Anomaly>) -> (Vec<Anomaly>, Vec<(usize, usize)>) {
    let mut all: Vec<Anomaly> = anomalies.map(normalised).collect();
    all.sort_by_key(first_packet);
    let causes: Vec<Option<usize>> = (0..all.len()).map(|at| cause(&all, at)).collect();

    // By signature: which one stands for all, and what explains it.
    let mut groups: BTreeMap<String, (usize, Option<usize>)> = BTreeMap::new();
    let mut signatures: Vec<String> = Vec::with_capacity(all.len());
    for (at, (anomaly, cause)) in all.iter().zip(&causes).enumerate() {
        let signature = anomaly.signature();
        let (stands, by) = groups.entry(signature.clone()).or_insert((at, *cause));
        if by.is_some() && cause.is_none() {
            (*stands, *by) = (at, None);
        }
        signatures.push(signature);
    }
    let mut kept: Vec<usize> = groups.values().map(|(stands, _)| *stands).collect();
    kept.sort_unstable();
    let place = |at: usize| {
        let (stands, _) = groups[&signatures[at]];
        kept.binary_search(&stands).ok()
    };
    let explained = kept.iter().zip(0..).filter_map(|(at, symptom)| Some((symptom, place(causes[*at]?)?))).collect();
    (kept.iter().map(|at| all[*at].clone()).collect(), explained)
}

/// The anomaly as findings are told apart: by the rule that the fault breaks, whichever state the machine that follows the
/// connection happened to be in.
fn normalised(mut anomaly: Anomaly) -> Anomaly {
    anomaly.rule = one_fault(anomaly.rule);
    if analyzers::of_go_back_n(anomaly.rule) {
        anomaly.state = "";
    }
    anomaly
}

/// What rests on no packet comes last.
fn first_packet(anomaly: &Anomaly) -> u32 {
    anomaly.evidence.packets.first().copied().unwrap_or(u32::MAX)
}

/// The anomaly that explains one of `all`, which are in the order of their evidence: the first that can.
fn cause(all: &[Anomaly], symptom: usize) -> Option<usize> {
    let explains = |consequence: &&Consequence| has_symptom(consequence, &all[symptom]);
    let consequences: Vec<&Consequence> = CONSEQUENCES.iter().filter(explains).collect();
    (0..all.len()).find(|at| {
        let not_later = *at < symptom || all[*at].evidence.packets.is_empty() && *at != symptom;
        let same_place = all[symptom].who.connection.is_none_or(|connection| all[*at].who.connection == Some(connection));
        not_later && same_place && consequences.iter().any(|consequence| consequence.cause == all[*at].rule)
    })
}

fn has_symptom(consequence: &Consequence, anomaly: &Anomaly) -> bool {
    consequence.symptoms.contains(&anomaly.rule)
        || anomaly.rule == Rule::CounterDiffers
            && cause_of(anomaly.state).is_some_and(|cause: Cause| consequence.counters.contains(&cause))
}
