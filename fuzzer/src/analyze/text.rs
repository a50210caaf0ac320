//! The result for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use dumper::integrity::{Integrity, Verdict};
use dumper::timers::LATEST_EXPIRY;
use dumper::{Endpoint, Nanos};
use scoring::{
    AckTimer, Analysis, Certainty, CnpLimiter, CnpScope, ConnectionSummary, CounterReport, ExpiryCause,
    PairIterations, Reordering, Retransmission, Trigger,
};

use super::json::{FindingSubject, OnePath};
use super::limited::{MAX_LINES, limited};
use super::packets::{Numbering, table};
use super::{Input, Report, verdict};
use crate::judge::Judged;
use crate::measure::digits;

/// The hosts, in the order in which an analysis has them.
const HOSTS: [&str; 2] = ["requester", "responder"];
/// Retransmissions that get a packet table of their own.
const MAX_TABLES: usize = 8;

/// Description of an input from files; `config` is the test that it was judged by, `finding` the one that it is of.
pub fn header(
    input: &Input,
    packets: usize,
    config: Option<&Path>,
    finding: Option<&FindingSubject>,
) -> String {
    let origin = if input.is_mirrored() { "mirrored" } else { "plain" };
    let mut text = format!("{packets} packets, {origin} capture\n");
    if let Some(FindingSubject { id, signature, shown }) = finding {
        let shown = if *shown { "shown" } else { "NOT shown" };
        let _ = writeln!(text, "  finding {}: {}, {shown}", id.escape_debug(), signature.escape_debug());
    }
    if let Some(config) = config {
        let _ = writeln!(text, "  judged by {}", config.display());
    }
    for missing in &input.missing {
        let _ = writeln!(text, "  missing: {}", missing.display());
    }
    text
}

/// Writes a report below a header. Each remark gets a table of its packets, with `context` packets around each.
pub fn render(header: String, report: &Report<'_>, context: usize) -> String {
    let mut text = header;
    integrity(&mut text, report.integrity);
    let Some(judged) = report.judged else {
        text.push_str(
            "\nNot analysed: packets are missing, and their absence would look like faults of the NIC.\n",
        );
        text.push_str("Run the test again, or analyse it anyway with --even-if-invalid.\n");
        return text;
    };
    let (trace, analysis) = (&judged.observation.trace, &judged.analysis);
    connections(&mut text, &analysis.connections);
    events(&mut text, analysis);
    let numbering = Numbering::of(trace, &analysis.connections);
    retransmissions(&mut text, analysis, |packets| table(trace, &numbering, packets, context));
    expiries(&mut text, analysis);
    if analysis.marked + analysis.cnps > 0 {
        let _ = writeln!(text, "\nECN: {} marked packets delivered, {} CNPs", analysis.marked, analysis.cnps);
    }
    for (host, limiter) in HOSTS.into_iter().zip(&analysis.limiters) {
        if let Some(limiter) = limiter {
            let _ = writeln!(text, "  {host}: {}", limits(limiter));
        }
    }
    for (host, counters) in HOSTS.into_iter().zip(&analysis.counters) {
        if let Some(counters) = counters {
            host_counters(&mut text, host, counters);
        }
    }
    reordering(&mut text, judged);
    messages(&mut text, analysis);
    iterations(&mut text, analysis);
    verdict::anomalies(&mut text, judged, &report.unjudged, |packets| {
        table(trace, &numbering, packets, context)
    });
    text
}

fn integrity(text: &mut String, integrity: &Integrity) {
    let worst = if integrity.is_invalid() {
        "INVALID"
    } else if integrity.conditions.iter().all(|condition| condition.verdict == Verdict::Pass) {
        "complete"
    } else {
        "no sign of missing packets"
    };
    let _ = writeln!(text, "\nIntegrity: {worst}");
    for condition in &integrity.conditions {
        let verdict = match condition.verdict {
            Verdict::Pass => "pass",
            Verdict::Fail => "FAIL",
            Verdict::Unknown => "unknown",
        };
        let _ = writeln!(text, "  {verdict:<8}{:<18}{}", condition.name, condition.detail);
    }
}

