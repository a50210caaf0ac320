//! Phases of fast retransmissions, net of the time that may have passed in queues, and the slow ones among
//! them.

use corpus::{Action, HeaderField, TestConfig};
use dumper::Fate;
use dumper::timers::ack_timeout;
use dumper::wire::{Class, Syndrome, Verb};
use dumper::{Nanos, Observation, Record, Trace};
use rustc_hash::FxHashMap;

use super::at_work::AtWork;
use super::baseline::discards;
use super::passage::{Passage, departures};
use crate::Analysis;
use crate::anomaly::{Anomaly, Evidence, Role, Who};
use crate::known::repeats_selectively;
use crate::retransmission::Retransmission;
use crate::rules::Rule;
use crate::see::prompt::PromptAnswer;
use crate::see::sides::{Side, Sides};
use crate::see::slowest::on_the_slowest_link;

/// Nothing odd: good NICs take 1 to 10 µs (Lumina §6.1).
const GOOD_NIC: Nanos = Nanos::from_micros(10);

/// One phase of a fast retransmission (Lumina figure 5).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phase {
    /// Phase and verb, as signatures name them.
    state: &'static str,
    role: Role,
    /// Connection, from 1.
    connection: usize,
    /// Relative PSN that is repeated.
    psn: u32,
    /// The packet that starts it, and the one that ends it: index among the records.
    begin: usize,
    end: usize,
    /// Time at which the first one left the switch.
    left: Nanos,
    /// Its duration, and the part of it that nothing explains.
    took: Nanos,
    net: Nanos,
    /// Retransmissions of any connection that were under way in that time, this one included.
    at_once: u64,
}

/// Every phase that took longer than a good NIC takes and that the trace can tell, in the order of the retransmissions.
pub(crate) fn phases(
    config: &TestConfig,
    observation: &Observation,
    analysis: &Analysis,
    sides: &Sides,
    passage: &Passage,
) -> Vec<Phase> {
    let trace = &observation.trace;
    let mut phases: Vec<Phase> = Vec::new();
    // A receiver that repeats selectively asks only for what it takes for lost, which may be later.
    if clears_mig_req(config) || repeats_selectively(config) {
        return phases;
    }
    let may_be_lost = [&observation.requester, &observation.responder]
        .map(|host| host.as_ref().is_some_and(|host| discards(host).any(|(_, moved)| moved > 0)));
    for entry in &analysis.retransmissions {
        let slow = |time: Option<Nanos>| time.is_some_and(|time| time > GOOD_NIC);
        if slow(entry.generation_ns) {
            phases.extend(generation(trace, entry));
        }
        if slow(entry.reaction_ns) {
            phases.extend(reaction(trace, entry));
        }
    }
    let slowed = Slowed::of(config, trace);
    // Where the host of the phase discarded packets, the packet that started it may be among them. A
    // requester that an RNR NAK makes wait does not retransmit for another NAK before it may, nor does a QP
    // send before its rate lets it. A phase longer than its ACK timer may be the work of that timer.
    let timeout = ack_timeout(config.traffic.min_retransmit_timeout);
    phases.retain(|phase| {
        let host = sides.at(trace.flow(&trace.records()[phase.end]).source);
        phase.took > GOOD_NIC
            && !(phase.role == Role::Requester && timeout.is_some_and(|timeout| phase.took >= timeout))
            && host.is_some_and(|host| !may_be_lost[host.index()] && !slowed.is(trace, host, phase))
            && !analysis.pairs[phase.connection - 1].answers.is_some_and(|flow| passage.refused[flow.index()])
    });
    if !phases.is_empty() {
        let at_work = AtWork::of(config, observation, analysis, sides);
        leave_out_queues(trace, sides, analysis, at_work, &mut phases);
        count_at_once(trace, analysis, &mut phases);
    }
    phases
}

/// Whether the injector clears MigReq: a receiver that then looks for another path may hold everything that comes behind
/// (Lumina §6.2.3), without a discard that shows it.
fn clears_mig_req(config: &TestConfig) -> bool {
    config.events.iter().any(|event| match event.action {
        Action::SetField(set) => set.field == HeaderField::MigReq,
        _ => false,
    })
}

/// QPs that send at a rate of their own, which nothing but CNPs lowers (DCQCN).
struct Slowed {
    /// True for each host whose reaction point is on.
    reacts: [bool; 2],
    /// Time at which the first CNP of each flow entered the switch.
    first_cnp: Vec<Option<Nanos>>,
}

