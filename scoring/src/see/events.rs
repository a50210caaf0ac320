//! The injected events in a trace.

use dumper::wire::{Class, Opcode};
use dumper::{Event, Psn, Record, Trace};
use serde::Serialize;

use crate::see::connections::Pair;

/// An injected event in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct InjectedEvent {
    /// Mirror sequence number of the packet.
    pub packet: u32,
    /// Connection, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<usize>,
    /// Action of the injector.
    #[serde(serialize_with = "as_text")]
    pub event: Event,
    /// Operation of the packet.
    #[serde(serialize_with = "as_text")]
    pub opcode: Opcode,
    /// Its relative PSN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub psn: Option<u32>,
}

fn as_text<T: ToString, S: serde::Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.to_string())
}

/// Most injected events that are listed; further ones are counted.
const MAX_EVENTS_LISTED: usize = 1_000;

/// Lists the first injected events, and counts all.
pub(crate) struct EventLog {
    /// Number and first PSN of the connection of each flow.
    connection_of: Vec<Option<(usize, Psn)>>,
    events: Vec<InjectedEvent>,
    count: u64,
}

impl EventLog {
    pub(crate) fn new(trace: &Trace, pairs: &[Pair]) -> Self {
        let mut connection_of = vec![None; trace.flows().len()];
        for (pair, number) in pairs.iter().zip(1..) {
            for flow in [Some(pair.requests), pair.answers].into_iter().flatten() {
                connection_of[flow.index()].get_or_insert((number, pair.initial_psn));
            }
        }
        Self { connection_of, events: Vec::new(), count: 0 }
    }

    #[cold]
    pub(crate) fn add(&mut self, record: &Record) {
        self.count += 1;
        if self.events.len() < MAX_EVENTS_LISTED {
            let connection = self.connection_of[record.flow.index()];
            let has_psn = record.class() != Class::Cnp;
            self.events.push(InjectedEvent {
                packet: record.sequence,
                connection: connection.map(|(number, _)| number),
                event: record.event(),
                opcode: record.opcode(),
                psn: connection.filter(|_| has_psn).map(|(_, initial)| record.psn.relative_to(initial)),
            });
        }
    }

    /// Events in all.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The first ones.
    pub(crate) fn into_listed(self) -> Vec<InjectedEvent> {
        self.events
    }
}
