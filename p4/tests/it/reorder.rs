//! Packets that are held: what lets them go, and in which order.

use corpus::ControlPacket::Ack;
use p4::{Kind, MAX_HOLD, Ticket};

use crate::support::{Requester, Responder, Switch, egress};

/// Data packets of connection 1 as they leave, where the first packets are held for so many others.
fn order(held: &[(u32, u16)], psns: &[u32]) -> Vec<u32> {
    let events: String = held
        .iter()
        .map(|(psn, by)| format!("{{ qpn = 1, psn = {psn}, type = \"reorder\", by = {by} }},"))
        .collect();
    let mut switch = Switch::new(&format!("event = [{events}]"));
    let (mut wire, mut kept) = (Vec::new(), Vec::<(Ticket, u32)>::new());
    for psn in psns {
        let verdict = switch.data(*psn);
        match verdict.hold {
            Some(ticket) => kept.push((ticket, *psn)),
            None => wire.push(*psn),
        }
        let released = switch.released();
        assert_eq!(verdict.releases, !released.is_empty());
        wire.extend(released.iter().map(|ticket| kept.iter().find(|(held, _)| held == ticket).unwrap().1));
        assert_eq!(egress(&switch.pipeline.counters())[1], wire.len() as u64);
    }
    wire
}

#[test]
fn a_packet_leaves_after_so_many_later_ones() {
    assert_eq!(order(&[(2, 1)], &[1, 2, 3, 4]), [1, 3, 2, 4]);
    assert_eq!(order(&[(2, 2)], &[1, 2, 3, 4]), [1, 3, 4, 2]);
    assert_eq!(order(&[(2, 3)], &[1, 2, 3, 4]), [1, 3, 4]);
    // A retransmission is a later packet like any other.
    assert_eq!(order(&[(2, 3)], &[1, 2, 3, 4, 2]), [1, 3, 4, 2, 2]);
}

#[test]
fn held_packets_keep_their_order_and_overtake_each_other_where_told() {
    assert_eq!(order(&[(1, 1), (2, 1)], &[1, 2, 3]), [3, 1, 2]);
    assert_eq!(order(&[(1, 2), (2, 1)], &[1, 2, 3]), [3, 2, 1]);
    assert_eq!(order(&[(1, 3), (2, 2)], &[1, 2, 3, 4]), [3, 4, 2, 1]);
    assert_eq!(order(&[(1, 1), (2, 2)], &[1, 2, 3, 4]), [3, 1, 4, 2]);
    // None of them leaves before another one has.
    assert_eq!(order(&[(1, 1), (2, 1), (3, 1)], &[1, 2, 3]), [0; 0]);
}

const SECOND: &str = r#"
    traffic = { num-connections = 2 }
    event = [
        { qpn = 1, psn = 2, type = "reorder", by = 1 },
        { qpn = 1, psn = 2, type = "duplicate", copies = 2 },
        { qpn = 1, psn = 3, type = "drop" },
        { qpn = 1, psn = 4, type = "delay", delay-us = 50 },
    ]"#;

/// Only what leaves at once overtakes: not what is lost, not what leaves at some later time, not other flows.
#[test]
fn what_does_not_overtake() {
    let mut switch = Switch::new(SECOND);
    let ticket = switch.data(2).hold.unwrap();
    assert!(switch.data(3).sent.actions.drop);
    assert!(!switch.data(4).releases);
    assert!(!switch.packet(2, Requester, Kind::Data { starts: false, ends: false }, 3).releases);
    assert!(!switch.control(Responder, Ack).releases);
    assert_eq!(egress(&switch.pipeline.counters()), [1, 2]);
    assert!(switch.data(5).releases);
    assert_eq!(switch.released(), [ticket]);
    // The packet, two copies, packets 4 and 5, and the other connection's.
    assert_eq!(egress(&switch.pipeline.counters()), [1, 6]);
}

/// Control packets of the flow are packets of the flow.
#[test]
fn a_read_request_overtakes() {
    let mut switch = Switch::new(SECOND);
    switch.data(2);
    assert!(switch.control(Requester, corpus::ControlPacket::ReadRequest).releases);
}

#[test]
fn nobody_waits_longer_than_max_hold() {
    assert_eq!(MAX_HOLD.0, 10_000_000_000);
    let mut switch = Switch::new(SECOND);
    let ticket = switch.data(2).hold.unwrap();
    assert!(switch.pipeline.expire(ticket));
    assert_eq!(switch.released(), []);
    assert_eq!(egress(&switch.pipeline.counters()), [0, 3]);
    // It has left: nothing comes of a later timer or packet.
    assert!(!switch.pipeline.expire(ticket));
    assert!(!switch.data(5).releases);
    assert_eq!(egress(&switch.pipeline.counters()), [0, 4]);
}

/// A packet whose time is up overtakes those that were held before it.
#[test]
fn an_expired_packet_overtakes() {
    let mut switch = Switch::new(
        r#"event = [
            { qpn = 1, psn = 1, type = "reorder", by = 1 },
            { qpn = 1, psn = 2, type = "reorder", by = 2 },
            { qpn = 1, psn = 3, type = "reorder", by = 9 },
        ]"#,
    );
    let tickets = [1, 2, 3].map(|psn| switch.data(psn).hold.unwrap());
    assert!(switch.pipeline.expire(tickets[1]));
    assert_eq!(switch.released(), [tickets[0]]);
    assert!(!switch.pipeline.expire(tickets[0]));
    assert!(switch.pipeline.expire(tickets[2]));
    assert_eq!(egress(&switch.pipeline.counters())[Responder as usize], 3);
}
