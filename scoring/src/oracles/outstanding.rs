//! Unacknowledged packets of each requester, as the switch sees them.

use std::collections::BTreeMap;

use dumper::wire::{Class, Syndrome};
use dumper::{Observation, Psn, Record};

use crate::see::connections::Pair;

/// Unacknowledged packets of the flows of requests.
#[derive(Debug)]
pub(super) struct Outstanding {
    /// By flow of requests.
    flows: BTreeMap<usize, Window>,
    /// By flow of answers: that of the requests.
    answered: BTreeMap<usize, usize>,
}

/// Of one flow: its oldest unacknowledged PSN, and the one after its latest packet.
#[derive(Clone, Copy, Debug)]
struct Window {
    oldest: Psn,
    next: Psn,
}

impl Outstanding {
    /// Before the first packet of connections.
    pub(super) fn new(pairs: &[Pair]) -> Self {
        let start = |pair: &Pair| Window { oldest: pair.initial_psn, next: pair.initial_psn };
        Self {
            flows: pairs.iter().map(|pair| (pair.requests.index(), start(pair))).collect(),
            answered: pairs
                .iter()
                .filter_map(|pair| Some((pair.answers?.index(), pair.requests.index())))
                .collect(),
        }
    }

    /// Takes a packet; with a request, the unacknowledged ones of its flow.
    pub(super) fn take(&mut self, record: &Record) -> Option<u32> {
        let flow = record.flow.index();
        match record.class() {
            Class::Request(..) | Class::ReadRequest => {
                let window = self.flows.get_mut(&flow)?;
                let next = record.psn.add(1);
                if next.is_after(window.next) {
                    window.next = next;
                }
                u32::try_from(window.next.since(window.oldest)).ok()
            }
            Class::ReadResponse(_) => self.acknowledge(flow, record.psn),
            Class::Acknowledge if matches!(record.aeth().syndrome, Syndrome::Ack(_)) => {
                self.acknowledge(flow, record.psn)
            }
            _ => None,
        }
    }

    fn acknowledge(&mut self, answers: usize, psn: Psn) -> Option<u32> {
        let window = self.flows.get_mut(self.answered.get(&answers)?)?;
        let oldest = psn.add(1);
        if oldest.is_after(window.oldest) {
            window.oldest = oldest;
        }
        None
    }

    /// The most packets that each flow of requests ever had: where a NIC has a bound, that one.
    pub(super) fn most(observation: &Observation, pairs: &[Pair]) -> BTreeMap<usize, u32> {
        let mut outstanding = Self::new(pairs);
        let mut most = BTreeMap::new();
        for record in observation.trace.records() {
            if let Some(packets) = outstanding.take(record) {
                let of_flow = most.entry(record.flow.index()).or_default();
                *of_flow = packets.max(*of_flow);
            }
        }
        most
    }
}
