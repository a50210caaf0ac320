//! Selective repeat: what is missing is repeated, and nothing else.

use corpus::Verb;
use dumper::observation::CompletionStatus::{RetryExceeded, Success};
use dumper::timers::rnr_wait;
use dumper::wire::Syndrome;

use super::{Alone, MTU, NACK, Setup, Stat, T, ack, acknowledge, nak, text};
use crate::profile::{LossBy, Reorder, ReorderEngine};
use crate::sim::packet::Packet;

fn ring() -> Reorder {
    Reorder { engine: ReorderEngine::Ring, access_ns: 0, loss_by: LossBy::Psn, ..Reorder::default() }
}

/// Both NICs, and the packets of the first one's request.
fn ends(reorder: Reorder, verb: Verb, bytes: u32) -> (Alone, Alone, Vec<Packet>) {
    let setup = Setup::selective(1, reorder);
    let (mut nic, peer) = (setup.nic(), setup.peer());
    nic.posts(verb, bytes);
    let packets = nic.packets();
    (nic, peer, packets)
}

#[test]
fn a_nak_names_a_missing_packet_and_that_one_is_repeated() {
    let (mut nic, mut peer, packets) = ends(ring(), Verb::Write, 4 * MTU);
    peer.receives([packets[0], packets[2], packets[3]]);
    peer.waits(NACK);
    assert_eq!(peer.sends(), ["NAK 101"]);
    nic.receives(nak(101));
    nic.waits(NACK - 1);
    assert_eq!(nic.sends(), [""; 0]);
    nic.waits(1);
    let again = nic.packets();
    assert_eq!(again.iter().map(text).collect::<Vec<_>>(), ["WRITE_MIDDLE 101"]);
    assert!(again[0].ack_req, "the ACK may have been lost that the last packet had asked for");
    assert_eq!(nic.completes(), []);
    peer.receives(again);
    assert_eq!(peer.sends(), ["ACK 103"], "for the last packet, which asked for it, and everything before");
    nic.receives(ack(103));
    assert_eq!(nic.completes(), [(0, Success)]);
    assert_eq!(nic.nic.poll_timeout(), None);
}

#[test]
fn each_missing_packet_has_one_nak() {
    let (_, mut peer, packets) = ends(ring(), Verb::Write, 4 * MTU);
    peer.receives([packets[2], packets[3], packets[2]]);
    peer.waits(NACK);
    assert_eq!(peer.sends(), ["NAK 100", "NAK 101"]);
    assert_eq!((peer.counted(Stat::SequenceNaksSent), peer.counted(Stat::DuplicateRequests)), (2, 1));
}

#[test]
fn the_span_shows_a_loss_or_only_the_timer_does() {
    let by_span = Reorder { loss_by: LossBy::Span, loss_span_packets: 3, ..ring() };
    let (_, mut peer, packets) = ends(by_span, Verb::Write, 4 * MTU);
    peer.receives([packets[1]]);
    peer.waits(NACK);
    assert_eq!(peer.sends(), [""; 0]);
    peer.receives([packets[2]]);
    peer.waits(NACK);
    assert_eq!(peer.sends(), ["NAK 100"]);

    let by_timer = Reorder { loss_by: LossBy::Timer, ..ring() };
    let (mut nic, mut peer, packets) = ends(by_timer, Verb::Write, 4 * MTU);
    peer.receives([packets[1], packets[2], packets[3]]);
    peer.waits(NACK);
    assert_eq!(peer.sends(), [""; 0]);
    nic.waits(T);
    assert_eq!(nic.sends(), ["WRITE_FIRST 100"], "the oldest packet alone");
}

#[test]
fn a_repetition_that_is_lost_waits_for_the_timer_and_its_budget() {
    let (mut nic, _, packets) = ends(ring(), Verb::Write, 2 * MTU);
    assert_eq!(packets.len(), 2);
    nic.receives(nak(100));
    nic.waits(NACK);
    assert_eq!(nic.sends(), ["WRITE_FIRST 100"]);
    for _ in 0..2 {
        nic.waits(T + NACK);
        assert_eq!(nic.sends(), ["WRITE_FIRST 100"]);
    }
    nic.waits(T + NACK);
    assert_eq!((nic.sends(), nic.completes()), (vec![], vec![(0, RetryExceeded)]));
}

