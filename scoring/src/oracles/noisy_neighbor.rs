//! Noisy neighbours (Lumina §6.2.2): connections that no event names, and that suffer from the losses of
//! others.

use std::collections::BTreeMap;

use corpus::{TestConfig, Verb};
use dumper::timers::ack_timeout;
use dumper::{Nanos, Observation};

use super::baseline::{Baseline, Mct, discards, per_connection};
use super::numbers::numbers;
use super::passage::{Burst, Passage};
use crate::Analysis;
use crate::anomaly::{Anomaly, CounterEvidence, Evidence, Role, Who};
use crate::retransmission::Trigger;
use crate::rules::Rule;
use crate::see::sides::{Side, Sides};
use crate::thresholds::SUFFERS_BEYOND;

/// An innocent connection: one that no event names.
#[derive(Clone, Copy, Debug)]
struct Innocent {
    /// Connection of the hosts' log, from 1.
    connection: u32,
    mct: Mct,
    /// The first packet that it repeated.
    repeated: Option<u32>,
    /// Number of its retransmissions from an earlier PSN.
    repeats: u64,
    /// A message was posted, and neither completed nor failed.
    unfinished: bool,
    /// An RNR NAK made it wait: its receiver had no Receive, which is the software's doing.
    refused: bool,
}

/// Effects of a test on its innocent connections.
#[derive(Debug)]
pub(crate) struct Neighbours {
    innocent: Vec<Innocent>,
    /// Connections with events in the trace.
    eventful: Vec<u32>,
    /// Longest time that the traffic of all connections together explains.
    wire: Nanos,
    /// Longest time that the hosts may take for the outstanding requests of one connection.
    hosts: Nanos,
    /// The ACK timer is longer than the traffic makes an acknowledgement wait.
    timer_fits: bool,
    /// Receiver of the data of the innocent connections.
    receiver: Side,
}

impl Innocent {
    /// Returns true if it failed, or never came to its end.
    const fn fails(&self) -> bool {
        self.mct.failed || self.unfinished
    }

    /// Returns true if any of its packets was lost, as far as the trace shows.
    const fn loses(&self) -> bool {
        self.repeated.is_some() || self.fails()
    }
}

impl Neighbours {
    /// `None` where no connection is innocent, or nothing happens to any.
    pub(crate) fn of(
        config: &TestConfig,
        observation: &Observation,
        analysis: &Analysis,
        passage: &Passage,
    ) -> Option<Self> {
        let traffic = &config.traffic;
        let mut innocent: Vec<Innocent> = (1..=traffic.load.connections())
            .filter(|qpn| !config.has_events_on(*qpn))
            .map(|connection| Innocent {
                connection,
                mct: Mct::default(),
                repeated: None,
                repeats: 0,
                unfinished: false,
                refused: false,
            })
            .collect();
        let first = innocent.first()?.connection;
        if analysis.event_count == 0 {
            return None;
        }
        let numbers = numbers(observation, analysis);
        let mcts = per_connection(&analysis.message_times);
        let posted = posted(config, &mcts);
        for one in &mut innocent {
            one.mct = mcts.get(one.connection as usize - 1).copied().unwrap_or_default();
            one.unfinished = !one.mct.failed && one.mct.completed < posted && !mcts.is_empty();
        }
        let at = |connection: u32| innocent.binary_search_by_key(&connection, |one| one.connection).ok();
        let places: Vec<Option<usize>> = numbers.iter().map(|number| at(*number)).collect();
        for entry in &analysis.retransmissions {
            let Some(at) = places[entry.connection - 1] else { continue };
            if entry.trigger == Trigger::Rnr {
                continue;
            }
            let one = &mut innocent[at];
            one.repeated = one.repeated.or(entry.retransmission).or(entry.nack);
            one.repeats += 1;
        }
        for (at, pair) in places.iter().zip(&analysis.pairs) {
            if let Some(at) = at {
                innocent[*at].refused = pair.answers.is_some_and(|flow| passage.refused[flow.index()]);
            }
        }
        let mut eventful: Vec<u32> =
            analysis.events.iter().filter_map(|event| Some(numbers[event.connection? - 1])).collect();
        eventful.sort_unstable();
        eventful.dedup();
        let hosts_take = analysis.times.hosts_take;
        let wire = passage.one_after_the_other + hosts_take;
        Some(Self {
            innocent,
            eventful,
            wire,
            hosts: hosts_take.times(u64::from(traffic.tx_depth.min(traffic.num_msgs_per_qp))),
            timer_fits: ack_timeout(traffic.min_retransmit_timeout).is_none_or(|timeout| timeout > wire),
            receiver: match traffic.load.verb(first, 0) {
                Verb::Read => Side::Requester,
                Verb::Send | Verb::Write => Side::Responder,
            },
        })
    }

