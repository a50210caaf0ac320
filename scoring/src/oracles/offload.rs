//! The price of a flow table: connections that are slower than others, goodput and latency beside fewer flows, flows that were removed,
//! and the operations of the NIC (ScalaCN, NSDI'25, table 1, §4.1 and figure 6).

use std::collections::BTreeMap;

use corpus::{Operation, TestConfig};
use dumper::observation::{CompletionStatus, ControlEvent, ControlRecord};
use dumper::{Completion, Nanos, Observation};

use super::baseline::{Baseline, Operations, goodput, median};
use super::reference::Reference;
use super::slower::Slower;
use super::spacing::Gaps;
use crate::Analysis;
use crate::anomaly::{Anomaly, Evidence, Role, Who};
use crate::rules::{Kind, Rule};
use crate::see::slowest::link_time;
use crate::thresholds::{
    CLIFF_GOODPUT_PERCENT, CLIFF_LATENCY_PERCENT, FEWEST_FLOWS, FEWEST_MESSAGES, SLOW_FLOW_TIMES,
    SLOW_OPERATION_TIMES,
};

/// Headers of a packet of a Send over IPv4, with its ICRC, in bytes.
const HEADERS: u64 = 58;

/// A test with a flow table, whose packets all went through it, and none was lost.
pub(crate) struct Offloaded<'a> {
    config: &'a TestConfig,
    observation: &'a Observation,
    analysis: &'a Analysis,
}

impl<'a> Offloaded<'a> {
    /// `None` where no host has one, and where something else makes messages slow: losses, other paths, events.
    pub(crate) fn of(
        config: &'a TestConfig,
        observation: &'a Observation,
        analysis: &'a Analysis,
    ) -> Option<Self> {
        let has_table = config.tables().next().is_some();
        let is_plain = config.events.is_empty() && !config.network.loses() && config.network.paths.is_empty();
        (has_table && is_plain).then_some(Self { config, observation, analysis })
    }

    /// Returns true if all packets went through the table, once: where some did not, their entries are to blame, or what had them sent again.
    fn is_in_hardware(&self) -> bool {
        let events = [ControlEvent::SoftwareForwarded, ControlEvent::Stalled, ControlEvent::LinkDown];
        !self.records().any(|record| events.contains(&record.event))
            && self.observation.completions().iter().all(|one| one.status == CompletionStatus::Success)
            && self.analysis.retransmissions.is_empty()
            && self.analysis.expiries.is_empty()
    }