#[test]
fn naks_spend_no_retry() {
    let (mut nic, _, _) = ends(ring(), Verb::Write, 4 * MTU);
    nic.receives([100, 101, 102, 103].map(|psn| nak(psn)[0]));
    nic.waits(NACK);
    assert_eq!(nic.sends(), ["WRITE_FIRST 100", "WRITE_MIDDLE 101", "WRITE_MIDDLE 102", "WRITE_LAST 103"]);
    assert_eq!(nic.completes(), []);
}

#[test]
fn a_lost_ack_is_asked_for_by_the_timer() {
    let (mut nic, mut peer, packets) = ends(ring(), Verb::Write, 4 * MTU);
    peer.receives(packets);
    assert_eq!(peer.sends(), ["ACK 103"]);
    nic.waits(T);
    peer.receives(nic.packets());
    assert_eq!(peer.sends(), ["ACK 103"]);
}

#[test]
fn missing_responses_are_requested_and_no_others() {
    let (mut nic, mut peer, request) = ends(ring(), Verb::Read, 8 * MTU);
    peer.receives(request);
    let responses = peer.packets();
    nic.receives([0, 2, 5, 6].map(|at| responses[at]));
    nic.waits(NACK);
    let requests = nic.packets();
    let asked = |packet: &Packet| (packet.psn.value(), packet.reth.dma_length);
    assert_eq!(requests.iter().map(asked).collect::<Vec<_>>(), [(101, MTU), (103, 2 * MTU)]);
    peer.receives(requests);
    peer.waits(NACK);
    let again = peer.packets();
    assert_eq!(again.iter().map(|packet| packet.psn.value()).collect::<Vec<_>>(), [101, 103, 104]);
    nic.receives(again);
    assert_eq!(nic.completes(), []);
    nic.waits(T);
    let last = nic.packets();
    assert_eq!(last.iter().map(asked).collect::<Vec<_>>(), [(107, MTU)], "nothing showed that it is lost");
    peer.receives(last);
    peer.waits(NACK);
    nic.receives(peer.packets());
    assert_eq!(nic.completes(), [(0, Success)]);
    let written = nic.nic.qps()[0].requester.memory().written()[0];
    assert_eq!((written.bytes, written.wrong), (u64::from(8 * MTU), false));
}

#[test]
fn a_read_waits_for_the_write_before_it_at_the_responder() {
    let setup = Setup::selective(1, ring());
    let (mut nic, mut peer) = (setup.nic(), setup.peer());
    nic.posts(Verb::Write, MTU);
    nic.posts(Verb::Read, 3 * MTU);
    nic.posts(Verb::Write, MTU);
    let packets = nic.packets();
    assert_eq!(
        packets.iter().map(text).collect::<Vec<_>>(),
        ["WRITE_ONLY 100", "READ_REQUEST 101", "WRITE_ONLY 104"]
    );
    peer.receives([packets[2], packets[1]]);
    peer.waits(NACK);
    assert_eq!(peer.sends(), ["NAK 100", "NAK 101", "NAK 102", "NAK 103"], "the Read had not come yet");
    peer.receives([packets[0]]);
    assert_eq!(
        peer.sends(),
        [
            "ACK 100",
            "READ_RESPONSE_FIRST 101",
            "READ_RESPONSE_MIDDLE 102",
            "READ_RESPONSE_LAST 103",
            "ACK 104"
        ]
    );
    nic.receives([100, 101, 102].map(|psn| nak(psn)[0]));
    nic.waits(NACK);
    assert_eq!(nic.sends(), ["WRITE_ONLY 100", "READ_REQUEST 101"], "no request has PSN 102");
}