impl Slowed {
    fn of(config: &TestConfig, trace: &Trace) -> Self {
        let mut first_cnp = vec![None; trace.flows().len()];
        for record in trace.records().iter().filter(|record| record.class() == Class::Cnp) {
            first_cnp[record.flow.index()].get_or_insert(record.time);
        }
        let reacts = [&config.requester, &config.responder].map(|host| host.roce.dcqcn_rp_enable);
        Self { reacts, first_cnp }
    }

    /// Returns true if the QP of the phase may have been slowed down: the packets that it waits for, and its
    /// CNPs, are on one flow.
    fn is(&self, trace: &Trace, host: Side, phase: &Phase) -> bool {
        let [begin, end] = [phase.begin, phase.end].map(|at| &trace.records()[at]);
        self.reacts[host.index()] && self.first_cnp[begin.flow.index()].is_some_and(|first| first < end.time)
    }
}

/// From the packet that shows a loss to the NACK.
fn generation(trace: &Trace, entry: &Retransmission) -> Option<Phase> {
    let (begin, end) = (trace.position(entry.out_of_order?)?, trace.position(entry.nack?)?);
    let (role, state) = match (trace.records()[end].class(), trace.records()[begin].class()) {
        (Class::ReadRequest, _) => (Role::Requester, "generation-read"),
        (_, Class::Request(Verb::Send, _)) => (Role::Responder, "generation-send"),
        (_, Class::Request(Verb::Write, _)) => (Role::Responder, "generation-write"),
        // The NAK of a Read request, and not of its responses, whose NACK is the requester's.
        (_, Class::ReadRequest) => (Role::Responder, "generation-read"),
        _ => return None,
    };
    Phase::between(trace, begin, end, entry, role, state)
}

/// From the NACK to the first repeated packet of data.
fn reaction(trace: &Trace, entry: &Retransmission) -> Option<Phase> {
    let (begin, end) = (trace.position(entry.nack?)?, trace.position(entry.retransmission?)?);
    let (role, state) = match trace.records()[end].class() {
        Class::Request(Verb::Send, _) => (Role::Requester, "reaction-send"),
        Class::Request(Verb::Write, _) => (Role::Requester, "reaction-write"),
        Class::ReadResponse(_) => (Role::Responder, "reaction-read"),
        // A Read request that is repeated for a NAK repeats no data.
        _ => return None,
    };
    Phase::between(trace, begin, end, entry, role, state)
}

impl Phase {
    fn between(
        trace: &Trace,
        begin: usize,
        end: usize,
        entry: &Retransmission,
        role: Role,
        state: &'static str,
    ) -> Option<Self> {
        let Fate::Delivered { left, .. } = trace.fate(&trace.records()[begin]) else { return None };
        let took = trace.records()[end].time - left;
        let (connection, psn) = (entry.connection, entry.from_psn);
        Some(Self { state, role, connection, psn, begin, end, left, took, net: took, at_once: 1 })
    }

    /// Its duration without the time that may have passed in queues.
    pub(crate) const fn net(&self) -> Nanos {
        self.net
    }

    /// The anomaly that it is, if it takes longer than `limit`. Work may wait for that of other connections that
    /// recover at the same time.
    pub(crate) fn anomaly(&self, trace: &Trace, analysis: &Analysis, limit: Nanos) -> Option<Anomaly> {
        let limit = limit.times(self.at_once);
        let connection = analysis.connections.get(self.connection.checked_sub(1)?)?;
        if self.net <= limit || !connection.judged {
            return None;
        }
        let ends = connection.ends;
        let address = if self.role == Role::Requester { ends.requester.ip } else { ends.responder.ip };
        let (phase, verb) = self.state.split_once('-')?;
        // A Read's NACK is the request that is issued again, and its retransmission are the responses to that.
        let (took, psn) = (self.took, self.psn);
        let what = match (phase, verb) {
            ("generation", "read") => {
                format!("takes {took} to issue the Read again after the gap at PSN {psn}")
            }
            ("generation", _) => format!("takes {took} to send the NAK of PSN {psn}"),
            (_, "read") => format!("takes {took} to send response PSN {psn} after the Read was issued again"),
            _ => format!("takes {took} to retransmit PSN {psn} after the NAK"),
        };
        let packets = [self.end, self.begin].map(|at| trace.records()[at].sequence);
        Some(Anomaly {
            rule: Rule::SlowNack,
            who: Who { role: self.role, address: Some(address), connection: Some(self.connection) },
            state: self.state.into(),
            what,
            evidence: Evidence::packets(packets)
                .with_time("took", self.took)
                .with_time("unexplained", self.net)
                .with_time("limit", limit),
        })
    }
}

