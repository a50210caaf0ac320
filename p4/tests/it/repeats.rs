//! Copies that the network makes of packets whose loss costs a time-out.

use corpus::ControlPacket;
use dumper::{ActionKind, Event, Nanos, Psn};
use p4::{Kind, Packet, Pipeline, Timing, Verdict, translate};

use crate::support::{Requester, Responder, config, connections, ports};

/// Two connections, both with relative PSN 1 at the same PSN.
struct Network {
    pipeline: Pipeline,
    time: u64,
}

impl Network {
    fn new(text: &str) -> Self {
        let traffic = "traffic = { num-connections = 2, num-msgs-per-qp = 100, message-size = 4096 }\n";
        let config = config(&format!("{traffic}{text}"));
        let tables = translate(&config, &connections(2, Psn::new(1))).unwrap();
        Self { pipeline: Pipeline::new(tables, ports()), time: 0 }
    }

    fn packet(&mut self, connection: u32, kind: Kind, psn: u32, asks_again: bool) -> Verdict {
        let from = if matches!(kind, Kind::Data { .. }) { Requester } else { Responder };
        let ends = connections(2, Psn::new(1))[connection as usize - 1];
        let to = if from == Requester { ends.responder } else { ends.requester };
        let flow = self.pipeline.flow(to.ip, to.qpn.unwrap());
        let packet = Packet { kind, psn: Psn::new(psn), frame_bytes: 62, asks_again };
        self.time += 100;
        self.pipeline.process(from, flow, packet, Nanos(self.time))
    }

    fn nak(&mut self, connection: u32, psn: u32) -> Verdict {
        self.packet(connection, Kind::Control(ControlPacket::Nak), psn, true)
    }

    /// A data packet in the middle of a message: how many leave.
    fn data(&mut self, connection: u32, psn: u32) -> u8 {
        self.packet(connection, Kind::Data { starts: false, ends: false }, psn, false).sent.leaving()
    }
}

#[test]
fn naks_of_sequence_errors_leave_as_often_as_the_test_says() {
    let mut network = Network::new("network.repeat.naks = 3");
    let verdict = network.nak(1, 7);
    assert_eq!((verdict.sent.leaving(), verdict.mirror.event), (3, Event::Action(ActionKind::Duplicate)));
    let other = network.packet(1, Kind::Control(ControlPacket::Nak), 7, false);
    assert_eq!((other.sent.leaving(), other.mirror.event), (1, Event::None), "an RNR NAK");
    assert_eq!(network.data(1, 7), 1);
    // All of them, at the requester's port, and the mirrored one.
    assert_eq!(network.pipeline.counters().egress, [(10, 4), (20, 1), (30, 3)].into());
}

#[test]
fn the_packet_that_a_nak_asks_for_is_copied_once() {
    let mut network = Network::new("network.repeat.retransmissions = 2");
    assert_eq!(network.data(1, 7), 1, "before any NAK");
    assert_eq!(network.nak(1, 7).sent.leaving(), 1);
    let leaving: Vec<u8> = [6, 7, 8, 7].map(|psn| network.data(1, psn)).into();
    assert_eq!(leaving, [1, 2, 1, 1]);
    // Two NAKs, two packets: as a set.
    network.nak(1, 20);
    network.nak(1, 21);
    assert_eq!([20, 21, 21].map(|psn| network.data(1, psn)), [2, 2, 1]);
}

/// By its PSN alone the packet that passes first is copied, whatever its connection.
#[test]
fn a_retransmission_is_known_by_its_psn_or_by_its_connection() {
    let mut paper = Network::new("network.repeat.retransmissions = 2");
    paper.nak(1, 7);
    assert_eq!([paper.data(2, 7), paper.data(1, 7)], [2, 1]);
    let mut exact = Network::new("network.repeat = { retransmissions = 2, match = \"connection\" }");
    exact.nak(1, 7);
    assert_eq!([exact.data(2, 7), exact.data(1, 7)], [1, 2]);
}

/// PSNs share cells of a register array by their low 12 bits.
#[test]
fn of_two_psns_in_one_cell_the_newer_one_is_remembered() {
    let mut network = Network::new("network.repeat.retransmissions = 2");
    network.nak(1, 7);
    network.nak(1, 7 + (1 << 12));
    assert_eq!([network.data(1, 7), network.data(1, 7 + (1 << 12))], [1, 2]);
    network.nak(1, 7);
    network.nak(1, 8 + (1 << 12));
    assert_eq!([network.data(1, 7), network.data(1, 8 + (1 << 12))], [2, 2]);
}

