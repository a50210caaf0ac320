//! Kinds of anomaly, and connections, that were not judged in a test, each with the reason.

use std::collections::BTreeMap;

use corpus::TestConfig;
use dumper::Observation;
use dumper::trace::Origin;
use serde::Serialize;

use crate::counters::decreased;
use crate::go_back_n::REMEMBERED_REQUESTS;
use crate::known::repeats_selectively;
use crate::messages::may_wait_for_ever;
use crate::oracles::interoperability::Discards;
use crate::oracles::mitigation::Mitigation;
use crate::oracles::noisy_neighbor::Neighbours;
use crate::oracles::offload::Offloaded;
use crate::oracles::passage::Passage;
use crate::oracles::reordering::Reordered;
use crate::oracles::sharing::Sharing;
use crate::oracles::{Reference, References};
use crate::{Analysis, Certainty, ConnectionSummary, Kind};

/// Something that was not judged.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Unjudged {
    /// A kind of anomaly, or some connections.
    pub what: String,
    /// Reason, in a phrase.
    pub reason: String,
}

/// Kinds of anomaly that cannot be told without the test.
const OF_A_TEST: [Kind; 15] = [
    Kind::UnexpectedTimeout,
    Kind::RetryCount,
    Kind::Stall,
    Kind::NoisyNeighbor,
    Kind::SlowRetransmission,
    Kind::InteropDiscard,
    Kind::NonWorkConserving,
    Kind::MitigationHarm,
    Kind::ReorderCollapse,
    Kind::SlowFlow,
    Kind::PerformanceCliff,
    Kind::NoRecovery,
    Kind::OffloadInstability,
    Kind::OffloadInconsistent,
    Kind::SlowControl,
];

const NO_COMPLETIONS: &str = "the completions of the messages are not known";
const NO_COUNTERS: &str = "the counters of the hosts are not known";

/// The list as it grows.
#[derive(Default)]
struct List(Vec<Unjudged>);

impl List {
    fn add(&mut self, what: impl Into<String>, reason: impl Into<String>) {
        self.0.push(Unjudged { what: what.into(), reason: reason.into() });
    }

    /// A kind whose oracle lacks references; whether it lacks any.
    fn lacks(&mut self, kind: Kind, needed: &[Reference], references: &References) {
        let missing = needed.iter().find(|reference| references.get(**reference).is_none());
        if let Some(missing) = missing {
            let reason =
                references.not_made.get(missing).map_or("its run could not be judged", String::as_str);
            self.add(kind.name(), format!("{missing} was not compared: {reason}"));
        }
    }
}

/// Everything that [`score`](super::score) and [`analyze`](crate::analyze) could not judge in an observation, with the
/// references that there are. Without a test what only a test tells is unjudged.
pub fn unjudged(
    config: Option<&TestConfig>,
    observation: &Observation,
    analysis: &Analysis,
    references: &References,
) -> Vec<Unjudged> {
    let mut list = List::default();
    if analysis.host_crashed {
        list.add("everything but that", "the kernel of a host crashed, or its link went down");
        return list.0;
    }
    connections(&mut list, config, &analysis.connections);
    if observation.trace.origin() == Origin::Plain {
        list.add(
            "rules that a packet excuses which the capture lacks",
            "a plain capture does not show whether it has every packet",
        );
    }
    match config {
        Some(config) => of_test(&mut list, config, observation, analysis, references),
        None => OF_A_TEST.into_iter().for_each(|kind| list.add(kind.name(), "the test is not known")),
    }
    match analysis.counters.each_ref().map(Option::is_some) {
        [true, true] => {}
        _ if observation.requester.is_none() && observation.responder.is_none() => {
            list.add(Kind::CounterMismatch.name(), NO_COUNTERS);
        }
        [false, false] => list.add(Kind::CounterMismatch.name(), "not every connection could be followed"),
        [true, false] => list.add("counter-mismatch of the responder", "its counters are not known"),
        [false, true] => list.add("counter-mismatch of the requester", "its counters are not known"),
    }
    for (host, counters) in [("requester", &observation.requester), ("responder", &observation.responder)] {
        let decreased: Vec<&str> = counters.iter().flat_map(decreased).collect();
        if !decreased.is_empty() {
            let what = format!("{} of the {host}", decreased.join(", "));
            list.add(what, "lower after the test than before it: a reset in between hides the increase");
        }
    }
    if observation.deliveries.is_none() {
        list.add(Kind::DataCorruption.name(), "the memory that messages were written to was not looked at");
    }
    if let Some(reason) = analysis.times.no_distances.filter(|_| analysis.marked > 0) {
        list.add("intervals of cnp-generation", reason);
    }
    list.0
}

