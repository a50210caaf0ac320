//! One judgment of an observation: the state of its analyzers, and their results.

use std::collections::{BTreeMap, BTreeSet};

use corpus::TestConfig;
use dumper::observation::CompletionStatus;
use dumper::trace::Origin;
use dumper::{Nanos, Observation, Record};

use super::routes::Routes;
use super::{Analysis, Seen, summaries};
use crate::anomaly::Anomalies;
use crate::cnp::{CnpAnalyzer, CnpLimiter, Outcome};
use crate::counters::CounterReport;
use crate::go_back_n::{Beliefs, ConnectionTracker, Findings, SharedPath, Stuck};
use crate::known::{Host, Known, repeats_selectively};
use crate::machines::Transitions;
use crate::messages;
use crate::reorder::Reorderings;
use crate::rewritten;
use crate::see::connections::{Certainty, LARGEST_MTU, key_of};
use crate::see::events::EventLog;
use crate::see::prompt::PromptAnswers;
use crate::see::report::Report;
use crate::selective_repeat::SelectiveRepeat;

/// Takes the beliefs at a packet, by its place in the trace.
pub(super) type Watch<'w> = dyn FnMut(usize, Option<Beliefs>) + 'w;

/// State of the analyzers of an observation, and their results.
pub(super) struct Judging<'a> {
    pub(super) observation: &'a Observation,
    pub(super) config: Option<&'a TestConfig>,
    pub(super) seen: &'a Seen,
    pub(super) routes: Routes,
    pub(super) trackers: Vec<ConnectionTracker>,
    /// The same connections, where they repeat selectively.
    pub(super) selective: SelectiveRepeat,
    pub(super) reordering: Reorderings,
    pub(super) cnp: CnpAnalyzer<'a>,
    pub(super) prompt: PromptAnswers<'a>,
    pub(super) findings: Findings,
    pub(super) watch: Option<&'a mut Watch<'a>>,
    pub(super) events: EventLog,
    failures: BTreeMap<u32, CompletionStatus>,
    complete: BTreeSet<u32>,
    /// Those of which a dummy may have failed.
    dummies_may_fail: BTreeSet<u32>,
    pub(super) limiters: [Option<CnpLimiter>; 2],
    pub(super) half_rtt: [Option<Nanos>; 2],
    pub(super) stuck: Stuck,
    pub(super) counters: [Option<CounterReport>; 2],
    pub(super) host_crashed: bool,
    /// True if the link of a host went down.
    pub(super) cut_off: bool,
}

impl<'a> Judging<'a> {
    pub(super) fn new(
        observation: &'a Observation,
        config: Option<&'a TestConfig>,
        seen: &'a Seen,
        known: Known,
        watch: Option<&'a mut Watch<'a>>,
    ) -> Self {
        let trace = &observation.trace;
        let mut routes = Routes::new(trace);
        let mut trackers: Vec<ConnectionTracker> = Vec::with_capacity(seen.pairs.len());
        let mut whole = Vec::new();
        for (pair, number) in seen.pairs.iter().zip(1..) {
            if pair.certainty != Certainty::Ambiguous {
                routes.add(pair, trackers.len() as u32);
                // The packets outdo a configuration, which may be that of another test.
                let mtu = pair.mtu.or(known.mtu).or(pair.likely_mtu).unwrap_or(LARGEST_MTU);
                let ends = [pair.connection.requester.ip, pair.connection.responder.ip];
                let hosts =
                    ends.map(|ip| seen.sides.at(ip).map_or(Host::default(), |side| *known.host(side)));
                whole.push((*pair, number, mtu, hosts));
                trackers.push(ConnectionTracker::new(*pair, number, mtu, hosts));
            }
        }
        if config.is_some_and(|config| rewritten::misdirects(config) || repeats_selectively(config)) {
            trackers.iter_mut().for_each(ConnectionTracker::give_up);
        }
        let reordering = Reorderings::of(whole.iter().map(|(pair, number, mtu, _)| (*pair, *number, *mtu)));
        let selective = SelectiveRepeat::of(config, &known, whole.into_iter());
        let anomalies = match trace.origin() {
            Origin::Mirror => Anomalies::default(),
            Origin::Plain => Anomalies::lenient(),
        };
        let findings = Findings {
            anomalies,
            undecided: Vec::new(),
            retransmissions: Vec::new(),
            ends_at_copies: Vec::new(),
            transitions: Transitions::default(),
            known,
            shared_path: SharedPath::default(),
        };
        Self {
            observation,
            config,
            seen,
            routes,
            trackers,
            selective,
            reordering,
            cnp: CnpAnalyzer::new(trace, &seen.pairs, &seen.sides, known),
            prompt: PromptAnswers::new(trace, &seen.pairs, &seen.sides),
            findings,
            watch,
            events: EventLog::new(trace, &seen.pairs),
            failures: messages::first_failures(observation.completions()),
            complete: messages::complete(observation.completions(), config),
            dummies_may_fail: messages::where_dummies_may_fail(observation.completions(), config),
            limiters: [None, None],
            half_rtt: [None; 2],
            stuck: Stuck::default(),
            counters: [None, None],
            host_crashed: false,
            cut_off: false,
        }
    }

