//! Events on control packets, by their number.

use corpus::ControlPacket::{Ack, Cnp, Nak, ReadRequest};
use dumper::{ActionKind, Event};

use crate::support::{Requester, Responder, Switch};

#[test]
fn the_nth_of_its_kind() {
    let mut switch = Switch::new(
        r#"event = [
            { qpn = 1, packet = "ack", nth = 2, type = "drop" },
            { qpn = 1, packet = "nak", nth = 1, type = "delay", delay-us = 5 },
        ]"#,
    );
    let events = [Ack, Nak, Ack, Nak, Ack].map(|packet| switch.control(Responder, packet).mirror.event);
    assert_eq!(
        events,
        [
            Event::None,
            Event::Action(ActionKind::Delay),
            Event::Action(ActionKind::Drop),
            Event::None,
            Event::None
        ]
    );
}

/// Without a count it goes on for ever, not only as long as the connection has packets.
#[test]
fn every_kth() {
    let mut switch = Switch::new(
        r#"event = [
            { qpn = 1, packet = "ack", nth = 3, every = 4, type = "drop" },
            { qpn = 1, packet = "ack", nth = 2, every = 3, count = 2, type = "ecn" },
            { qpn = 1, packet = "ack", nth = 10, type = "corrupt" },
            { qpn = 1, packet = "ack", nth = 5, type = "delay", delay-us = 1 },
        ]"#,
    );
    let hits: Vec<(u32, Event)> = (1..=10_000)
        .map(|nth| (nth, switch.control(Responder, Ack).mirror.event))
        .filter(|(_, event)| *event != Event::None)
        .collect();
    let drops = (3..=10_000).step_by(4).map(|nth| (nth, Event::Action(ActionKind::Drop)));
    let mut expected: Vec<_> = drops.collect();
    expected.extend([
        (2, Event::Action(ActionKind::Ecn)),
        (5, Event::Several),
        (10, Event::Action(ActionKind::Corrupt)),
    ]);
    expected.sort_by_key(|(nth, _)| *nth);
    assert_eq!(hits, expected);
}

/// ACKs from the wrong end do not count: they do not answer this connection's requests.
#[test]
fn acknowledgements_count_towards_the_requester_and_read_requests_away_from_it() {
    let mut switch = Switch::new(
        r#"
        traffic = { rdma-verb = "send_read" }
        event = [
            { qpn = 1, packet = "ack", nth = 1, type = "drop" },
            { qpn = 1, packet = "nak", nth = 1, type = "drop" },
            { qpn = 1, packet = "read-request", nth = 1, type = "drop" },
        ]"#,
    );
    let packets = [
        (Requester, Ack, false),
        (Requester, Nak, false),
        (Responder, ReadRequest, false),
        (Responder, Ack, true),
        (Responder, Nak, true),
        (Requester, ReadRequest, true),
    ];
    for (from, packet, dropped) in packets {
        assert_eq!(switch.control(from, packet).sent.actions.drop, dropped, "{packet:?} from {from:?}");
    }
}

/// Where data flows both ways, so do CNPs; the number is the connection's.
#[test]
fn cnps_count_over_both_directions() {
    let mut switch = Switch::new(
        r#"
        traffic = { rdma-verb = "send_read" }
        event = [
            { qpn = 1, psn = 1, every = 1, type = "ecn" },
            { qpn = 1, packet = "cnp", nth = 3, every = 1, count = 2, type = "drop" },
        ]"#,
    );
    let drops = [Responder, Requester, Requester, Responder, Requester]
        .map(|from| switch.control(from, Cnp).sent.actions.drop);
    assert_eq!(drops, [false, false, true, true, false]);
}