fn connections(text: &mut String, connections: &[ConnectionSummary]) {
    let _ = writeln!(text, "\nConnections: {}", connections.len());
    limited(text, connections, "connections", |text, summary| {
        let end = |end: &Endpoint| match end.qpn {
            Some(qpn) => format!("{} qpn {qpn:#x}", end.ip),
            None => format!("{} qpn unknown", end.ip),
        };
        let _ = write!(
            text,
            "  {:>3}  {} -> {}  first psn {}  {} packets",
            summary.connection,
            end(&summary.ends.requester),
            end(&summary.ends.responder),
            summary.first_psn,
            summary.packets
        );
        match summary.certainty {
            Certainty::OneWay if summary.judged => text.push_str("  (no answers seen)"),
            Certainty::OneWay => text.push_str("  (no answers seen; only the retry budget is judged)"),
            Certainty::Ambiguous => {
                let candidates = summary.candidates.unwrap_or_default();
                let _ = write!(text, "  (AMBIGUOUS: {candidates} flows could be its answers; not judged)");
            }
            Certainty::SourcePort => text.push_str("  (paired by UDP source port)"),
            _ if !summary.judged => text.push_str("  (not judged)"),
            _ => {}
        }
        if !summary.unrecovered.is_empty() {
            let _ = write!(text, "  lost and not retransmitted: {}", list(&summary.unrecovered));
        }
        text.push('\n');
    });
}

fn list(packets: &[u32]) -> String {
    let mut text = packets.iter().take(MAX_LINES).map(u32::to_string).collect::<Vec<_>>().join(", ");
    if packets.len() > MAX_LINES {
        let _ = write!(text, " and {} more", packets.len() - MAX_LINES);
    }
    text
}

fn events(text: &mut String, analysis: &Analysis) {
    if analysis.event_count == 0 {
        return;
    }
    let _ = writeln!(text, "\nInjected events: {}", analysis.event_count);
    limited(text, &analysis.events, "events", |text, event| {
        let _ = write!(text, "  packet {:<8}{:<10}{}", event.packet, event.event.to_string(), event.opcode);
        if let Some(psn) = event.psn {
            let _ = write!(text, " psn {psn}");
        }
        if let Some(connection) = event.connection {
            let _ = write!(text, " of connection {connection}");
        }
        text.push('\n');
    });
}

fn retransmissions(text: &mut String, analysis: &Analysis, table: impl Fn(&[u32]) -> String) {
    let all = &analysis.retransmissions;
    if all.is_empty() {
        return;
    }
    let count = |trigger| all.iter().filter(|one| one.trigger == trigger).count();
    let _ = writeln!(
        text,
        "\nRetransmissions: {} ({} fast, {} by time-out, {} after RNR)",
        all.len(),
        count(Trigger::Fast),
        count(Trigger::Timeout),
        count(Trigger::Rnr)
    );
    if all.iter().any(|one| one.nack.is_some()) {
        let half_rtt = |time: Option<Nanos>| {
            time.map_or("unknown (no prompt answers)".to_owned(), |time| time.to_string())
        };
        let [requester, responder] = analysis.half_rtt.map(half_rtt);
        let _ = writeln!(
            text,
            "  half a round trip (not part of net times): requester {requester}, responder {responder}"
        );
    }
    let mut tables = 0;
    limited(text, all, "retransmissions", |text, one| {
        let _ = writeln!(text, "  {}", sentence(one));
        if tables < MAX_TABLES {
            tables += 1;
            let packets: Vec<u32> = one
                .lost
                .iter()
                .copied()
                .chain(one.out_of_order)
                .chain(one.nack)
                .chain(one.retransmission)
                .collect();
            text.push_str(&table(&packets));
        }
    });
}

