//! The pipeline, which sees fields of packets and says what becomes of them.

use std::collections::BTreeMap;

use corpus::Role;
use dumper::Nanos;
use p4::{Packet, Pipeline, Ticket};

use super::{Vector, file};
use crate::frames::parse;
use crate::support::ports;

#[test]
fn the_pipeline_holds_to_the_vectors() {
    for vector in file::all() {
        check(&vector);
    }
}

/// A packet that has not left: its place, its way from there on.
struct Waits {
    place: usize,
    delay: Nanos,
}

fn check(vector: &Vector) {
    let name = &vector.name;
    let mut pipeline = Pipeline::new(vector.tables(), ports());
    let mut held: BTreeMap<Ticket, Waits> = BTreeMap::new();
    // Times of exit, and places.
    let mut left: Vec<(Nanos, usize)> = Vec::new();
    for (place, expected) in vector.packets.iter().enumerate() {
        let now = Vector::enters(place);
        let frame = parse(&expected.frame);
        let flow = pipeline.flow(frame.ip.destination(), frame.bth.dest_qpn);
        let packet = Packet::of(&frame, expected.frame.len() as u32);
        let verdict = pipeline.process(expected.from, flow, packet, now);
        let which = format!("{name}: packet {}", place + 1);
        assert_eq!(verdict.mirror.event, expected.mirror, "{which}");
        assert_eq!((verdict.mirror.sequence as usize, verdict.mirror.time), (place + 1, now), "{which}");
        let sent = verdict.sent;
        assert_eq!(usize::from(sent.leaving()), expected.out.len(), "{which}");
        let to = if expected.from == Role::Requester { 20 } else { 10 };
        assert_eq!(verdict.egress, to, "{which}");
        let changes = sent.actions.change_packet();
        let changed = if changes { sent.originals() } else { 0 };
        let expected_changed = expected.out.iter().filter(|leaves| leaves.changed).count();
        assert_eq!(usize::from(changed), expected_changed, "{which}");
        match verdict.hold {
            Some(ticket) => {
                let delay = verdict.delay.unwrap_or_default();
                assert!(held.insert(ticket, Waits { place, delay }).is_none(), "{which}");
            }
            None if sent.leaving() > 0 => left.push((now + verdict.delay.unwrap_or_default(), place)),
            None => {}
        }
        for ticket in pipeline.take_released() {
            let waits = held.remove(&ticket).unwrap();
            left.push((now + waits.delay, waits.place));
        }
    }
    assert!(held.is_empty(), "{name}: some packets never leave");
    // Those of one time leave in the order in which that was decided.
    left.sort_by_key(|(time, _)| *time);
    let order: Vec<_> = left.iter().map(|(_, place)| *place).collect();
    assert_eq!(order, vector.order, "{name}");
    for (time, place) in left {
        let after = time - Vector::enters(place);
        assert_eq!(after, vector.packets[place].after, "{name}: packet {}", place + 1);
    }
}
