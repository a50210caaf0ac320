//! Frames through the built switch: what a test names is done to them, everything else passes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use corpus::Role;
use dumper::wire::Ecn;
use dumper::wire::frame::{Frame, Parsed, UdpPorts};
use dumper::{ActionKind, Connection, Event, Nanos, Psn, integrity};
use p4::client::{PortUnreadable, Why};
use p4::switch::{Limits, Switch};
use p4::{Actions, Packet, Pipeline, Tables, translate};

use crate::frames::{Made, captured, parse, v4};
use crate::process::{PATIENCE, Rig};
use crate::support::{config, connections, endpoint_of, ports};

fn tables_of(text: &str) -> Tables {
    translate(&config(text), &connections(1, Psn::new(1))).unwrap()
}

fn data(psn: u32) -> Vec<u8> {
    Made { psn, ..Made::default() }.frame()
}

#[test]
fn every_action_is_done_to_the_packets_that_a_test_names() {
    const DELAY: Duration = Duration::from_millis(300);
    let rig = Rig::start();
    let mut client = rig.client();
    let tables = tables_of(
        r#"event = [
            { qpn = 1, psn = 2, type = "drop" },
            { qpn = 1, psn = 3, type = "ecn" },
            { qpn = 1, psn = 4, type = "corrupt" },
            { qpn = 1, psn = 5, type = "duplicate", copies = 2 },
            { qpn = 1, psn = 6, type = "set-field", field = "mig-req", value = 0 },
            { qpn = 1, psn = 7, type = "delay", delay-us = 300_000 },
            { qpn = 1, psn = 8, type = "reorder", by = 2 },
            { qpn = 1, packet = "ack", nth = 2, type = "drop" },
        ]"#,
    );
    rig.wait(client.program(&tables)).unwrap();
    let sent_at = Instant::now();
    for psn in 1..=12 {
        rig.send(0, &data(psn));
    }
    let arrived: Vec<_> = (0..13).map(|_| rig.receive(1)).collect();
    assert!(sent_at.elapsed() >= DELAY, "the delayed packet was the last");
    let psns: Vec<_> = arrived.iter().map(|frame| parse(frame).bth.psn.value()).collect();
    assert_eq!(psns, [1, 3, 4, 5, 5, 5, 6, 9, 10, 8, 11, 12, 7]);
    for frame in &arrived {
        let (packet, original) = (parse(frame), data(parse(frame).bth.psn.value()));
        match packet.bth.psn.value() {
            3 => {
                assert_eq!((Ecn::of(packet.ip.traffic_class()), packet.icrc_ok()), (Ecn::Ce, Some(true)));
                assert_eq!(frame[34..], original[34..], "nothing behind the IP header differs");
            }
            4 => assert_eq!(packet.icrc_ok(), Some(false)),
            6 => assert_eq!((packet.bth.mig_req, packet.icrc_ok()), (false, Some(true))),
            _ => assert_eq!(*frame, original),
        }
    }

    let captured = rig.wait(client.collect()).unwrap();
    let trace = &captured.trace;
    let events: Vec<_> = trace.records().iter().map(|record| (record.psn.value(), record.event())).collect();
    let event = |psn| match psn {
        2 => Event::Action(ActionKind::Drop),
        3 => Event::Action(ActionKind::Ecn),
        4 => Event::Action(ActionKind::Corrupt),
        5 => Event::Action(ActionKind::Duplicate),
        6 => Event::Action(ActionKind::SetField),
        7 => Event::Action(ActionKind::Delay),
        8 => Event::Action(ActionKind::Reorder),
        _ => Event::None,
    };
    assert_eq!(events, (1..=12).map(|psn| (psn, event(psn))).collect::<Vec<_>>());
    let entered: BTreeMap<_, _> = trace.records().iter().map(|record| (record.psn.value(), record)).collect();
    let exit = |psn| trace.exit(entered[&psn]).unwrap();
    assert!([1, 2, 3, 4, 9].iter().all(|psn| trace.exit(entered[psn]).is_none()));
    assert_eq!((exit(5).copies, exit(6).mig_req, exit(7).copies, exit(8).copies), (3, Some(false), 1, 1));
    assert!(exit(7).time - entered[&7].time >= Nanos::from_millis(300));
    assert!(exit(8).time >= entered[&10].time && exit(8).time <= entered[&11].time, "right behind the tenth");
    for psn in 5..=8 {
        assert!(!exit(psn).corrupt && !exit(psn).ce && !exit(psn).rewritten, "{psn}");
    }
    assert_eq!((captured.icrc.right, captured.icrc.wrong), (12, 0), "all as they entered");
    assert_eq!(captured.counters.ingress, [(1, 12), (2, 0), (3, 0)].into());
    assert_eq!(captured.counters.egress, [(1, 0), (2, 13), (3, 12)].into());
    assert!(!integrity::check(trace, Some(&captured.counters)).is_invalid());
    assert_eq!((captured.held, captured.not_captured, captured.losses.len()), (0, 0, 0));
}

