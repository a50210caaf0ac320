//! The events of a script: those of `inject` lines, and those beside packets, which the injector needs by
//! round or occurrence.

use std::collections::BTreeMap;

use corpus::{ConnectionSet, ControlPacket, Copies, Event, HeaderField, Progression, SetField, Traffic};
use dumper::script::{
    Action, At, Connections, ControlKind, Direction, Field, Injection, Operand, Packet, Problem, Script,
    Step, Target,
};
use dumper::wire::Class;
use dumper::{Nanos, Psn};
use p4::{MAX_ITER, Rounds};

use super::times::timeout;

/// Relative PSNs count from 1.
const INITIAL: Psn = Psn::new(1);

/// All events, each with its place, and the errors of the others.
pub(super) fn events(script: &Script, traffic: &Traffic) -> (Vec<(At, Event)>, Vec<Problem>) {
    let timeout = timeout(traffic);
    let mut events: Vec<(At, Event)> =
        script.injections.iter().flat_map(|injection| injected(injection, timeout)).collect();
    let mut problems = Vec::new();
    let mut counts = Counts { traffic, skipped: false, keys: BTreeMap::new() };
    for step in &script.steps {
        if let Step::Skip(_) = step {
            counts.skipped = true;
            counts.keys.clear();
        }
        let racing = racing(step.packets());
        for packet in step.packets() {
            let in_race = key(packet).is_some_and(|key| racing.get(&key).is_some_and(|lines| *lines > 1));
            match counts.take(packet, in_race) {
                Ok(target) => events.extend(packet.actions.iter().map(|action| {
                    let event = Event {
                        connections: ConnectionSet::One(packet.qp),
                        target,
                        progression: None,
                        action: to_action(action.value, timeout),
                    };
                    (action.at, event)
                })),
                Err(_) if packet.actions.is_empty() => {}
                Err((message, help)) => problems.push(Problem::new(packet.actions[0].at, message, help)),
            }
        }
    }
    (events, problems)
}

fn injected(injection: &Injection, timeout: Nanos) -> impl Iterator<Item = (At, Event)> {
    let connections = match &injection.connections {
        Connections::One(qp) => ConnectionSet::One(*qp),
        Connections::List(list) => ConnectionSet::List(list.clone()),
        Connections::First(n) => ConnectionSet::First(*n),
        Connections::All => ConnectionSet::All,
    };
    let target = match injection.target {
        Target::Data { psn, iter } => corpus::Target::Data { psn, iter },
        Target::Control { kind, nth } => corpus::Target::Control { packet: to_packet(kind), nth },
    };
    let progression = injection.every.map(|every| Progression { every, count: injection.count });
    injection.actions.iter().map(move |action| {
        let action = to_action(action.value, timeout);
        (injection.at, Event { connections: connections.clone(), target, progression, action })
    })
}

fn to_action(action: Action, timeout: Nanos) -> corpus::Action {
    let number = match action.operand {
        Operand::Alone => 0,
        Operand::AllCopies => return corpus::Action::Drop(Copies::All),
        Operand::Copy(copy) => return corpus::Action::Drop(Copies::One(copy)),
        Operand::Time(span) => span.nanos(timeout).0,
        Operand::Number(number) => number.into(),
        Operand::Field { field, value } => {
            let named = HeaderField::NAMES.iter().find(|(name, _)| *name == field);
            let (_, field) = named.expect("scripts rewrite the fields that tests do, by their names");
            return corpus::Action::SetField(SetField { field: *field, value });
        }
    };
    corpus::Action::with_operand(action.kind, number)
        .expect("only set-field needs more than a number, and it has a field")
}

pub(super) fn to_packet(kind: ControlKind) -> ControlPacket {
    match kind {
        ControlKind::Ack => ControlPacket::Ack,
        ControlKind::Nak => ControlPacket::Nak,
        ControlKind::Cnp => ControlPacket::Cnp,
        ControlKind::ReadRequest => ControlPacket::ReadRequest,
    }
}

