//! The vectors, through the interpreted programs.

use corpus::Role;
use p4::Dumper;
use p4::entries::program::{Wiring, items};

use super::load::Loaded;
use super::v1model::Switch;
use crate::support::PORTS;
use crate::vectors::{Vector, file};

pub(crate) fn wiring() -> Wiring {
    Wiring { hosts: PORTS, dumpers: vec![Dumper { port: 30, weight: 3 }, Dumper { port: 31, weight: 1 }] }
}

#[test]
fn the_program_for_v1model_holds_to_the_vectors() {
    let program = Loaded::new("event_injector_v1model.p4", &mut |_, text| text);
    let vectors: Vec<_> = file::all().into_iter().filter(is_possible).collect();
    assert!(vectors.len() >= 8, "{} vectors are within the program's capabilities", vectors.len());
    for vector in vectors {
        check(&program, &vector);
    }
}

/// Returns true if no entry is beyond the capabilities of P4 programs.
fn is_possible(vector: &Vector) -> bool {
    items(&vector.tables(), &wiring(), 1).is_ok()
}

fn check(program: &Loaded, vector: &Vector) {
    let wiring = wiring();
    let mut switch = Switch::new(program);
    for (group, port, replicas) in wiring.groups() {
        let members = (1..=replicas).map(|replica| (port.into(), replica.into())).collect();
        switch.groups.insert(group.into(), members);
    }
    switch.sessions = wiring.sessions().map(|(session, port)| (session.into(), port.into())).collect();
    for entry in items(&vector.tables(), &wiring, 1).unwrap() {
        switch.machine.write(entry);
    }
    let mut left = [Vec::new(), Vec::new()];
    for (place, packet) in vector.packets.iter().enumerate() {
        let time = 1_000 * place as u128;
        let mut mirrored = Vec::new();
        for (port, frame) in switch.receive(PORTS[packet.from as usize].into(), &packet.frame, time) {
            match PORTS.iter().position(|host| u128::from(*host) == port) {
                Some(host) => left[host].push(frame),
                None => mirrored.push((port, frame)),
            }
        }
        let which = format!("{}: packet {}", vector.name, place + 1);
        let [(port, frame)] = mirrored.try_into().unwrap_or_else(|_| panic!("{which} is mirrored once"));
        // Three to one, spread.
        let expected = if place % 4 == 2 { 31 } else { 30 };
        assert_eq!(port, expected, "{which}");
        let mut expected = packet.frame.clone();
        let meta = dumper::mirror::MirrorMeta {
            sequence: place as u32 + 1,
            time: dumper::Nanos(time as u64),
            event: packet.mirror,
        };
        p4::rewrite::mirror(&mut expected, meta);
        // The destination port, which is drawn.
        let mut same_port = frame.clone();
        let at = 14 + 20 + 2;
        same_port[at..at + 2].copy_from_slice(&packet.frame[at..at + 2]);
        assert_eq!(same_port, expected, "{which}");
    }
    for host in Role::ALL {
        vector.assert_left(host, &left[host as usize]);
    }
}
