//! The analyzers that run on every observation, in order: a later one may use the results of an earlier one.

use dumper::Fate;
use dumper::{HostCounters, Nanos, Record};

use super::judging::Judging;
use super::routes::Sender;
use super::tally;
use crate::analyzers::Analyzer;
use crate::anomaly::{Anomalies, Role, Who};
use crate::counters;
use crate::data;
use crate::flow_table;
use crate::go_back_n::{ConnectionTracker, Stuck};
use crate::host_log;
use crate::known::Host;
use crate::messages;
use crate::messages::completions;
use crate::retransmission::bare;
use crate::retransmission::retries;
use crate::rewritten::accepted;
use crate::rules::Rule;
use crate::see::facts::HostFacts;
use crate::see::prompt::PromptAnswer;
use crate::see::report::Report;
use crate::see::sides::Side;

/// A packet, by its place in the trace, enters the switch.
type Enters = for<'a, 'b> fn(&'b mut Judging<'a>, usize, &Record, Fate);

/// A packet leaves the switch at a time: of those that are delivered for it the one with this number, from 0.
type Leaves = for<'a, 'b> fn(&'b mut Judging<'a>, &Record, Nanos, u8);

/// An analyzer, and the moments at which it runs.
pub(super) struct Entry {
    pub(super) analyzer: Analyzer,
    pub(super) enters: Option<Enters>,
    pub(super) leaves: Option<Leaves>,
    /// The trace has ended.
    pub(super) ends: for<'a, 'b> fn(&'b mut Judging<'a>),
}

/// Every analyzer that needs no reference run.
pub(super) const ANALYZERS: &[Entry] = &[
    Entry {
        analyzer: Analyzer::GoBackN,
        enters: Some(go_back_n_enters),
        leaves: Some(go_back_n_leaves),
        ends: go_back_n_ends,
    },
    Entry {
        analyzer: Analyzer::SelectiveRepeat,
        enters: Some(selective_repeat_enters),
        leaves: Some(selective_repeat_leaves),
        ends: |_| {},
    },
    Entry {
        analyzer: Analyzer::Reordering,
        enters: Some(|judging, _, record, fate| {
            let place = judging.routes.place(record);
            judging.reordering.enters(place, record, fate);
        }),
        leaves: Some(|judging, record, left, copy| {
            if copy == 0 {
                let place = judging.routes.place(record);
                judging.reordering.leaves(place, record, left);
            }
        }),
        ends: |_| {},
    },
    Entry {
        analyzer: Analyzer::Cnp,
        enters: Some(|judging, _, record, fate| {
            judging.cnp.enters(record, fate, &mut judging.findings.anomalies);
        }),
        leaves: Some(|judging, record, left, copy| judging.cnp.leaves(record, left, copy)),
        ends: cnp_ends,
    },
    Entry { analyzer: Analyzer::Retransmission, enters: None, leaves: None, ends: retransmission_ends },
    Entry { analyzer: Analyzer::Counters, enters: None, leaves: None, ends: counters_end },
    Entry { analyzer: Analyzer::Rewritten, enters: None, leaves: None, ends: rewritten_ends },
    Entry { analyzer: Analyzer::Messages, enters: None, leaves: None, ends: messages_end },
    Entry {
        analyzer: Analyzer::Data,
        enters: None,
        leaves: None,
        ends: |judging| {
            data::judge(judging.observation, judging.config, &mut judging.findings.anomalies);
        },
    },
    Entry {
        analyzer: Analyzer::FlowTable,
        enters: None,
        leaves: None,
        ends: |judging| {
            let findings = &mut judging.findings;
            judging.cut_off = flow_table::judge(
                judging.observation,
                judging.config,
                &mut findings.transitions,
                &mut findings.anomalies,
            );
        },
    },
    Entry { analyzer: Analyzer::HostLog, enters: None, leaves: None, ends: host_log_ends },
];

fn go_back_n_enters(judging: &mut Judging<'_>, at: usize, record: &Record, fate: Fate) {
    let findings = &mut judging.findings;
    let departure = judging.observation.trace.departure(record);
    match judging.routes.sender(record) {
        Sender::Requester => findings.shared_path.request(record, departure),
        Sender::Responder => findings.shared_path.answer(record, departure),
        Sender::Unknown => return,
    }
    if let Some(tracker) = judging.routes.tracker(record, &mut judging.trackers) {
        tracker.enters(record, fate, findings);
        if let Some(watch) = &mut judging.watch {
            watch(at, tracker.beliefs(record.time, findings));
        }
    }
}

