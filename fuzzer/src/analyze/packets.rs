//! Packet tables: the packets around a remark, one line each.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use dumper::Exit;
use dumper::trace::Record;
use dumper::wire::{Class, Ecn, Syndrome};
use dumper::{ActionKind, Event, Psn, Trace};
use rustc_hash::FxHashMap;
use scoring::ConnectionSummary;

/// Connection of a flow.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Number, from 1.
    pub(crate) connection: usize,
    /// PSN that relative numbers count from.
    first: Psn,
    /// True if its packets are the requester's.
    pub(crate) from_requester: bool,
}

/// Connection of each flow, found by addresses and QPN.
pub(crate) struct Numbering {
    flows: Vec<Option<Place>>,
}

impl Numbering {
    pub(crate) fn of(trace: &Trace, connections: &[ConnectionSummary]) -> Self {
        let mut by_end = FxHashMap::default();
        for summary in connections {
            let (requester, responder) = (summary.ends.requester, summary.ends.responder);
            for (from, to, from_requester) in [(requester, responder, true), (responder, requester, false)] {
                let place = Place {
                    connection: summary.connection,
                    first: Psn::new(summary.first_psn),
                    from_requester,
                };
                if let Some(qpn) = to.qpn {
                    by_end.entry((from.ip, to.ip, qpn)).or_insert(place);
                }
            }
        }
        let flows = trace.flows();
        let place =
            |flow: &dumper::Flow| by_end.get(&(flow.source, flow.destination, flow.dest_qpn)).copied();
        Self { flows: flows.iter().map(place).collect() }
    }

    /// Connection of a packet.
    pub(crate) fn get(&self, record: &Record) -> Option<Place> {
        self.flows[record.flow.index()]
    }

    /// Number of a packet's connection.
    pub(crate) fn connection(&self, record: &Record) -> Option<usize> {
        self.get(record).map(|place| place.connection)
    }
}

/// Places in the trace of so many packets before and after one, of the same connection.
pub(crate) fn around<'a>(
    trace: &'a Trace,
    numbering: &'a Numbering,
    at: usize,
    context: usize,
) -> impl Iterator<Item = usize> + 'a {
    let records = trace.records();
    let same =
        move |other: &usize| numbering.connection(&records[*other]) == numbering.connection(&records[at]);
    let before = (0..at).rev().filter(same).take(context);
    let after = (at + 1..records.len()).filter(same).take(context);
    before.chain(after)
}

/// A table of the named packets, each with `context` packets of its connection before and after it. Named ones
/// are marked with `>`.
pub(crate) fn table(trace: &Trace, numbering: &Numbering, named: &[u32], context: usize) -> String {
    let records = trace.records();
    let mut rows: BTreeSet<usize> = BTreeSet::new();
    let mut marked: BTreeSet<usize> = BTreeSet::new();
    for at in named.iter().filter_map(|sequence| trace.position(*sequence)) {
        marked.insert(at);
        rows.insert(at);
        rows.extend(around(trace, numbering, at, context));
    }
    let mut text = String::new();
    let start = records.first().map(|record| record.time).unwrap_or_default();
    let mut last = None;
    for at in rows {
        if last.is_some_and(|last| last + 1 < at) {
            let _ = writeln!(text, "      ...");
        }
        last = Some(at);
        let mark = if marked.contains(&at) { '>' } else { ' ' };
        let record = &records[at];
        let time = (record.time - start).exact();
        let _ = writeln!(
            text,
            "    {mark} {:>8}  {time:>16}  {}",
            record.sequence,
            describe(trace, numbering, record)
        );
    }
    text
}

fn describe(trace: &Trace, numbering: &Numbering, record: &Record) -> String {
    let flow = trace.flow(record);
    let mut text = format!(
        "{} -> {} qpn {:#x}  {:<20}{}",
        flow.source,
        flow.destination,
        flow.dest_qpn,
        record.opcode(),
        headers(numbering, record)
    );
    if record.event() != Event::None {
        let _ = write!(text, "  [{}]", record.event());
    }
    if let Some(Exit { time, copies, .. }) = trace.exit(record) {
        let _ = write!(text, " left after {}", time - record.time);
        if copies != 1 {
            let _ = write!(text, " x{copies}");
        }
    }
    text
}

/// The header fields of a packet that a reader needs, each behind a space.
pub(crate) fn headers(numbering: &Numbering, record: &Record) -> String {
    let class = record.class();
    let mut text = String::new();
    if class != Class::Cnp {
        let _ = match numbering.get(record) {
            Some(place) => write!(text, " psn {}", record.psn.relative_to(place.first)),
            None => write!(text, " psn {} (absolute)", record.psn),
        };
    }
    match class {
        Class::Acknowledge => {
            let aeth = record.aeth();
            if !matches!(aeth.syndrome, Syndrome::Ack(_)) {
                let _ = write!(text, " {}", aeth.syndrome);
            }
            let _ = write!(text, " msn {}", aeth.msn);
        }
        Class::ReadRequest => {
            let _ = write!(text, " length {}", record.dma_length);
        }
        _ => {}
    }
    if record.ack_req() {
        text.push_str(" ackreq");
    }
    if record.ecn() == Ecn::Ce && record.event() != Event::Action(ActionKind::Ecn) {
        text.push_str(" ce");
    }
    text
}
