//! Paths between the hosts: which one a packet takes, and when it leaves.

use std::collections::BTreeMap;

use corpus::{ControlPacket, Role};
use dumper::{ActionKind, Event, Nanos, Psn};
use p4::{Kind, Packet, Pipeline, Verdict, translate};

use crate::support::{Requester, Responder, config, connections, ports};

const DATA: Kind = Kind::Data { starts: false, ends: false };

struct Network {
    pipeline: Pipeline,
}

impl Network {
    fn new(text: &str) -> Self {
        let traffic = "traffic = { num-connections = 50, num-msgs-per-qp = 100, message-size = 4096 }\n";
        let config = config(&format!("{traffic}{text}"));
        let tables = translate(&config, &connections(50, Psn::new(1))).unwrap();
        Self { pipeline: Pipeline::new(tables, ports()) }
    }

    /// A packet of 1,000 bytes besides preamble, gap and frame check sequence.
    fn packet(&mut self, connection: u32, from: Role, kind: Kind, at: u64) -> Verdict {
        let ends = connections(50, Psn::new(1))[connection as usize - 1];
        let to = if from == Requester { ends.responder } else { ends.requester };
        let flow = self.pipeline.flow(to.ip, to.qpn.unwrap());
        let packet = Packet { kind, psn: Psn::new(1), frame_bytes: 1_000, asks_again: false };
        self.pipeline.process(from, flow, packet, Nanos(at))
    }

    /// Time at which a data packet of a connection leaves; none if it does not.
    fn data(&mut self, connection: u32, at: u64) -> Option<u64> {
        let verdict = self.packet(connection, Requester, DATA, at);
        (verdict.sent.leaving() > 0).then(|| at + verdict.delay.unwrap_or_default().0)
    }
}

#[test]
fn a_path_delays_every_packet() {
    let mut network = Network::new("network.path = [{ delay-ns = 700 }]");
    let verdict = network.packet(1, Requester, DATA, 100);
    assert_eq!((verdict.delay, verdict.on_path), (Some(Nanos(700)), Nanos(700)));
    assert_eq!(verdict.mirror.event, Event::Action(ActionKind::Delay));
    let verdict = network.packet(1, Responder, Kind::Control(ControlPacket::Ack), 100);
    assert_eq!(verdict.delay, Some(Nanos(700)));
    let mut none = Network::new("network.path = [{ }, { weight = 2 }]");
    let verdict = none.packet(1, Requester, DATA, 100);
    assert_eq!((verdict.delay, verdict.mirror.event), (None, Event::None));
}

/// A frame of 1,000 bytes takes 1,024 bytes of a cable: 1,024 ns at 8 Gbps.
#[test]
fn a_rate_makes_packets_wait_for_each_other() {
    let mut network = Network::new("network.path = [{ delay-ns = 10, rate-gbps = 8, queue-packets = 3 }]");
    let left: Vec<_> = [0, 0, 500, 600, 1_024, 9_000].map(|at| network.data(1, at)).into();
    // The fourth finds three waiting, the fifth two.
    assert_eq!(left, [Some(1_034), Some(2_058), Some(3_082), None, Some(4_106), Some(10_034)]);
    // The other direction is another cable.
    let verdict = network.packet(1, Responder, DATA, 600);
    assert_eq!(verdict.delay, Some(Nanos(1_034)));
    let counters = network.pipeline.counters();
    assert_eq!((counters.ingress[&10], counters.egress[&20]), (6, 5));
}

#[test]
fn a_packet_that_finds_no_room_is_dropped() {
    let mut network = Network::new("network.path = [{ rate-gbps = 8, queue-packets = 1 }]");
    network.data(1, 0);
    let verdict = network.packet(2, Requester, DATA, 1);
    assert_eq!(verdict.mirror.event, Event::Action(ActionKind::Drop));
    assert_eq!((verdict.lost.originals, verdict.sent.leaving()), (1, 0));
}

/// Two in a row on the first path, one on the second: packets of one path keep their order, the others overtake.
#[test]
fn packets_go_round_the_paths() {
    let paths = "path = [{ delay-ns = 250, weight = 2 }, { }]";
    let mut network = Network::new(&format!("network = {{ spray = \"round-robin\", {paths} }}"));
    let left: Vec<_> = (0..6).map(|packet| network.data(1, packet * 100).unwrap()).collect();
    assert_eq!(left, [250, 350, 200, 550, 650, 500]);
    // Each flow begins anew, in either direction.
    assert_eq!(network.data(2, 600), Some(850));
    assert_eq!(network.packet(1, Responder, DATA, 600).delay, Some(Nanos(250)));
    let mut order: Vec<usize> = (0..6).collect();
    order.sort_by_key(|packet| left[*packet]);
    assert_eq!(order, [2, 0, 1, 5, 3, 4]);
}

#[test]
fn answers_may_keep_the_first_path() {
    let paths = "path = [{ delay-ns = 250 }, { delay-ns = 90 }]";
    let spray = "spray = \"round-robin\", spray-packets = \"data\"";
    let mut network = Network::new(&format!("network = {{ {spray}, {paths} }}"));
    let answers: Vec<_> = (0..4)
        .map(|at| network.packet(1, Responder, Kind::Control(ControlPacket::Ack), at).delay.unwrap().0)
        .collect();
    assert_eq!(answers, [250; 4]);
    assert_eq!([0, 1, 2].map(|at| network.data(1, at)), [Some(250), Some(91), Some(252)]);
}

