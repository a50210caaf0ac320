//! A time-sequence diagram: the packets around an anomaly between the two hosts, with what the injector did to them.

use std::collections::BTreeSet;

use askama::Template;
use corpus::plural;
use dumper::trace::Record;
use dumper::wire::{Class, Syndrome};
use dumper::{ActionKind, Event, Fate, Nanos, Trace};
use scoring::Anomaly;

use crate::analyze::packets::{Numbering, around, headers};
use crate::judge::Judged;

/// Packets of the evidence that are shown, and packets of their connections before and after each.
const MAX_NAMED: usize = 3;
const CONTEXT: usize = 4;
/// Injected events that are shown beside the evidence, and packets before and after each.
const MAX_EVENTS: usize = 3;
const EVENT_CONTEXT: usize = 1;
/// Rows of a diagram.
const MAX_ROWS: usize = 48;
/// A pause that is named: so much longer than the median one.
const LONG_PAUSE: u64 = 20;

/// Height of a packet's row and of a line that says what is left out, in pixels.
const ROW: u32 = 28;
const GAP: u32 = 20;
/// Room above for the names of the hosts.
const HEAD: u32 = 34;

/// The diagram.
#[derive(Template)]
#[template(path = "ladder.svg", escape = "html")]
pub(super) struct Ladder {
    /// Names of the requester's and the responder's host.
    ends: [String; 2],
    rows: Vec<Row>,
    height: u32,
    /// True if packets of several connections are shown.
    several: bool,
    /// The diagram in words.
    title: String,
}

/// A packet of the diagram.
struct Row {
    y: u32,
    /// What is left out before it.
    gap: Option<String>,
    number: u32,
    time: String,
    from_requester: bool,
    /// Name of the colour.
    class: &'static str,
    text: String,
    connection: usize,
    /// Event of the injector.
    event: Option<String>,
    lost: bool,
    evidence: bool,
}

impl Ladder {
    /// The packets around an anomaly; none where there are none.
    pub(super) fn of(anomaly: &Anomaly, judged: &Judged, numbering: &Numbering) -> Option<Self> {
        let trace = &judged.observation.trace;
        let records = trace.records();
        let named: BTreeSet<usize> =
            anomaly.evidence.packets.iter().filter_map(|packet| trace.position(*packet)).collect();
        let chosen = chosen(anomaly, judged, numbering, &named);
        let first = records.first()?.time;
        let mut pauses: Vec<u64> = chosen
            .iter()
            .zip(chosen.iter().skip(1))
            .map(|(a, b)| (records[*b].time - records[*a].time).0)
            .collect();
        pauses.sort_unstable();
        let long = pauses.get(pauses.len() / 2).map_or(u64::MAX, |median| median.max(&1) * LONG_PAUSE);
        let (mut rows, mut y, mut last) = (Vec::new(), HEAD, None);
        for at in &chosen {
            let record = &records[*at];
            let Some(place) = numbering.get(record) else { continue };
            let gap = last.and_then(|last: usize| left_out(trace, numbering, &chosen, last, *at, long));
            y += if gap.is_some() { GAP + ROW } else { ROW };
            rows.push(Row {
                y,
                gap,
                number: record.sequence,
                time: (record.time - first).exact().to_string(),
                from_requester: place.from_requester,
                class: class(record),
                text: format!("{}{}", record.opcode(), headers(numbering, record)),
                connection: place.connection,
                event: event(trace, record),
                lost: trace.fate(record) == Fate::Lost,
                evidence: named.contains(at),
            });
            last = Some(*at);
        }
        let connections: BTreeSet<usize> = rows.iter().map(|row| row.connection).collect();
        let ends =
            &judged.analysis.connections.iter().find(|one| connections.contains(&one.connection))?.ends;
        let title = format!(
            "Packets {} to {} of {}, {} of them shown",
            rows.first()?.number,
            rows.last()?.number,
            records.len(),
            rows.len()
        );
        Some(Self {
            ends: [format!("requester {}", ends.requester.ip), format!("responder {}", ends.responder.ip)],
            several: connections.len() > 1,
            height: y + ROW / 2,
            rows,
            title,
        })
    }
}