/// Also where the clock stands still, a capture tells in which order packets leave: those that enter at a
/// time, and behind them those that an event let go then.
#[test]
fn captures_have_packets_in_the_order_in_which_they_leave() {
    let tables = tables_of(
        r#"event = [
            { qpn = 1, psn = 1, every = 1, count = 3, type = "reorder", by = 1 },
            { qpn = 1, psn = 4, type = "reorder", by = 2 },
            { qpn = 1, psn = 7, type = "delay", delay-us = 2 },
            { qpn = 1, psn = 8, type = "delay", delay-us = 1 },
        ]"#,
    );
    let (now, later) = (Nanos(1_000), Nanos(9_000));
    let (mut switch, mut out) = (Switch::new(Limits::default()), Vec::new());
    switch.begin(tables, Nanos::ZERO);
    for psn in 1..=9 {
        switch.receive(Role::Requester, &data(psn), now, &mut out);
    }
    switch.handle_timeout(later, &mut out);
    let left: Vec<_> = out.iter().map(|departure| parse(&departure.frame).bth.psn.value()).collect();
    assert_eq!(left, [5, 1, 2, 3, 6, 4, 9, 8, 7]);

    let ended = switch.end().unwrap();
    let mut captured: Vec<_> = ended
        .capture
        .packets()
        .iter()
        .map(|packet| {
            let left = packet.left.as_ref().map(|left| left.time);
            let psn = parse(&packet.frame).bth.psn.value();
            (left.unwrap_or(packet.mirror.time), left.is_some(), psn)
        })
        .collect();
    captured.sort_unstable();
    assert_eq!(captured.iter().map(|(_, _, psn)| *psn).collect::<Vec<_>>(), left);
}

