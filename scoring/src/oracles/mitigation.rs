//! Mitigation of losses (Gao et al., §4): connections that are worse off with copies of packets, or with dummies behind messages, than over
//! the same losses without them.
//!
//! Dummies are lost as other packets are, and cost time-outs of their own; a requester that comes through a loss may meet another one that it
//! would not have met. Not everything that is worse is therefore the NIC's doing: compared is what no loss of the test explains.

use std::collections::BTreeMap;

use corpus::TestConfig;
use dumper::{Nanos, Observation};

use super::baseline::{Baseline, per_connection};
use super::numbers::numbers;
use super::passage::Passage;
use super::recovery::{Recovery, WRONG_DATA};
use crate::Analysis;
use crate::anomaly::{Anomaly, Evidence, Role, Who};
use crate::go_back_n::EndAtCopies;
use crate::rewritten;
use crate::rules::Rule;
use crate::thresholds::{REACTS_WITHIN, SLOWER_THAN_ADDED_PERCENT};

/// Rules that a time-out breaks which no loss explains.
const OF_TIMEOUTS: [Rule; 5] =
    [Rule::NakMissing, Rule::NakIgnored, Rule::ImpliedNakMissing, Rule::AckMissing, Rule::TimeoutUnexplained];

/// A way to be worse off.
#[derive(Clone, Debug)]
enum Harm {
    /// It fails at a copy of a NAK.
    Fails(EndAtCopies),
    /// It has wrong data; the one at fault.
    WrongData(Who),
    /// It has time-outs that no loss explains; the one at fault.
    TimesOut(Who),
    /// Its messages take long; the median one so long, and the packets of the test explain so much.
    IsSlow { median: Nanos, explained: Nanos },
}

/// A connection that may be worse off than without mitigation.
#[derive(Clone, Debug)]
struct Suspect {
    /// In the hosts' log, from 1.
    number: u32,
    harm: Harm,
}

/// Effects of copies and dummies on the connections of a test.
pub(crate) struct Mitigation<'a> {
    config: &'a TestConfig,
    observation: &'a Observation,
    analysis: &'a Analysis,
    own: Vec<Recovery>,
    suspects: Vec<Suspect>,
}

impl<'a> Mitigation<'a> {
    /// `None` where there are neither copies nor dummies, where other packets are lost without them, or where packets are rewritten, so
    /// that nobody can tell what a NIC makes of them.
    pub(crate) fn of(
        config: &'a TestConfig,
        observation: &'a Observation,
        analysis: &'a Analysis,
        passage: &Passage,
    ) -> Option<Self> {
        // Losses are drawn for packets by their places, which are others without dummies that wait.
        let is_moved = config.traffic.times_dummies() && config.network.loses();
        if !config.mitigates() || is_moved || rewritten::rewrites(config) {
            return None;
        }
        let own = Recovery::of(observation, analysis);
        let numbers = numbers(observation, analysis);
        let mut suspects = Vec::new();
        let mut suspect = |number: u32, harm| suspects.push(Suspect { number, harm });
        for end in &analysis.ends_at_copies {
            suspect(numbers[end.connection - 1], Harm::Fails(*end));
        }
        for anomaly in analysis.anomalies.kept() {
            let Some(connection) = anomaly.who.connection.filter(|connection| *connection > 0) else {
                continue;
            };
            if WRONG_DATA.contains(&anomaly.rule) {
                suspect(connection as u32, Harm::WrongData(anomaly.who));
            } else if OF_TIMEOUTS.contains(&anomaly.rule) {
                suspect(numbers[connection - 1], Harm::TimesOut(anomaly.who));
            }
        }
        let explained = passage.one_after_the_other + analysis.times.hosts_take;
        for number in undisturbed(config, analysis, &own) {
            if let Some(median) = own[number as usize - 1].median.filter(|median| *median > explained) {
                suspect(number, Harm::IsSlow { median, explained });
            }
        }
        Some(Self { config, observation, analysis, own, suspects })
    }