    fn records(&self) -> impl Iterator<Item = &'a ControlRecord> {
        let observation = self.observation;
        [&observation.requester_control, &observation.responder_control].into_iter().flatten()
    }

    /// The runs that it is to be compared with, each with the kind that it shows.
    pub(crate) fn references(&self) -> impl Iterator<Item = (Kind, Reference)> + use<> {
        let all = [
            (self.has_many_flows(), Kind::PerformanceCliff, Reference::FewerFlows),
            (self.operates(), Kind::SlowControl, Reference::FewestFlows),
            (self.removes_flows(), Kind::NoRecovery, Reference::WithoutRemoval),
        ];
        all.into_iter().filter(|(needed, ..)| *needed).map(|(_, kind, reference)| (kind, reference))
    }

    /// Kinds that this test does not tell, each with the reason.
    pub(crate) fn unjudged(&self) -> Vec<(Kind, &'static str)> {
        let Self { config, observation, .. } = self;
        let has_others = config.traffic.load.connections() > 1;
        let unlike = self.unlike().filter(|_| has_others);
        let mut unjudged: Vec<_> = unlike.map(|reason| (Kind::SlowFlow, reason)).into_iter().collect();
        let logs = [&observation.requester_control, &observation.responder_control];
        let operates = |role: corpus::Role| config.control.iter().any(|control| control.host == role);
        if corpus::Role::ALL.into_iter().zip(logs).any(|(role, log)| operates(role) && log.is_empty()) {
            let kinds = [Kind::OffloadInstability, Kind::OffloadInconsistent, Kind::SlowControl];
            unjudged
                .extend(kinds.map(|kind| (kind, "nothing is logged of a flow table that was operated on")));
        }
        unjudged
    }

    /// Returns true if a run with fewer flows is worth its time.
    pub(crate) fn has_many_flows(&self) -> bool {
        let is_large = most_flows(self.config) >= FEWEST_FLOWS;
        is_large && self.is_in_hardware() && self.config.with_fewer_flows().is_some()
    }

    /// Returns true if a run that starts with the flows which are left can show something.
    pub(crate) fn removes_flows(&self) -> bool {
        self.config.without_removal().is_some() && self.is_in_hardware()
    }

    /// Returns true if the NIC took time for operations.
    fn operates(&self) -> bool {
        self.records().any(|record| record.took_ns > Nanos::ZERO) && self.config.with_fewest_flows().is_some()
    }

    /// The messages that were posted after a time, or all.
    fn posted_since(&self, since: Option<Nanos>) -> impl Iterator<Item = &'a Completion> {
        let completions = self.observation.completions().iter();
        completions.filter(move |one| since.is_none_or(|since| one.posted_ns > since))
    }

    /// Those that take longer than in another run.
    fn worse_by_latency(&self, usual: &Baseline, since: Option<Nanos>) -> Option<Worse> {
        let slower = Slower::of(self.posted_since(since), self.config.traffic.tx_depth, &usual.connections)?;
        let falls_off = slower.at_least.0 as f64 * 100.0 > slower.there.0 as f64 * CLIFF_LATENCY_PERCENT;
        falls_off.then_some(Worse::Latency { here: slower.here, there: slower.there })
    }

    /// Returns true if most messages have completed before the next pause ends, so that their times count. Otherwise each waits for those before
    /// it, and goodput does.
    fn has_pauses(&self) -> bool {
        let times = self.posted_since(None).map(|one| one.completed_ns - one.posted_ns).collect();
        median(times).is_some_and(|usual| usual.0 < self.config.traffic.gap_ns)
    }

    /// The switch of the one host that has a table; of two tables on the way of a packet its time does not say which took it.
    fn who(&self, connection: Option<usize>) -> Who {
        let has = |role| self.config.host(role).offload.is_some();
        self.switch_of(corpus::Role::ALL.map(has), connection)
    }

    /// The switch of the one host whose NIC took time for operations, likewise.
    fn who_operates(&self) -> Who {
        let sides = [&self.observation.requester_control, &self.observation.responder_control];
        let takes = |records: &Vec<ControlRecord>| records.iter().any(|record| record.took_ns > Nanos::ZERO);
        self.switch_of(sides.map(takes), None)
    }

    fn switch_of(&self, is_it: [bool; 2], connection: Option<usize>) -> Who {
        let ends = self.observation.connections.first();
        let address = ends.and_then(|ends| match is_it {
            [true, false] => Some(ends.requester.ip),
            [false, true] => Some(ends.responder.ip),
            _ => None,
        });
        Who { role: Role::Eswitch, address, connection }
    }

    /// Reason why connections of this test take different times whatever their flows, if there is one.
    fn unlike(&self) -> Option<&'static str> {
        let traffic = &self.config.traffic;
        match traffic.load {
            _ if traffic.gap_ns == 0 => {
                Some("without pauses between messages (gap-ns) connections compete for the link")
            }
            corpus::Load::Same { .. } => None,
            _ => Some("connections of different verbs take different times"),
        }
    }

    /// The slowest connection, its median message and that of the others, where the connections do not compete for the link, and what
    /// competes at the most explains less than the difference.
    pub(crate) fn slowest(&self) -> Option<(u32, Nanos, Nanos)> {
        if self.unlike().is_some() || !self.is_in_hardware() {
            return None;
        }
        let mut times: BTreeMap<u32, Vec<Nanos>> = BTreeMap::new();
        for one in self.observation.completions() {
            times.entry(one.connection).or_default().push(one.completed_ns - one.posted_ns);
        }
        times.retain(|_, times| times.len() >= FEWEST_MESSAGES);
        let mut medians: Vec<(Nanos, u32)> =
            times.into_iter().filter_map(|(connection, times)| Some((median(times)?, connection))).collect();
        medians.sort_unstable();
        let (slowest, connection) = medians.pop()?;
        let others = median(medians.into_iter().map(|(time, _)| time).collect())?;
        Some((connection, slowest, others))
    }

    /// The anomaly of [`Self::slowest`].
    pub(crate) fn slow_flow(&self, (connection, slowest, others): (u32, Nanos, Nanos)) -> Option<Anomaly> {
        let traffic = &self.config.traffic;
        // All other connections may have their messages in front of each.
        let payload = u64::from(traffic.message_size.min(traffic.mtu.bytes()));
        let messages = u64::from(traffic.load.connections()) * u64::from(traffic.tx_depth);
        let packets = messages * u64::from(traffic.message_size.div_ceil(traffic.mtu.bytes()).max(1));
        let spacing = Gaps::usual(self.observation, self.analysis, &self.analysis.sides);
        let queueing = match spacing.into_iter().max() {
            Some(spacing @ 1..) => spacing * packets / 1_000,
            // No two packets of a message tell it.
            _ => link_time(packets, packets * (payload + HEADERS)).0,
        };
        let excess = slowest.0.saturating_sub(others.0);
        if slowest.0 < others.0.max(1) * SLOW_FLOW_TIMES || excess <= queueing {
            return None;
        }
        let what = format!(
            "needs {slowest} for the median message of connection {connection}, and {others} for those of the others"
        );
        let evidence = Evidence::default().with_time("median", slowest).with_time("others", others);
        let who = self.who(Some(connection as usize));
        Some(Anomaly { rule: Rule::FlowSlowerThanOthers, who, state: "".into(), what, evidence })
    }

    /// The anomaly beside the run with fewer flows.
    pub(crate) fn cliff(&self, fewer: &Baseline) -> Option<Anomaly> {
        let (before, after) = (self.config.with_fewer_flows()?, self.config);
        let completions = self.observation.completions();
        let worse = if self.has_pauses() {
            self.worse_by_latency(fewer, None)?
        } else {
            let are_enough = completions.len() >= FEWEST_MESSAGES;
            are_enough.then(|| Worse::by_goodput(fewer, goodput(completions).1))??
        };
        let flows = most_flows(after);
        let what = format!("{worse} with {flows} flows than with {}", most_flows(&before));
        let evidence = worse.evidence().with_number("flows", flows.into());
        Some(Anomaly {
            rule: Rule::PerformanceFallsOff,
            who: self.who(None),
            state: "".into(),
            what,
            evidence,
        })
    }

    /// The anomaly beside the run that starts with the flows that are left.
    pub(crate) fn no_recovery(&self, fresh: &Baseline) -> Option<Anomaly> {
        let deleted = self.records().filter(|record| record.event == ControlEvent::EntryDeleted);
        let asked = self.config.control.iter().filter_map(|control| {
            let removes = matches!(control.operation, Operation::RemoveFlows(_) | Operation::AddFlows(_));
            removes.then_some(Nanos(u64::from(control.at_ms) * 1_000_000))
        });
        let settled = asked.chain(deleted.map(|record| record.at_ns)).max()?;
        let worse = if self.has_pauses() {
            self.worse_by_latency(fresh, Some(settled))?
        } else {
            Worse::by_goodput(fresh, steady_since(settled, self.observation.completions())?)?
        };
        let what =
            format!("{worse} after flows were removed than with the flows that are left from the start");
        let evidence = worse.evidence().with_time("removed", settled);
        Some(Anomaly {
            rule: Rule::RemovedFlowsStillCost,
            who: self.who(None),
            state: "".into(),
            what,
            evidence,
        })
    }

    /// The largest ratio of the times of operations to those on a small table, with the operation and both times.
    pub(crate) fn slowest_operation(&self, small: &Baseline) -> Option<(f64, &'static str, Nanos, Nanos)> {
        let here = Operations::of(self.observation);
        let pairs = [
            ("create", here.create, small.operations.create),
            ("delete", here.delete, small.operations.delete),
        ];
        let known = pairs.into_iter().filter(|(_, _, there)| *there > Nanos::ZERO);
        let ratios = known.map(|(name, here, there)| (here.0 as f64 / there.0 as f64, name, here, there));
        ratios.max_by(|one, other| one.0.total_cmp(&other.0))
    }

    /// The anomaly of [`Self::slowest_operation`].
    pub(crate) fn slow_control(
        &self,
        (ratio, operation, here, there): (f64, &'static str, Nanos, Nanos),
    ) -> Option<Anomaly> {
        if ratio < SLOW_OPERATION_TIMES {
            return None;
        }
        let what = format!("needs {here} to {operation} an entry, and {there} with a small table");
        let evidence = Evidence::default().with_time("took", here).with_time("small", there);
        Some(Anomaly {
            rule: Rule::OperationSlowerWithEntries,
            who: self.who_operates(),
            state: operation.into(),
            what,
            evidence,
        })
    }
}