/// How far packets were overtaken on the way to each host, and what it cost.
fn reordering(text: &mut String, judged: &Judged) {
    let towards = Reordering::of_all(&judged.analysis.reordering);
    if towards.iter().all(|one| one.reordered == 0) {
        return;
    }
    text.push_str("\nReordering, in the order in which packets left the switch:\n");
    for (host, one) in HOSTS.into_iter().rev().zip(towards).filter(|(_, one)| one.shows()) {
        let Reordering { packets, reordered, extent, late_ns, n_reordering, .. } = one;
        let percent = digits(reordered as f64 * 100.0 / packets.max(1) as f64);
        let _ = writeln!(
            text,
            "  to the {host}: {reordered} of {packets} packets ({percent} %), up to {extent} packets and {late_ns} late, \
             {n_reordering}-reordered; {} NAKs and {} retransmissions of packets that were not lost",
            one.spurious_naks, one.spurious_retransmissions
        );
    }
    if let Some(OnePath { goodput_bps, slowest_path_bps }) = OnePath::of(judged) {
        let [goodput, alone] = [goodput_bps, slowest_path_bps].map(|bps| digits(bps / 1e9));
        let percent = digits(goodput_bps * 100.0 / slowest_path_bps);
        let _ =
            writeln!(text, "  goodput {goodput} Gb/s, over the slowest path alone {alone} Gb/s: {percent} %");
    }
}

/// CNP limits of a notification point, in words.
fn limits(limiter: &CnpLimiter) -> String {
    let scope = match limiter.scope {
        Some(CnpScope::Qp) => "each QP",
        Some(CnpScope::DestinationIp) => "each destination address",
        Some(CnpScope::Port) => "the whole port",
        None => return "no interval of any scope explains the answered marks".to_owned(),
    };
    let certainty = if limiter.scope_certain { "" } else { ", or a wider scope" };
    let least = limiter.longer_than_ns;
    let interval = match limiter.at_most_ns {
        Some(most) if least == Nanos::ZERO => format!("at most {most}"),
        Some(most) => format!("longer than {least} and at most {most}"),
        None if least == Nanos::ZERO => "of unknown length".to_owned(),
        None => format!("longer than {least}"),
    };
    format!(
        "{} CNPs for {} marked packets of data, an interval {interval} for {scope}{certainty}",
        limiter.cnps, limiter.marked
    )
}

/// A retransmission in one sentence.
fn sentence(one: &Retransmission) -> String {
    let mut text = format!("connection {} retransmits from psn {}", one.connection, one.from_psn);
    if let Some(packet) = one.retransmission {
        let _ = write!(text, " at packet {packet}");
    }
    let _ = match one.trigger {
        Trigger::Fast => write!(text, ": fast"),
        Trigger::Timeout => write!(text, ": time-out"),
        Trigger::Rnr => write!(text, ": after an RNR NAK"),
        Trigger::None => write!(text, ": unexplained"),
    };
    if let Some(nack) = one.nack {
        let _ = write!(text, ", NACK at packet {nack}");
    }
    if !one.lost.is_empty() {
        let _ = write!(text, ", lost: {}", list(&one.lost));
    }
    for (name, time, net) in [
        ("generation", one.generation_ns, one.generation_net_ns),
        ("reaction", one.reaction_ns, one.reaction_net_ns),
        ("total", one.total(), None),
        ("time-out", one.timeout_ns, None),
    ] {
        if let Some(time) = time {
            let _ = write!(text, ", {name} {time}");
        }
        if let Some(net) = net {
            let _ = write!(text, " ({net} net)");
        }
    }
    text
}

