//! `[[event]]`.

use dumper::ActionKind;

use super::HOMES;
use crate::{
    config::{
        Action, ConnectionSet, Copies, Event, HeaderField, Operand, PacketKinds, Progression, SetField,
        Target, fields,
    },
    source::{Node, Reader, Section, Value},
};

/// Every key of an event but the operands of its action.
const KEYS: &[&str] = &["qpn", "psn", "iter", "packet", "nth", "every", "count", "type"];

/// Keys of operands, and the action that each belongs to.
fn operands() -> impl Iterator<Item = (&'static str, ActionKind)> {
    let numbers = ActionKind::ALL.iter().flat_map(|&kind| {
        let fields = Action::operand_of(kind)
            .map(|one| one.coarse.map(|(field, _)| field).into_iter().chain([one.field]));
        fields.into_iter().flatten().map(move |field| (field.key, kind))
    });
    numbers.chain([("field", ActionKind::SetField), ("value", ActionKind::SetField)])
}

/// Stands in for an event that was refused.
pub(crate) const fn placeholder() -> Event {
    Event {
        connections: ConnectionSet::All,
        target: Target::Data { psn: 1, iter: 1 },
        progression: None,
        action: Action::Ecn,
    }
}

/// The event; none if something is wrong with it, which has been reported.
pub(super) fn read(mut section: Section<'_>, r: &mut Reader<'_>) -> Option<Event> {
    let problems = r.problem_count();
    let connections = connections(&mut section, "qpn", r);
    if connections.is_none() && !section.has("qpn") {
        missing(&section, "qpn", CONNECTION_SETS, r);
    }
    let target = target(&mut section, r);
    let progression = progression(&mut section, r);
    let action = action(&mut section, r);
    section.finish(r, &HOMES);
    if r.problem_count() > problems {
        return None;
    }
    Some(Event { connections: connections?, target: target?, progression, action: action? })
}

/// Reports a key that has to be there.
fn missing(section: &Section<'_>, key: &str, help: &str, r: &mut Reader<'_>) {
    let keys: Vec<&str> = KEYS.iter().copied().chain(operands().map(|(operand, _)| operand)).collect();
    if section.has_slip_for(key, &keys) {
        // The slip will be reported, with the word that was meant.
        r.mark_refused(section.path());
        return;
    }
    r.refuse(section.header(), &section.path_of(key), "is missing", help);
}

/// Forms of a set of connections.
const CONNECTION_SETS: &str = "write a number, a list of numbers, \"all\" or { first = 8 }";

/// A set of connections; none if the key is absent, or its value refused.
pub(super) fn connections(
    section: &mut Section<'_>,
    key: &'static str,
    r: &mut Reader<'_>,
) -> Option<ConnectionSet> {
    let path = section.path_of(key);
    let node = section.node(r, key)?;
    match &node.value {
        Value::Int(_) => r.int(node, &path, &fields::QPN).map(ConnectionSet::One),
        Value::Text(text) if text == "all" => Some(ConnectionSet::All),
        Value::List(items) => {
            let list: Vec<u32> = r
                .items(items, &path)
                .into_iter()
                .filter_map(|(item, path)| r.int(item, &path, &fields::QPN))
                .collect();
            Some(ConnectionSet::List(list))
        }
        Value::Table(_) => first(node, &path, r),
        _ => {
            let message = format!("expected a set of connections, found {}", r.describe(node));
            r.refuse(&node.span, &path, message, CONNECTION_SETS);
            None
        }
    }
}

fn first(node: &Node, path: &str, r: &mut Reader<'_>) -> Option<ConnectionSet> {
    let mut section = r.section(node, path, &node.span)?;
    let first = section.node(r, "first");
    let set = match first {
        Some(first) => r.int(first, &section.path_of("first"), &fields::QPN).map(ConnectionSet::First),
        None => {
            missing(&section, "first", "write { first = 8 } for connections 1 to 8", r);
            None
        }
    };
    section.finish(r, &[]);
    set
}

fn target(section: &mut Section<'_>, r: &mut Reader<'_>) -> Option<Target> {
    let given = section.has("packet");
    let packet = match section.opt_choice(r, "packet", PacketKinds::NAMES) {
        Some(packet) => packet,
        None if given => {
            // Which of the keys below belong to it is not known.
            for key in ["psn", "iter", "nth"] {
                section.node(r, key);
            }
            return None;
        }
        None => None,
    };
    let (own, foreign): (&'static str, &[&'static str]) = match packet {
        None => ("psn", &["nth"]),
        Some(_) => ("nth", &["psn", "iter"]),
    };
    for &key in foreign {
        if let Some(entry) = section.entry(r, key) {
            let (message, help) = match packet {
                None => (
                    "counts control packets, and this event names a data packet".to_owned(),
                    "use psn and iter, or set packet to \"ack\", \"nak\", \"cnp\" or \"read-request\"",
                ),
                Some(packet) => (
                    format!("belongs to data packets, and this event names packet \"{}\"", packet.name()),
                    "control packets are named by their occurrence: use nth",
                ),
            };
            r.refuse(&entry.key_span, &section.path_of(key), message, help);
        }
    }
    if !section.has(own) {
        if foreign.iter().all(|key| !section.has(key)) {
            let help = match packet {
                None => "say which packet of the connection, from 1",
                Some(_) => "say which occurrence on the connection, from 1",
            };
            missing(section, own, help, r);
        }
        section.node(r, own);
        section.node(r, "iter");
        return None;
    }
    match packet {
        None => {
            let psn = section.opt_int(r, &fields::PSN);
            let iter = section.int(r, &fields::ITER);
            Some(Target::Data { psn: psn?, iter })
        }
        Some(packet) => Some(Target::Control { packet, nth: section.opt_int(r, &fields::NTH)? }),
    }
}

