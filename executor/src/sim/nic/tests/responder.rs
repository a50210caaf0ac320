//! Responder: requests in, answers out.

use corpus::Verb;
use dumper::wire::Opcode;

use super::{MTU, NACK, Setup, Stat, Work, text};

#[test]
fn a_write_is_acknowledged_once_and_lands_where_it_belongs() {
    let setup = Setup::qps(1);
    let (mut nic, mut peer) = (setup.nic(), setup.peer());
    peer.posts(Verb::Write, 3 * MTU);
    nic.receives(peer.packets());
    let acks = nic.packets();
    assert_eq!(acks.iter().map(text).collect::<Vec<_>>(), ["ACK 202"]);
    assert_eq!(acks[0].aeth.msn, 1);
    let written = nic.nic.qps()[0].responder.memory().written();
    assert_eq!(
        written.iter().map(|one| (one.bytes, one.wrong)).collect::<Vec<_>>(),
        [(3 * u64::from(MTU), false)]
    );
}

#[test]
fn a_missing_packet_is_nakked_once() {
    let setup = Setup::qps(1);
    let (mut nic, mut peer) = (setup.nic(), setup.peer());
    peer.posts(Verb::Write, 4 * MTU);
    let requests = peer.packets();
    nic.receives([requests[0], requests[2], requests[3]]);
    assert_eq!(nic.sends(), [""; 0], "the NAK takes its time");
    nic.waits(NACK);
    assert_eq!(nic.sends(), ["NAK 201"]);
    nic.receives(requests[2..].iter().copied());
    nic.waits(NACK);
    assert_eq!(nic.sends(), [""; 0]);
    nic.receives(requests[1..].iter().copied());
    assert_eq!(nic.sends(), ["ACK 203"]);
    assert_eq!(nic.counted(Stat::SequenceNaksSent), 1);
}

#[test]
fn duplicates_are_answered_again() {
    let setup = Setup::qps(1);
    let (mut nic, mut peer) = (setup.nic(), setup.peer());
    peer.posts(Verb::Write, MTU);
    peer.posts(Verb::Read, 2 * MTU);
    let requests = peer.packets();
    nic.receives(requests.clone());
    let answers = ["ACK 200", "READ_RESPONSE_FIRST 201", "READ_RESPONSE_LAST 202"];
    assert_eq!(nic.sends(), answers);
    nic.receives([requests[0]]);
    assert_eq!(nic.sends(), ["ACK 202"], "of everything so far");
    nic.receives([requests[1]]);
    nic.waits(NACK);
    assert_eq!(nic.sends(), answers[1..]);
    assert_eq!(nic.counted(Stat::DuplicateRequests), 2);
    let written = nic.nic.qps()[0].responder.memory().written();
    assert_eq!(written[0].bytes, u64::from(MTU), "a duplicate is not executed");
}

#[test]
fn a_send_waits_for_a_receive() {
    let setup = Setup::qps(1);
    let (mut nic, mut peer) = (setup.nic(), setup.peer());
    (0..2).for_each(|_| peer.posts(Verb::Send, MTU));
    let requests = peer.packets();
    nic.receives(requests.clone());
    assert_eq!(nic.sends(), ["ACK 200", "RNR NAK 201"]);
    nic.receives([requests[1]]);
    assert_eq!(nic.sends(), ["RNR NAK 201"]);
    nic.nic.post(nic.now, Work::PostReceive { qp: 0 });
    nic.receives([requests[1]]);
    assert_eq!(nic.sends(), ["ACK 201"]);
    assert_eq!(nic.counted(Stat::ReceivesCompleted), 2);
}

#[test]
fn requests_that_no_responder_accepts_end_the_qp() {
    let setup = Setup::qps(1);
    let mut peer = setup.peer();
    peer.posts(Verb::Write, 2 * MTU);
    let requests = peer.packets();
    let mut wrong_key = requests[0];
    wrong_key.reth.remote_key += 1;
    let mut out_of_sequence = requests[0];
    out_of_sequence.opcode = Opcode::WriteLast;
    for (packet, answer) in [(wrong_key, "RemoteAccessError 200"), (out_of_sequence, "InvalidRequest 200")] {
        let mut nic = setup.nic();
        nic.receives([packet]);
        assert_eq!(nic.sends(), [answer]);
        nic.receives(requests.clone());
        assert_eq!(nic.sends(), [""; 0]);
    }
}