fn go_back_n_leaves(judging: &mut Judging<'_>, record: &Record, left: Nanos, _: u8) {
    judging.findings.shared_path.leaves(left);
    if let Some(tracker) = judging.routes.tracker(record, &mut judging.trackers) {
        tracker.leaves(record, left, &mut judging.findings);
    }
    if let Some(tracker) = judging.routes.notified(record, &mut judging.trackers) {
        tracker.notified();
    }
}

fn selective_repeat_enters(judging: &mut Judging<'_>, at: usize, record: &Record, fate: Fate) {
    let (place, findings) = (judging.routes.place(record), &mut judging.findings);
    let beliefs = judging.selective.enters(
        place,
        record,
        fate,
        (&findings.known, &findings.shared_path),
        (&mut findings.transitions, &mut findings.anomalies),
    );
    if let Some(watch) = judging.watch.as_mut().filter(|_| beliefs.is_some()) {
        watch(at, beliefs);
    }
}

fn selective_repeat_leaves(judging: &mut Judging<'_>, record: &Record, left: Nanos, _: u8) {
    let (place, findings) = (judging.routes.place(record), &mut judging.findings);
    judging.selective.leaves(
        place,
        record,
        left,
        (&findings.known, &findings.shared_path),
        (&mut findings.transitions, &mut findings.anomalies),
    );
}

/// Judges obligations whose patience has run out, and the hosts' reports.
fn go_back_n_ends(judging: &mut Judging<'_>) {
    let end = judging.observation.trace.records().last().map(|record| record.time).unwrap_or_default();
    let reports: Vec<Report> = judging.trackers.iter().map(|tracker| judging.report(tracker)).collect();
    for (tracker, report) in judging.trackers.iter_mut().zip(reports) {
        tracker.ends(end, report, &mut judging.findings);
    }
}

/// Judges the CNPs of whole connections, and infers the limits of each host's notification point.
fn cnp_ends(judging: &mut Judging<'_>) {
    let outcomes = judging.outcomes();
    let outcome = |connection: usize| outcomes[connection - 1];
    let (cnp, prompt, findings) = (&mut judging.cnp, &judging.prompt, &mut judging.findings);
    cnp.ends(outcome, &mut findings.anomalies);
    if findings.known.times.no_distances.is_none() {
        judging.limiters = cnp.limiters(prompt.answers(), outcome, &mut findings.anomalies);
    }
}

/// Corrects the phases of retransmissions by half a round trip, and collects the expiries of ACK timers.
fn retransmission_ends(judging: &mut Judging<'_>) {
    let (trace, sides) = (&judging.observation.trace, &judging.seen.sides);
    judging.half_rtt = [Side::Requester, Side::Responder].map(|side| {
        let answers = judging.prompt.answers()[side.index()].iter().map(PromptAnswer::took);
        answers.chain(judging.cnp.shortest_answer(side)).min()
    });
    for entry in &mut judging.findings.retransmissions {
        entry.leave_out_hold(trace);
        let nack = entry.nack.and_then(|nack| trace.find(nack));
        if let Some(side) = nack.and_then(|nack| sides.at(trace.flow(nack).source)) {
            entry.correct(judging.half_rtt[side.index()], judging.half_rtt[side.other().index()]);
        }
    }
    let failed = |tracker: &ConnectionTracker| matches!(judging.report(tracker), Report::Failed(_));
    judging.stuck = Stuck::of(&judging.findings.retransmissions, &judging.trackers, failed);
    let findings = &mut judging.findings;
    judging.stuck.complete(&mut findings.anomalies, &findings.known);
    retries::complete(&findings.retransmissions, trace, &mut findings.anomalies);
    bare::judge(trace, &judging.seen.pairs, &findings.known, &mut findings.anomalies);
}

