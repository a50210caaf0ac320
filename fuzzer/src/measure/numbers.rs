//! Counts and times of a run. Times are those of the switch, but for completion times, which are the posting
//! host's.

use std::collections::BTreeMap;

use corpus::Role;
use dumper::observation::CompletionStatus;
use dumper::wire::Class;
use dumper::{ActionKind, Completion, Event, Nanos, Record};
use scoring::{CnpScope, Trigger};

use super::{Seen, Value};

/// Points of a figure.
pub type Points = Vec<(f64, f64)>;

/// A fast retransmission, by the lost packet that it repeats first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Phase {
    /// The packet's place in its message, from 1.
    pub packet: u32,
    /// From the first packet behind the loss to the NACK, in µs.
    pub generation_us: f64,
    /// From the NACK to the repeated packet, in µs.
    pub reaction_us: f64,
}

impl Phase {
    /// Both phases, in µs.
    pub fn total_us(&self) -> f64 {
        self.generation_us + self.reaction_us
    }
}

/// Scope of a host's CNP interval, in words.
pub const fn scope_words(scope: CnpScope) -> &'static str {
    match scope {
        CnpScope::Qp => "per QP",
        CnpScope::DestinationIp => "per destination IP",
        CnpScope::Port => "per NIC port",
    }
}

/// A time in µs.
pub fn micros(time: Nanos) -> f64 {
    time.0 as f64 / 1e3
}

impl<'a> Seen<'a> {
    /// Message and place in it, both from 1, of a relative PSN.
    fn place(&self, psn: u32) -> (u32, u32) {
        let packets = self.config.traffic.shape().packets_per_message().max(1);
        ((psn - 1) / packets + 1, (psn - 1) % packets + 1)
    }

    /// Fast retransmissions in order.
    pub fn phases(&self) -> Vec<Phase> {
        let fast = self.analysis.retransmissions.iter().filter(|one| one.trigger == Trigger::Fast);
        fast.filter_map(|one| {
            Some(Phase {
                packet: self.place(one.from_psn).1,
                generation_us: micros(one.generation_ns?),
                reaction_us: micros(one.reaction_ns?),
            })
        })
        .collect()
    }

    /// Share of all retransmissions, of any cause, that begin in the first message of their connection; none without
    /// any.
    pub fn first_message_share(&self) -> Option<f64> {
        let all = &self.analysis.retransmissions;
        let first = all.iter().filter(|one| self.place(one.from_psn).0 == 1).count();
        (!all.is_empty()).then(|| first as f64 / all.len() as f64)
    }

    /// Waits of the only connection in seconds, for each time that it was timed out on and got on or failed, in order.
    pub fn waits(&self) -> Vec<Vec<f64>> {
        let expiries = self.analysis.expiries.iter().filter(|one| one.connection == 1);
        expiries.map(|one| one.waits_ns.iter().map(|wait| wait.as_secs_f64()).collect()).collect()
    }

    /// Messages whose retransmission some packet needed: connection and message, both from 1.
    pub fn repeated_messages(&self) -> Vec<(u32, u32)> {
        let repeated = self.analysis.retransmissions.iter();
        let mut messages: Vec<_> =
            repeated.map(|one| (one.connection as u32, self.place(one.from_psn).0)).collect();
        messages.sort_unstable();
        messages.dedup();
        messages
    }

    /// Completion times in µs of the messages that were sent successfully and are asked for.
    pub fn completion_times(&self, which: impl Fn(&Completion) -> bool) -> Vec<f64> {
        let completions = self.observation.completions().iter();
        let done = completions.filter(|one| one.status == CompletionStatus::Success && which(one));
        done.map(|one| micros(one.completed_ns - one.posted_ns)).collect()
    }

    /// Goodput of each connection in Gb/s.
    pub fn goodputs(&self) -> Vec<f64> {
        self.analysis.messages.iter().map(|qp| qp.goodput_bps / 1e9).collect()
    }

    /// Increase of a counter of a host; `None` if the host does not have it.
    pub fn moved(&self, role: Role, counter: &str) -> Option<u64> {
        let counters = match role {
            Role::Requester => &self.observation.requester,
            Role::Responder => &self.observation.responder,
        };
        counters.as_ref()?.moved(counter)
    }

    /// A host's scope of the interval of CNPs, as the analyzers infer it.
    pub fn cnp_scope(&self, role: Role) -> Option<Value> {
        let scope = self.analysis.limiters[role as usize]?.scope?;
        Some(Value::Words(scope_words(scope).into()))
    }