/// Of how many connections, or packets, which path is taken.
fn shares(taken: impl IntoIterator<Item = u64>) -> BTreeMap<u64, usize> {
    taken.into_iter().fold(BTreeMap::new(), |mut shares, path| {
        *shares.entry(path).or_default() += 1;
        shares
    })
}

const THREE: &str =
    "path = [{ delay-ns = 10 }, { delay-ns = 20, weight = 2 }, { delay-ns = 30, weight = 5 }]";

#[test]
fn flows_stay_on_their_path_and_packets_do_not() {
    let mut flows = Network::new(&format!("network = {{ {THREE} }}"));
    let first: Vec<u64> = (1..=50).map(|connection| flows.data(connection, 0).unwrap()).collect();
    let again: Vec<u64> = (1..=50).map(|connection| flows.data(connection, 1_000_000).unwrap()).collect();
    assert!(first.iter().zip(&again).all(|(first, again)| first + 1_000_000 == *again));
    assert_eq!(shares(first).len(), 3);

    let mut packets = Network::new(&format!("network = {{ spray = \"packet\", {THREE} }}"));
    let taken: Vec<u64> = (0..8_000).map(|_| packets.data(1, 0).unwrap()).collect();
    for (delay, weight) in [(10, 1f64), (20, 2.), (30, 5.)] {
        let (share, p) = (shares(taken.clone())[&delay] as f64, weight / 8.);
        let sigma = (8_000. * p * (1. - p)).sqrt();
        assert!((share - 8_000. * p).abs() < 4. * sigma, "{delay}: {share}");
    }
    // Whatever other connections do meanwhile, and another one with another seed.
    let mut among = Network::new(&format!("network = {{ spray = \"packet\", {THREE} }}"));
    let again = taken.iter().enumerate().all(|(packet, delay)| {
        among.data(2 + packet as u32 % 40, 0);
        among.data(1, 0) == Some(*delay)
    });
    assert!(again);
    let mut other = Network::new(&format!("network = {{ spray = \"packet\", seed = 9, {THREE} }}"));
    assert!(taken.iter().any(|delay| other.data(1, 0) != Some(*delay)));
}

#[test]
fn a_pause_begins_another_flowlet() {
    let spray = "spray = \"flowlet\", flowlet-gap-ns = 1000";
    let mut network = Network::new(&format!("network = {{ {spray}, {THREE} }}"));
    let (mut now, mut paths) = (0, Vec::new());
    for _ in 0..200 {
        let first = network.data(1, now).unwrap() - now;
        now += 999;
        assert_eq!(network.data(1, now), Some(now + first), "no pause yet");
        now += 1_000;
        paths.push(first);
    }
    assert_eq!(shares(paths.clone()).len(), 3);
    assert!(paths.windows(2).any(|pair| pair[0] != pair[1]));
}

/// A NAK for which there is no room asks for nothing.
#[test]
fn a_nak_that_finds_no_room_is_not_remembered() {
    let path = "path = [{ rate-gbps = 1, queue-packets = 2 }]";
    let mut network = Network::new(&format!("network = {{ repeat = {{ retransmissions = 2 }}, {path} }}"));
    let mut leaving = |from, kind, asks_again, at| {
        let ends = connections(50, Psn::new(1))[0];
        let to = if from == Requester { ends.responder } else { ends.requester };
        let flow = network.pipeline.flow(to.ip, to.qpn.unwrap());
        let packet = Packet { kind, psn: Psn::new(1), frame_bytes: 1_000, asks_again };
        network.pipeline.process(from, flow, packet, Nanos(at)).sent.leaving()
    };
    let nak = Kind::Control(ControlPacket::Nak);
    assert_eq!([0, 1].map(|at| leaving(Responder, DATA, false, at)), [1, 1]);
    assert_eq!(leaving(Responder, nak, true, 2), 0);
    assert_eq!(leaving(Requester, DATA, false, 3), 1);
    assert_eq!(leaving(Responder, nak, true, 1_000_000), 1);
    assert_eq!(leaving(Requester, DATA, false, 1_000_001), 2);
}

/// An event acts before the path: a delayed packet takes its path afterwards, and a held one when it is released.
#[test]
fn events_come_before_the_path() {
    let event =
        |action: &str| format!("[[event]]\nqpn = 1\npsn = 1\n{action}\n[[network.path]]\ndelay-ns = 70");
    let mut delayed = Network::new(&event("type = \"delay\"\ndelay-ns = 30"));
    let verdict = delayed.packet(1, Requester, DATA, 0);
    assert_eq!((verdict.delay, verdict.on_path), (Some(Nanos(100)), Nanos(70)));
    let mut reordered = Network::new(&event("type = \"reorder\"\nby = 1"));
    let verdict = reordered.packet(1, Requester, DATA, 0);
    assert_eq!(
        (verdict.delay, verdict.hold.is_some()),
        (Some(Nanos(71)), true),
        "behind the packet that releases it"
    );
    let released = reordered.packet(1, Requester, DATA, 10);
    assert!(released.releases, "a packet that only its path delays has passed the injector");
    assert_eq!(reordered.pipeline.take_released().count(), 1);
    let mut dropped = Network::new(&event("type = \"drop\""));
    let verdict = dropped.packet(1, Requester, DATA, 0);
    assert_eq!((verdict.delay, verdict.on_path), (None, Nanos::ZERO));
}
