//! Rewritten requests that a responder accepts although it must drop or refuse them.
//!
//! A rewritten packet silences the rules of its connection, as its receiver has seen another packet than the trace
//! shows. Where a test rewrites one field only, it is known which packet that was: one with another partition key is
//! dropped (IBA vol. 1, 9.6.1.1.1), one with another R_Key or another length is refused (9.7.4.1). An ACK or response
//! that covers it before it was repeated as it should be accepts it.

use std::collections::BTreeMap;

use corpus::{HeaderField, SetField, TestConfig};
use dumper::Fate;
use dumper::trace::FlowId;
use dumper::wire::{Class, Opcode, Position, Syndrome, Verb};
use dumper::{Nanos, Psn, Record, Trace};

use crate::anomaly::{Anomalies, Anomaly, Evidence, Role, Who};
use crate::rewritten;
use crate::rules::Rule;
use crate::see::connections::Pair;

/// Bits of a partition key that name the partition; the highest one says who is a full member (IBA vol. 1, 10.9.1.2).
const PARTITION: u64 = 0x7fff;

/// A request that left the switch so that no responder may accept it.
#[derive(Clone, Copy, Debug)]
struct Unacceptable {
    rule: Rule,
    psn: Psn,
    /// Who acknowledges this PSN has accepted it.
    accepted_with: Psn,
    sequence: u32,
    left: Nanos,
}

/// A connection, what is rewritten on it, and which requests may not be accepted.
struct Watched {
    requests: FlowId,
    answers: FlowId,
    who: Who,
    set: SetField,
    mtu: u32,
    open: Vec<Unacceptable>,
}

/// Judges the connections of a test that rewrites one field of each; `number` is that of a pair in the test.
pub(crate) fn judge(
    trace: &Trace,
    config: &TestConfig,
    pairs: &[Pair],
    number: impl Fn(&Pair) -> Option<u32>,
    anomalies: &mut Anomalies,
) {
    if !rewritten::rewrites(config) || rewritten::misdirects(config) {
        return;
    }
    let watched = |(pair, connection): (&Pair, usize)| {
        Some(Watched {
            requests: pair.requests,
            answers: pair.answers?,
            who: Who {
                role: Role::Responder,
                address: Some(pair.connection.responder.ip),
                connection: Some(connection),
            },
            set: rewritten::only_field(config, number(pair)?)?,
            mtu: config.traffic.mtu.bytes(),
            open: Vec::new(),
        })
    };
    let mut connections: Vec<Watched> = pairs.iter().zip(1..).filter_map(watched).collect();
    // Where both hosts post, a flow has the requests of one connection and the answers of another one.
    let place = |flow: fn(&Watched) -> FlowId| -> BTreeMap<u32, usize> {
        connections.iter().enumerate().map(|(at, connection)| (flow(connection).0, at)).collect()
    };
    let (requests, answers) = (place(|one| one.requests), place(|one| one.answers));
    for record in trace.records() {
        let flow = record.flow.0;
        if record.class().is_request() {
            if let Some(at) = requests.get(&flow) {
                connections[*at].requested(trace, record);
            }
        } else if let Some(at) = answers.get(&flow) {
            connections[*at].answered(record, anomalies);
        }
    }
}

impl Watched {
    fn requested(&mut self, trace: &Trace, record: &Record) {
        match trace.fate(record) {
            // What is repeated as it should be may be accepted.
            Fate::Delivered { .. } => self.open.retain(|open| open.psn != record.psn),
            Fate::Lost => {}
            Fate::Unknown => {
                let Some(exit) =
                    trace.exit(record).filter(|exit| exit.rewritten && exit.copies > 0 && exit.plain == 0)
                else {
                    // Nobody knows how it left, or it left as it should be as well.
                    self.open.clear();
                    return;
                };
                if let Some((rule, accepted_with)) = self.must_refuse(record) {
                    let (psn, sequence, left) = (record.psn, record.sequence, exit.time);
                    self.open.push(Unacceptable { rule, psn, accepted_with, sequence, left });
                }
            }
        }
    }

    /// The rule that a responder breaks which accepts a request as it was rewritten, and the PSN with which it does.
    fn must_refuse(&self, record: &Record) -> Option<(Rule, Psn)> {
        let (set, class) = (self.set, record.class());
        let position = match class {
            Class::Request(_, position) => Some(position),
            Class::ReadRequest => None,
            _ => return None,
        };
        let is_write = matches!(class, Class::Request(Verb::Write, _));
        let has_reth = class == Class::ReadRequest || is_write && position.is_some_and(Position::starts);
        let changes = |old: u64| set.apply(old) != old;
        let last = record.psn.add(record.dma_length.div_ceil(self.mtu).max(1) - 1);
        match set.field {
            HeaderField::PartitionKey => {
                let old = u64::from(record.partition_key);
                (set.apply(old) & PARTITION != old & PARTITION)
                    .then_some((Rule::WrongPartitionAccepted, record.psn))
            }
            // No key is checked of no bytes.
            HeaderField::RethKey => (has_reth && record.dma_length > 0 && changes(record.remote_key.into()))
                .then_some((Rule::WrongKeyAccepted, record.psn)),
            HeaderField::RethLength => (has_reth && is_write && changes(record.dma_length.into()))
                .then_some((Rule::WrongLengthAccepted, last)),
            // A Write that ends before its length is there.
            HeaderField::Opcode => {
                let ends = matches!(
                    Opcode::from(set.value as u8).class(),
                    Class::Request(Verb::Write, Position::Last | Position::Only)
                );
                (is_write && ends && position.is_some_and(|position| !position.ends()))
                    .then_some((Rule::WrongLengthAccepted, record.psn))
            }
            _ => None,
        }
    }

    fn answered(&mut self, record: &Record, anomalies: &mut Anomalies) {
        let accepts = match record.class() {
            Class::Acknowledge => matches!(record.aeth().syndrome, Syndrome::Ack(_)),
            Class::ReadResponse(_) => true,
            _ => false,
        };
        if !accepts || self.open.is_empty() {
            return;
        }
        let (who, set) = (self.who, self.set);
        self.open.retain(|open| {
            let accepted = !record.psn.is_before(open.accepted_with) && record.time >= open.left;
            if accepted {
                let field = set.field.name();
                let what = format!("accepts packet {}, of which the injector rewrote {field}", open.sequence);
                let evidence = Evidence::packets([record.sequence, open.sequence]);
                anomalies.push(Anomaly { rule: open.rule, who, state: "".into(), what, evidence });
            }
            !accepted
        });
    }
}