    /// Number of retransmissions by innocent connections.
    pub(crate) fn repeats(&self) -> u64 {
        self.innocent.iter().map(|innocent| innocent.repeats).sum()
    }

    /// Completion time of an innocent connection's slowest message, as a multiple of the reference run's, at
    /// least 1. Without a reference, as a multiple of the time that all traffic explains.
    pub(crate) fn slowdown(&self, reference: Option<&Baseline>) -> f64 {
        let slowdown = |innocent: &Innocent| {
            let usual = match reference {
                Some(reference) => usual(reference, innocent)?.max,
                None => self.wire + self.hosts,
            };
            Some(innocent.mct.max.0 as f64 / usual.0.max(1) as f64)
        };
        self.innocent.iter().filter_map(slowdown).fold(1.0, f64::max)
    }

    /// Returns true if an innocent connection is so slow that a reference run should show if it always is.
    pub(crate) fn are_suspicious(&self) -> bool {
        self.timer_fits && self.innocent.iter().any(|innocent| self.suffers(innocent, Nanos::ZERO))
    }

    /// Returns true if an innocent connection suffers, but perhaps from its own ACK timer, which expires before the traffic
    /// of all connections lets an acknowledgement arrive.
    pub(crate) fn may_suffer_from_timer(&self) -> bool {
        !self.timer_fits && self.innocent.iter().any(|innocent| self.suffers(innocent, Nanos::ZERO))
    }

    /// Whether an innocent connection suffers, if its slowest message usually takes so long.
    fn suffers(&self, innocent: &Innocent, usual: Nanos) -> bool {
        let explained = if innocent.loses() { self.wire } else { self.wire + self.hosts };
        let slow = innocent.mct.max > usual.times(SUFFERS_BEYOND) && innocent.mct.max - usual > explained;
        !innocent.refused && (innocent.fails() || slow)
    }

    /// Returns true if a conforming receiver may have had no room for the packets that arrived at once.
    fn is_overwhelmed(
        &self,
        observation: &Observation,
        sides: &Sides,
        host: Side,
        reference: &Baseline,
    ) -> bool {
        let burst = Burst::towards(host, &observation.trace, sides);
        let counters = [&observation.requester, &observation.responder][host.index()].as_ref();
        let mut counted = counters.into_iter().flat_map(discards).map(|(_, moved)| moved).peekable();
        let (lost, usually) = match counted.peek() {
            Some(_) => (counted.sum(), reference.discards[host.index()]),
            None => (self.repeats(), 0),
        };
        !burst.fits()
            && (lost <= SUFFERS_BEYOND * (usually + 1) || burst.exceeds(reference.bursts[host.index()]))
    }

