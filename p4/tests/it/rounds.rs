//! ITER: which round of transmission a data packet belongs to.

use dumper::{ActionKind, Event, Psn};
use p4::Kind;

use crate::support::{Requester, Responder, Switch, config, per_message};

/// Four packets, the second lost in round 1 and the third in round 2.
const FIGURE_3: &str = r#"
    traffic = { mtu = 1024, message-size = 4096, num-msgs-per-qp = 1 }
    event = [
        { qpn = 1, psn = 2, iter = 1, type = "drop" },
        { qpn = 1, psn = 3, iter = 2, type = "drop" },
    ]"#;

/// Lumina Fig. 3, packet for packet: 1 2x 3 4 | 2 3x 4 | 3 4. There the last PSN starts at 0, so IPSN is 1.
#[test]
fn figure_3() {
    let mut switch = Switch::new(FIGURE_3);
    let wire: Vec<String> = [1, 2, 3, 4, 2, 3, 4, 3, 4]
        .into_iter()
        .map(|psn| {
            let verdict = switch.data(psn);
            assert_eq!(verdict.mirror.event == Event::Action(ActionKind::Drop), verdict.sent.actions.drop);
            format!("{psn}{}", if verdict.sent.actions.drop { "x" } else { "" })
        })
        .collect();
    assert_eq!(wire.join(" "), "1 2x 3 4 2 3x 4 3 4");
}

/// The same where PSNs wrap, at every packet of the message: a wrap does not start a round.
#[test]
fn figure_3_across_the_wrap() {
    for steps in 0..5 {
        let mut switch = Switch::of(&config(FIGURE_3), Psn::new(0).sub(steps));
        let drops: Vec<bool> =
            [1, 2, 3, 4, 2, 3, 4, 3, 4].into_iter().map(|psn| switch.data(psn).sent.actions.drop).collect();
        assert_eq!(
            drops,
            [false, true, false, false, false, true, false, false, false],
            "wraps after {steps} packets"
        );
    }
}

const MARKS: &str = r#"
    traffic = { mtu = 1024, message-size = 3072, num-msgs-per-qp = 2, tx-depth = 2 }
    event = [
        { qpn = 1, psn = 5, iter = 1, type = "ecn" },
        { qpn = 1, psn = 5, iter = 2, type = "delay", delay-us = 1 },
    ]"#;

/// Packet 2 is sent again, and with it the whole second message, which starts at packet 4. The paper counts
/// on; the published program starts again with the message.
#[test]
fn modes_differ_after_a_message_starts() {
    let psns = [1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6];
    let marked = |mut switch: Switch| -> Vec<Event> {
        psns.iter()
            .map(|psn| {
                switch
                    .packet(1, Requester, Kind::Data { starts: psn % 3 == 1, ends: false }, *psn)
                    .mirror
                    .event
            })
            .filter(|event| *event != Event::None)
            .collect()
    };
    assert_eq!(
        marked(Switch::new(MARKS)),
        [Event::Action(ActionKind::Ecn), Event::Action(ActionKind::Delay)]
    );
    assert_eq!(
        marked(Switch::of(&per_message(MARKS), Psn::MAX)),
        [Event::Action(ActionKind::Ecn), Event::Action(ActionKind::Ecn)]
    );
}

/// A gap does not start a round for the paper, but does for the published program.
#[test]
fn modes_differ_at_a_gap() {
    assert_eq!(Switch::new(MARKS).hit(&[1, 5]), [false, true]);
    let mut published = Switch::of(&per_message(MARKS), Psn::new(7));
    assert_eq!(published.data(1).mirror.event, Event::None);
    assert_eq!(published.data(5).mirror.event, Event::Action(ActionKind::Delay));
    // At a message that starts after a gap as well, unless the PSNs between are the other direction's.
    let mut published = Switch::of(&per_message(MARKS), Psn::new(7));
    assert_eq!(
        published.packet(1, Requester, Kind::Data { starts: true, ends: false }, 5).mirror.event,
        Event::Action(ActionKind::Delay)
    );
}

/// Sends and Reads take turns with PSNs: each direction sees gaps that are not retransmissions.
#[test]
fn directions_count_apart() {
    let text = r#"
        traffic = { rdma-verb = "send_read", mtu = 1024, message-size = 2048, num-msgs-per-qp = 4 }
        event = [
            { qpn = 1, psn = 6, type = "ecn" },
            { qpn = 1, psn = 7, type = "drop" },
            { qpn = 1, psn = 7, iter = 2, type = "corrupt" },
        ]"#;
    for config in [config(text), per_message(text)] {
        let mut switch = Switch::of(&config, Psn::new(1));
        let events: Vec<Event> = [1, 2, 3, 4, 5, 6, 7, 8, 7, 8]
            .into_iter()
            .map(|psn| {
                let from = if matches!(psn, 1 | 2 | 5 | 6) { Requester } else { Responder };
                switch.packet(1, from, Kind::Data { starts: psn % 2 == 1, ends: false }, psn).mirror.event
            })
            .filter(|event| *event != Event::None)
            .collect();
        assert_eq!(
            events,
            [
                Event::Action(ActionKind::Ecn),
                Event::Action(ActionKind::Drop),
                Event::Action(ActionKind::Corrupt)
            ],
            "{:?}",
            config.traffic.iter_mode
        );
    }
}

#[test]
fn only_data_moves_the_rounds() {
    let mut switch = Switch::new(MARKS);
    switch.data(4);
    switch.packet(1, Requester, Kind::Control(corpus::ControlPacket::ReadRequest), 1);
    switch.packet(1, Requester, Kind::Other, 1);
    assert_eq!(switch.data(5).mirror.event, Event::Action(ActionKind::Ecn));
}

#[test]
fn connections_count_apart() {
    let text = r#"
        traffic = { num-connections = 2 }
        event = [{ qpn = 2, psn = 5, type = "drop" }]"#;
    let mut switch = Switch::new(text);
    let data = Kind::Data { starts: false, ends: false };
    let drops: Vec<bool> = [(1, 5), (1, 5), (2, 5), (2, 5)]
        .into_iter()
        .map(|(connection, psn)| switch.packet(connection, Requester, data, psn).sent.actions.drop)
        .collect();
    assert_eq!(drops, [false, false, true, false]);
}

/// The last round that events can name is hit once, however often the packet is sent after that.
#[test]
fn rounds_end_at_255() {
    let text = r#"
        traffic = { rdma-verb = "send" }
        event = [{ qpn = 1, psn = 1, iter = 255, type = "drop" }]"#;
    for config in [config(text), per_message(text)] {
        let mut switch = Switch::of(&config, Psn::new(9));
        let dropped: Vec<u32> = (1..=70_000).filter(|_| switch.data(1).sent.actions.drop).collect();
        assert_eq!(dropped, [255]);
    }
}
