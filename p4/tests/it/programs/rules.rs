//! Tables that the programs themselves have, entry for entry against the pipeline.

use std::collections::BTreeMap;

use corpus::{ControlPacket, IterMode};
use dumper::Psn;
use dumper::wire::{Opcode, Syndrome};
use p4::source::Type;
use p4::{Actions, Kind, Packet, Rounds, Sent};

use super::PROGRAMS;
use super::load::Loaded;
use super::machine::Machine;
use super::value::Value;
use crate::support::config;

#[test]
fn rules_are_those_of_the_pipeline() {
    for name in PROGRAMS {
        check(&Loaded::unchanged(name));
    }
}

pub(super) fn check(program: &Loaded) {
    kinds(program);
    rounds(program);
    leaving(program);
    leave(program);
}

fn zero(program: &Loaded, name: &str) -> Value {
    Value::zero(&Type::Named(name.to_owned(), Vec::new()), program)
}

/// Each opcode, and each syndrome of an acknowledgement.
fn kinds(program: &Loaded) {
    let acknowledgements = (0..=255).map(|syndrome| (Opcode::Acknowledge.code(), Some(syndrome)));
    for (opcode, syndrome) in (0..=255).map(|opcode| (opcode, None)).chain(acknowledgements) {
        let mut headers = zero(program, "headers_t");
        headers.member("bth").member("opcode").set(&Value::Bits(opcode.into(), 8));
        if let (Some(syndrome), Value::Header { is_valid, .. }) = (syndrome, headers.member("aeth")) {
            *is_valid = true;
            headers.member("aeth").member("syndrome").set(&Value::Bits(u128::from(syndrome), 8));
        }
        let mut arguments = [headers, zero(program, "packet_t")];
        Machine::new(program).run("kinds", "Kinds", &mut arguments);
        let [_, mut found] = arguments;
        let packet = Packet::new(opcode.into(), syndrome.map(Syndrome::from), Psn::new(1), 78);
        let expected = match packet.kind {
            Kind::Data { starts, ends } => [1, 0, starts.into(), ends.into(), 0, 0],
            Kind::Control(kind) => [0, 1, 0, 0, u128::from(packet.asks_again), kind as u128],
            Kind::Other => [0; 6],
        };
        let found = ["is_data", "is_control", "starts", "ends", "asks_again", "kind"]
            .map(|name| found.member(name).number());
        assert_eq!(found, expected, "opcode {opcode:#x}, syndrome {syndrome:?}");
    }
    assert_eq!(ControlPacket::NAMES.len(), 4);
}

/// Steps of each kind, in each way of counting.
fn rounds(program: &Loaded) {
    let rounds = ["ROUND_STAYS", "ROUND_AGAIN", "ROUND_FIRST"].map(|name| program.constant(name));
    let [stays, again, first] = rounds;
    let before = 5;
    for (mode, mixed, starts) in [IterMode::Paper, IterMode::PerMessage].into_iter().flat_map(|mode| {
        [(false, false), (false, true), (true, false), (true, true)]
            .map(|(mixed, starts)| (mode, mixed, starts))
    }) {
        let verb = if mixed { "send_read" } else { "write" };
        let mut config = config(&format!("traffic = {{ rdma-verb = \"{verb}\", num-msgs-per-qp = 4 }}"));
        config.traffic.iter_mode = mode;
        for steps in [0, 1, 2, 3, 1000, 0x7f_ffff, 0x80_0000, 0x80_0001, 0xff_fffe, 0xff_ffff] {
            let last = Psn::new(100);
            let expected = Rounds::new(&config.traffic, 1, Psn::new(1))
                .known(last, before)
                .take(last.add(steps), starts);
            let mut packet = zero(program, "packet_t");
            let values = BTreeMap::from([
                ("iter_mode", mode as u128),
                ("shares_psns", mixed.into()),
                ("starts", starts.into()),
                // Bits beyond those of a PSN mean nothing.
                ("steps", u128::from(steps) | 0x5a00_0000),
            ]);
            for (name, value) in values {
                packet.member(name).set(&Value::Bits(value, 0));
            }
            let mut arguments = [packet];
            Machine::new(program).run("round", "Round", &mut arguments);
            let round = arguments[0].member("round").number();
            let found = match round {
                round if round == stays => before,
                round if round == again => before + 1,
                round if round == first => 1,
                other => panic!("{other}"),
            };
            assert_eq!(found, expected, "{mode:?}, mixed {mixed}, starts {starts}, {steps} steps");
        }
    }
    assert_eq!(rounds, [0, 1, 2]);
}

/// Packets that leave, and event codes, of each combination of actions and copies.
fn leaving(program: &Loaded) {
    for made in (0..=7).map(|copies| (1u8 << copies) - 1) {
        for bits in 0..16u8 {
            let bit = |at: u8| bits >> at & 1 == 1;
            for extra_copies in [0, 1, 16] {
                let actions = Actions {
                    drop: bit(0),
                    ecn: bit(1),
                    corrupt: bit(2),
                    extra_copies,
                    ..Actions::default()
                };
                let copies = if bit(3) { made } else { made & !0b11 };
                let mut fate = zero(program, "fate_t");
                for (name, value) in [
                    ("drop", actions.drop.into()),
                    ("ecn", actions.ecn.into()),
                    ("corrupt", actions.corrupt.into()),
                    ("duplicates", extra_copies),
                    ("made", made),
                    ("copies", copies),
                ] {
                    fate.member(name).set(&Value::Bits(u128::from(value), 0));
                }
                let mut arguments = [fate];
                Machine::new(program).run("leaving", "Leaving", &mut arguments);
                let [mut fate] = arguments;
                let found = ["originals", "replicas", "event"].map(|name| fate.member(name).number());
                let sent = Sent { actions, copies };
                let expected =
                    [sent.originals(), sent.originals() + made.count_ones() as u8, sent.event().code()];
                assert_eq!(found, expected.map(u128::from), "{sent:?}, {made:#b} made");
            }
        }
    }
}

/// Replicas behind all copies do not leave.
fn leave(program: &Loaded) {
    for replica in 1..=9u128 {
        let mut fate = zero(program, "fate_t");
        fate.member("originals").set(&Value::Bits(1, 0));
        fate.member("copies").set(&Value::Bits(0b111_1111, 0));
        let mut arguments = [zero(program, "headers_t"), fate, Value::Bits(replica, 16), Value::Bits(0, 1)];
        Machine::new(program).run("leave", "Leave", &mut arguments);
        assert_eq!(arguments[3].number(), u128::from(replica > 8), "replica {replica}");
    }
}