    /// Returns true if a connection may be worse off, so that a run without copies and dummies should show it.
    pub(crate) fn is_suspicious(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// The anomalies: of each kind of harm the first connection that has it.
    pub(crate) fn anomalies(&self, usual: &Baseline) -> Vec<Anomaly> {
        let mut found: BTreeMap<&'static str, Anomaly> = BTreeMap::new();
        for suspect in &self.suspects {
            if let Some(anomaly) = self.anomaly(suspect, usual) {
                found.entry(suspect.harm.state()).or_insert(anomaly);
            }
        }
        found.into_values().collect()
    }

    fn anomaly(&self, suspect: &Suspect, usual: &Baseline) -> Option<Anomaly> {
        let at = suspect.number as usize - 1;
        let (own, without, mct) = (self.own.get(at)?, usual.recoveries.get(at)?, usual.connections.get(at)?);
        let evidence = || Evidence {
            timeouts: [("timeouts", own.timeouts.clone()), ("reference-timeouts", without.timeouts.clone())]
                .into(),
            ..Evidence::default()
        };
        let completed = per_connection(&self.analysis.message_times).get(at).map_or(0, |own| own.completed);
        if mct.failed || mct.completed < completed {
            return None;
        }
        let (what, evidence) = match suspect.harm {
            Harm::Fails(end) => {
                let reaction = without.slowest_reaction?;
                let limit = reaction.max(self.analysis.times.slow_retransmission).times(REACTS_WITHIN);
                if mct.completed == completed || end.to_expiry < limit {
                    return None;
                }
                let EndAtCopies { nak, copies, spent, retries, to_expiry, .. } = end;
                let what = format!(
                    "fails with retry-exceeded at a copy of a NAK, {spent} of {retries} retries spent without the copies, where it completes without copies and dummies"
                );
                let evidence = Evidence { packets: vec![nak], ..evidence() }
                    .with_number("copies", copies.into())
                    .with_number("retries", spent.into())
                    .with_number("retry-cnt", retries.into())
                    .with_time("reference-reaction", reaction)
                    .with_time("to-expiry", to_expiry);
                (what, evidence)
            }
            Harm::WrongData(_) if without.has_wrong_data => return None,
            Harm::WrongData(_) => {
                ("has wrong data in memory, and right data without copies and dummies".to_owned(), evidence())
            }
            Harm::TimesOut(_) => {
                let (own, without) = (own.faults(), without.faults());
                if own <= without {
                    return None;
                }
                let what = format!(
                    "causes {own} time-outs that no loss explains, and {without} without copies and dummies"
                );
                (what, evidence())
            }
            Harm::IsSlow { median, explained } => {
                let usually = without.median?;
                let as_many =
                    usually.times(self.messages_for_one()).0.saturating_mul(SLOWER_THAN_ADDED_PERCENT);
                let is_slow = median.0.saturating_mul(100) > as_many && median - usually > explained;
                if !is_slow || self.analysis.retransmissions.len() as u64 > usual.retransmissions {
                    return None;
                }
                let what = format!(
                    "needs {median} for the median message, and {usually} without copies and dummies"
                );
                (what, evidence().with_time("mct-median", median).with_time("reference-mct-median", usually))
            }
        };
        let who = match suspect.harm {
            Harm::WrongData(who) | Harm::TimesOut(who) => who,
            Harm::Fails(end) => Who { connection: Some(end.connection), ..self.requester(suspect.number) },
            Harm::IsSlow { .. } => self.requester(suspect.number),
        };
        Some(Anomaly { rule: Rule::MitigationHarms, who, state: suspect.harm.state().into(), what, evidence })
    }

    /// Messages that there are for one at most: itself, its dummies, and the copies of its last packet.
    fn messages_for_one(&self) -> u64 {
        u64::from(self.config.traffic.dummy_headers) + u64::from(self.config.network.repeat.tails)
    }

    fn requester(&self, number: u32) -> Who {
        let ends = self.observation.connections.get(number as usize - 1);
        Who {
            role: Role::Requester,
            address: ends.map(|ends| ends.requester.ip),
            connection: Some(number as usize),
        }
    }
}

impl Harm {
    const fn state(&self) -> &'static str {
        match self {
            Self::Fails(_) => "fails",
            Self::WrongData(_) => "data",
            Self::TimesOut(_) => "time-outs",
            Self::IsSlow { .. } => "slow",
        }
    }
}

/// Connections of the hosts' log whose messages wait for no recovery and for no packet on which an event acts that is no loss, neither of their own
/// nor, where all wait for each other, of another one: the median message of such a one shows what copies and dummies cost. No other reason is
/// known to make them slow: CNPs, classes of traffic.
fn undisturbed<'a>(
    config: &'a TestConfig,
    analysis: &Analysis,
    own: &'a [Recovery],
) -> impl Iterator<Item = u32> + use<'a> {
    let has_classes = config.requester.ets.is_some() || config.responder.ets.is_some();
    let together = config.traffic.barrier_sync;
    let waits = together && !analysis.retransmissions.is_empty();
    let is_possible = !has_classes && !waits && analysis.cnps == 0;
    let held = move |number: u32| {
        let mut events = config.events.iter().filter(|event| !event.action.loses());
        events.any(|event| together || event.connections.contains(number))
    };
    let quiet = (1..).zip(own).filter(|(_, one)| one.retransmissions == 0).map(|(number, _)| number);
    quiet.filter(move |number| is_possible && !held(*number))
}
