//! Observed packets in the words of scripts: connections and PSNs are relative, rounds and occurrences
//! counted.

use std::collections::BTreeMap;
use std::net::IpAddr;

use corpus::{Shape, TestConfig};
use dumper::script::{Direction, Field, Name, Packet, Span, Unit, Window};
use dumper::trace::flags;
use dumper::wire::{Class, Ecn, Syndrome};
use dumper::{Event, Nanos, Observation, Psn, Record, Trace};
use p4::Rounds;

use super::events::{Key, counted_at, starts};

/// The packets of an observation that belong to its connections.
pub(super) struct Seen<'a> {
    trace: &'a Trace,
    shape: Shape,
    flows: Vec<Option<Flow>>,
    /// Index in the trace and round or occurrence (0 for packets that are not counted) of each packet, in
    /// mirror order.
    packets: Vec<(usize, u32)>,
    /// Virtual address of the first RETH of a message, by connection and message.
    bases: BTreeMap<(u32, u32), u64>,
    /// Indices of packets, other than datagrams, that belong to no connection.
    strays: Vec<usize>,
}

/// One direction of a connection.
#[derive(Clone, Copy)]
struct Flow {
    qp: u32,
    direction: Direction,
    initial: Psn,
}

impl<'a> Seen<'a> {
    pub(super) fn new(config: &TestConfig, observation: &'a Observation) -> Self {
        let trace = &observation.trace;
        let mut seen = Self {
            trace,
            shape: config.traffic.shape(),
            flows: flows(observation),
            packets: Vec::new(),
            bases: BTreeMap::new(),
            strays: Vec::new(),
        };
        let mut rounds: BTreeMap<(u32, bool), Rounds> = BTreeMap::new();
        let mut occurrences: BTreeMap<Key, u32> = BTreeMap::new();
        for (index, record) in trace.records().iter().enumerate() {
            let Some(flow) = seen.flows[record.flow.index()] else {
                if record.class() != Class::Datagram {
                    seen.strays.push(index);
                }
                continue;
            };
            let name = Name::of(record);
            let forth = flow.direction == Direction::ToResponder;
            let count = match name.control() {
                Some(kind) => {
                    let count = occurrences.entry(counted_at(flow.qp, forth, Some(kind))).or_default();
                    *count += 1;
                    *count
                }
                None if name.class().is_data() => {
                    let start = || Rounds::new(&config.traffic, flow.qp, flow.initial);
                    let rounds = rounds.entry((flow.qp, forth)).or_insert_with(start);
                    rounds.take(record.psn, starts(name.class())).into()
                }
                None => 0,
            };
            if name.has(Field::Dma)
                && let Some(message) = seen.message(flow, record)
            {
                seen.bases.entry((flow.qp, message)).or_insert(record.virtual_address);
            }
            seen.packets.push((index, count));
        }
        seen
    }

    fn message(&self, flow: Flow, record: &Record) -> Option<u32> {
        self.shape.locate(record.psn.relative_to(flow.initial)).map(|place| place.message)
    }

