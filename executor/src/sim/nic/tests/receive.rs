//! The way of packets into a NIC: its receive buffer, and what stops it.

use corpus::Verb;

use super::{MTU, NACK, Setup, Stat};
use crate::profile::Span;

/// Bytes of a full WRITE_MIDDLE frame without FCS: headers of 58 bytes, and the payload.
const FRAME: u64 = 58 + MTU as u64;

#[test]
fn a_full_buffer_discards() {
    let mut setup = Setup::qps(1);
    let mut peer = setup.peer();
    peer.posts(Verb::Write, 4 * MTU);
    let requests = peer.packets();
    (setup.profile.receive.packet_ns, setup.profile.receive.buffer_bytes) = (1_000, 2 * FRAME);
    let mut nic = setup.nic();
    nic.receives(requests);
    assert_eq!((nic.counted(Stat::PacketsReceived), nic.counted(Stat::Discards)), (1, 1));
    nic.waits(999);
    assert_eq!(nic.counted(Stat::PacketsReceived), 1);
    nic.waits(1);
    assert_eq!(nic.counted(Stat::PacketsReceived), 2);
    nic.waits(1_000);
    assert_eq!((nic.counted(Stat::PacketsReceived), nic.nic.receive_buffer().bytes), (3, 0));
}

#[test]
fn corrupted_and_undeliverable_packets_reach_no_qp() {
    let setup = Setup::qps(1);
    let (mut nic, mut peer) = (setup.nic(), setup.peer());
    peer.posts(Verb::Write, MTU);
    let request = peer.packets()[0];
    let (mut corrupt, mut undeliverable, mut foreign) = (request, request, request);
    (corrupt.corrupt, undeliverable.undeliverable, foreign.dest_qpn) = (true, true, 7);
    nic.receives([corrupt, undeliverable, foreign]);
    assert_eq!((nic.counted(Stat::PacketsReceived), nic.counted(Stat::IcrcErrors)), (3, 1));
    assert_eq!((nic.counted(Stat::PacketsTaken), nic.sends()), (0, vec![]));
}

#[test]
fn the_slow_path_stops_all_while_it_is_out_of_contexts() {
    let mut setup = Setup::qps(3);
    let mut peer = setup.peer();
    setup.profile.slow_path.contexts = 1;
    setup.profile.slow_path.verbs = vec![crate::profile::Verb::Write];
    let mut nic = setup.nic();
    (0..3).for_each(|qp| peer.posts_on(qp, Verb::Write, 2 * MTU));
    let requests = peer.packets();
    let second = |qp| requests.iter().copied().filter(move |packet| packet.qp == qp).skip(1);
    nic.receives(second(0).chain(second(1)).chain(second(2)));
    assert_eq!(nic.counted(Stat::PacketsTaken), 2, "two NAKs are made, one more than there are contexts");
    nic.waits(NACK);
    assert_eq!(nic.sends(), ["NAK 200", "NAK 200 of QP 1"]);
    assert_eq!(nic.counted(Stat::PacketsTaken), 3);
}

#[test]
fn path_migration_stops_what_arrives_behind_a_new_qp() {
    let mut setup = Setup::qps(2);
    setup.profile.transmit.mig_req = false;
    let mut peer = setup.peer();
    (setup.profile.apm.contexts, setup.profile.apm.resolve_ns) = (1, Span::exactly(500));
    let mut nic = setup.nic();
    (0..2).for_each(|qp| peer.posts_on(qp, Verb::Write, MTU));
    nic.receives(peer.packets());
    assert_eq!(nic.sends(), ["ACK 200"]);
    nic.waits(499);
    assert_eq!(nic.sends(), [""; 0]);
    nic.waits(1);
    assert_eq!(nic.sends(), ["ACK 200 of QP 1"]);
}
