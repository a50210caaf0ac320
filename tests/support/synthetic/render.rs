//! Traces and remarks as text, for failing tests.

use std::fmt::Write as _;

use dumper::Fate;
use dumper::wire::Class;
use dumper::{Event, Observation, Psn};

/// A trace, one line a packet: sequence number, time since the first, flow, operation, PSN relative to the
/// connection, what it says, and its event.
pub fn trace(observation: &Observation) -> String {
    let trace = &observation.trace;
    let mut text = String::new();
    let start = trace.records().first().map(|record| record.time).unwrap_or_default();
    for record in trace.records() {
        let flow = trace.flow(record);
        let connection = observation.connections.iter().position(|connection| {
            let ends = [connection.responder, connection.requester];
            ends.iter().any(|end| end.qpn == Some(flow.dest_qpn) && end.ip == flow.destination)
        });
        let initial = connection
            .and_then(|at| observation.connections[at].requester.initial_psn)
            .unwrap_or(Psn::new(0));
        let class = record.class();
        let forth =
            connection.is_none_or(|at| observation.connections[at].responder.qpn == Some(flow.dest_qpn));
        let arrow = if forth { ">" } else { "<" };
        let _ = write!(
            text,
            "{:>5} {:>12} {} {arrow} {:<22}",
            record.sequence,
            record.time.0 - start.0,
            connection.map_or_else(|| format!("f{}", record.flow.0), |at| format!("c{}", at + 1)),
            record.opcode().to_string(),
        );
        if class != Class::Cnp {
            let _ = write!(text, " psn {:<5}", record.psn.relative_to(initial));
        }
        if class == Class::Acknowledge {
            let _ = write!(text, " {} msn {}", record.aeth().syndrome, record.aeth().msn);
        }
        if class == Class::ReadRequest {
            let _ = write!(text, " {} bytes", record.dma_length);
        }
        if record.ack_req() && class.is_data() {
            text.push_str(" ackreq");
        }
        if record.event() != Event::None {
            let _ = write!(text, " {}", record.event());
            if let Fate::Delivered { left, copies } = trace.fate(record) {
                let _ = write!(text, " (leaves {copies}x after {})", left - record.time);
            }
        }
        text.push('\n');
    }
    text
}

/// Remarks, one line each.
pub fn anomalies(analysis: &scoring::Analysis) -> String {
    let mut text = String::new();
    for anomaly in analysis.anomalies.kept() {
        let _ = writeln!(
            text,
            "{} c{:?} packets {:?}: {}",
            anomaly.signature(),
            anomaly.who.connection,
            anomaly.evidence.packets,
            anomaly.what,
        );
    }
    text
}