/// Flows of the larger table.
fn most_flows(config: &TestConfig) -> u32 {
    config.tables().map(|offload| offload.flows).max().unwrap_or(0)
}

/// Bits a second of the messages that complete after the first one that was posted after a time, while every connection that goes on still has some
/// to complete, if they are enough: at both ends of that time as many messages are in flight.
fn steady_since(since: Nanos, completions: &[Completion]) -> Option<f64> {
    let start = completions.iter().filter(|one| one.posted_ns > since).map(|one| one.completed_ns).min()?;
    // The last completion of each connection that goes on.
    let mut last: BTreeMap<u32, Nanos> = BTreeMap::new();
    for one in completions.iter().filter(|one| one.completed_ns > start) {
        let at = last.entry(one.connection).or_default();
        *at = one.completed_ns.max(*at);
    }
    let connections = last.len();
    let end = last.into_values().min()?;
    let within = completions.iter().filter(|one| one.completed_ns > start && one.completed_ns <= end);
    let (messages, bytes) = within.fold((0, 0), |(messages, bytes), one| (messages + 1, bytes + one.bytes));
    // Of each connection a part of a message at both ends is a guess.
    let are_enough = messages >= FEWEST_MESSAGES * connections;
    (end > start && are_enough).then(|| bytes as f64 * 8.0 / (end - start).as_secs_f64())
}

/// A run that is worse than another: its goodput where it has no pauses, its messages where it has.
enum Worse {
    Goodput { here: f64, there: f64 },
    Latency { here: Nanos, there: Nanos },
}

impl Worse {
    /// By goodput.
    fn by_goodput(usual: &Baseline, here: f64) -> Option<Self> {
        let there = usual.goodput_bps;
        (there > 0.0 && here * 100.0 < there * CLIFF_GOODPUT_PERCENT).then_some(Self::Goodput { here, there })
    }

    fn evidence(&self) -> Evidence {
        match self {
            Self::Goodput { here, there } => Evidence::default()
                .with_number("goodput-kbps", (here / 1e3) as u64)
                .with_number("usual-goodput-kbps", (there / 1e3) as u64),
            Self::Latency { here, there } => {
                Evidence::default().with_time("mean", *here).with_time("usual-mean", *there)
            }
        }
    }
}

impl std::fmt::Display for Worse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Goodput { here, there } => {
                write!(f, "has {:.3} Gb/s of goodput, for {:.3},", here / 1e9, there / 1e9)
            }
            Self::Latency { here, there } => write!(f, "needs {here} for a message, for {there},"),
        }
    }
}