/// Places of the packets that are shown.
fn chosen(
    anomaly: &Anomaly,
    judged: &Judged,
    numbering: &Numbering,
    named: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    let trace = &judged.observation.trace;
    let mut chosen = BTreeSet::new();
    let show = |at: usize, context: usize, chosen: &mut BTreeSet<usize>| {
        let packets: Vec<usize> = std::iter::once(at).chain(around(trace, numbering, at, context)).collect();
        if chosen.len() + packets.len() <= MAX_ROWS {
            chosen.extend(packets);
        }
    };
    for at in named.iter().take(MAX_NAMED) {
        show(*at, CONTEXT, &mut chosen);
    }
    // The longest pause of a connection that stalls beside others.
    let suffering = anomaly.evidence.connections.get("suffering").and_then(|set| set.first());
    let suffering = suffering.map(|connection| *connection as usize);
    if let Some((before, after)) =
        suffering.and_then(|connection| longest_pause(trace, numbering, connection))
    {
        show(before, 2, &mut chosen);
        show(after, 2, &mut chosen);
    }
    let connection = anomaly.who.connection;
    let position = |packet: u32| trace.position(packet);
    let is_before = |at: &usize| named.first().is_none_or(|first| at <= first);
    let events: Vec<usize> = judged
        .analysis
        .events
        .iter()
        .filter(|event| connection.is_none() || event.connection == connection)
        .filter_map(|event| position(event.packet))
        .collect();
    let before: Vec<usize> = events.iter().copied().filter(is_before).collect();
    let nearest = if before.is_empty() { &events } else { &before };
    let some: Vec<usize> = match named.is_empty() {
        true => nearest.iter().take(MAX_EVENTS).copied().collect(),
        false => nearest.iter().rev().take(MAX_EVENTS).copied().collect(),
    };
    for at in &some {
        show(*at, EVENT_CONTEXT, &mut chosen);
    }
    // What made up for a loss that is shown.
    let lost = |packet: &u32| position(*packet).is_some_and(|at| some.contains(&at));
    for entry in &judged.analysis.retransmissions {
        if entry.lost.iter().any(lost)
            && let Some(at) = entry.retransmission.or(entry.nack).and_then(position)
        {
            show(at, EVENT_CONTEXT, &mut chosen);
        }
    }
    if chosen.is_empty() {
        chosen.extend(0..trace.records().len().min(MAX_ROWS / 2));
    }
    chosen
}

/// The packets of a connection before and after its longest pause.
fn longest_pause(trace: &Trace, numbering: &Numbering, connection: usize) -> Option<(usize, usize)> {
    let records = trace.records();
    let of_it: Vec<usize> =
        (0..records.len()).filter(|at| numbering.connection(&records[*at]) == Some(connection)).collect();
    let pairs = of_it.iter().zip(of_it.iter().skip(1)).map(|(before, after)| (*before, *after));
    pairs.max_by_key(|(before, after)| records[*after].time - records[*before].time)
}

/// What lies between two rows: packets of the connections that are shown, and a long time.
fn left_out(
    trace: &Trace,
    numbering: &Numbering,
    chosen: &BTreeSet<usize>,
    last: usize,
    at: usize,
    long: u64,
) -> Option<String> {
    let records = trace.records();
    let shown: BTreeSet<Option<usize>> =
        [last, at].map(|at| numbering.connection(&records[at])).into_iter().collect();
    let skipped = (last + 1..at)
        .filter(|at| !chosen.contains(at) && shown.contains(&numbering.connection(&records[*at])))
        .count();
    let pause = records[at].time - records[last].time;
    let is_long = pause.0 >= long && pause >= Nanos(10_000);
    match (skipped, is_long) {
        (0, false) => None,
        (0, true) => Some(format!("{pause}")),
        (_, _) => Some(format!("{} left out, {pause}", plural(skipped as u64, "packet"))),
    }
}

/// Name of a packet's colour.
fn class(record: &Record) -> &'static str {
    match record.class() {
        Class::Acknowledge if !matches!(record.aeth().syndrome, Syndrome::Ack(_)) => "nak",
        Class::Acknowledge => "ack",
        Class::Cnp => "cnp",
        Class::ReadResponse(_) => "response",
        _ => "request",
    }
}

/// What the injector did to a packet.
fn event(trace: &Trace, record: &Record) -> Option<String> {
    let event = record.event();
    let held = trace.exit(record).map(|exit| exit.time - record.time).filter(|held| held.0 > 0);
    match (event, held) {
        (Event::None, _) => None,
        (Event::Action(ActionKind::Ecn), _) => Some("marked CE".into()),
        (_, Some(held)) => Some(format!("{event}, leaves after {held}")),
        (_, None) => Some(event.to_string()),
    }
}