/// Key of packets that the injector counts together: the connection, true if towards the responder, and the
/// kind of control packet (`None` for data).
pub(super) type Key = (u32, bool, Option<ControlKind>);

/// Key that a packet is counted under, if the injector counts it.
pub(super) fn key(packet: &Packet) -> Option<Key> {
    let counted = packet.name.class().is_data() || packet.name.control().is_some();
    counted.then(|| counted_at(packet.qp, packet.direction == Direction::ToResponder, packet.name.control()))
}

/// Directions are counted apart, but CNPs of both together, as the injector does.
pub(super) fn counted_at(qp: u32, forth: bool, control: Option<ControlKind>) -> Key {
    (qp, forth || control == Some(ControlKind::Cnp), control)
}

/// Number of a step's lines with the same key: two or more of one key come in an unknown order.
fn racing(packets: &[Packet]) -> BTreeMap<Key, usize> {
    let mut lines = BTreeMap::new();
    for key in packets.iter().filter_map(key) {
        *lines.entry(key).or_default() += 1;
    }
    lines
}

/// Returns true if a packet is the first of a message.
pub(super) const fn starts(class: Class) -> bool {
    matches!(class, Class::Request(_, position) | Class::ReadResponse(position) if position.starts())
}

/// Count up to a line of the script.
#[derive(Clone, Copy)]
enum Count {
    /// Data packets.
    Rounds(Rounds),
    /// Control packets.
    Occurrence(u32),
    /// Packets were skipped, or came in an order that is not known.
    Lost,
}

struct Counts<'a> {
    traffic: &'a Traffic,
    skipped: bool,
    keys: BTreeMap<Key, Count>,
}

impl Counts<'_> {
    /// Counts a packet line and names its packet to the injector.
    fn take(
        &mut self,
        packet: &Packet,
        in_race: bool,
    ) -> Result<corpus::Target, (&'static str, &'static str)> {
        const NOT_COUNTED: &str = "neither data nor control";
        const LOST: &str = "packets above are skipped, or come in any order";
        let key = key(packet).ok_or((NOT_COUNTED, ""))?;
        let start = match (self.skipped, key.2) {
            (true, _) => Count::Lost,
            (false, None) => Count::Rounds(Rounds::new(self.traffic, packet.qp, INITIAL)),
            (false, Some(_)) => Count::Occurrence(0),
        };
        let count = self.keys.entry(key).or_insert(start);
        if in_race {
            *count = Count::Lost;
        }
        let said = |field| packet.fields.get(&field).and_then(|value| u32::try_from(*value).ok());
        let target = match key.2 {
            Some(kind) => {
                let nth = match (said(Field::Nth), *count) {
                    (Some(nth), _) => Some(nth),
                    (None, Count::Occurrence(before)) => Some(before + 1),
                    (None, _) => None,
                };
                *count = nth.map_or(Count::Lost, Count::Occurrence);
                let nth = nth.ok_or((LOST, "say which one of its kind on the connection this is: nth N"))?;
                Ok(corpus::Target::Control { packet: to_packet(kind), nth })
            }
            None => {
                let Some(psn) = said(Field::Psn) else {
                    *count = Count::Lost;
                    return Err(("a data packet without psn", "write psn N"));
                };
                let wire = Psn::new(psn);
                let iter = match (said(Field::Iter), &mut *count) {
                    (Some(iter), _) => Some(iter),
                    (None, Count::Rounds(rounds)) => {
                        Some(rounds.take(wire, starts(packet.name.class())).into())
                    }
                    (None, _) => None,
                };
                let iter_register = |iter| u16::try_from(iter).unwrap_or(MAX_ITER);
                let round_1 = Rounds::new(self.traffic, packet.qp, INITIAL);
                *count =
                    iter.map_or(Count::Lost, |iter| Count::Rounds(round_1.known(wire, iter_register(iter))));
                let iter = iter.ok_or((LOST, "say which round of transmission this is: iter N"))?;
                Ok(corpus::Target::Data { psn, iter })
            }
        };
        if in_race {
            *count = Count::Lost;
        }
        target
    }
}