#[test]
fn an_ack_beyond_a_read_completes_what_follows_once_the_responses_are_there() {
    let setup = Setup::selective(1, ring());
    let (mut nic, mut peer) = (setup.nic(), setup.peer());
    nic.posts(Verb::Read, MTU);
    nic.posts(Verb::Write, MTU);
    peer.receives(nic.packets());
    let answers = peer.packets();
    nic.receives([answers[1], answers[0]]);
    assert_eq!(nic.completes(), [(0, Success), (1, Success)]);
    assert_eq!((nic.sends(), nic.counted(Stat::ImpliedNaks)), (vec![], 0));
}

#[test]
fn a_refused_send_alone_is_repeated() {
    let setup = Setup::selective(1, ring());
    let (mut nic, mut peer) = (setup.nic(), setup.peer());
    (0..2).for_each(|_| nic.posts(Verb::Send, MTU));
    nic.posts(Verb::Write, MTU);
    peer.receives(nic.packets());
    assert_eq!(peer.sends(), ["ACK 100", "RNR NAK 101"]);
    nic.receives(ack(100));
    nic.receives([acknowledge(101, Syndrome::RnrNak(1))]);
    nic.waits(rnr_wait(1).0);
    let again = nic.packets();
    assert_eq!(again.iter().map(text).collect::<Vec<_>>(), ["SEND_ONLY 101"]);
    peer.nic.post(peer.now, super::Work::PostReceive { qp: 0 });
    peer.receives(again);
    assert_eq!(peer.sends(), ["ACK 102"], "the Write behind it was there");
}

#[test]
fn a_packet_beyond_the_span_is_dropped() {
    let (_, mut peer, packets) = ends(Reorder { span_packets: 2, ..ring() }, Verb::Write, 4 * MTU);
    peer.receives([packets[2], packets[3]]);
    peer.waits(NACK);
    assert_eq!(peer.sends(), ["NAK 100"]);
    peer.receives([packets[0], packets[1]]);
    assert_eq!(peer.nic.qps()[0].responder.acceptance.expected(), 2);
}

#[test]
fn an_exhausted_pool_drops_until_the_missing_packet_comes() {
    let reorder = Reorder { engine: ReorderEngine::Pool, block_bits: 1, blocks: 3, ..ring() };
    let (_, mut peer, packets) = ends(reorder, Verb::Write, 4 * MTU);
    // A bit at distance 3 needs four blocks.
    peer.receives([packets[3]]);
    peer.waits(NACK);
    assert_eq!(peer.sends(), ["NAK 100"]);
    peer.receives([packets[1]]);
    peer.waits(NACK);
    assert_eq!(peer.sends(), [""; 0], "the NAK is on its way already");
    peer.receives([packets[0]]);
    assert_eq!(peer.nic.qps()[0].responder.acceptance.expected(), 1, "it was dropped too");
    peer.waits(1_000);
    peer.receives([packets[2]]);
    peer.waits(1_000);
    peer.receives([packets[1]]);
    peer.waits(1_000);
    assert_eq!(peer.nic.qps()[0].responder.acceptance.expected(), 3, "there are blocks again");
}

#[test]
fn far_packets_are_gathered_and_taken_together_or_when_their_time_is_over() {
    let reorder = Reorder {
        engine: ReorderEngine::Left,
        block_bits: 1,
        next_block_ns: 50,
        fifo_packets: 2,
        fifo_timeout_ns: 700,
        loss_by: LossBy::Timer,
        ..ring()
    };
    let (_, mut peer, packets) = ends(reorder, Verb::Write, 4 * MTU);
    let kept = |peer: &Alone| peer.nic.qps()[0].responder.bitmap().map(|(_, bitmap)| bitmap.kept);
    peer.receives([packets[1]]);
    peer.waits(699);
    assert_eq!(kept(&peer), Some(0));
    assert!(peer.nic.receive_buffer().bytes > 0);
    peer.waits(1);
    assert_eq!((kept(&peer), peer.nic.receive_buffer().bytes), (Some(1), 0));
    peer.receives([packets[2], packets[3]]);
    peer.waits(1);
    assert_eq!(kept(&peer), Some(3), "two packets drain a FIFO");
}
