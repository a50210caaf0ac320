//! Mirrored packets, dumpers and port counters.

use dumper::mirror::TIME_SPAN;
use dumper::{ActionKind, Event, Nanos, Psn};
use p4::{Actions, Dumper, Kind, Packet, Pipeline, PortError, Ports, Tables};
use proptest::prelude::*;

use crate::support::{Requester, Responder, Switch};

const UNKNOWN: Packet = Packet {
    kind: Kind::Data { starts: true, ends: false },
    psn: Psn::MAX,
    frame_bytes: 78,
    asks_again: false,
};

#[test]
fn every_packet_is_mirrored_in_one_series() {
    let mut switch = Switch::new(r#"event = [{ qpn = 1, psn = 2, type = "drop" }]"#);
    let data = Kind::Data { starts: false, ends: false };
    let verdicts = [(Requester, 1), (Responder, 1), (Requester, 2), (Requester, 3)]
        .map(|(from, psn)| switch.packet(1, from, data, psn));
    let mirrored =
        verdicts.map(|verdict| (verdict.mirror.sequence, verdict.mirror.time, verdict.mirror.event));
    assert_eq!(
        mirrored,
        [
            (1, Nanos(100), Event::None),
            (2, Nanos(200), Event::None),
            (3, Nanos(300), Event::Action(ActionKind::Drop)),
            (4, Nanos(400), Event::None)
        ]
    );
    assert_eq!(
        verdicts.map(|verdict| (verdict.egress, verdict.dumper)),
        [(20, 30), (10, 30), (20, 30), (20, 30)]
    );
    let counters = switch.pipeline.counters();
    assert_eq!(counters.ingress, [(10, 3), (20, 1), (30, 0)].into());
    assert_eq!(counters.egress, [(10, 1), (20, 2), (30, 4)].into());
    assert_eq!(counters.host_ports, [10, 20]);
}

#[test]
fn packets_of_unknown_flows_are_mirrored_and_forwarded() {
    let mut switch = Switch::new(r#"event = [{ qpn = "all", psn = 1, every = 1, type = "drop" }]"#);
    let flow = switch.pipeline.flow("10.0.0.2".parse().unwrap(), 0x999);
    assert_eq!(flow, None);
    let verdict = switch.pipeline.process(Responder, flow, UNKNOWN, Nanos(TIME_SPAN + 5));
    assert_eq!((verdict.sent.actions, verdict.egress, verdict.hold), (Actions::default(), 10, None));
    assert_eq!((verdict.mirror.sequence, verdict.mirror.event), (1, Event::None));
    assert_eq!(verdict.mirror.time, Nanos(5), "switch time has 48 bits");
    assert_eq!(switch.pipeline.counters().egress, [(10, 1), (20, 0), (30, 1)].into());
}

fn dumpers_of(weights: &[u32], packets: usize) -> (Vec<usize>, Pipeline) {
    let dumpers: Vec<_> =
        (100..).zip(weights).map(|(port, weight)| Dumper { port, weight: *weight }).collect();
    let ports = Ports::new(1, 2, &dumpers).unwrap();
    let mut pipeline = Pipeline::new(Tables::default(), ports);
    let turns = (0..packets)
        .map(|_| pipeline.process(Requester, None, UNKNOWN, Nanos::ZERO).dumper as usize - 100)
        .collect();
    (turns, pipeline)
}

#[test]
fn turns_are_spread_over_the_cycle() {
    assert_eq!(dumpers_of(&[5, 1, 1], 7).0, [0, 0, 1, 0, 2, 0, 0]);
    assert_eq!(dumpers_of(&[1, 1], 4).0, [0, 1, 0, 1]);
    assert_eq!(dumpers_of(&[u32::MAX; 3], 6).0, [0, 1, 2, 0, 1, 2]);
}

proptest! {
    #[test]
    fn each_dumper_gets_its_weight_of_every_cycle(weights in prop::collection::vec(1..30u32, 1..7)) {
        let cycle = weights.iter().sum::<u32>() as usize;
        let (turns, pipeline) = dumpers_of(&weights, 3 * cycle);
        for part in turns.chunks(cycle) {
            for (dumper, weight) in weights.iter().enumerate() {
                prop_assert_eq!(part.iter().filter(|turn| **turn == dumper).count(), *weight as usize);
            }
        }
        let counters = pipeline.counters();
        for (port, weight) in (100..).zip(&weights) {
            prop_assert_eq!(counters.egress[&port], 3 * u64::from(*weight));
        }
        prop_assert_eq!(counters.mirrored(), counters.received());
    }
}

#[test]
fn ports_that_make_no_sense_are_refused() {
    let at = |port, weight| Dumper { port, weight };
    let refusal = |dumpers: &[Dumper]| Ports::new(1, 2, dumpers).unwrap_err();
    assert_eq!(refusal(&[]), PortError::NoDumper);
    assert_eq!(refusal(&[at(3, 1), at(4, 0)]), PortError::NoWeight(4));
    assert_eq!(refusal(&[at(3, 1), at(3, 1)]), PortError::Twice(3));
    assert_eq!(refusal(&[at(2, 1)]), PortError::Twice(2));
    assert_eq!(Ports::new(7, 7, &[at(3, 1)]).unwrap_err(), PortError::Twice(7));
}