    /// CNPs with the connection, from 1, whose data they slow down.
    fn cnps(&self) -> impl Iterator<Item = (usize, &'a Record)> {
        let trace = &self.observation.trace;
        let connections = &self.observation.connections;
        let cnps = trace.records().iter().filter(|record| record.class() == Class::Cnp);
        cnps.filter_map(move |record| {
            let flow = trace.flow(record);
            let to = Some(flow.dest_qpn);
            let at = connections.iter().position(|connection| {
                [connection.requester, connection.responder]
                    .iter()
                    .any(|end| end.ip == flow.destination && end.qpn == to)
            })?;
            Some((at + 1, record))
        })
    }

    /// CNPs of each connection.
    pub fn cnp_counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.observation.connections.len()];
        for (connection, _) in self.cnps() {
            counts[connection - 1] += 1;
        }
        counts
    }

    /// Shortest time in µs between two CNPs of one connection; none of single ones.
    pub fn shortest_cnp_gap(&self) -> Option<f64> {
        let mut last: BTreeMap<usize, Nanos> = BTreeMap::new();
        let gaps = self
            .cnps()
            .filter_map(|(connection, record)| Some(record.time - last.insert(connection, record.time)?));
        gaps.min().map(micros)
    }

    /// Times at which the ECN-marked data packets of each connection passed the switch, in µs since the first
    /// data packet.
    pub fn marked_times(&self) -> Vec<Vec<f64>> {
        let trace = &self.observation.trace;
        let data = || trace.records().iter().filter(|record| record.class().is_data());
        let start = data().next().map(|record| record.time).unwrap_or_default();
        let mut times = vec![Vec::new(); self.observation.connections.len()];
        for record in data().filter(|record| record.event() == Event::Action(ActionKind::Ecn)) {
            let flow = trace.flow(record);
            let is_to = |one: &dumper::Connection| {
                one.responder.ip == flow.destination && one.responder.qpn == Some(flow.dest_qpn)
            };
            if let Some(at) = self.observation.connections.iter().position(is_to) {
                times[at].push(micros(record.time - start));
            }
        }
        times
    }

    /// The first connection's data packets around its first fast retransmission: those before it, and those of it and
    /// after. Time in µs since the NACK, and relative PSN, of one message.
    pub fn around_nack(&self) -> Option<(Points, Points)> {
        let trace = &self.observation.trace;
        let one = self.analysis.retransmissions.iter().find(|one| one.trigger == Trigger::Fast)?;
        let (nack, repeated) = (trace.find(one.nack?)?, trace.find(one.retransmission?)?);
        let first = self.observation.connections.first()?.requester.initial_psn?;
        let last = self.config.traffic.shape().packets_per_message();
        let message = trace.records().iter().filter(|record| record.class().is_data());
        let message = message.filter(|record| record.psn.relative_to(first) <= last);
        let place = |record: &Record| {
            let time = record.time.signed_since(nack.time) as f64 / 1e3;
            (time, f64::from(record.psn.relative_to(first)))
        };
        let (before, after): (Vec<_>, Vec<_>) =
            message.partition(|record| record.sequence < repeated.sequence);
        Some((before.into_iter().map(place).collect(), after.into_iter().map(place).collect()))
    }

    /// Bytes of messages that complete in a nanosecond, once the rate is steady: from the completion of a quarter of all messages to that of three
    /// quarters.
    pub fn steady_rate(&self) -> Option<f64> {
        self.steady_rate_of(|_| true)
    }

    /// The same of some messages.
    pub fn steady_rate_of(&self, which: impl Fn(&Completion) -> bool) -> Option<f64> {
        let all = self.observation.completions().iter();
        let mut completed: Vec<&Completion> =
            all.filter(|one| one.status == CompletionStatus::Success && which(one)).collect();
        completed.sort_by_key(|one| one.completed_ns);
        let (from, to) = (completed.len() / 4, completed.len() * 3 / 4);
        let middle = completed.get(from..=to)?;
        let ns = middle.last()?.completed_ns - middle.first()?.completed_ns;
        let bytes: u64 = middle.iter().skip(1).map(|one| one.bytes).sum();
        (ns.0 > 0).then(|| bytes as f64 / ns.0 as f64)
    }

    /// Relative PSNs of the first connection's data packets as they passed the switch, `x` behind those that were
    /// dropped.
    pub fn wire_order(&self) -> String {
        let trace = &self.observation.trace;
        let first = self.observation.connections.first().and_then(|one| one.requester.initial_psn);
        let data = trace.records().iter().filter(|record| record.class().is_data());
        let names = data.map(|record| {
            let lost = if record.event() == Event::Action(ActionKind::Drop) { "x" } else { "" };
            format!("{}{lost}", record.psn.relative_to(first.unwrap_or_default()))
        });
        names.collect::<Vec<_>>().join(" ")
    }
}
