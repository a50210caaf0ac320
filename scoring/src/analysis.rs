//! All analyzers over one observation, in one pass.

use std::collections::BTreeMap;

use corpus::TestConfig;
use dumper::trace::Origin;
use dumper::{Connection, HostCounters, Nanos, Observation};
use serde::Serialize;

use crate::accepted;
use crate::anomaly::{Anomalies, Role, Who};
use crate::bare_retries;
use crate::cnp::{CnpAnalyzer, CnpLimiter, Outcome};
use crate::completions;
use crate::connections::{self, Certainty, FlowProfile, LARGEST_MTU, Pair, key_of};
use crate::counters::{self, CounterReport};
use crate::deliveries;
use crate::events::{EventLog, InjectedEvent};
use crate::facts::{self, HostFacts};
use crate::gbn::{Beliefs, ConnectionTracker, Expiries, Findings, SharedPath, Stuck};
use crate::host_log;
use crate::known::{AckTimer, Host, Known};
use crate::messages::{self, MessageTime, QpMessages, Report};
use crate::pass::{Routes, pass};
use crate::prompt::{PromptAnswer, PromptAnswers};
use crate::retransmission::{Retransmission, Trigger};
use crate::retries;
use crate::rewritten;
use crate::rules::Rule;
use crate::sides::{Side, Sides};
use crate::tally;

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
    /// Packets in both directions.
    pub packets: u64,
    /// Retransmissions that a NACK made.
    pub fast_retransmissions: usize,
    /// Retransmissions that a time-out made.
    pub timeout_retransmissions: usize,
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
    /// Completion time of each message.
    pub message_times: Vec<MessageTime>,
    /// Anomalies.
    pub anomalies: Anomalies,
    /// True if a host's kernel crashed: then nothing else is judged.
    pub host_crashed: bool,
    /// Pairing of flows into connections.
    pub(crate) pairs: Vec<Pair>,
    /// Prompt answers of the requester's and the responder's host, in order.
    pub(crate) prompt: [Vec<PromptAnswer>; 2],
}

/// Options of an analysis.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The test that was run, where it is known.
    pub config: Option<&'a TestConfig>,
}

/// Runs every analyzer. A pure function: the same observation and options give the same analysis.
pub fn analyze(observation: &Observation, options: Options<'_>) -> Analysis {
    analyze_and_watch(observation, options, |_, _, _| ())
}

/// The beliefs about the two ends of a connection at each of its packets that enters the switch, with the packet's place in
/// the trace. Packets of connections that are not judged are left out.
pub fn beliefs(observation: &Observation, options: Options<'_>) -> Vec<(usize, Beliefs)> {
    let mut found = Vec::new();
    let records = observation.trace.records();
    analyze_and_watch(observation, options, |at, tracker, findings| {
        // A trace that is judged twice is followed from its beginning.
        found.truncate(found.partition_point(|(before, _)| *before < at));
        found.extend(tracker.beliefs(records[at].time, findings).map(|beliefs| (at, beliefs)));
    });
    found
}

