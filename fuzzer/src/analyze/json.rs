//! The result as one JSON document.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dumper::integrity::Integrity;
use dumper::trace::Digest;
use dumper::{Nanos, Trace};
use scoring::score::{Unjudged, signature_of};
use scoring::{
    AckTimer, Anomaly, CnpLimiter, ConnectionReordering, ConnectionSummary, CounterReport, Evidence,
    Expiries, InjectedEvent, MessageTime, PairIterations, QpMessages, Retransmission, Role,
};
use serde::Serialize;

use super::{Input, Report};
use crate::judge::Judged;

/// The document that `analyze` and `run` print with `--format json`: the input, and the verdicts. Fields are
/// added over time, none changes its meaning.
#[derive(Serialize)]
pub struct Document<'a, S> {
    #[serde(flatten)]
    subject: S,
    valid: bool,
    integrity: &'a Integrity,
    #[serde(flatten)]
    analysis: Option<AnalysisDocument<'a>>,
}

/// Files as the input.
#[derive(Serialize)]
pub struct InputSubject {
    input: InputDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    finding: Option<FindingSubject>,
}

/// The finding whose files were judged.
#[derive(Serialize)]
pub struct FindingSubject {
    /// Short name.
    pub id: String,
    /// Its signature.
    pub signature: String,
    /// True if the files show it.
    pub shown: bool,
}

#[derive(Serialize)]
struct InputDocument {
    config: Option<String>,
    captures: Vec<String>,
    origin: &'static str,
    packets: usize,
    duration_ns: Nanos,
    trace_sha256: Digest,
    icrc_right: u64,
    icrc_wrong: u64,
    other_frames: u64,
    malformed_packets: u64,
    missing_files: Vec<String>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct AnalysisDocument<'a> {
    connections: &'a [ConnectionSummary],
    event_count: u64,
    events: &'a [InjectedEvent],
    retransmissions: &'a [Retransmission],
    ack_timer: Option<AckTimer>,
    expiries: &'a [Expiries],
    ecn_marked: u64,
    cnps: u64,
    cnp_limiters: PerHost<&'a CnpLimiter>,
    counters: PerHost<&'a CounterReport>,
    half_rtt_ns: PerHost<Nanos>,
    /// Connections on which packets were overtaken, or asked for or sent again without need.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reordering: &'a [ConnectionReordering],
    /// Goodput of the test, and of the same test over its slowest path alone, in bits per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    one_path: Option<OnePath>,
    messages: &'a [QpMessages],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    iterations: &'a [PairIterations],
    message_times: &'a [MessageTime],
    /// As a campaign reports them: one of each signature, and none that another one explains.
    findings: Vec<FindingDocument<'a>>,
    /// Every sighting, those that another anomaly explains included.
    anomalies: Vec<AnomalyDocument<'a>>,
    /// Number of sightings of each signature; only the first sightings are listed whole.
    sightings: BTreeMap<String, u64>,
    /// Kinds and connections that were not judged, each with the reason.
    unjudged: &'a [Unjudged],
}

#[derive(Serialize)]
struct FindingDocument<'a> {
    #[serde(flatten)]
    anomaly: AnomalyDocument<'a>,
    /// Number of sightings.
    seen: u64,
    /// Signatures of the anomalies that it explains.
    symptoms: Vec<String>,
}

/// Goodput in bits per second beside that over the slowest path alone.
#[derive(Clone, Copy, Serialize)]
pub(super) struct OnePath {
    pub(super) goodput_bps: f64,
    pub(super) slowest_path_bps: f64,
}

impl OnePath {
    /// None where the run over one path was not made, or completed nothing.
    pub(super) fn of(judged: &Judged) -> Option<Self> {
        let reference = judged.references.one_path.as_ref()?;
        let goodput_bps = scoring::goodput_bps(judged.observation.completions());
        let slowest_path_bps = reference.goodput_bps;
        (slowest_path_bps > 0.0).then_some(Self { goodput_bps, slowest_path_bps })
    }
}

/// Values of each host, where there are any.
#[derive(Serialize)]
struct PerHost<T> {
    requester: Option<T>,
    responder: Option<T>,
}

