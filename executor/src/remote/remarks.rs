//! Reports of agents beside completions and counters, and of the switch beside its trace, as lines of the
//! hosts' logs: for the reader of a result, and for the analyzer of logs.

use dumper::LogLine;
use dumper::observation::kernel::{AGENT, UNFOUNDED_COMPLETION};
use p4::client::PortUnreadable;

use crate::agent::proto::{HostError, Parameter, ParameterState};
use crate::agent::{Failure, Finished, Settled};

/// Lines of one kind that are kept: a test can leave a million messages outstanding.
const MOST: usize = 64;

/// Of a requester's traffic: its goodput, requests that failed, and those that had not completed by the deadline.
pub(super) fn of_traffic(settled: &Settled, finished: &Finished) -> Vec<LogLine> {
    let goodput = finished.goodput.map(|bits| format!("goodput {:.1} Mbit/s", bits / 1e6));
    let failures = settled.failures.iter().chain(&finished.late_failures).map(|failure| {
        let Failure { connection, message, status, vendor_error } = failure;
        format!(
            "message {message} of connection {connection} ended with status {status}, vendor error {vendor_error:#x}"
        )
    });
    let outstanding = settled.outstanding.iter().map(|one| {
        format!("message {} of connection {} had not completed by the deadline", one.message, one.connection)
    });
    [bounded(goodput.into_iter()), bounded(failures), bounded(outstanding)].concat()
}

/// Of a host: parameters that could not be set, and reports of its stack.
pub(super) fn of_host(parameters: &[Parameter], errors: &[HostError]) -> Vec<LogLine> {
    let failed = parameters.iter().filter(|one| one.state() == ParameterState::Failed);
    let failed = failed.map(|one| format!("{} could not be set: {}", one.name, one.detail));
    bounded(failed).into_iter().chain(errors.iter().map(error)).collect()
}

/// Of a host's packets that are not in the trace.
pub(super) fn of_unreadable(unreadable: &PortUnreadable) -> LogLine {
    let PortUnreadable { packets, first, .. } = unreadable;
    let text = format!(
        "switch: {packets} packets came from this host whose headers cannot be read; they passed, and are not in the trace. \
         The first: {first}"
    );
    LogLine::new(0, &text)
}

fn error(error: &HostError) -> LogLine {
    let begin = if error.unfounded_completion { UNFOUNDED_COMPLETION } else { AGENT };
    let of = match error.connection {
        0 => "the device".to_owned(),
        connection => format!("connection {connection}"),
    };
    LogLine::new(0, &format!("{begin}{} ({of})", error.what))
}

/// The first lines of many, and how many are left out.
fn bounded(mut lines: impl Iterator<Item = String>) -> Vec<LogLine> {
    let mut kept: Vec<_> =
        lines.by_ref().take(MOST).map(|text| LogLine::new(0, &format!("{AGENT}{text}"))).collect();
    let more = lines.count();
    if more > 0 {
        kept.push(LogLine::new(0, &format!("{AGENT}... and {more} more")));
    }
    kept
}

#[cfg(test)]
mod tests {
    use dumper::Nanos;

    use super::*;
    use crate::agent::Outstanding;

    fn texts(lines: &[LogLine]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn what_became_of_requests_is_said_within_bounds() {
        let outstanding = |message| Outstanding { connection: 2, message, posted_ns: Nanos(0) };
        let settled = Settled {
            failures: vec![Failure { connection: 1, message: 3, status: 12, vendor_error: 0x81 }],
            outstanding: (1..=100).map(outstanding).collect(),
            ..Settled::default()
        };
        let late = Failure { connection: 2, message: 100, status: 5, vendor_error: 0 };
        let finished = Finished { goodput: Some(8e6), late_failures: vec![late], ..Finished::default() };
        let lines = of_traffic(&settled, &finished);
        let texts = texts(&lines);
        assert_eq!(
            texts[..4],
            [
                "agent: goodput 8.0 Mbit/s",
                "agent: message 3 of connection 1 ended with status 12, vendor error 0x81",
                "agent: message 100 of connection 2 ended with status 5, vendor error 0x0",
                "agent: message 1 of connection 2 had not completed by the deadline",
            ]
        );
        assert_eq!((texts.len(), texts[MOST + 3]), (MOST + 4, "agent: ... and 36 more"));
    }

    #[test]
    fn what_a_stack_reports_is_said_and_what_is_never_right_can_be_told_from_it() {
        let parameter = |state: ParameterState| Parameter {
            name: "slow-restart".into(),
            state: state.into(),
            detail: "read-only".into(),
        };
        let parameters = [parameter(ParameterState::Absent), parameter(ParameterState::Failed)];
        let error = |connection, what: &str, unfounded_completion| HostError {
            connection,
            what: what.into(),
            unfounded_completion,
        };
        let errors = [error(0, "port error", false), error(3, "status 0", true)];
        assert_eq!(
            texts(&of_host(&parameters, &errors)),
            [
                "agent: slow-restart could not be set: read-only",
                "agent: port error (the device)",
                "agent: unfounded completion: status 0 (connection 3)",
            ]
        );
    }
}