fn analyze_and_watch(
    observation: &Observation,
    options: Options<'_>,
    mut watch: impl FnMut(usize, &mut ConnectionTracker, &mut Findings<'_>),
) -> Analysis {
    let trace = &observation.trace;
    let profiles = connections::profiles(trace);
    let pairs = connections::pairs(observation, &profiles);
    let sides = Sides::of_pairs(&pairs);
    let has_counters = observation.requester.is_some() || observation.responder.is_some();
    let packets = if has_counters { facts::packets(trace, &sides) } else { Default::default() };
    let known = Known::of(options.config, observation, &packets);
    let seen = Seen { profiles, pairs, sides, packets, has_counters };
    let analysis = judge(observation, options, &seen, known, &mut watch);
    // Where packets vanish that no counter tells of, counters of discards at 0 prove nothing.
    match known.without_unproven_discards().filter(|_| analysis.anomalies.has(Rule::DeliveredYetMissing)) {
        Some(doubting) => judge(observation, options, &seen, doubting, &mut watch),
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
}

/// Runs every analyzer with what is known of the test.
fn judge(
    observation: &Observation,
    options: Options<'_>,
    seen: &Seen,
    known: Known,
    watch: &mut impl FnMut(usize, &mut ConnectionTracker, &mut Findings<'_>),
) -> Analysis {
    let trace = &observation.trace;
    let Seen { profiles, pairs, sides, packets, has_counters } = seen;

    let mut routes = Routes::new(trace);
    let mut trackers: Vec<ConnectionTracker> = Vec::with_capacity(pairs.len());
    for (pair, number) in pairs.iter().zip(1..) {
        if pair.certainty != Certainty::Ambiguous {
            routes.add(pair, trackers.len() as u32);
            // The packets outdo a configuration, which may be that of another test.
            let mtu = pair.mtu.or(known.mtu).or(pair.likely_mtu).unwrap_or(LARGEST_MTU);
            let ends = [pair.connection.requester.ip, pair.connection.responder.ip];
            let hosts = ends.map(|ip| sides.of(ip).map_or(Host::default(), |side| *known.host(side)));
            trackers.push(ConnectionTracker::new(*pair, number, mtu, hosts));
        }
    }
    if options.config.is_some_and(rewritten::misdirects) {
        trackers.iter_mut().for_each(ConnectionTracker::give_up);
    }
    let mut cnp = CnpAnalyzer::new(trace, pairs, sides, &known);
    let mut anomalies = match trace.origin() {
        Origin::Mirror => Anomalies::default(),
        Origin::Plain => Anomalies::lenient(),
    };
    let mut retransmissions = Vec::new();
    let mut undecided = Vec::new();
    let mut findings = Findings {
        anomalies: &mut anomalies,
        undecided: &mut undecided,
        retransmissions: &mut retransmissions,
        known: &known,
        shared_path: SharedPath::default(),
    };

    let mut events = EventLog::new(trace, pairs);
    let mut prompt = PromptAnswers::new(trace, pairs, sides);
    pass(trace, &routes, &mut trackers, &mut cnp, &mut prompt, &mut events, &mut findings, watch);
    let end = trace.records().last().map(|record| record.time).unwrap_or_default();
    let failures = messages::first_failures(observation.completions());
    let numbers: BTreeMap<_, u32> = observation.connections.iter().map(key_of).zip(1..).collect();
    let report = |tracker: &ConnectionTracker| {
        // Connections that sent nothing are not tracked: the numbers of the hosts' log may be others.
        let number = numbers.get(&key_of(&tracker.pair().connection));
        match number.and_then(|number| failures.get(number)) {
            Some(status) => Report::Failed(*status),
            None if number.is_none() || observation.completions.is_none() => Report::None,
            None => Report::NoFailure,
        }
    };
    for tracker in &mut trackers {
        tracker.ends(end, report(tracker), &mut findings);
    }
    let complete = messages::complete(observation.completions(), options.config);
    let outcome = |connection: usize| {
        let number = numbers.get(&key_of(&pairs[connection - 1].connection));
        match number {
            Some(number) if failures.contains_key(number) => Outcome::Failed,
            Some(number) if complete.contains(number) => Outcome::Complete,
            _ => Outcome::Unknown,
        }
    };
    cnp.ends(outcome, findings.anomalies);
    let limiters = match known.times.distances {
        true => cnp.limiters(prompt.answers(), outcome, findings.anomalies),
        false => [None, None],
    };
    let half_rtt = [Side::Requester, Side::Responder].map(|side| {
        let answers = prompt.answers()[side.index()].iter().map(PromptAnswer::took);
        answers.chain(cnp.shortest_answer(side)).min()
    });
    for entry in findings.retransmissions.iter_mut() {
        entry.leave_out_hold(trace);
        let nack = entry.nack.and_then(|nack| trace.find(nack));
        if let Some(side) = nack.and_then(|nack| sides.of(trace.flow(nack).source)) {
            entry.correct(half_rtt[side.index()], half_rtt[side.other().index()]);
        }
    }
    let stuck =
        Stuck::of(&retransmissions, &trackers, |tracker| matches!(report(tracker), Report::Failed(_)));
    stuck.complete(&mut anomalies, &known);
    retries::complete(&retransmissions, trace, &mut anomalies);
    bare_retries::judge(trace, pairs, &known, &mut anomalies);

    let mut had_more = [false; 2];
    let counters = if *has_counters {
        let facts = tally::of_transport(*packets, trace, sides, &trackers, cnp.counts(), &retransmissions);
        let hosts = [(&observation.requester, &facts[0]), (&observation.responder, &facts[1])];
        had_more = hosts.map(|(counters, facts)| {
            counters.as_ref().is_some_and(|counters| counters::had_more(counters, facts))
        });
        compare_counters(observation, pairs, &facts, &known, &trackers, &mut anomalies)
    } else {
        [None, None]
    };
    for mut anomaly in undecided {
        // A host that counts more duplicates than it can have had without these packets has sent a wrong NAK.
        let host = anomaly.who.address.and_then(|address| sides.of(address));
        if !host.is_some_and(|side| had_more[side.index()]) {
            anomaly.rule = Rule::DeliveredYetMissing;
        }
        anomalies.push(anomaly);
    }
    let number_of = |connection: &Connection| numbers.get(&key_of(connection)).copied();
    if let Some(config) = options.config {
        accepted::judge(trace, config, pairs, |pair| number_of(&pair.connection), &mut anomalies);
        let number = |tracker: &ConnectionTracker| number_of(&tracker.pair().connection);
        completions::judge(observation, &trackers, number, &mut anomalies);
    }
    deliveries::judge(observation, options.config, &mut anomalies);
    messages::judge(observation, options.config, &mut anomalies);
    let mut of_hosts = Anomalies::default();
    let host_crashed = host_log::judge(observation, &mut of_hosts);
    if host_crashed {
        anomalies = of_hosts;
    } else {
        of_hosts.kept().iter().cloned().for_each(|anomaly| anomalies.push(anomaly));
    }
    anomalies.sort();
    Analysis {
        connections: summaries(pairs, profiles, &trackers, &retransmissions),
        event_count: events.count(),
        events: events.into_listed(),
        marked: cnp.counts().iter().map(|count| count.marked).sum(),
        cnps: cnp.counts().iter().map(|count| count.cnps).sum(),
        limiters,
        ack_timer: known.ack_timer(),
        expiries: stuck.into_times(),
        half_rtt,
        retransmissions,
        counters,
        messages: messages::per_qp(observation.completions.as_deref(), options.config),
        message_times: messages::per_message(observation.completions()),
        anomalies,
        host_crashed,
        pairs: pairs.clone(),
        prompt: prompt.into_answers(),
    }
}

/// Indices of the pairs that have a tracker, in the trackers' order.
fn judged(pairs: &[Pair]) -> impl Iterator<Item = usize> + '_ {
    (0..pairs.len()).filter(|at| pairs[*at].certainty != Certainty::Ambiguous)
}

/// Compares both hosts' counters, where everything that moves them was followed.
fn compare_counters(
    observation: &Observation,
    pairs: &[Pair],
    facts: &[HostFacts; 2],
    known: &Known,
    trackers: &[ConnectionTracker],
    anomalies: &mut Anomalies,
) -> [Option<CounterReport>; 2] {
    let followed = trackers.len() == pairs.len() && !trackers.iter().any(ConnectionTracker::gave_up);
    let mut compare = |counters: &Option<HostCounters>, facts, host: &Host, role, address| {
        let counters = counters.as_ref().filter(|_| followed)?;
        let who = Who { role, address, connection: None };
        let all_arrived = host.discards.map(|discards| discards == 0);
        Some(counters::compare(
            counters,
            facts,
            (all_arrived, host.received_all, known.timer_shows()),
            who,
            anomalies,
        ))
    };
    let first = pairs.first().map(|pair| pair.connection);
    [
        compare(
            &observation.requester,
            &facts[0],
            &known.requester,
            Role::Requester,
            first.map(|ends| ends.requester.ip),
        ),
        compare(
            &observation.responder,
            &facts[1],
            &known.responder,
            Role::Responder,
            first.map(|ends| ends.responder.ip),
        ),
    ]
}

fn summaries(
    pairs: &[Pair],
    profiles: &[FlowProfile],
    trackers: &[ConnectionTracker],
    retransmissions: &[Retransmission],
) -> Vec<ConnectionSummary> {
    let mut fast = vec![0; pairs.len()];
    let mut timeouts = vec![0; pairs.len()];
    for retransmission in retransmissions {
        match retransmission.trigger {
            Trigger::Fast => fast[retransmission.connection - 1] += 1,
            Trigger::Timeout => timeouts[retransmission.connection - 1] += 1,
            Trigger::Rnr | Trigger::None => {}
        }
    }
    let mut tracker_of = vec![None; pairs.len()];
    for (tracker, at) in trackers.iter().zip(judged(pairs)) {
        tracker_of[at] = Some(tracker);
    }
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
            judged: tracker_of[at].is_some_and(|tracker| !tracker.gave_up()),
            packets: packets(pair.requests) + pair.answers.map_or(0, packets),
            fast_retransmissions: fast[at],
            timeout_retransmissions: timeouts[at],
            unrecovered: tracker_of[at].map(|tracker| tracker.unrecovered().collect()).unwrap_or_default(),
        })
        .collect()
}
