//! Numbers behind broken rules of retries that only the whole trace tells: retries to the end, and how short an RNR wait was.

use dumper::Trace;
use dumper::timers::rnr_wait;
use dumper::wire::Syndrome;

use crate::anomaly::{Anomalies, Anomaly};
use crate::retransmission::{Retransmission, Trigger};
use crate::rules::Rule;

/// Adds the numbers to what broke such a rule.
pub(crate) fn complete(retransmissions: &[Retransmission], trace: &Trace, anomalies: &mut Anomalies) {
    for anomaly in anomalies.kept_mut() {
        let triggers: &[Trigger] = match anomaly.rule {
            Rule::RetriesBeyondBudget => &[Trigger::Fast, Trigger::Timeout],
            Rule::RnrRetriesBeyondBudget | Rule::RnrWaitShort => &[Trigger::Rnr],
            _ => continue,
        };
        let of_connection: Vec<&Retransmission> =
            retransmissions.iter().filter(|entry| Some(entry.connection) == anomaly.who.connection).collect();
        let packet = anomaly.evidence.packets.first().copied();
        // The first repeated packet of a Read that is issued again for a time-out or an implied NAK is its request.
        let is_it = |entry: &&Retransmission| packet == entry.retransmission || packet == entry.nack;
        let Some(at) = of_connection.iter().position(is_it) else { continue };
        if anomaly.rule == Rule::RnrWaitShort {
            add_wait(of_connection[at], trace, anomaly);
        } else {
            let from = of_connection[at].from_psn;
            let same = |entry: &&&Retransmission| entry.from_psn == from && triggers.contains(&entry.trigger);
            let before = of_connection[..at].iter().rev().take_while(same).count();
            let after = of_connection[at..].iter().take_while(same).count();
            add_retries(from, (before + after) as u64, anomaly);
        }
    }
}

/// The retries of one PSN, of which the anomaly knows those up to the first beyond the budget.
fn add_retries(psn: u32, retries: u64, anomaly: &mut Anomaly) {
    let (budget, attribute) = match anomaly.rule {
        Rule::RetriesBeyondBudget => ("retry-cnt", "retry_cnt"),
        _ => ("rnr-retry", "rnr_retry"),
    };
    let Some(configured) = anomaly.evidence.numbers.get(budget).copied() else { return };
    let known = anomaly.evidence.numbers.entry("retries").or_default();
    *known = (*known).max(retries);
    anomaly.what =
        format!("retransmits PSN {psn} without progress {known} times, where {attribute} is {configured}");
}

/// Wait after an RNR NAK, beside the one that its timer code requires (IBA vol. 1, 9.7.5.2.8).
fn add_wait(entry: &Retransmission, trace: &Trace, anomaly: &mut Anomaly) {
    let nak = entry.nack.and_then(|nak| trace.find(nak));
    let Some(Syndrome::RnrNak(code)) = nak.map(|nak| nak.aeth().syndrome) else { return };
    let Some(waited) = entry.reaction_ns else { return };
    let required = rnr_wait(code);
    anomaly.evidence.times_ns.extend([("waited", waited), ("required", required)]);
    let percent = waited.0.saturating_mul(100) / required.0.max(1);
    anomaly.evidence.numbers.insert("waited-percent", percent);
}