fn progression(section: &mut Section<'_>, r: &mut Reader<'_>) -> Option<Progression> {
    let every = section.opt_int(r, &fields::EVERY);
    if !section.has("every")
        && let Some(entry) = section.entry(r, "count")
    {
        let help = "say every how many packets, for example `every = 10`, or remove it";
        r.refuse(&entry.key_span, &section.path_of("count"), "means nothing without every", help);
        return None;
    }
    let count = section.opt_int(r, &fields::COUNT);
    Some(Progression { every: every?, count })
}

fn action(section: &mut Section<'_>, r: &mut Reader<'_>) -> Option<Action> {
    let Some(node) = section.node(r, "type") else {
        let names: Vec<&str> = ActionKind::NAMES.iter().map(|(name, _)| *name).collect();
        missing(section, "type", &format!("allowed: {}", crate::source::list_or(&names)), r);
        for (operand, _) in operands() {
            section.node(r, operand);
        }
        return None;
    };
    let path = section.path_of("type");
    let key = if matches!(&node.value, Value::Text(text) if text == "bit-error") {
        r.refuse(&node.span, &path, "\"bit-error\" is Lumina's name", "write \"corrupt\"");
        None
    } else {
        r.choice(node, &path, ActionKind::NAMES)
    };
    for (operand, owner) in operands() {
        if let Some(entry) = section.entry(r, operand)
            && let Some(key) = key
            && key != owner
            && (key, operand) != (ActionKind::Drop, Copies::KEY)
        {
            let message = format!("does not go with type {}", r.written(node));
            let help = format!("it belongs to type \"{}\"; remove it or change the type", owner.name());
            r.refuse(&entry.key_span, &section.path_of(operand), message, help);
        }
    }
    let kind = key?;
    match Action::operand_of(kind) {
        Some(operand) => Action::with_operand(kind, number(section, operand, r)?),
        None if kind == ActionKind::Drop => copies(section, r).map(Action::Drop),
        None => Action::with_operand(kind, 0).or_else(|| set_field(section, r)),
    }
}

/// The packets that a drop is of.
fn copies(section: &mut Section<'_>, r: &mut Reader<'_>) -> Option<Copies> {
    match section.node(r, Copies::KEY).map(|node| &node.value) {
        None => Some(Copies::default()),
        Some(Value::Int(_)) => section.opt_int(r, &fields::COPY).map(Copies::One),
        Some(_) => section.opt_choice(r, Copies::KEY, Copies::NAMES),
    }
}

/// The operand of an action, in one of its units.
fn number(section: &mut Section<'_>, operand: &Operand, r: &mut Reader<'_>) -> Option<u64> {
    match operand.coarse {
        None => required(section, operand.field, operand.ask, r),
        Some((coarse, _)) if section.has(operand.field.key) => {
            if let Some(entry) = section.entry(r, coarse.key) {
                let path = section.path_of(coarse.key);
                let message = format!("given besides {}", operand.field.key);
                r.refuse(&entry.key_span, &path, message, "keep one of the two");
                return None;
            }
            section.opt_int(r, operand.field)
        }
        Some((coarse, each)) => {
            let number: u64 = required(section, coarse, operand.ask, r)?;
            Some(number * each)
        }
    }
}

fn set_field(section: &mut Section<'_>, r: &mut Reader<'_>) -> Option<Action> {
    if !section.has("field") {
        let names: Vec<&str> = HeaderField::NAMES.iter().map(|(name, _)| *name).collect();
        missing(section, "field", &format!("allowed: {}", crate::source::list_or(&names)), r);
    }
    let field = section.opt_choice(r, "field", HeaderField::NAMES);
    // Without a field that is known, any number may be meant.
    let bounds = field.map_or(fields::VALUE, HeaderField::bounds);
    let value = required(section, &bounds, "say which value, for example `value = 0`", r);
    Some(Action::SetField(SetField { field: field?, value: value? }))
}

fn required<T: TryFrom<u64>>(
    section: &mut Section<'_>,
    field: &fields::IntField,
    help: &str,
    r: &mut Reader<'_>,
) -> Option<T> {
    if !section.has(field.key) {
        missing(section, field.key, help, r);
        return None;
    }
    section.opt_int(r, field)
}
