//! Loss recovery of a connection, in numbers that two runs can be compared by.

use std::collections::BTreeMap;

use dumper::{Nanos, Observation};
use serde::{Deserialize, Serialize};

use super::numbers::numbers;
use crate::Analysis;
use crate::causes::ExpiryCause;
use crate::retransmission::Trigger;
use crate::rules::Rule;

/// Loss recovery of one connection.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Recovery {
    /// Causes of its time-outs, and how many each has.
    pub timeouts: BTreeMap<ExpiryCause, usize>,
    /// Retransmissions from an earlier PSN, whatever made them.
    pub retransmissions: u64,
    /// The longest time from a NAK to the retransmission, at the switch; none if there was none.
    pub slowest_reaction: Option<Nanos>,
    /// Median message completion time; none if no message completed.
    pub median: Option<Nanos>,
    /// True if data in memory is not what was sent, once.
    pub has_wrong_data: bool,
}

/// Rules that wrong data breaks.
pub(super) const WRONG_DATA: [Rule; 2] = [Rule::DeliveredNotOnce, Rule::DeliveredWrong];

impl Recovery {
    /// Of each connection of a run, in the order of the hosts' log.
    pub(super) fn of(observation: &Observation, analysis: &Analysis) -> Vec<Self> {
        let numbers = numbers(observation, analysis);
        let logged = analysis.messages.iter().map(|qp| qp.connection);
        let count = numbers.iter().copied().chain(logged).max().unwrap_or(0);
        let mut all = vec![Self::default(); count as usize];
        for (connection, number) in analysis.connections.iter().zip(&numbers) {
            all[*number as usize - 1].timeouts.clone_from(&connection.timeout_causes);
        }
        for entry in &analysis.retransmissions {
            let one = &mut all[numbers[entry.connection - 1] as usize - 1];
            one.retransmissions += 1;
            if entry.trigger == Trigger::Fast {
                one.slowest_reaction = one.slowest_reaction.max(entry.reaction_ns);
            }
        }
        for qp in analysis.messages.iter().filter(|qp| qp.connection > 0) {
            all[qp.connection as usize - 1].median = (qp.completed > 0).then_some(qp.median_ns);
        }
        // Data is reported by the numbers of the log.
        for (rule, connection) in analysis.anomalies.first().keys() {
            let at = connection.and_then(|connection| connection.checked_sub(1));
            if let Some(one) = at.and_then(|at| all.get_mut(at)).filter(|_| WRONG_DATA.contains(rule)) {
                one.has_wrong_data = true;
            }
        }
        all
    }

    /// Time-outs that no loss explains.
    pub(super) fn faults(&self) -> usize {
        self.timeouts.iter().filter(|(cause, _)| cause.is_fault()).map(|(_, number)| number).sum()
    }
}
