//! Distributions of message completion times: connections with events, those without, and the reference.

use corpus::TestConfig;
use dumper::Nanos;
use dumper::observation::CompletionStatus;

use super::figure::{Curve, cumulative};
use crate::judge::Judged;

/// The distributions as a figure; none where no message completed.
pub(super) fn figure(config: &TestConfig, judged: &Judged) -> Option<Result<String, String>> {
    let times = |with_events: bool| {
        let messages = judged.analysis.message_times.iter().filter(move |message| {
            message.status == CompletionStatus::Success
                && config.has_events_on(message.connection) == with_events
        });
        messages.map(|message| message.completion_time_ns).collect::<Vec<Nanos>>()
    };
    let reference = judged.references.without_events.iter().flat_map(|baseline| &baseline.connections);
    let longest = reference.filter(|mct| mct.completed > 0).map(|mct| mct.max).collect();
    let curves = [
        Curve { name: "connections with events", times: times(true) },
        Curve { name: "connections without events", times: times(false) },
        Curve { name: "longest of each connection, test without events", times: longest },
    ];
    let curves: Vec<_> = curves.into_iter().filter(|curve| !curve.times.is_empty()).collect();
    (!curves.is_empty()).then(|| cumulative("Message completion times", "completion time", &curves))
}
