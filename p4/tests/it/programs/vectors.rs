//! The vectors, through the interpreted programs.

use super::load::Loaded;
use super::runs::{Case, Entered, wiring};
use crate::vectors::{Vector, file};

#[test]
fn the_program_for_v1model_holds_to_the_vectors() {
    let program = Loaded::unchanged("event_injector_v1model.p4");
    for case in possible() {
        case.check(&program, &wiring());
    }
}

/// Those within the capabilities of P4 programs.
pub(super) fn possible() -> Vec<Case> {
    let vectors = file::all();
    let cases = vectors.iter().map(case).filter(|case| case.is_possible().is_ok());
    let cases: Vec<_> = cases.collect();
    assert!(cases.len() >= 8, "{} vectors are within the capabilities of P4 programs", cases.len());
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
