//! Packet tables: the packets around a remark, one line each.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use dumper::Exit;
use dumper::trace::Record;
use dumper::wire::{Class, Ecn, Syndrome};
use dumper::{ActionKind, Event, Psn, Trace};
use rustc_hash::FxHashMap;
use scoring::ConnectionSummary;

/// Number and first PSN of the connection of each flow, found by addresses and QPN.
pub(crate) struct Numbering {
    flows: Vec<Option<(usize, Psn)>>,
}

impl Numbering {
    pub(crate) fn of(trace: &Trace, connections: &[ConnectionSummary]) -> Self {
        let mut by_end = FxHashMap::default();
        for summary in connections {
            let (requester, responder) = (summary.ends.requester, summary.ends.responder);
            let number = (summary.connection, Psn::new(summary.first_psn));
            for (from, to) in [(requester, responder), (responder, requester)] {
                if let Some(qpn) = to.qpn {
                    by_end.entry((from.ip, to.ip, qpn)).or_insert(number);
                }
            }
        }
        let flows = trace.flows();
        let number =
            |flow: &dumper::Flow| by_end.get(&(flow.source, flow.destination, flow.dest_qpn)).copied();
        Self { flows: flows.iter().map(number).collect() }
    }

    fn get(&self, record: &Record) -> Option<(usize, Psn)> {
        self.flows[record.flow.index()]
    }
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
        let same = |other: &usize| {
            numbering.get(&records[*other]).map(|n| n.0) == numbering.get(&records[at]).map(|n| n.0)
        };
        rows.extend((0..at).rev().filter(same).take(context));
        rows.extend((at + 1..records.len()).filter(same).take(context));
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
    let class = record.class();
    let mut text =
        format!("{} -> {} qpn {:#x}  {:<20}", flow.source, flow.destination, flow.dest_qpn, record.opcode());
    if class != Class::Cnp {
        let _ = match numbering.get(record) {
            Some((_, first)) => write!(text, " psn {}", record.psn.relative_to(first)),
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
