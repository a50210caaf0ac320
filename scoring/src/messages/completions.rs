//! Completions against the trace: a success needs an acknowledgement, and a failure a reason.

use std::collections::BTreeMap;

use dumper::Observation;
use dumper::observation::CompletionStatus;

use crate::anomaly::{Anomalies, Anomaly, Evidence, Role, Who};
use crate::go_back_n::ConnectionTracker;
use crate::rules::Rule;

/// What the requester of a connection reports.
#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    /// Packets of the messages that completed with success, with the dummies between them, and the last of these messages.
    packets: u64,
    last: u32,
    /// How the first message failed that was not flushed.
    failed: Option<(u32, CompletionStatus)>,
}

/// Judges the completions of connections that were followed from their first request on: every packet that is delivered
/// passes the switch, so that an acknowledgement or NAK which is not in the trace was none. `dummies` are those behind each message, and
/// `number` is that of a tracker's connection in the completions.
pub(crate) fn judge(
    observation: &Observation,
    dummies: u8,
    trackers: &[ConnectionTracker],
    number: impl Fn(&ConnectionTracker) -> Option<u32>,
    anomalies: &mut Anomalies,
) {
    if observation.completions().is_empty() {
        return;
    }
    let trackers: BTreeMap<u32, &ConnectionTracker> = trackers
        .iter()
        .filter(|tracker| !tracker.gave_up())
        .filter_map(|tracker| Some((number(tracker)?, tracker)))
        .collect();
    let mut reported: BTreeMap<u32, Reported> = BTreeMap::new();
    for completion in observation.completions() {
        let Some(tracker) = trackers.get(&completion.connection) else { continue };
        let reported = reported.entry(completion.connection).or_default();
        match completion.status {
            CompletionStatus::Success => {
                let before = if reported.packets > 0 { dummies.into() } else { 0 };
                reported.packets += before + completion.bytes.div_ceil(tracker.mtu().into()).max(1);
                reported.last = reported.last.max(completion.message);
            }
            CompletionStatus::Flushed => {}
            status => {
                reported.failed.get_or_insert((completion.message, status));
            }
        }
    }
    for (number, reported) in &reported {
        let tracker = trackers[number];
        reported.judge_success(tracker, anomalies);
        reported.judge_failure(tracker, anomalies);
    }
}

impl Reported {
    /// Messages complete in order, each with PSNs of its own: as many packets are acknowledged as they have.
    fn judge_success(&self, tracker: &ConnectionTracker, anomalies: &mut Anomalies) {
        let Some(acknowledged) = tracker.acknowledged() else { return };
        if self.packets <= u64::from(acknowledged) {
            return;
        }
        let what = format!(
            "completes message {} with success, but only {acknowledged} of {} packets are acknowledged",
            self.last, self.packets
        );
        let evidence = Evidence::default()
            .with_number("acknowledged", acknowledged.into())
            .with_number("packets", self.packets);
        push(tracker, Rule::SuccessUnacknowledged, what, evidence, anomalies);
    }

    /// A remote error is what a NAK says, and so is a receiver that is not ready.
    fn judge_failure(&self, tracker: &ConnectionTracker, anomalies: &mut Anomalies) {
        let Some((number, status)) = self.failed else { return };
        let missing = match status {
            CompletionStatus::RemoteError if !tracker.was_refused_for_good() => "NAK that ends the QP",
            CompletionStatus::RnrRetryExceeded if tracker.counts().rnr_naks_heard == 0 => "RNR NAK",
            CompletionStatus::Error if !tracker.was_refused_for_good() => "NAK or wrong response",
            _ => return,
        };
        let what = format!("completes message {number} with an error, and no {missing} was delivered");
        push(tracker, Rule::FailureWithoutCause, what, Evidence::default(), anomalies);
    }
}

fn push(
    tracker: &ConnectionTracker,
    rule: Rule,
    what: String,
    evidence: Evidence,
    anomalies: &mut Anomalies,
) {
    let address = Some(tracker.pair().connection.requester.ip);
    let who = Who { role: Role::Requester, address, connection: Some(tracker.number()) };
    anomalies.push(Anomaly { rule, who, state: "".into(), what, evidence });
}