/// Expiries of the ACK timer: configured against observed.
fn expiries(text: &mut String, analysis: &Analysis) {
    if analysis.expiries.is_empty() {
        return;
    }
    let count: usize = analysis.expiries.iter().map(|stuck| stuck.waits_ns.len()).sum();
    let _ = write!(text, "\nExpiries of the ACK timer: {count}");
    match analysis.ack_timer {
        Some(AckTimer { t_ns: Some(t), retry_cnt }) => {
            let latest = t.times(LATEST_EXPIRY.into());
            let _ = write!(text, ", configured for {t} to {latest} (T to 4T) and {retry_cnt} retries");
        }
        Some(AckTimer { t_ns: None, .. }) => text.push_str(", not configured"),
        None => {}
    }
    text.push('\n');
    limited(text, &analysis.expiries, "times", |text, stuck| {
        let waits: Vec<String> = stuck.waits_ns.iter().take(MAX_LINES).map(Nanos::to_string).collect();
        let more = if stuck.waits_ns.len() > MAX_LINES { ", ..." } else { "" };
        let _ = write!(text, "  connection {}, stall {}: retried after ", stuck.connection, stuck.time);
        let _ = write!(text, "{}{more}", waits.join(", "));
        text.push_str(if stuck.failed { "; then the QP failed\n" } else { "\n" });
    });
    causes(text, &analysis.connections);
}

/// Causes of time-outs: how often each was, and on which connections.
fn causes(text: &mut String, connections: &[ConnectionSummary]) {
    let mut causes: BTreeMap<ExpiryCause, Vec<(usize, usize)>> = BTreeMap::new();
    for summary in connections {
        for (cause, count) in &summary.timeout_causes {
            causes.entry(*cause).or_default().push((summary.connection, *count));
        }
    }
    if !causes.is_empty() {
        text.push_str("\nCauses of time-outs:\n");
    }
    for (cause, of) in causes {
        let count: usize = of.iter().map(|(_, count)| count).sum();
        let on: Vec<String> =
            of.iter().take(MAX_LINES).map(|(connection, count)| format!("{connection}: {count}")).collect();
        let more = if of.len() > MAX_LINES { ", ..." } else { "" };
        let (name, meaning) = (cause.name(), cause.meaning());
        let _ = writeln!(text, "  {count:>4} {name}: {meaning} (connection {}{more})", on.join(", "));
    }
}

fn host_counters(text: &mut String, host: &str, report: &CounterReport) {
    let _ = writeln!(text, "\nCounters of the {host}: {} compared with the trace", report.compared.len());
    for counter in report.compared.iter().filter(|counter| counter.moved != 0 || counter.expected != 0) {
        let _ =
            writeln!(text, "  {:<32}+{:<12}trace shows {}", counter.name, counter.moved, counter.expected);
    }
    if !report.unused.is_empty() {
        let _ = writeln!(text, "  not compared (meaning unknown): {}", report.unused.join(", "));
    }
}

fn messages(text: &mut String, analysis: &Analysis) {
    if analysis.messages.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nMessages by connection: completed, failed; completion time mean, median, p99, longest; goodput"
    );
    limited(text, &analysis.messages, "connections", |text, qp| {
        let _ = write!(text, "  {:>3}  {} {}", qp.connection, qp.completed, qp.failed);
        if qp.completed > 0 {
            let _ = write!(
                text,
                "  {}  {}  {}  {} (message {})  {} Gb/s",
                qp.mean_ns,
                qp.median_ns,
                qp.p99_ns,
                qp.max_ns,
                qp.slowest_message,
                digits(qp.goodput_bps / 1e9)
            );
        }
        if qp.outstanding > 0 {
            let _ = write!(text, "  {} outstanding", qp.outstanding);
        }
        text.push('\n');
    });
}

fn iterations(text: &mut String, analysis: &Analysis) {
    if analysis.iterations.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nIterations by pair of connections, from posting to posting: mean, median, p99, p99.9, longest"
    );
    limited(text, &analysis.iterations, "pairs", |text, pair| {
        let PairIterations { connection, known, mean_ns, median_ns, p99_ns, p999_ns, max_ns } = pair;
        let _ = writeln!(
            text,
            "  {connection:>3} and {}  {known}  {mean_ns}  {median_ns}  {p99_ns}  {p999_ns}  {max_ns}",
            connection + 1
        );
    });
}
