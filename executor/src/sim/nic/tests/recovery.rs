//! Recovery of a requester from losses: go-back-N, time-outs, RNR waits, responses that are missing.

use corpus::Verb;
use dumper::observation::CompletionStatus::{Flushed, RetryExceeded, RnrRetryExceeded, Success};
use dumper::timers::rnr_wait;
use dumper::wire::Syndrome;

use super::{MTU, NACK, Setup, Stat, T, ack, acknowledge, nak};

#[test]
fn a_nak_is_answered_with_everything_from_its_psn_on() {
    let mut nic = Setup::qps(1).nic();
    nic.posts(Verb::Write, 4 * MTU);
    assert_eq!(nic.sends().len(), 4);
    nic.receives(nak(102));
    nic.receives(nak(102));
    nic.waits(NACK - 1);
    assert_eq!(nic.sends(), [""; 0]);
    nic.waits(1);
    assert_eq!(nic.sends(), ["WRITE_MIDDLE 102", "WRITE_LAST 103"]);
    nic.receives(ack(103));
    assert_eq!(nic.completes(), [(0, Success)]);
    assert_eq!(nic.counted(Stat::SequenceNaksReceived), 2);
}

#[test]
fn a_nak_is_not_answered_when_the_packets_have_arrived_meanwhile() {
    let mut nic = Setup::qps(1).nic();
    nic.posts(Verb::Write, 2 * MTU);
    assert_eq!(nic.sends().len(), 2);
    nic.receives(nak(101));
    nic.receives(ack(101));
    nic.waits(NACK);
    assert_eq!(nic.sends(), [""; 0]);
    assert_eq!(nic.nic.poll_timeout(), None);
}

#[test]
fn the_ack_timer_repeats_until_the_retries_are_spent() {
    let mut nic = Setup::qps(1).nic();
    (0..2).for_each(|_| nic.posts(Verb::Write, MTU));
    let all = ["WRITE_ONLY 100", "WRITE_ONLY 101"];
    assert_eq!(nic.sends(), all);
    nic.waits(T - 1);
    assert_eq!(nic.sends(), [""; 0]);
    nic.waits(1);
    assert_eq!(nic.sends(), all);
    nic.waits(T);
    assert_eq!(nic.sends(), all);
    nic.waits(T);
    assert_eq!((nic.sends(), nic.completes()), (vec![], vec![(0, RetryExceeded), (1, Flushed)]));
    assert_eq!((nic.counted(Stat::Timeouts), nic.nic.poll_timeout()), (3, None));
}

#[test]
fn progress_restarts_the_timer_and_refills_the_budget() {
    let mut nic = Setup::qps(1).nic();
    (0..2).for_each(|_| nic.posts(Verb::Write, MTU));
    assert_eq!(nic.sends().len(), 2);
    nic.waits(T - 1);
    nic.receives(ack(100));
    nic.waits(T - 1);
    assert_eq!(nic.sends(), [""; 0]);
    for _ in 0..2 {
        nic.waits(T);
        assert_eq!(nic.sends(), ["WRITE_ONLY 101"]);
    }
    nic.receives(ack(101));
    assert_eq!(nic.completes(), [(0, Success), (1, Success)]);
}

#[test]
fn an_rnr_nak_is_waited_for_and_its_budget_is_its_own() {
    let mut nic = Setup::qps(1).nic();
    nic.posts(Verb::Send, MTU);
    assert_eq!(nic.sends(), ["SEND_ONLY 100"]);
    let rnr_nak = acknowledge(100, Syndrome::RnrNak(2));
    nic.receives([rnr_nak, rnr_nak]);
    nic.waits(rnr_wait(2).0 - 1);
    assert_eq!(nic.sends(), [""; 0], "the ACK timer, which is shorter, has stopped");
    nic.waits(1);
    assert_eq!(nic.sends(), ["SEND_ONLY 100"]);
    nic.receives([rnr_nak]);
    assert_eq!(nic.completes(), [(0, RnrRetryExceeded)]);
    assert_eq!((nic.counted(Stat::RnrNaksReceived), nic.nic.poll_timeout()), (3, None));
}

#[test]
fn a_missing_response_is_requested_again_from_there() {
    let setup = Setup::qps(1);
    let (mut nic, mut peer) = (setup.nic(), setup.peer());
    nic.posts(Verb::Read, 4 * MTU);
    peer.receives(nic.packets());
    let responses = peer.packets();
    nic.receives([responses[0], responses[2], responses[3]]);
    nic.waits(NACK);
    let requests = nic.packets();
    assert_eq!(requests.iter().map(super::text).collect::<Vec<_>>(), ["READ_REQUEST 101"]);
    assert_eq!(requests[0].reth.dma_length, 3 * MTU);
    peer.receives(requests);
    peer.waits(NACK);
    nic.receives(peer.packets());
    assert_eq!(nic.completes(), [(0, Success)]);
    assert_eq!(nic.counted(Stat::ImpliedNaks), 1);
}

#[test]
fn an_ack_beyond_a_read_is_an_implied_nak() {
    let mut nic = Setup::qps(1).nic();
    nic.posts(Verb::Read, MTU);
    nic.posts(Verb::Write, MTU);
    assert_eq!(nic.sends(), ["READ_REQUEST 100", "WRITE_ONLY 101"]);
    nic.receives(ack(101));
    assert_eq!(nic.completes(), []);
    nic.waits(NACK);
    assert_eq!(nic.sends(), ["READ_REQUEST 100", "WRITE_ONLY 101"]);
}
