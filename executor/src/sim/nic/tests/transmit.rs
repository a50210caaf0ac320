//! Transmit scheduler: whose packet goes out next.

use corpus::{Ets, Verb};

use super::{MTU, Setup, Stat};

#[test]
fn qps_take_turns_of_a_burst() {
    for (burst, order) in [(1, [0, 1, 0, 1, 0, 1]), (2, [0, 0, 1, 1, 0, 1])] {
        let mut setup = Setup::qps(2);
        setup.profile.transmit.burst = burst;
        let mut nic = setup.nic();
        (0..2).for_each(|qp| nic.posts_on(qp, Verb::Write, 3 * MTU));
        let sent: Vec<u32> = nic.packets().iter().map(|packet| packet.qp).collect();
        assert_eq!(sent, order, "bursts of {burst}");
    }
}

#[test]
fn cnps_go_first_and_slow_the_other_end_down() {
    let setup = Setup::qps(1);
    let (mut nic, mut peer) = (setup.nic(), setup.peer());
    peer.posts(Verb::Write, MTU);
    let mut marked = peer.packets();
    marked[0].traffic_class |= 0b11;
    nic.posts(Verb::Write, MTU);
    nic.receives(marked);
    let sent = nic.packets();
    assert_eq!(sent.iter().map(super::text).collect::<Vec<_>>(), ["CNP 0", "WRITE_ONLY 100", "ACK 200"]);
    peer.receives([sent[0]]);
    // At 50 Gb/s a WRITE_FIRST of 1 122 bytes on the cable takes 179.52 ns.
    peer.posts(Verb::Write, 2 * MTU);
    assert_eq!(peer.sends().len(), 1);
    peer.waits(179);
    assert_eq!(peer.sends(), [""; 0]);
    peer.waits(1);
    assert_eq!(peer.sends().len(), 1);
    assert_eq!(peer.counted(Stat::CnpsHandled), 1);
}

#[test]
fn strict_classes_go_before_weighted_ones() {
    let mut setup = Setup::qps(3);
    setup.classes = vec![0, 1, 3];
    setup.ets = Some(Ets { weights: vec![1, 1], strict: vec![3] });
    let mut nic = setup.nic();
    (0..3).for_each(|qp| nic.posts_on(qp, Verb::Write, 3 * MTU));
    let sent: Vec<u32> = nic.packets().iter().map(|packet| packet.qp).collect();
    assert_eq!(sent[..3], [2, 2, 2]);
    assert_eq!(sent[3..].iter().filter(|qp| **qp == 0).count(), 3);
}
