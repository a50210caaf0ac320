//! Causes of time-outs once more, from the packets, by rules of its own: a search through all that was sent before each expiry.

use corpus::ActionKind;
use dumper::wire::{Class, Syndrome};
use dumper::{Event, Nanos, Observation, Psn, Record};

/// Each time-out's cause, in order. A packet for which a NAK came is repeated for that, unless the requester is silent for longer than
/// `shortest` before. Of one connection of Sends or Writes with one message in flight, where the network loses packets and does nothing
/// else.
pub(crate) fn causes(observation: &Observation, shortest: Nanos) -> Vec<&'static str> {
    let records = observation.trace.records();
    let first = observation.connections[0].requester.initial_psn.unwrap();
    let mut causes = Vec::new();
    // Places of the repetitions that expiries began, and what was missing then.
    let mut expiries: Vec<(usize, Psn)> = Vec::new();
    let mut last_request: Option<&Record> = None;
    for (at, record) in records.iter().enumerate() {
        if !is_request(record) {
            continue;
        }
        if let Some(last) = last_request
            && !record.psn.is_after(last.psn)
            && (record.time - last.time > shortest || !is_asked_for(&records[..at], record.psn))
        {
            let (cause, missing) = cause(&records[..at], first, &expiries);
            causes.push(cause);
            expiries.push((at, missing));
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

/// Returns true if a NAK for a PSN left the switch since the packet was sent.
fn is_asked_for(before: &[Record], psn: Psn) -> bool {
    let since = before.iter().rev().take_while(|one| !(is_request(one) && one.psn == psn));
    since.filter(|one| is_nak(one, psn)).any(|one| !is_lost(one))
}

fn is_nak(record: &Record, psn: Psn) -> bool {
    record.class() == Class::Acknowledge
        && record.psn == psn
        && matches!(record.aeth().syndrome, Syndrome::Nak(_))
}

/// Cause of an expiry after these packets, and the first PSN that has not arrived.
fn cause(before: &[Record], first: Psn, expiries: &[(usize, Psn)]) -> (&'static str, Psn) {
    let mut missing = first;
    let mut known_from = 0;
    for (at, record) in before.iter().enumerate() {
        if is_request(record) && !is_lost(record) && record.psn == missing {
            (missing, known_from) = (missing.add(1), at);
        }
    }
    (cause_of(before, missing, known_from, expiries), missing)
}

/// The same, where the PSNs before `missing` have arrived, the last one at a place.
fn cause_of(before: &[Record], missing: Psn, known_from: usize, expiries: &[(usize, Psn)]) -> &'static str {
    let last = before.iter().rposition(|record| is_request(record) && record.psn == missing);
    let Some(last) = last else {
        // Everything that was sent has arrived: was the answer sent again since?
        let since = expiries.iter().map(|(at, _)| *at).rfind(|at| *at > known_from);
        let asked =
            before[since.unwrap_or(0)..].iter().any(|one| is_request(one) && !is_lost(one) && one.ack_req());
        return if since.is_none() || asked { "ack-lost" } else { "lost-again" };
    };
    let naks = || before.iter().enumerate().filter(|(_, record)| is_nak(record, missing));
    // Whatever was lost before, it was asked for since.
    if is_asked_for(before, missing) {
        return "nak-ignored";
    }
    // An expiry while something before it was missing was not for it.
    let expired_for_it = expiries.iter().any(|(at, psn)| *psn == missing && *at <= last);
    if expired_for_it || naks().any(|(at, nak)| at < last && !is_lost(nak)) {
        return "lost-again";
    }
    match naks().next() {
        Some(_) => "nak-lost",
        None => {
            let beyond = before[last..].iter();
            let shown =
                beyond.filter(|one| is_request(one)).any(|one| one.psn.is_after(missing) && !is_lost(one));
            if shown { "nak-missing" } else { "tail-lost" }
        }
    }
}