    /// Number of packets.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Packets that belong to no connection.
    pub(super) fn strays(&self) -> impl ExactSizeIterator<Item = &'a Record> {
        self.strays.iter().map(|index| &self.trace.records()[*index])
    }

    pub(super) fn record(&self, at: usize) -> &'a Record {
        &self.trace.records()[self.packets[at].0]
    }

    /// Time at which the packet entered the switch.
    pub(super) fn time(&self, at: usize) -> Nanos {
        self.record(at).time
    }

    /// Action of the injector on the packet.
    pub(super) fn event(&self, at: usize) -> Event {
        self.record(at).event()
    }

    /// The packet with all fields that it has.
    pub(super) fn packet(&self, at: usize) -> Packet {
        let (record, count) = (self.record(at), self.packets[at].1);
        let flow = self.flows[record.flow.index()].expect("packets without connection are strays");
        let name = Name::of(record);
        let value = |field| -> Option<i64> {
            Some(match field {
                Field::Psn => record.psn.relative_to(flow.initial).into(),
                Field::Iter | Field::Nth => count.into(),
                Field::Msn => record.aeth().msn.into(),
                Field::AckReq => record.ack_req().into(),
                Field::Len => record.payload_len.into(),
                Field::Dma => record.dma_length.into(),
                Field::Offset => {
                    let base = self.bases.get(&(flow.qp, self.message(flow, record)?))?;
                    // Two's complement: an address before the first one's is a negative offset.
                    record.virtual_address.wrapping_sub(*base) as i64
                }
                Field::Timer => match record.aeth().syndrome {
                    Syndrome::RnrNak(timer) => timer.into(),
                    _ => return None,
                },
                Field::MigReq => (record.flags & flags::MIG_REQ != 0).into(),
                Field::Ce => (record.ecn() == Ecn::Ce).into(),
            })
        };
        let numbers = Field::NUMBERS.iter().map(|(_, field, ..)| *field);
        let words = Field::WORDS.iter().map(|(_, field, _)| *field);
        let fields = numbers
            .chain(words)
            .filter(|field| name.has(*field))
            .filter_map(|field| Some((field, value(field)?)))
            .collect();
        Packet {
            at: Default::default(),
            time: Window::ANY,
            direction: flow.direction,
            name,
            qp: flow.qp,
            fields,
            actions: Vec::new(),
        }
    }

    /// The packet as a script would say it, with the fields that say something, and those of `also`.
    pub(super) fn brief(&self, at: usize, also: Option<&Packet>) -> Packet {
        let mut packet = self.packet(at);
        packet.fields.retain(|field, value| {
            let says = match field {
                Field::Psn | Field::Msn | Field::Dma | Field::Timer => true,
                Field::Iter => *value > 1,
                Field::Offset => *value != 0,
                Field::AckReq | Field::Ce => *value == 1,
                Field::Nth | Field::Len | Field::MigReq => false,
            };
            says || also.is_some_and(|also| also.fields.contains_key(field))
        });
        packet
    }

    /// The packet in one line, with the injector's actions on it.
    pub(super) fn text(&self, at: usize, also: Option<&Packet>) -> String {
        let packet = self.brief(at, also);
        match self.event(at) {
            Event::None => packet.to_string(),
            event => format!("{packet}  {event}"),
        }
    }

    /// The packets around one of them, each with its number in the trace and its distance from the one before.
    pub(super) fn around(&self, at: usize) -> Vec<String> {
        const BEFORE: usize = 3;
        const AFTER: usize = 2;
        let last = (at + AFTER).min(self.len().saturating_sub(1));
        let line = |index: usize| {
            let before = self.time(index.saturating_sub(1));
            let distance = Span::whole((self.time(index) - before).0, Unit::Ns);
            let mark = if index == at { '*' } else { ' ' };
            let sequence = self.record(index).sequence;
            format!("{mark} {sequence:>5}  {:<10} {}", format!("+{distance}"), self.text(index, None))
        };
        (at.saturating_sub(BEFORE)..=last).filter(|index| *index < self.len()).map(line).collect()
    }
}

/// Connection and direction of each flow of the trace.
fn flows(observation: &Observation) -> Vec<Option<Flow>> {
    let trace = &observation.trace;
    let mut ends: BTreeMap<(IpAddr, IpAddr, u32), (u32, Direction)> = BTreeMap::new();
    for (qp, connection) in (1..).zip(&observation.connections) {
        let (requester, responder) = (&connection.requester, &connection.responder);
        if let Some(qpn) = responder.qpn {
            ends.entry((requester.ip, responder.ip, qpn)).or_insert((qp, Direction::ToResponder));
        }
        if let Some(qpn) = requester.qpn {
            ends.entry((responder.ip, requester.ip, qpn)).or_insert((qp, Direction::ToRequester));
        }
    }
    let found: Vec<Option<(u32, Direction)>> = trace
        .flows()
        .iter()
        .map(|flow| ends.get(&(flow.source, flow.destination, flow.dest_qpn)).copied())
        .collect();
    // Where the hosts do not say, PSNs count from the first request.
    let mut first: BTreeMap<u32, Psn> = BTreeMap::new();
    for record in trace.records().iter().filter(|record| record.class().is_request()) {
        if let Some((qp, Direction::ToResponder)) = found[record.flow.index()] {
            first.entry(qp).or_insert(record.psn);
        }
    }
    let flow = |(qp, direction): (u32, Direction)| {
        let known = observation.connections[qp as usize - 1].requester.initial_psn;
        Flow { qp, direction, initial: known.or_else(|| first.get(&qp).copied()).unwrap_or_default() }
    };
    found.into_iter().map(|found| found.map(flow)).collect()
}
