//! Spacing of a host's packets while it certainly has more to send: in the middle of messages, on flows that
//! nothing slows down.

use std::collections::BTreeMap;

use dumper::observation::CompletionStatus;
use dumper::wire::{Class, Position, Syndrome};
use dumper::{Nanos, Observation, Psn};

use super::numbers::numbers;
use crate::Analysis;
use crate::see::sides::{Side, Sides};
use crate::thresholds::FEWEST_GAPS;

/// Two packets of a class behind each other, both of a whole MTU. From the one to the other the class had more to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// Index among the records of both.
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Time between them.
    pub(crate) took: Nanos,
    /// Packets that the host sent in that time: the second one, and those of others before it.
    pub(crate) packets: u32,
    /// Gaps of one number follow each other without a break.
    pub(crate) run: u32,
}

/// Properties of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    side: Option<Side>,
    /// Index of its connection among the pairs, and the flow that answers it.
    pair: Option<usize>,
    partner: Option<usize>,
    /// Path MTU in bytes.
    mtu: Option<u32>,
    /// Nothing slows it down: no CNP, NAK, repetition or failure.
    steady: bool,
}

/// Progress of a class so far.
#[derive(Debug, Default)]
struct Progress {
    /// Steady flows in the middle of a message.
    open: u32,
    /// The last packet, if the class has more and it was a whole one: its index, and the host's packets up to it.
    last: Option<(u32, u32)>,
    run: u32,
    gaps: Vec<Gap>,
}

/// The gaps of each class of each host.
pub(crate) struct Gaps {
    /// By the requester's and the responder's classes.
    pub(crate) hosts: [BTreeMap<u8, Vec<Gap>>; 2],
}

impl Gaps {
    /// `class` says in which class a host sends the data of a connection, by its number in the hosts' log.
    pub(crate) fn of(
        observation: &Observation,
        analysis: &Analysis,
        sides: &Sides,
        class: impl Fn(Side, u32) -> u8,
    ) -> Self {
        let numbers = numbers(observation, analysis);
        let senders = senders(observation, analysis, sides, &numbers);
        let mut hosts: [BTreeMap<u8, Progress>; 2] = Default::default();
        let mut sent = [0_u32; 2];
        let mut in_message = vec![false; senders.len()];
        for (record, at) in observation.trace.records().iter().zip(0..) {
            let flow = record.flow.index();
            let sender = senders[flow];
            let Some(side) = sender.side else { continue };
            sent[side.index()] += 1;
            let (Some(position), Some(pair)) = (data(record.class()), sender.pair) else { continue };
            let progress = hosts[side.index()].entry(class(side, numbers[pair])).or_default();
            let whole = sender.mtu == Some(u32::from(record.payload_len));
            match progress.last.filter(|_| whole) {
                Some((from, before)) => progress.gaps.push(Gap {
                    from,
                    to: at,
                    took: record.time - observation.trace.records()[from as usize].time,
                    packets: sent[side.index()] - before,
                    run: progress.run,
                }),
                None => progress.run += 1,
            }
            if sender.steady {
                let before = std::mem::replace(&mut in_message[flow], !position.ends());
                progress.open += u32::from(!before && !position.ends());
                progress.open -= u32::from(before && position.ends());
            }
            progress.last = (whole && progress.open > 0).then_some((at, sent[side.index()]));
        }
        let gaps = |classes: BTreeMap<u8, Progress>| {
            classes.into_iter().map(|(class, progress)| (class, progress.gaps)).collect()
        };
        Self { hosts: hosts.map(gaps) }
    }

    /// The usual time from one packet to the next of each host, in picoseconds, where nothing is sent between them; 0
    /// where there are too few to say.
    pub(crate) fn usual(observation: &Observation, analysis: &Analysis, sides: &Sides) -> [u64; 2] {
        Self::of(observation, analysis, sides, |_, _| 0).hosts.map(|classes| {
            let gaps = classes.values().flatten().filter(|gap| gap.packets == 1);
            let times: Vec<u64> = gaps.map(|gap| gap.took.0 * 1_000).collect();
            if times.len() < FEWEST_GAPS { 0 } else { middle(times).unwrap_or(0) }
        })
    }
}

/// Mean of the middle half, as each is rounded; none of none.
pub(crate) fn middle(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    let middle = &values[values.len() / 4..values.len() - values.len() / 4];
    middle.iter().sum::<u64>().checked_div(middle.len() as u64)
}

/// Position of a packet of data in its message.
const fn data(class: Class) -> Option<Position> {
    match class {
        Class::Request(_, position) | Class::ReadResponse(position) => Some(position),
        _ => None,
    }
}

/// Properties of each flow.
fn senders(observation: &Observation, analysis: &Analysis, sides: &Sides, numbers: &[u32]) -> Vec<Sender> {
    let trace = &observation.trace;
    let side =
        |flow: &dumper::Flow| Sender { side: sides.at(flow.source), steady: true, ..Sender::default() };
    let mut senders: Vec<Sender> = trace.flows().iter().map(side).collect();
    for (at, pair) in analysis.pairs.iter().enumerate() {
        let answers = pair.answers.map(dumper::FlowId::index);
        for (flow, partner) in
            [(Some(pair.requests.index()), answers), (answers, Some(pair.requests.index()))]
        {
            if let Some(sender) = flow.map(|flow| &mut senders[flow]).filter(|sender| sender.pair.is_none()) {
                (sender.pair, sender.partner, sender.mtu) = (Some(at), partner, pair.mtu);
                sender.steady = analysis.connections[at].judged;
            }
        }
    }
    let mut slow = |flow: Option<usize>| {
        if let Some(flow) = flow {
            senders[flow].steady = false;
        }
    };
    let mut unsteady: Vec<usize> =
        analysis.retransmissions.iter().map(|entry| entry.connection - 1).collect();
    for time in analysis.message_times.iter().filter(|time| time.status != CompletionStatus::Success) {
        unsteady.extend(numbers.iter().position(|number| *number == time.connection));
    }
    for pair in unsteady.into_iter().map(|at| &analysis.pairs[at]) {
        slow(Some(pair.requests.index()));
        slow(pair.answers.map(dumper::FlowId::index));
    }
    let mut next: Vec<Option<Psn>> = vec![None; senders.len()];
    for record in trace.records() {
        let flow = record.flow.index();
        let sender = &mut senders[flow];
        let (class, partner) = (record.class(), sender.partner);
        if let Some(position) = data(class) {
            let awaited = next[flow];
            sender.steady &= if position.starts() { awaited.is_none() } else { awaited == Some(record.psn) };
            next[flow] = (!position.ends()).then(|| record.psn.add(1));
        } else if class == Class::Acknowledge && !matches!(record.aeth().syndrome, Syndrome::Ack(_)) {
            sender.steady = false;
        } else if class != Class::Cnp {
            continue;
        }
        if data(class).is_none()
            && let Some(partner) = partner
        {
            senders[partner].steady = false;
        }
    }
    senders
}