impl<T> From<[Option<T>; 2]> for PerHost<T> {
    fn from([requester, responder]: [Option<T>; 2]) -> Self {
        Self { requester, responder }
    }
}

#[derive(Serialize)]
struct AnomalyDocument<'a> {
    kind: &'static str,
    rule: &'static str,
    signature: String,
    role: Role,
    address: Option<std::net::IpAddr>,
    connection: Option<usize>,
    state: &'a str,
    what: &'a str,
    expected: &'static str,
    source: String,
    evidence: &'a Evidence,
}

impl<'a> AnomalyDocument<'a> {
    fn of(anomaly: &'a Anomaly) -> Self {
        Self {
            kind: anomaly.kind().name(),
            rule: anomaly.rule.name(),
            signature: signature_of(anomaly),
            role: anomaly.who.role,
            address: anomaly.who.address,
            connection: anomaly.who.connection,
            state: &anomaly.state,
            what: &anomaly.what,
            expected: anomaly.rule.expected(),
            source: anomaly.rule.source(),
            evidence: &anomaly.evidence,
        }
    }
}

impl InputSubject {
    /// `config` is the test that the files were judged by, `finding` the one that they are of.
    pub fn of(input: &Input, trace: &Trace, config: Option<&Path>, finding: Option<FindingSubject>) -> Self {
        let skipped = &input.leftovers.skipped;
        let names = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
        let input = InputDocument {
            config: config.map(|path| path.display().to_string()),
            captures: names(&input.captures),
            origin: if input.is_mirrored() { "mirror" } else { "plain" },
            packets: trace.records().len(),
            duration_ns: duration(trace),
            trace_sha256: trace.digest(),
            icrc_right: input.leftovers.icrc.right,
            icrc_wrong: input.leftovers.icrc.wrong,
            other_frames: skipped.other.values().sum(),
            malformed_packets: skipped.malformed,
            missing_files: names(&input.missing),
            warnings: input.warnings(),
        };
        Self { input, finding }
    }
}

/// From the first packet of a trace to its last.
pub fn duration(trace: &Trace) -> Nanos {
    let records = trace.records();
    records.first().zip(records.last()).map(|(first, last)| last.time - first.time).unwrap_or_default()
}

/// One anomaly, as the document has it.
pub fn anomaly(anomaly: &Anomaly) -> String {
    serde_json::to_string(&AnomalyDocument::of(anomaly)).expect("plain data with text keys")
}

/// The document of a report.
pub fn document<'a, S: Serialize>(subject: S, report: &'a Report<'_>) -> Document<'a, S> {
    let Report { integrity, judged, unjudged } = report;
    Document {
        subject,
        valid: !integrity.is_invalid(),
        integrity,
        analysis: judged.map(|judged| AnalysisDocument::of(judged, unjudged)),
    }
}

impl<'a> AnalysisDocument<'a> {
    fn of(judged: &'a Judged, unjudged: &'a [Unjudged]) -> Self {
        let analysis = &judged.analysis;
        let counts = judged.counts();
        let findings =
            judged.assessment.findings_with_symptoms().map(|(anomaly, symptoms)| FindingDocument {
                anomaly: AnomalyDocument::of(anomaly),
                seen: counts.get(&anomaly.signature()).copied().unwrap_or_default(),
                symptoms: symptoms.map(Anomaly::signature).collect(),
            });
        Self {
            connections: &analysis.connections,
            event_count: analysis.event_count,
            events: &analysis.events,
            retransmissions: &analysis.retransmissions,
            ack_timer: analysis.ack_timer,
            expiries: &analysis.expiries,
            ecn_marked: analysis.marked,
            cnps: analysis.cnps,
            cnp_limiters: analysis.limiters.each_ref().map(Option::as_ref).into(),
            counters: analysis.counters.each_ref().map(Option::as_ref).into(),
            half_rtt_ns: analysis.half_rtt.into(),
            reordering: &analysis.reordering,
            one_path: OnePath::of(judged),
            messages: &analysis.messages,
            iterations: &analysis.iterations,
            message_times: &analysis.message_times,
            findings: findings.collect(),
            anomalies: judged.sightings().map(AnomalyDocument::of).collect(),
            sightings: counts,
            unjudged,
        }
    }
}