/// Kinds that only a test tells.
fn of_test(
    list: &mut List,
    config: &TestConfig,
    observation: &Observation,
    analysis: &Analysis,
    references: &References,
) {
    let incomplete = analysis.messages.iter().any(|qp| qp.outstanding > 0);
    match may_wait_for_ever(config) {
        _ if observation.completions.is_none() => list.add(Kind::Stall.name(), NO_COMPLETIONS),
        Some(reason) if incomplete => list.add(Kind::Stall.name(), reason),
        _ => {}
    }
    let passage = Passage::of(&observation.trace);
    if let Some(neighbours) = Neighbours::of(config, observation, analysis, &passage) {
        if observation.completions.is_none() {
            list.add(Kind::NoisyNeighbor.name(), NO_COMPLETIONS);
        } else if neighbours.are_suspicious() {
            list.lacks(Kind::NoisyNeighbor, &[Reference::WithoutEvents], references);
        } else if neighbours.may_suffer_from_timer() {
            list.add(
                Kind::NoisyNeighbor.name(),
                "the ACK timer is shorter than the traffic of all connections takes",
            );
        }
    }
    if let Some(mitigation) = Mitigation::of(config, observation, analysis, &passage) {
        if observation.completions.is_none() {
            list.add(Kind::MitigationHarm.name(), NO_COMPLETIONS);
        } else if mitigation.is_suspicious() {
            list.lacks(Kind::MitigationHarm, &[Reference::WithoutMitigation], references);
        }
    }
    if Reordered::of(config, observation, analysis).is_some_and(|reordered| reordered.is_suspicious()) {
        if observation.completions.is_none() {
            list.add(Kind::ReorderCollapse.name(), NO_COMPLETIONS);
        } else {
            list.lacks(Kind::ReorderCollapse, &[Reference::OnePath], references);
        }
    }
    if let Some(offloaded) = Offloaded::of(config, observation, analysis) {
        for (kind, reason) in offloaded.unjudged() {
            list.add(kind.name(), reason);
        }
        for (kind, reference) in offloaded.references() {
            list.lacks(kind, &[reference], references);
        }
    }
    if config.requester.ets.is_some() || config.responder.ets.is_some() {
        match Sharing::of(config, observation, analysis, &analysis.sides) {
            None => {
                list.add(
                    Kind::NonWorkConserving.name(),
                    Sharing::unjudged(config, analysis).unwrap_or_default(),
                );
            }
            Some(sharing) if sharing.can_be_compared() => {
                list.lacks(Kind::NonWorkConserving, &[Reference::WithoutEts], references);
            }
            Some(_) => {}
        }
    }
    if config.requester.nic != config.responder.nic
        && observation.requester.is_none()
        && observation.responder.is_none()
    {
        list.add(Kind::InteropDiscard.name(), NO_COUNTERS);
    }
    let needed = Discards::references(analysis);
    if Discards::of(config, observation).is_some() && references.lack(&needed) {
        list.lacks(Kind::InteropDiscard, &needed, references);
    }
}

/// Connections that no rule was applied to.
fn connections(list: &mut List, config: Option<&TestConfig>, connections: &[ConnectionSummary]) {
    let repeats = config.is_some_and(repeats_selectively);
    let mut by_reason: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for one in connections.iter().filter(|one| !one.judged) {
        let reason = match one.certainty {
            Certainty::Ambiguous => "several flows could be the other direction",
            Certainty::OneWay => {
                "no answers were seen: only the retry budget of the requester is judged, and only where the test is known"
            }
            _ if repeats => {
                "the hosts repeat selectively, and packets were rewritten, or there were packets before the trace, or how one left the switch is not known"
            }
            _ => "how a packet left the switch is not known",
        };
        by_reason.entry(reason).or_default().push(one.connection);
    }
    for (reason, numbers) in by_reason {
        list.add(connections_named(&numbers, connections.len()), reason);
    }
    let unfollowed: Vec<usize> =
        connections.iter().filter(|one| !one.responses_judged).map(|one| one.connection).collect();
    if !unfollowed.is_empty() {
        list.add(
            format!(
                "responses to Reads and atomics of {}",
                connections_named(&unfollowed, connections.len())
            ),
            format!("more than {REMEMBERED_REQUESTS} of the requests were unanswered at once"),
        );
    }
}

/// Some of all connections, by number if they are few.
fn connections_named(numbers: &[usize], all: usize) -> String {
    match numbers {
        [one] => format!("connection {one}"),
        few if few.len() <= 8 => {
            let few: Vec<String> = few.iter().map(usize::to_string).collect();
            format!("connections {}", few.join(", "))
        }
        many => format!("{} of {all} connections", many.len()),
    }
}