    /// The anomaly, if there is one.
    pub(crate) fn anomaly(
        &self,
        observation: &Observation,
        analysis: &Analysis,
        sides: &Sides,
        reference: &Baseline,
    ) -> Option<Anomaly> {
        let victims: Vec<(&Innocent, Mct)> = self
            .innocent
            .iter()
            .filter_map(|innocent| Some((innocent, usual(reference, innocent)?)))
            .filter(|(innocent, usual)| self.timer_fits && self.suffers(innocent, usual.max))
            .collect();
        let (worst, usual) =
            victims.iter().max_by_key(|(one, _)| (one.fails(), one.mct.max, one.connection))?;
        let mut discarded = Vec::new();
        for (side, host) in
            [(Side::Requester, &observation.requester), (Side::Responder, &observation.responder)]
        {
            let expected = reference.discards[side.index()];
            for (name, moved) in host.iter().flat_map(discards).filter(|(_, moved)| *moved > expected) {
                discarded.push((side, CounterEvidence { name: name.to_owned(), moved, expected }));
            }
        }
        let lost = !discarded.is_empty() || victims.iter().any(|(one, _)| one.loses());
        let most = discarded.iter().max_by_key(|(side, counter)| (counter.moved, *side));
        let culprit = most.map_or(self.receiver, |(side, _)| *side);
        if lost && self.is_overwhelmed(observation, sides, culprit, reference) {
            return None;
        }
        let ends = analysis.connections.first()?.ends;
        let (role, address) = match culprit {
            Side::Requester => (Role::Requester, ends.requester.ip),
            Side::Responder => (Role::Responder, ends.responder.ip),
        };
        let suffers = match (worst.mct.failed, worst.unfinished) {
            (true, _) => "fails".to_owned(),
            (_, true) => "never completes".to_owned(),
            _ => format!("needs {} for a message", worst.mct.max),
        };
        let what = format!(
            "stalls uninvolved connection {}, which {suffers}; without the events on {} others its longest message needs {}",
            worst.connection,
            self.eventful.len(),
            usual.max
        );
        let mut evidence = Evidence::packets(worst.repeated)
            .with_time("innocent-mct-max", worst.mct.max)
            .with_time("innocent-mct-mean", worst.mct.mean)
            .with_time("reference-mct-max", usual.max)
            .with_time("reference-mct-mean", usual.mean);
        evidence.counters = discarded.into_iter().map(|(_, counter)| counter).collect();
        let numbers = |connections: &[&Innocent]| connections.iter().map(|one| one.connection).collect();
        evidence.connections = BTreeMap::from([
            ("with-events", self.eventful.clone()),
            ("innocent", numbers(&self.innocent.iter().collect::<Vec<_>>())),
            ("suffering", numbers(&victims.iter().map(|(one, _)| *one).collect::<Vec<_>>())),
        ]);
        let failing: Vec<&Innocent> = victims.iter().map(|(one, _)| *one).filter(|one| one.fails()).collect();
        if !failing.is_empty() {
            evidence.connections.insert("failing", numbers(&failing));
        }
        Some(Anomaly {
            rule: Rule::InnocentSuffers,
            who: Who { role, address: Some(address), connection: None },
            state: if lost { "lost" } else { "delayed" }.into(),
            what,
            evidence,
        })
    }
}

/// Completion times of an innocent connection in the reference run, if it completes at least as many messages
/// there as in the test.
fn usual(reference: &Baseline, innocent: &Innocent) -> Option<Mct> {
    let usual = *reference.connections.get(innocent.connection as usize - 1)?;
    let farther = usual.completed > innocent.mct.completed;
    let as_far = usual.completed == innocent.mct.completed && !innocent.fails();
    (!usual.failed && (farther || as_far)).then_some(usual)
}

/// Messages that each connection posted at least: behind a barrier those that all others have come to.
fn posted(config: &TestConfig, mcts: &[Mct]) -> u32 {
    let traffic = &config.traffic;
    if !traffic.barrier_sync {
        return traffic.num_msgs_per_qp;
    }
    let unfailed = mcts.iter().filter(|mct| !mct.failed).map(|mct| mct.completed);
    let rounds =
        if mcts.len() < traffic.load.connections() as usize { 0 } else { unfailed.min().unwrap_or(0) };
    (rounds / traffic.tx_depth + 1).saturating_mul(traffic.tx_depth).min(traffic.num_msgs_per_qp)
}
