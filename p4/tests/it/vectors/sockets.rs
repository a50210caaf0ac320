//! The built `lumina-switch`, over sockets and with the clock of the machine.

use std::time::Instant;

use corpus::Role;

use super::{Vector, file};
use crate::process::{PATIENCE, Rig};

#[test]
fn the_built_switch_holds_to_the_vectors() {
    let rig = Rig::start();
    for vector in file::all() {
        check(&rig, &vector);
    }
}

fn check(rig: &Rig, vector: &Vector) {
    let mut client = rig.client();
    rig.wait(client.program(&vector.tables())).unwrap();
    for (place, packet) in vector.packets.iter().enumerate() {
        rig.send(packet.from as usize, &packet.frame);
        // What comes in at two ports has no order of its own.
        let begun = Instant::now();
        while rig.wait(client.counters()).unwrap().received() != place as u64 + 1 {
            assert!(begun.elapsed() < PATIENCE, "{}: packet {} does not enter", vector.name, place + 1);
        }
    }
    for host in Role::ALL {
        let left: Vec<_> = vector.leave_to(host).iter().map(|_| rig.receive(host as usize)).collect();
        vector.assert_left(host, &left);
    }
    let captured = rig.wait(client.collect()).unwrap();
    assert_eq!((captured.held, captured.losses.len()), (0, 0), "{}", vector.name);
    let mirrored: Vec<_> =
        captured.trace.records().iter().map(|record| (record.sequence as usize, record.event())).collect();
    let expected: Vec<_> =
        vector.packets.iter().enumerate().map(|(place, packet)| (place + 1, packet.mirror)).collect();
    assert_eq!(mirrored, expected, "{}", vector.name);
    rig.assert_silence();
}