/// Subtracts the time that may have passed in queues: of the packet that starts a phase behind others on the
/// slowest link to its receiver, of the one that ends it behind packets that its sender was sending without a
/// break. While its host leaves a packet of another connection unanswered that it usually answers at once,
/// the NACK is not at fault.
///
/// A phase that ends right behind a NAK of the same connection, or with a NAK right behind a Read response, may have
/// been over before: what a responder answers it answers in order, and what comes first has a phase of its own.
fn leave_out_queues(
    trace: &Trace,
    sides: &Sides,
    analysis: &Analysis,
    mut at_work: AtWork,
    phases: &mut Vec<Phase>,
) {
    let records = trace.records();
    let mut concerns = vec![false; records.len()];
    for phase in phases.iter() {
        (concerns[phase.begin], concerns[phase.end]) = (true, true);
    }
    let mut arrives: FxHashMap<usize, Nanos> = phases.iter().map(|phase| (phase.begin, phase.left)).collect();
    for host in [Side::Requester, Side::Responder] {
        let mut free = Nanos::ZERO;
        for departure in departures(trace, sides, host) {
            let at = departure.record as usize;
            let takes = on_the_slowest_link(records[at].frame_len);
            free = free.max(departure.left) + takes.times(u64::from(departure.copies));
            if concerns[at] {
                arrives.entry(at).and_modify(|arrives| *arrives = free);
            }
        }
    }
    let side_of: Vec<Option<Side>> = trace.flows().iter().map(|flow| sides.at(flow.source)).collect();
    let mut ready: FxHashMap<usize, usize> = phases.iter().map(|phase| (phase.end, phase.end)).collect();
    // A responder answers in order: an answer that waits behind an earlier one of its QP begins to be slow when that is sent.
    let mut answered: Vec<Option<Nanos>> = vec![None; trace.flows().len()];
    let mut behind: FxHashMap<usize, Nanos> = FxHashMap::default();
    for (at, record) in records.iter().enumerate() {
        if record.class().is_response() {
            let earlier = answered[record.flow.index()].replace(record.time);
            behind.extend(earlier.filter(|_| concerns[at]).map(|earlier| (at, earlier)));
        }
        let since = at_work.sends(at, record);
        if let Some(since) = since.filter(|_| concerns[at]) {
            ready.entry(at).and_modify(|ready| *ready = since);
        }
    }
    let late = analysis.prompt.each_ref().map(|answers| {
        answers.iter().filter(|answer| answer.took() > GOOD_NIC).collect::<Vec<&PromptAnswer>>()
    });
    let is_nak = |record: &Record| {
        record.class() == Class::Acknowledge && matches!(record.aeth().syndrome, Syndrome::Nak(_))
    };
    phases.retain_mut(|phase| {
        let since = &records[ready[&phase.end]];
        let after = behind.get(&phase.end).copied().unwrap_or_default();
        let arrives = arrives[&phase.begin].max(after.min(since.time));
        let host = side_of[records[phase.end].flow.index()];
        let connection = analysis.pairs[phase.connection - 1].requests;
        let others = host.into_iter().flat_map(|host| &late[host.index()]);
        let unanswered = others
            .filter(|answer| answer.flow != connection)
            .map(|answer| answer.answered.min(since.time) - answer.left.max(arrives));
        phase.net = since.time - arrives - unanswered.max().unwrap_or_default();
        let end = &records[phase.end];
        let in_order = is_nak(since) || (is_nak(end) && matches!(since.class(), Class::ReadResponse(_)));
        ready[&phase.end] == phase.end || since.flow != end.flow || !in_order
    });
}

/// Beginning and end of each fast retransmission, as far as the trace shows them.
pub(crate) fn recoveries<'a>(
    trace: &'a Trace,
    analysis: &'a Analysis,
) -> impl Iterator<Item = (Nanos, Nanos)> + 'a {
    analysis.retransmissions.iter().filter_map(|entry| {
        entry.generation_ns.or(entry.reaction_ns)?;
        let end = trace.find(entry.retransmission.or(entry.nack)?)?.time;
        let took = entry.generation_ns.unwrap_or_default() + entry.reaction_ns.unwrap_or_default();
        Some((end - took, end))
    })
}

fn count_at_once(trace: &Trace, analysis: &Analysis, phases: &mut [Phase]) {
    let (mut begins, mut ends): (Vec<Nanos>, Vec<Nanos>) = recoveries(trace, analysis).unzip();
    begins.sort_unstable();
    ends.sort_unstable();
    for phase in phases {
        let until = trace.records()[phase.end].time;
        let begun = begins.partition_point(|begin| *begin <= until);
        let over = ends.partition_point(|end| *end < phase.left);
        phase.at_once = (begun.saturating_sub(over) as u64).max(1);
    }
}
