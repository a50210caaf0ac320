//! Causes of time-outs once more, from the packets, by rules of its own: a search through all that was sent before each expiry.

use corpus::ActionKind;
use dumper::wire::{Class, Syndrome};
use dumper::{Event, Nanos, Observation, Psn, Record};

/// Shortest time-out: pauses of the requester that are shorter are none.
const SHORTEST: Nanos = Nanos(900_000);

/// Each time-out's cause, in order. Of one connection of Sends or Writes with one message in flight, where the network loses packets and does
/// nothing else.
pub(crate) fn causes(observation: &Observation) -> Vec<&'static str> {
    let records = observation.trace.records();
    let first = observation.connections[0].requester.initial_psn.unwrap();
    let mut causes = Vec::new();
    // Places of the repetitions that expiries began.
    let mut expiries: Vec<usize> = Vec::new();
    let mut last_request: Option<&Record> = None;
    for (at, record) in records.iter().enumerate() {
        if !is_request(record) {
            continue;
        }
        if let Some(last) = last_request
            && !record.psn.is_after(last.psn)
            && record.time - last.time > SHORTEST
        {
            causes.push(cause(&records[..at], first, &expiries));
            expiries.push(at);
        }
        last_request = Some(record);
    }
    causes
}

fn is_request(record: &Record) -> bool {
    matches!(record.class(), Class::Request(..))
}

fn is_lost(record: &Record) -> bool {
    record.event() == Event::Action(ActionKind::Drop)
}

/// Cause of an expiry after these packets.
fn cause(before: &[Record], first: Psn, expiries: &[usize]) -> &'static str {
    // The first PSN that has not arrived.
    let mut missing = first;
    let mut known_from = 0;
    for (at, record) in before.iter().enumerate() {
        if is_request(record) && !is_lost(record) && record.psn == missing {
            (missing, known_from) = (missing.add(1), at);
        }
    }
    let last = before.iter().rposition(|record| is_request(record) && record.psn == missing);
    let Some(last) = last else {
        // Everything that was sent has arrived: was the answer sent again since?
        let since = expiries.iter().rfind(|at| **at > known_from).copied();
        let asked =
            before[since.unwrap_or(0)..].iter().any(|one| is_request(one) && !is_lost(one) && one.ack_req());
        return if since.is_none() || asked { "ack-lost" } else { "lost-again" };
    };
    let naks = || {
        before.iter().enumerate().filter(|(_, record)| {
            record.class() == Class::Acknowledge
                && record.psn == missing
                && matches!(record.aeth().syndrome, Syndrome::Nak(_))
        })
    };
    // One after its first transmission; an earlier one was for what came before it.
    let first_sent = before.iter().position(|one| is_request(one) && one.psn == missing).unwrap_or(last);
    let expired_for_it = expiries.iter().any(|at| (first_sent + 1..=last).contains(at));
    if expired_for_it || naks().any(|(at, nak)| at < last && !is_lost(nak)) {
        return "lost-again";
    }
    match naks().next() {
        Some(_) if naks().all(|(_, nak)| is_lost(nak)) => "nak-lost",
        Some(_) => "nak-ignored",
        None => {
            let beyond = before[last..].iter();
            let shown =
                beyond.filter(|one| is_request(one)).any(|one| one.psn.is_after(missing) && !is_lost(one));
            if shown { "nak-missing" } else { "tail-lost" }
        }
    }
}
