//! Runs of a program, and what has to come out of it.

use std::collections::BTreeMap;

use corpus::Role;
use dumper::mirror::MirrorMeta;
use dumper::{Event, Nanos};
use p4::entries::program::{Wiring, items};
use p4::{Dumper, Tables};

use super::load::Loaded;
use super::switch::Switch;
use crate::support::PORTS;

/// A frame that enters.
pub(crate) struct Entered {
    pub(crate) from: Role,
    pub(crate) frame: Vec<u8>,
    /// Frames that leave for it, and where.
    pub(crate) left: Vec<(Role, Vec<u8>)>,
    /// Event of its mirrored copy; none if it is not mirrored.
    pub(crate) mirror: Option<Event>,
}

/// A test with frames, and what becomes of them.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) tables: Tables,
    pub(crate) entered: Vec<Entered>,
}

/// Two dumpers with a weight of three to one.
pub(crate) fn wiring() -> Wiring {
    Wiring { hosts: PORTS, dumpers: vec![Dumper { port: 30, weight: 3 }, Dumper { port: 31, weight: 1 }] }
}

/// Ports of the dumpers, turn for turn.
const TURNS: [u128; 4] = [30, 30, 31, 30];

/// A port of no host.
const UNKNOWN_PORT: u128 = 99;

impl Case {
    /// Returns true if the programs can do it.
    pub(crate) fn is_possible(&self) -> bool {
        items(&self.tables, &wiring(), 1).is_ok()
    }

    /// Runs it, twice: registers of the first time must not matter in the second.
    ///
    /// # Panics
    /// When a frame does not leave as it has to, or is mirrored otherwise.
    pub(crate) fn check(&self, program: &Loaded, wiring: &Wiring) {
        self.check_epochs(program, wiring, 2);
    }

    /// Runs it so often, one test behind the other.
    pub(crate) fn check_epochs(&self, program: &Loaded, wiring: &Wiring, epochs: u32) {
        let mut switch = Switch::new(program);
        for (group, port, replicas) in wiring.groups() {
            let members = (1..=replicas).map(|replica| (port.into(), replica.into())).collect();
            switch.groups.insert(group.into(), members);
        }
        switch.sessions = wiring.sessions().map(|(session, port)| (session.into(), port.into())).collect();
        for epoch in 1..=epochs {
            for item in items(&self.tables, wiring, epoch).unwrap() {
                switch.machine.write(item.entry);
            }
            self.run(&mut switch, epoch);
            let elsewhere = switch.receive(UNKNOWN_PORT, &self.entered[0].frame, 0);
            assert!(elsewhere.is_empty(), "{}: a packet that enters at another port is dropped", self.name);
        }
    }

    fn run(&self, switch: &mut Switch<'_>, epoch: u32) {
        let mut sequence = 0;
        let mut counts: BTreeMap<(&str, u128), u64> = BTreeMap::new();
        switch.machine.externs.counted.clear();
        for (place, entered) in self.entered.iter().enumerate() {
            let which = || format!("{}, epoch {epoch}: packet {}", self.name, place + 1);
            let time = 1_000 * place as u64;
            let port = PORTS[entered.from as usize].into();
            let (mut left, mut mirrored) = (Vec::new(), Vec::new());
            for (port, frame) in switch.receive(port, &entered.frame, time.into()) {
                match Role::ALL.into_iter().find(|role| u128::from(PORTS[*role as usize]) == port) {
                    Some(to) => left.push((to, frame)),
                    None => mirrored.push((port, frame)),
                }
            }
            assert_eq!(left, entered.left, "{}", which());
            let Some(event) = entered.mirror else {
                assert!(mirrored.is_empty(), "{}", which());
                continue;
            };
            let turn = TURNS[sequence as usize % TURNS.len()];
            sequence += 1;
            let mut expected = entered.frame.clone();
            p4::rewrite::mirror(&mut expected, MirrorMeta { sequence, time: Nanos(time), event });
            // The destination port is drawn.
            let at = udp_at(&entered.frame) + 2;
            for (_, frame) in &mut mirrored {
                frame[at..at + 2].copy_from_slice(&entered.frame[at..at + 2]);
            }
            assert_eq!(mirrored, [(turn, expected)], "{}", which());
            *counts.entry(("port_ingress", port)).or_default() += 1;
            *counts.entry(("port_egress", turn)).or_default() += 1;
            for (to, _) in &left {
                *counts.entry(("port_egress", PORTS[*to as usize].into())).or_default() += 1;
            }
        }
        let counted = switch.machine.externs.counted.iter();
        let counted: BTreeMap<_, _> = counted
            .map(|((path, port), packets)| ((path.rsplit('.').next().unwrap_or(path), *port), *packets))
            .collect();
        assert_eq!(counted, counts, "{}, epoch {epoch}", self.name);
    }
}

/// Where the UDP header of a RoCEv2 frame begins: behind its tags and an IP header without options.
pub(crate) fn udp_at(frame: &[u8]) -> usize {
    let mut at = 12;
    while matches!(frame[at..at + 2], [0x81, 0] | [0x88, 0xa8]) {
        at += 4;
    }
    at + 2 + if frame[at..at + 2] == [0x86, 0xdd] { 40 } else { 20 }
}