#[test]
fn ends_of_messages_are_copied_and_the_larger_number_holds() {
    let mut network = Network::new("network.repeat = { retransmissions = 4, tails = 2 }");
    let end = |network: &mut Network| {
        network.packet(1, Kind::Data { starts: false, ends: true }, 4, false).sent.leaving()
    };
    assert_eq!(end(&mut network), 2);
    network.nak(1, 4);
    assert_eq!([end(&mut network), end(&mut network)], [4, 2]);
}

/// A NAK of which nothing leaves asks for nothing; one whose copy leaves does.
#[test]
fn only_what_leaves_asks() {
    let drop = |copies: &str| {
        let event = format!("[[event]]\nqpn = 1\npacket = \"nak\"\nnth = 1\ntype = \"drop\"\n{copies}");
        Network::new(&format!("network.repeat = {{ naks = 2, retransmissions = 2 }}\n{event}"))
    };
    let mut original = drop("");
    let verdict = original.nak(1, 7);
    assert_eq!((verdict.sent.originals(), verdict.sent.leaving()), (0, 1));
    assert_eq!(verdict.mirror.event, Event::Several);
    assert_eq!(original.data(1, 7), 2);
    let mut copy = drop("copies = 1");
    let verdict = copy.nak(1, 7);
    assert_eq!((verdict.sent.leaving(), verdict.mirror.event), (1, Event::None));
    assert_eq!(copy.data(1, 7), 2);
    let mut all = drop("copies = \"all\"");
    let verdict = all.nak(1, 7);
    assert_eq!((verdict.sent.leaving(), verdict.mirror.event), (0, Event::Action(ActionKind::Drop)));
    assert_eq!(all.data(1, 7), 1);
}

/// A trace has one state for what leaves: the actions are on the original, and copies leave as it came, when it leaves.
#[test]
fn events_act_on_the_original() {
    let with = |event: &str| {
        let event = format!("[[event]]\nqpn = 1\npacket = \"nak\"\nnth = 1\n{event}");
        let mut network = Network::new(&format!("network.repeat.naks = 3\n{event}"));
        network.nak(1, 7)
    };
    let verdict = with("type = \"ecn\"");
    assert!(verdict.sent.actions.ecn && verdict.sent.originals() == 1 && verdict.sent.leaving() == 3);
    let verdict = with("type = \"delay\"\ndelay-ns = 7");
    assert_eq!((verdict.sent.leaving(), verdict.delay), (3, Some(Nanos(7))));
    assert_eq!(verdict.sent.actions.timing, Timing::Delay(Nanos(7)));
    let verdict = with("type = \"duplicate\"\ncopies = 1");
    assert_eq!((verdict.sent.originals(), verdict.sent.leaving()), (2, 4));
    let verdict = with("type = \"corrupt\"");
    assert_eq!((verdict.sent.originals(), verdict.sent.leaving()), (1, 3));
    assert_eq!(verdict.mirror.event, Event::Several);
}

/// Each copy is lost for itself, with the probability of the packet.
#[test]
fn copies_are_lost_one_by_one() {
    let losses = "network = { loss-ppb = 500_000_000, loss-model = \"per-packet\", loss-packets = [\"nak\"]";
    let mut network = Network::new(&format!("{losses}, repeat = {{ naks = 4 }} }}"));
    let mut leaving = [0u32; 5];
    let mut masks = [0u32; 8];
    for psn in 1..=400 {
        for _ in 0..100 {
            let sent = network.nak(1, psn).sent;
            leaving[usize::from(sent.leaving())] += 1;
            masks[usize::from(sent.copies)] += 1;
        }
    }
    // Binomial: 40,000 draws of four with a probability of one half.
    for (left, share) in leaving.into_iter().zip([1f64, 4., 6., 4., 1.]) {
        let (expected, sigma) = (40_000. * share / 16., (40_000. * share / 16. * (1. - share / 16.)).sqrt());
        assert!((f64::from(left) - expected).abs() < 4. * sigma, "{leaving:?}");
    }
    // Each set of copies alike.
    assert!(masks.iter().all(|count| count.abs_diff(5_000) < 280), "{masks:?}");
    // The original's losses are those without copies.
    let mut alone = Network::new(&format!("{losses} }}"));
    let mut again = Network::new(&format!("{losses}, repeat = {{ naks = 4 }} }}"));
    for psn in 1..=400 {
        let copied = again.nak(1, psn);
        assert_eq!(alone.nak(1, psn).sent.originals(), copied.sent.originals());
    }
}
