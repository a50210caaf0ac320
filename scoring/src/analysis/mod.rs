//! All analyzers over one observation, in one pass.

mod judging;
mod list;
mod routes;
mod run;
mod tally;

use std::collections::BTreeMap;
use std::net::IpAddr;

use corpus::TestConfig;
use dumper::script::{Found, FoundAnomaly};
use dumper::{Connection, Nanos, Observation};
use serde::Serialize;

use self::judging::{Judging, Watch};
use crate::analyzers::Analyzer;
use crate::anomaly::Anomalies;
use crate::causes::ExpiryCause;
use crate::cnp::CnpLimiter;
use crate::counters::CounterReport;
use crate::go_back_n::{Beliefs, ConnectionTracker, EndAtCopies, Expiries};
use crate::known::{AckTimer, Known};
use crate::machines::Transitions;
use crate::messages::iterations::PairIterations;
use crate::messages::{MessageTime, QpMessages};
use crate::reorder::ConnectionReordering;
use crate::retransmission::{Retransmission, Trigger};
use crate::rules::Rule;
use crate::see::connections::{self, Certainty, FlowProfile, Pair, key_of};
use crate::see::events::InjectedEvent;
use crate::see::facts::{self, HostFacts};
use crate::see::prompt::PromptAnswer;
use crate::see::sides::Sides;
use crate::selective_repeat::SelectiveRepeat;
use crate::thresholds::Times;

/// The analyzers that run on every observation, in order.
pub(crate) fn analyzers() -> impl Iterator<Item = Analyzer> {
    list::ANALYZERS.iter().map(|entry| entry.analyzer)
}

/// Summary of a connection.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ConnectionSummary {
    /// Number, from 1.
    pub connection: usize,
    /// Both ends.
    #[serde(flatten)]
    pub ends: Connection,
    /// PSN that relative numbers count from.
    pub first_psn: u32,
    /// Certainty that the two directions belong together.
    pub certainty: Certainty,
    /// Flows that could be the other direction, where that is ambiguous.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<usize>,
    /// True if the connection was judged: not where its other direction is ambiguous, or where the trace does
    /// not show how a packet left the switch.
    pub judged: bool,
    /// True if responses to Reads and atomics were judged to the end: not where more of these were unanswered at once than the
    /// judge remembers.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub responses_judged: bool,
    /// Packets in both directions.
    pub packets: u64,
    /// Retransmissions that a NACK made.
    pub fast_retransmissions: usize,
    /// Retransmissions that a time-out made.
    pub timeout_retransmissions: usize,
    /// Causes of these, and how many each has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub timeout_causes: BTreeMap<ExpiryCause, usize>,
    /// Packets lost at the switch that nothing made up for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unrecovered: Vec<u32>,
}

/// Everything that the analyzers say of an observation.
#[derive(Clone, PartialEq, Debug)]
pub struct Analysis {
    /// Connections.
    pub connections: Vec<ConnectionSummary>,
    /// The first injected events.
    pub events: Vec<InjectedEvent>,
    /// Injected events in all.
    pub event_count: u64,
    /// Retransmissions, in order.
    pub retransmissions: Vec<Retransmission>,
    /// Requesters that gave up when copies of a NAK came.
    pub ends_at_copies: Vec<EndAtCopies>,
    /// Reordering, on the connections that show any.
    pub reordering: Vec<ConnectionReordering>,
    /// Transitions that the machines made.
    pub transitions: Transitions,
    /// ECN-marked packets delivered.
    pub marked: u64,
    /// CNPs sent.
    pub cnps: u64,
    /// CNP limits of the requester's and the responder's notification point.
    pub limiters: [Option<CnpLimiter>; 2],
    /// Configuration of the ACK timer; `None` if it is unknown.
    pub ack_timer: Option<AckTimer>,
    /// Expiries of the ACK timer, one entry for each time that a connection got stuck and was timed out on, in order.
    pub expiries: Vec<Expiries>,
    /// Half of a round trip, from the switch to each host and back: the part of a phase of a retransmission
    /// at the requester or the responder that is transit time (Lumina §4). `None` where the trace has no
    /// prompt answer to measure it by.
    pub half_rtt: [Option<Nanos>; 2],
    /// Counters of the requester's and the responder's host.
    pub counters: [Option<CounterReport>; 2],
    /// Message completion times and goodput of each QP.
    pub messages: Vec<QpMessages>,
    /// Iterations of each pair of connections, where the hosts post in turn.
    pub iterations: Vec<PairIterations>,
    /// Completion time of each message.
    pub message_times: Vec<MessageTime>,
    /// Anomalies.
    pub anomalies: Anomalies,
    /// True if a host's kernel crashed, or its link went down: then nothing else is judged.
    pub host_crashed: bool,
    /// Thresholds of the observation's times.
    pub(crate) times: Times,
    /// Pairing of flows into connections.
    pub(crate) pairs: Vec<Pair>,
    /// Hosts of the addresses.
    pub(crate) sides: Sides,
    /// Prompt answers of the requester's and the responder's host, in order.
    pub(crate) prompt: [Vec<PromptAnswer>; 2],
}

impl Analysis {
    /// Causes of the time-outs of all connections, and how many each has.
    #[must_use]
    pub fn timeout_causes(&self) -> BTreeMap<ExpiryCause, usize> {
        let mut all = BTreeMap::new();
        for (cause, number) in self.connections.iter().flat_map(|connection| &connection.timeout_causes) {
            *all.entry(*cause).or_default() += number;
        }
        all
    }

    /// Name of the cause of each time-out.
    #[must_use]
    pub fn timeouts(&self) -> Vec<String> {
        let causes = self.timeout_causes().into_iter();
        causes.flat_map(|(cause, number)| std::iter::repeat_n(cause.name().to_owned(), number)).collect()
    }
}

