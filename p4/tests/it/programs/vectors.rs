//! The vectors, through the interpreted programs.

use corpus::Role;
use dumper::wire::Opcode;
use dumper::{ActionKind, Event, Psn};
use p4::translate;

use super::PROGRAMS;
use super::load::Loaded;
use super::runs::{Case, Entered, wiring};
use crate::frames::Made;
use crate::support::{config, connections};
use crate::vectors::{Vector, file};

#[test]
fn the_programs_hold_to_the_vectors() {
    for program in PROGRAMS.map(Loaded::unchanged) {
        for case in possible().into_iter().chain(large()) {
            case.check(&program, &wiring());
        }
    }
}

/// Those within the capabilities of P4 programs.
pub(crate) fn possible() -> Vec<Case> {
    let vectors = file::all();
    let cases = vectors.iter().map(case).filter(Case::is_possible);
    let cases: Vec<_> = cases.collect();
    assert!(cases.len() >= 60, "{} vectors are within the capabilities of P4 programs", cases.len());
    cases
}

fn case(vector: &Vector) -> Case {
    let entered = vector.packets.iter().map(|packet| {
        let left = packet.out.iter().map(|leaves| (packet.from.peer(), leaves.frame.clone()));
        Entered {
            from: packet.from,
            frame: packet.frame.clone(),
            left: left.collect(),
            mirror: Some(packet.mirror),
        }
    });
    Case { name: vector.name.clone(), tables: vector.tables(), entered: entered.collect() }
}

/// Too large for a file: more rounds than events can name, and the last connection.
pub(super) fn large() -> [Case; 2] {
    let dropped = |name: &str, text: &str, packets: usize, drops: usize, made: &Made, from: Role| {
        let config = config(text);
        let connections = connections(config.traffic.load.connections(), Psn::new(1));
        let entered = (0..packets).map(|place| {
            let is_dropped = place == drops;
            let frame = made.frame();
            let left = if is_dropped { Vec::new() } else { vec![(from.peer(), frame.clone())] };
            let mirror = if is_dropped { Event::Action(ActionKind::Drop) } else { Event::None };
            Entered { from, frame, left, mirror: Some(mirror) }
        });
        let tables = translate(&config, &connections).unwrap();
        Case { name: name.to_owned(), tables, entered: entered.collect() }
    };
    let again = Made { payload: 0, ..Made::default() };
    let ack = Made {
        to_responder: false,
        connection: 10_000,
        opcode: Opcode::Acknowledge,
        syndrome: 0,
        payload: 0,
        ..Made::default()
    };
    [
        dropped(
            "a late round",
            "event = [{ qpn = 1, psn = 1, iter = 16, type = \"drop\" }]",
            // The low 8 bits of round 272 are those of round 16.
            300,
            15,
            &again,
            Role::Requester,
        ),
        dropped(
            "the last connection",
            "traffic.num-connections = 10_000\nevent = [{ qpn = 10_000, packet = \"ack\", nth = 2, type = \"drop\" }]",
            3,
            1,
            &ack,
            Role::Responder,
        ),
    ]
}