/// Compares the hosts' counters with the trace. They also show if a host had packets that it NAKed.
fn counters_end(judging: &mut Judging<'_>) {
    let (observation, seen) = (judging.observation, judging.seen);
    let mut had_more = [false; 2];
    if seen.has_counters {
        let (counts, retransmissions) = (judging.cnp.counts(), &judging.findings.retransmissions);
        let (trace, sides) = (&observation.trace, &seen.sides);
        let facts =
            tally::of_transport(seen.packets, trace, sides, &judging.trackers, counts, retransmissions);
        let hosts = [(&observation.requester, &facts[0]), (&observation.responder, &facts[1])];
        had_more = hosts.map(|(counters, facts)| {
            counters.as_ref().is_some_and(|counters| counters::had_more(counters, facts))
        });
        judging.counters = compare_counters(judging, &facts);
    }
    for mut anomaly in std::mem::take(&mut judging.findings.undecided) {
        // A host that counts more duplicates than it can have had without these packets has sent a wrong NAK.
        let host = anomaly.who.address.and_then(|address| seen.sides.at(address));
        if !host.is_some_and(|side| had_more[side.index()]) {
            anomaly.rule = Rule::DeliveredYetMissing;
        }
        judging.findings.anomalies.push(anomaly);
    }
}

/// Compares both hosts' counters, where everything that moves them was followed.
fn compare_counters(
    judging: &mut Judging<'_>,
    facts: &[HostFacts; 2],
) -> [Option<counters::CounterReport>; 2] {
    let (trackers, pairs) = (&judging.trackers, &judging.seen.pairs);
    let followed = trackers.len() == pairs.len() && !trackers.iter().any(ConnectionTracker::gave_up);
    let (known, anomalies) = (&judging.findings.known, &mut judging.findings.anomalies);
    let mut compare = |counters: &Option<HostCounters>, facts, host: &Host, role, address| {
        let counters = counters.as_ref().filter(|_| followed)?;
        let who = Who { role, address, connection: None };
        let all_arrived = host.discards.map(|discards| discards == 0);
        let doubts = (all_arrived, host.received_all, known.timer_shows());
        Some(counters::compare(counters, facts, doubts, who, anomalies))
    };
    let first = pairs.first().map(|pair| pair.connection);
    let [requester, responder] = [first.map(|ends| ends.requester.ip), first.map(|ends| ends.responder.ip)];
    let observation = judging.observation;
    [
        compare(&observation.requester, &facts[0], &known.requester, Role::Requester, requester),
        compare(&observation.responder, &facts[1], &known.responder, Role::Responder, responder),
    ]
}

fn rewritten_ends(judging: &mut Judging<'_>) {
    let Some(config) = judging.config else { return };
    let (trace, seen) = (&judging.observation.trace, judging.seen);
    let number = |pair: &crate::see::connections::Pair| {
        seen.numbers.get(&crate::see::connections::key_of(&pair.connection)).copied()
    };
    accepted::judge(trace, config, &seen.pairs, number, &mut judging.findings.anomalies);
}

fn messages_end(judging: &mut Judging<'_>) {
    let mut anomalies = std::mem::take(&mut judging.findings.anomalies);
    if judging.config.is_some() {
        let number = |tracker: &ConnectionTracker| judging.number(tracker);
        // Where they wait for time to pass, there are so many at most.
        let follow_at_once = judging.config.filter(|config| !config.traffic.times_dummies());
        let dummies = follow_at_once.map_or(0, |config| config.traffic.dummy_headers);
        completions::judge(judging.observation, dummies, &judging.trackers, number, &mut anomalies);
    }
    messages::judge(judging.observation, judging.config, &mut anomalies);
    judging.findings.anomalies = anomalies;
}

/// Nothing else is judged of a test whose host crashed, or was cut off.
fn host_log_ends(judging: &mut Judging<'_>) {
    let mut of_hosts = Anomalies::default();
    judging.host_crashed = host_log::judge(judging.observation, &mut of_hosts) || judging.cut_off;
    let anomalies = &mut judging.findings.anomalies;
    if judging.host_crashed {
        let of_links = anomalies.kept().iter().filter(|anomaly| anomaly.rule == Rule::LinkGoesDown);
        of_links.cloned().for_each(|anomaly| of_hosts.push(anomaly));
        *anomalies = of_hosts;
    } else {
        of_hosts.kept().iter().cloned().for_each(|anomaly| anomalies.push(anomaly));
    }
}
