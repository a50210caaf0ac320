//! Requester: requests in, packets out; acknowledgements in, completions out.

use corpus::Verb;
use dumper::observation::CompletionStatus::Success;

use super::{MTU, Setup, T, ack, text};

#[test]
fn a_write_is_cut_into_packets_and_its_last_one_asks_for_an_ack() {
    let mut nic = Setup::qps(1).nic();
    nic.posts(Verb::Write, 2 * MTU + 1);
    let packets = nic.packets();
    assert_eq!(
        packets.iter().map(text).collect::<Vec<_>>(),
        ["WRITE_FIRST 100", "WRITE_MIDDLE 101", "WRITE_LAST 102"]
    );
    assert_eq!(packets.iter().map(|packet| packet.payload).collect::<Vec<_>>(), [1_024, 1_024, 1]);
    assert_eq!(packets.iter().map(|packet| packet.ack_req).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(packets[0].reth.dma_length, 2 * MTU + 1);
    assert_eq!(nic.completes(), []);
    nic.receives(ack(102));
    assert_eq!(nic.completes(), [(0, Success)]);
    assert_eq!(nic.nic.poll_timeout(), None, "the ACK timer has stopped");
}

#[test]
fn an_ack_completes_all_requests_before_it() {
    let mut nic = Setup::qps(1).nic();
    (0..3).for_each(|_| nic.posts(Verb::Send, MTU));
    assert_eq!(nic.sends(), ["SEND_ONLY 100", "SEND_ONLY 101", "SEND_ONLY 102"]);
    nic.receives(ack(101));
    assert_eq!(nic.completes(), [(0, Success), (1, Success)]);
    nic.receives(ack(100));
    nic.receives(ack(103));
    assert_eq!(nic.completes(), [], "an old ACK, and one of a PSN that was not sent");
}

#[test]
fn no_more_reads_are_outstanding_than_allowed() {
    let setup = Setup::qps(1);
    let (mut nic, mut peer) = (setup.nic(), setup.peer());
    (0..3).for_each(|_| nic.posts(Verb::Read, 2 * MTU));
    let requests = nic.packets();
    assert_eq!(requests.iter().map(text).collect::<Vec<_>>(), ["READ_REQUEST 100", "READ_REQUEST 102"]);
    peer.receives(requests);
    let responses = peer.packets();
    nic.receives([responses[0]]);
    assert_eq!((nic.completes(), nic.sends()), (vec![], vec![]));
    nic.receives([responses[1]]);
    assert_eq!(nic.completes(), [(0, Success)]);
    assert_eq!(nic.sends(), ["READ_REQUEST 104"]);
}

#[test]
fn no_more_packets_are_unacknowledged_than_allowed() {
    let mut setup = Setup::qps(1);
    setup.profile.requester.window_packets = 3;
    let mut nic = setup.nic();
    nic.posts(Verb::Write, 4 * MTU);
    nic.posts(Verb::Send, MTU);
    let packets = nic.packets();
    assert_eq!(packets.iter().map(|packet| packet.ack_req).collect::<Vec<_>>(), [false, false, true]);
    nic.receives(ack(100));
    let packets = nic.packets();
    assert_eq!(packets.iter().map(text).collect::<Vec<_>>(), ["WRITE_LAST 103"]);
    nic.receives(ack(101));
    assert_eq!((nic.sends(), nic.completes()), (vec!["SEND_ONLY 104".to_owned()], vec![]));
    assert_eq!(nic.sends(), [""; 0]);
    // The timer goes back to the oldest packet, and the window with it.
    nic.waits(T);
    assert_eq!(nic.sends(), ["WRITE_MIDDLE 102", "WRITE_LAST 103", "SEND_ONLY 104"]);
    nic.receives(ack(104));
    assert_eq!(nic.completes(), [(0, Success), (1, Success)]);
}

#[test]
fn a_read_waits_for_room_and_takes_all_that_it_asks_for() {
    let mut setup = Setup::qps(1);
    setup.profile.requester.window_packets = 3;
    let mut nic = setup.nic();
    nic.posts(Verb::Write, 2 * MTU);
    (0..2).for_each(|_| nic.posts(Verb::Read, 4 * MTU));
    assert_eq!(nic.sends(), ["WRITE_FIRST 100", "WRITE_LAST 101", "READ_REQUEST 102"]);
    nic.receives(ack(101));
    assert_eq!(nic.sends(), [""; 0], "four responses are outstanding");
}
