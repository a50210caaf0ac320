//! Retry budgets by the packets of the requester alone, where the answers are not in the trace, or packets may be missing
//! from it. A requester that returns to a PSN has made no progress since it returned there before: an acknowledgement, seen
//! or not, would have moved it on.

use std::collections::BTreeMap;

use dumper::trace::{Origin, Record};
use dumper::wire::{Class, Opcode, Syndrome, Verb};
use dumper::{Nanos, Psn, Trace};

use crate::anomaly::{Anomalies, Anomaly, Evidence, Role, Who};
use crate::known::{Known, RnrRetries, Timeout};
use crate::rules::Rule;
use crate::see::connections::Pair;

/// State in signatures: the one of a requester that retransmits.
const STATE: &str = "repeating";

/// Returns of one requester to one PSN.
#[derive(Clone, Copy)]
struct Returns {
    psn: Psn,
    count: u32,
    /// The PSN was the oldest unacknowledged one from the first of them on. Otherwise the first may have been one to an
    /// earlier PSN, whose packet is missing from the trace, with progress after it.
    sure: bool,
}

/// A requester as it sends.
#[derive(Clone, Copy, Default)]
struct Sender {
    last: Option<(Psn, Nanos)>,
    /// Oldest unacknowledged PSN, as far as answers were seen.
    una: Option<Psn>,
    returns: Option<Returns>,
    /// Its requests take Receives, so that RNR NAKs may refuse them.
    may_be_refused: bool,
    /// Parts of responses make progress that does not show.
    has_responses: bool,
}

impl Sender {
    /// Takes the next request; returns the returns to its PSN, if it is one after a time-out or an RNR wait. A copy that a
    /// network or a capture made comes sooner.
    fn sends(&mut self, record: &Record, shortest: Nanos) -> Option<Returns> {
        let takes_receive = matches!(record.opcode(), Opcode::WriteLastImm | Opcode::WriteOnlyImm);
        self.may_be_refused |= takes_receive || matches!(record.class(), Class::Request(Verb::Send, _));
        self.has_responses |= !matches!(record.class(), Class::Request(..));
        let last = self.last.replace((record.psn, record.time));
        let (before, since) = last?;
        if record.psn.is_after(before) || record.time - since < shortest {
            return None;
        }
        let returns = match self.returns {
            Some(Returns { psn, count, sure }) if psn == record.psn => {
                Returns { psn, count: count + 1, sure }
            }
            _ => Returns { psn: record.psn, count: 1, sure: self.una == Some(record.psn) },
        };
        self.returns = Some(returns);
        Some(returns)
    }

    /// Takes an answer.
    fn hears(&mut self, record: &Record) {
        self.una = Some(match record.aeth().syndrome {
            Syndrome::Ack(_) => record.psn.add(1),
            _ => record.psn,
        });
    }

    /// Most returns to a PSN without progress; `None` where nobody can tell.
    fn limit(&self, returns: Returns, retries: u32, rnr_retries: RnrRetries) -> Option<u32> {
        let refusals = if self.may_be_refused { rnr_retries.limit()? } else { 0 };
        (!self.has_responses).then_some(retries + refusals + u32::from(!returns.sure))
    }
}

/// Judges the requesters whose connections are not, or not wholly, judged by their answers.
pub(crate) fn judge(trace: &Trace, pairs: &[Pair], known: &Known, anomalies: &mut Anomalies) {
    let (Some(Timeout::Enabled(shortest)), Some(retries), Some(rnr_retries)) =
        (known.timeout, known.retries, known.rnr_retries)
    else {
        return;
    };
    if !known.timer_shows() {
        return;
    }
    // An RNR wait may be shorter; those returns are not counted.
    let shortest = shortest - known.times.timer_slack;
    let is_plain = trace.origin() == Origin::Plain;
    let mut senders: Vec<Option<(&Pair, usize, Sender)>> = vec![None; trace.flows().len()];
    let mut answered_by = vec![None; senders.len()];
    for (pair, number) in pairs.iter().zip(1..).filter(|(pair, _)| is_plain || pair.answers_unknown()) {
        let una = pair.connection.requester.initial_psn;
        senders[pair.requests.index()] = Some((pair, number, Sender { una, ..Sender::default() }));
        if let Some(answers) = pair.answers {
            answered_by[answers.index()] = Some(pair.requests);
        }
    }
    if senders.iter().all(Option::is_none) {
        return;
    }
    // By connection and PSN: the first return beyond the limit, and the last.
    let mut beyond: BTreeMap<(usize, u32), (&Pair, u32, u32)> = BTreeMap::new();
    for record in trace.records() {
        let class = record.class();
        if class == Class::Acknowledge
            && let Some(requests) = answered_by[record.flow.index()]
            && let Some((.., sender)) = &mut senders[requests.index()]
        {
            sender.hears(record);
        }
        let Some((pair, connection, sender)) = &mut senders[record.flow.index()] else { continue };
        if !class.is_request() {
            continue;
        }
        let Some(returns) = sender.sends(record, shortest) else { continue };
        if sender.limit(returns, retries, rnr_retries).is_some_and(|most| returns.count > most) {
            let key = (*connection, record.psn.relative_to(pair.initial_psn));
            beyond.entry(key).or_insert((*pair, record.sequence, returns.count)).2 = returns.count;
        }
    }
    for ((connection, psn), (pair, sequence, count)) in beyond {
        let address = Some(pair.connection.requester.ip);
        anomalies.push_certain(Anomaly {
            rule: Rule::RetriesBeyondBudget,
            who: Who { role: Role::Requester, address, connection: Some(connection) },
            state: STATE.into(),
            what: format!(
                "retransmits PSN {psn} without progress {count} times, where retry_cnt is {retries}"
            ),
            evidence: Evidence::packets([sequence])
                .with_number("retry-cnt", u64::from(retries))
                .with_number("retries", u64::from(count)),
        });
    }
}