impl From<&Analysis> for Found {
    fn from(analysis: &Analysis) -> Self {
        Self {
            anomalies: analysis.anomalies.kept().iter().map(FoundAnomaly::from).collect(),
            timeouts: analysis.timeouts(),
        }
    }
}

/// Options of an analysis.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The test that was run, where it is known.
    pub config: Option<&'a TestConfig>,
}

/// Runs every analyzer. A pure function: the same observation and options give the same analysis.
pub fn analyze(observation: &Observation, options: Options<'_>) -> Analysis {
    analyze_and_watch(observation, options, None)
}

/// The beliefs about the two ends of a connection at each of its packets that enters the switch, with the packet's place in
/// the trace. Packets of connections that are not judged are left out.
pub fn beliefs(observation: &Observation, options: Options<'_>) -> Vec<(usize, Beliefs)> {
    let mut found: Vec<(usize, Beliefs)> = Vec::new();
    let mut watch = |at: usize, beliefs: Option<Beliefs>| {
        // A trace that is judged twice is followed from its beginning.
        found.truncate(found.partition_point(|(before, _)| *before < at));
        found.extend(beliefs.map(|beliefs| (at, beliefs)));
    };
    analyze_and_watch(observation, options, Some(&mut watch));
    found
}

fn analyze_and_watch(
    observation: &Observation,
    options: Options<'_>,
    mut watch: Option<&mut Watch<'_>>,
) -> Analysis {
    let seen = Seen::of(observation, options.config);
    let known = Known::of(options.config, observation, &seen.packets);
    let mut judge = |known| {
        let watch = watch.as_mut().map(|watch| &mut **watch as &mut Watch<'_>);
        run::run(Judging::new(observation, options.config, &seen, known, watch))
    };
    let analysis = judge(known);
    // Where packets vanish that no counter tells of, counters of discards at 0 prove nothing.
    match known.without_unproven_discards().filter(|_| analysis.anomalies.has(Rule::DeliveredYetMissing)) {
        Some(doubting) => judge(doubting),
        None => analysis,
    }
}

/// Contents of a trace that hold whatever is known besides.
struct Seen {
    profiles: Vec<FlowProfile>,
    pairs: Vec<Pair>,
    sides: Sides,
    /// Packets of each host, where there are counters.
    packets: [HostFacts; 2],
    has_counters: bool,
    /// Number of each connection in the hosts' log, where it is another than in the trace: connections that sent
    /// nothing are not in the trace.
    numbers: BTreeMap<(IpAddr, Option<u32>), u32>,
}

impl Seen {
    fn of(observation: &Observation, config: Option<&TestConfig>) -> Self {
        let trace = &observation.trace;
        let profiles = connections::profiles(trace);
        let pairs = connections::pairs(observation, &profiles);
        let sides = Sides::of(config, &observation.connections, &pairs);
        let has_counters = observation.requester.is_some() || observation.responder.is_some();
        let packets = if has_counters { facts::packets(trace, &sides) } else { Default::default() };
        let numbers = observation.connections.iter().map(key_of).zip(1..).collect();
        Self { profiles, pairs, sides, packets, has_counters, numbers }
    }
}

/// Indices of the pairs that have a tracker, in the trackers' order.
fn judged(pairs: &[Pair]) -> impl Iterator<Item = usize> + '_ {
    (0..pairs.len()).filter(|at| pairs[*at].certainty != Certainty::Ambiguous)
}

fn summaries(
    Seen { pairs, profiles, .. }: &Seen,
    trackers: &[ConnectionTracker],
    selective: &SelectiveRepeat,
    retransmissions: &[Retransmission],
) -> Vec<ConnectionSummary> {
    let mut fast = vec![0; pairs.len()];
    let mut timeouts = vec![0; pairs.len()];
    let mut causes = vec![BTreeMap::<ExpiryCause, usize>::new(); pairs.len()];
    for retransmission in retransmissions {
        match retransmission.trigger {
            Trigger::Fast => fast[retransmission.connection - 1] += 1,
            Trigger::Timeout => {
                timeouts[retransmission.connection - 1] += 1;
                if let Some(cause) = retransmission.cause {
                    *causes[retransmission.connection - 1].entry(cause).or_default() += 1;
                }
            }
            Trigger::Rnr | Trigger::None => {}
        }
    }
    let mut tracker_of = vec![None; pairs.len()];
    for ((place, tracker), at) in trackers.iter().enumerate().zip(judged(pairs)) {
        tracker_of[at] = Some((place, tracker));
        let repeats = selective.repeats(place);
        fast[at] += repeats.asked;
        timeouts[at] += repeats.by_timer;
    }
    let judges =
        |(place, tracker): (usize, &ConnectionTracker)| !tracker.gave_up() || selective.judged(place);
    let packets = |flow: dumper::FlowId| profiles[flow.index()].packets;
    pairs
        .iter()
        .enumerate()
        .map(|(at, pair)| ConnectionSummary {
            connection: at + 1,
            ends: pair.connection,
            first_psn: pair.initial_psn.value(),
            certainty: pair.certainty,
            candidates: (pair.certainty == Certainty::Ambiguous).then_some(pair.candidates),
            judged: tracker_of[at].is_some_and(judges),
            responses_judged: tracker_of[at].is_none_or(|(_, tracker)| tracker.judged_responses()),
            packets: packets(pair.requests) + pair.answers.map_or(0, packets),
            fast_retransmissions: fast[at],
            timeout_retransmissions: timeouts[at],
            timeout_causes: std::mem::take(&mut causes[at]),
            unrecovered: tracker_of[at]
                .map(|(_, tracker)| tracker.unrecovered().collect())
                .unwrap_or_default(),
        })
        .collect()
}