/// Everything that a real stack sent and answered, with the event of that test, gives what was captured then.
#[test]
fn real_frames_give_the_verdicts_of_the_pipeline() {
    let rig = Rig::start();
    let mut client = rig.client();
    for (name, changes) in [
        ("rxe_write_last_full.pcap", r#"event = [{ qpn = 1, psn = 20, type = "drop" }]"#),
        (
            "rxe_write_rep2.pcap",
            r#"event = [{ qpn = 1, psn = 16, type = "drop" }, { qpn = 1, psn = 16, iter = 2, type = "drop" }]"#,
        ),
        (
            "rxe_read_reqdrop_mid.pcap",
            r#"event = [{ qpn = 1, packet = "read-request", nth = 5, type = "drop" }, { qpn = 1, packet = "nak", nth = 1, type = "ecn" }]"#,
        ),
        ("rxe_write_last_full.pcap", "network = { loss-ppb = 200_000_000, links = 2 }"),
    ] {
        let verb = if name.contains("read") { "read" } else { "write" };
        let text = format!("traffic = {{ rdma-verb = \"{verb}\", mtu = 1024 }}\n{changes}");
        let frames = captured(name);
        let qpn = parse(&frames[0]).bth.dest_qpn;
        let end = |ip| endpoint_of(ip, qpn, 1000);
        let connection = Connection { requester: end("10.0.0.1"), responder: end("10.0.0.2") };
        let tables = translate(&config(&text), &[connection]).unwrap();
        rig.wait(client.program(&tables)).unwrap();
        let mut pipeline = Pipeline::new(tables, ports());
        let mut expected = Vec::new();
        for frame in &frames {
            let packet = parse(frame);
            let from =
                if v4(frame, 26) == connection.requester.ip { Role::Requester } else { Role::Responder };
            rig.send(from as usize, frame);
            let flow = pipeline.flow(v4(frame, 30), packet.bth.dest_qpn);
            assert!(flow.is_some());
            let headers = Packet::of(&packet, frame.len() as u32);
            let verdict = pipeline.process(from, flow, headers, Nanos::ZERO);
            expected.push((verdict.mirror.sequence, verdict.mirror.event, packet.bth.psn));
            if !verdict.sent.actions.drop {
                let arrived = rig.receive(from.peer() as usize);
                if verdict.sent.actions == Actions::default() {
                    assert_eq!(arrived, *frame);
                }
            }
            // What comes in at two ports has no order of its own.
            let begun = Instant::now();
            while rig.wait(client.counters()).unwrap().received() != expected.len() as u64 {
                assert!(begun.elapsed() < PATIENCE, "{name}: packet {} does not enter", expected.len());
            }
        }
        let captured = rig.wait(client.collect()).unwrap();
        let seen: Vec<_> = captured
            .trace
            .records()
            .iter()
            .map(|record| (record.sequence, record.event(), record.psn))
            .collect();
        assert_eq!(seen, expected, "{name}");
        assert!(seen.iter().filter(|(_, event, _)| *event != Event::None).count() >= 1, "{name}");
        let counters = pipeline.counters();
        assert_eq!(captured.counters.received(), counters.received());
        assert_eq!(captured.counters.egress[&1], counters.egress[&10]);
        assert_eq!(captured.counters.egress[&2], counters.egress[&20]);
        assert_eq!(captured.icrc.wrong, 0);
    }
    rig.assert_silence();
}

#[test]
fn both_ip_versions_and_tags_pass_the_same_pipeline() {
    let rig = Rig::start();
    let mut client = rig.client();
    let ends = |host: u128, qpn| {
        endpoint_of(&std::net::Ipv6Addr::from_bits(0xfd00 << 112 | host).to_string(), qpn, 1)
    };
    let connection = Connection { requester: ends(1, 0x101), responder: ends(2, 0x201) };
    let config = config(r#"event = [{ qpn = 1, psn = 2, type = "drop" }]"#);
    rig.wait(client.program(&translate(&config, &[connection]).unwrap())).unwrap();
    for psn in 1..=3 {
        rig.send(0, &Made { v6: true, vlan: Some(9), psn, ..Made::default() }.frame());
    }
    assert_eq!([1, 3].map(|_| parse(&rig.receive(1)).bth.psn.value()), [1, 3]);
    let captured = rig.wait(client.collect()).unwrap();
    assert_eq!(captured.trace.records().len(), 3);
    assert_eq!(captured.trace.flows()[0].vlan, Some(9));
    assert_eq!(captured.trace.records()[1].event(), Event::Action(ActionKind::Drop));
}

#[test]
fn frames_of_other_protocols_and_broken_ones_pass_unharmed() {
    let rig = Rig::start();
    let mut client = rig.client();
    rig.wait(client.program(&tables_of(r#"event = [{ qpn = 1, psn = 1, every = 1, type = "ecn" }]"#)))
        .unwrap();
    let arp = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 1], &[8, 6], &[0; 46]].concat();
    let whole = data(1);
    let mut frames = vec![arp];
    frames.extend((1..whole.len()).step_by(7).chain(1..90).map(|len| whole[..len].to_vec()));
    // Bytes of a generator of our own: the test is the same each time.
    let mut state = 1u64;
    for len in 14..200 {
        let byte = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let mut frame: Vec<u8> = (0..len).map(byte).collect();
        frame[..14].copy_from_slice(&whole[..14]);
        frames.push(frame);
    }
    let unreadable =
        frames.iter().filter(|frame| Frame::parse(frame, UdpPorts::Roce).is_err()).count() as u64;
    for frame in &frames {
        rig.send(0, frame);
        let arrived = rig.receive(1);
        // A packet that is cut behind its headers is still marked.
        if !matches!(Frame::parse(frame, UdpPorts::Roce), Ok(Parsed::Roce(_))) {
            assert_eq!(arrived, *frame);
        }
        assert_eq!(arrived.len(), frame.len());
    }
    let captured = rig.wait(client.collect()).unwrap();
    assert!(unreadable > 50);
    assert_eq!(captured.unreadable.len(), 1, "{:?}", captured.unreadable);
    let PortUnreadable { port, packets, first } = &captured.unreadable[0];
    assert_eq!((*port, *packets), (1, unreadable));
    assert!(!first.is_empty());
}

#[test]
fn frames_for_the_same_side_do_not_cross() {
    let rig = Rig::start();
    rig.send(0, &data(1));
    rig.receive(1);
    let mut frame = data(2);
    frame.copy_within(6..12, 0);
    rig.send(0, &frame);
    rig.assert_silence();
}

#[test]
fn a_slow_receiver_loses_nothing() {
    const FRAMES: u32 = 3_000;
    let rig = Rig::start();
    let mut client = rig.client();
    rig.wait(client.program(&Tables::default())).unwrap();
    // Far more than the sockets hold, without a receiver.
    for psn in 0..FRAMES {
        rig.send(0, &data(psn));
    }
    for psn in 0..FRAMES {
        assert_eq!(parse(&rig.receive(1)).bth.psn.value(), psn);
    }
    let captured = rig.wait(client.collect()).unwrap();
    assert_eq!(captured.losses, []);
    assert_eq!(captured.trace.records().len(), FRAMES as usize);
}

#[test]
fn a_guest_may_go_and_come_back() {
    const FRAMES: u32 = 500;
    let mut rig = Rig::start();
    let mut client = rig.client();
    for leaves_its_socket in [true, false] {
        rig.wait(client.program(&Tables::default())).unwrap();
        rig.send(0, &data(FRAMES));
        assert_eq!(rig.receive(1), data(FRAMES));
        rig.shut_down(1, leaves_its_socket);
        for psn in 0..FRAMES {
            rig.send(0, &data(psn));
        }
        rig.boot(1);
        rig.send(0, &data(FRAMES));
        // The last of them may have been on their way still.
        let late =
            (0..=FRAMES).map(|_| rig.receive(1)).take_while(|frame| *frame != data(FRAMES)).count() as u64;
        let captured = rig.wait(client.collect()).unwrap();
        assert_eq!(captured.losses.len(), 1, "{captured:?}");
        let losses = captured.losses[0];
        assert_eq!((losses.port, losses.overflow, losses.refused), (2, 0, 0));
        assert!(losses.absent > 0);
        assert_eq!(losses.absent + late, u64::from(FRAMES));
        assert_eq!(captured.trace.records().len(), FRAMES as usize + 2);
    }
}

#[test]
fn a_test_begins_anew() {
    let rig = Rig::start();
    let mut client = rig.client();
    let tables = tables_of(
        r#"event = [{ qpn = 1, psn = 1, type = "drop" }, { qpn = 1, psn = 2, type = "delay", delay-us = 200_000 }]"#,
    );
    for _ in 0..2 {
        rig.wait(client.program(&tables)).unwrap();
        for psn in 1..=3 {
            rig.send(0, &data(psn));
        }
        assert_eq!(rig.receive(1), data(3), "psn 1 is in its first round again");
        let captured = rig.wait(client.collect()).unwrap();
        assert_eq!(captured.held, 1);
        let sequences: Vec<_> = captured.trace.records().iter().map(|record| record.sequence).collect();
        assert_eq!(sequences, [1, 2, 3]);
        assert_eq!(captured.counters.received(), 3);
    }
    // That of the first test is gone; that of the second still leaves, though its capture has ended.
    assert_eq!(rig.receive(1), data(2));
    rig.assert_silence();
    // And packets pass.
    rig.send(0, &data(1));
    assert_eq!(rig.receive(1), data(1));
    assert_eq!(
        rig.wait(client.collect()).unwrap().counters.received(),
        3,
        "of the same packets as the capture"
    );
}

#[test]
fn a_full_capture_says_so() {
    let rig = Rig::start_with(&["--capture-packets", "5"]);
    let mut client = rig.client();
    rig.wait(client.program(&Tables::default())).unwrap();
    for psn in 0..8 {
        rig.send(0, &data(psn));
        assert_eq!(rig.receive(1), data(psn));
    }
    let captured = rig.wait(client.collect()).unwrap();
    assert_eq!((captured.trace.records().len(), captured.not_captured), (5, 3));
    assert!(integrity::check(&captured.trace, Some(&captured.counters)).is_invalid());
}

#[test]
fn captures_of_many_messages_come_whole() {
    const FRAMES: u32 = 2_500;
    let rig = Rig::start();
    let mut client = rig.client();
    rig.wait(client.program(&Tables::default())).unwrap();
    let frame = |psn| Made { psn, payload: 4096 * (psn % 2) as u16, ..Made::default() }.frame();
    for psn in 0..FRAMES {
        rig.send(0, &frame(psn));
        rig.receive(1);
    }
    for _ in 0..2 {
        let captured = rig.wait(client.collect()).unwrap();
        let psns = captured.trace.records().iter().map(|record| record.psn.value());
        assert!(psns.eq(0..FRAMES));
        assert_eq!(captured.icrc.right, u64::from(FRAMES));
    }
}

#[test]
fn the_last_client_is_the_primary() {
    let rig = Rig::start();
    let mut first = rig.client();
    rig.wait(first.program(&Tables::default())).unwrap();
    let mut second = rig.client();
    rig.wait(second.program(&Tables::default())).unwrap();
    let refused = rig.wait(first.program(&Tables::default())).unwrap_err();
    assert!(matches!(refused.why, Why::Deposed(_)), "{refused}");
    assert_eq!(rig.wait(first.collect()).unwrap_err().why, refused.why);
    assert!(refused.to_string().contains(&rig.address.to_string()), "{refused}");
    drop(second);
    let mut third = rig.client();
    rig.wait(third.collect()).unwrap();
}

#[test]
fn a_switch_that_is_gone_is_told_from_one_that_refuses() {
    let mut rig = Rig::start();
    let mut client = rig.client();
    rig.switch.kill().unwrap();
    rig.switch.wait().unwrap();
    let lost = rig.wait(client.program(&Tables::default())).unwrap_err();
    assert!(matches!(lost.why, Why::Lost(_)), "{lost}");
    let nobody = rig.wait(p4::client::SwitchClient::connect(&rig.address, None)).unwrap_err();
    assert!(matches!(nobody.why, Why::Lost(_)), "{nobody}");
    assert_eq!(nobody.doing, "connecting");
}
