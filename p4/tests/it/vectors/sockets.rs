//! The built `lumina-switch`, over sockets or between interfaces, and with the clock of the machine.

use std::time::Instant;

use corpus::Role;
use p4::client::SwitchClient;
use tokio::runtime::Runtime;

use super::file;
use crate::process::{PATIENCE, Rig};

#[test]
fn the_built_switch_holds_to_the_vectors() {
    let rig = Rig::start();
    let mut client = rig.client();
    check_all(&rig.runtime, &mut client, |host, frame| rig.send(host, frame), |host| rig.receive(host));
    rig.assert_silence();
}

/// Runs every vector on a switch, at whose ports a host, 0 or 1, sends and receives frames.
pub(crate) fn check_all(
    runtime: &Runtime,
    client: &mut SwitchClient,
    send: impl Fn(usize, &[u8]),
    receive: impl Fn(usize) -> Vec<u8>,
) {
    for vector in file::all() {
        let name = &vector.name;
        runtime.block_on(client.program(&vector.tables())).unwrap();
        for (place, packet) in vector.packets.iter().enumerate() {
            send(packet.from as usize, &packet.frame);
            // What comes in at two ports has no order of its own.
            let next = vector.packets.get(place + 1);
            let begun = Instant::now();
            while next.is_none_or(|next| next.from != packet.from)
                && runtime.block_on(client.counters()).unwrap().received() != place as u64 + 1
            {
                assert!(begun.elapsed() < PATIENCE, "{name}: packet {} does not enter", place + 1);
            }
        }
        for host in Role::ALL {
            let left: Vec<_> = vector.leave_to(host).iter().map(|_| receive(host as usize)).collect();
            vector.assert_left(host, &left);
        }
        let captured = runtime.block_on(client.collect()).unwrap();
        assert_eq!((captured.held, captured.losses.len()), (0, 0), "{name}");
        let mirrored: Vec<_> = captured
            .trace
            .records()
            .iter()
            .map(|record| (record.sequence as usize, record.event()))
            .collect();
        let expected: Vec<_> =
            vector.packets.iter().enumerate().map(|(place, packet)| (place + 1, packet.mirror)).collect();
        assert_eq!(mirrored, expected, "{name}");
    }
}