    /// The connection of a packet is not judged any more.
    #[cold]
    pub(super) fn give_up(&mut self, record: &Record) {
        if let Some(tracker) = self.routes.tracker(record, &mut self.trackers) {
            tracker.give_up();
        }
        self.selective.give_up(self.routes.place(record));
    }

    /// Number of a tracked connection in the hosts' log.
    pub(super) fn number(&self, tracker: &ConnectionTracker) -> Option<u32> {
        self.seen.numbers.get(&key_of(&tracker.pair().connection)).copied()
    }

    /// The hosts' report of a tracked connection.
    pub(super) fn report(&self, tracker: &ConnectionTracker) -> Report {
        let number = self.number(tracker);
        match number.and_then(|number| self.failures.get(&number)) {
            Some(status) => Report::Failed(*status),
            None if number.is_none() || self.observation.completions.is_none() => Report::None,
            None if number.is_some_and(|number| self.dummies_may_fail.contains(&number)) => Report::None,
            None => Report::NoFailure,
        }
    }

    /// Outcome of each connection, by its place among the pairs.
    pub(super) fn outcomes(&self) -> Vec<Outcome> {
        let outcome =
            |pair: &crate::see::connections::Pair| match self.seen.numbers.get(&key_of(&pair.connection)) {
                Some(number) if self.failures.contains_key(number) => Outcome::Failed,
                Some(number) if self.complete.contains(number) => Outcome::Complete,
                _ => Outcome::Unknown,
            };
        self.seen.pairs.iter().map(outcome).collect()
    }

    /// The analysis, when every analyzer has ended.
    pub(super) fn conclude(self) -> Analysis {
        let Findings { mut anomalies, retransmissions, ends_at_copies, transitions, known, .. } =
            self.findings;
        anomalies.sort();
        let (counts, completions) = (self.cnp.counts(), self.observation.completions());
        Analysis {
            connections: summaries(self.seen, &self.trackers, &self.selective, &retransmissions),
            event_count: self.events.count(),
            events: self.events.into_listed(),
            marked: counts.iter().map(|count| count.marked).sum(),
            cnps: counts.iter().map(|count| count.cnps).sum(),
            limiters: self.limiters,
            ack_timer: known.ack_timer(),
            expiries: self.stuck.into_times(),
            half_rtt: self.half_rtt,
            retransmissions,
            ends_at_copies,
            transitions,
            reordering: self.reordering.seen(),
            counters: self.counters,
            messages: messages::per_qp(self.observation.completions.as_deref(), self.config),
            iterations: messages::iterations::of_pairs(completions, self.config),
            message_times: messages::per_message(completions),
            anomalies,
            host_crashed: self.host_crashed,
            times: known.times,
            pairs: self.seen.pairs.clone(),
            sides: self.seen.sides.clone(),
            prompt: self.prompt.into_answers(),
        }
    }
}
