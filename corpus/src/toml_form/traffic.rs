//! `[traffic]`.

use super::HOMES;
use crate::{
    config::{Form, Load, Mtu, Traffic, TrafficField, Verb, fields},
    source::{Node, Reader, Section, Value},
};

/// `rdma-verb` as written; with the number of connections it makes a [`Load`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerbKey {
    /// One verb for all.
    One(Verb),
    /// Sends and Reads.
    SendRead,
}

pub(crate) const VERBS: &[(&str, VerbKey)] = &[
    ("write", VerbKey::One(Verb::Write)),
    ("read", VerbKey::One(Verb::Read)),
    ("send", VerbKey::One(Verb::Send)),
    ("send_read", VerbKey::SendRead),
];

/// `num-connections` as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connections {
    Number(u32),
    Pair { send: u32, read: u32 },
}

pub(super) fn read(mut section: Section<'_>, r: &mut Reader<'_>) -> Traffic {
    let mut traffic = Traffic { load: load(&mut section, r), ..Traffic::default() };
    for one in TrafficField::ALL {
        field(one, &mut traffic, &mut section, r);
    }
    section.finish(r, &HOMES);
    traffic
}

/// Reads a field, if the section has it; one that is refused keeps its value.
pub(crate) fn field(
    field: &TrafficField,
    traffic: &mut Traffic,
    section: &mut Section<'_>,
    r: &mut Reader<'_>,
) {
    let value = match field.form {
        Form::Number(number) => section.opt_int(r, number),
        Form::Flag => Some(section.bool(r, field.key, (field.get)(traffic) != 0).into()),
        Form::Mtu => mtu(section, r).map(|mtu| mtu.bytes().into()),
        Form::Word(words) => section.opt_word(r, field.key, words),
    };
    if let Some(value) = value {
        (field.set)(traffic, value);
    }
}

/// One of the five RDMA MTUs.
fn mtu(section: &mut Section<'_>, r: &mut Reader<'_>) -> Option<Mtu> {
    const ALLOWED: &str = "allowed: 256, 512, 1024, 2048 or 4096";
    let path = section.path_of("mtu");
    let node = section.node(r, "mtu")?;
    let mtu = match &node.value {
        Value::Int(int) => Mtu::ALL.into_iter().find(|mtu| i128::from(mtu.bytes()) == *int),
        _ => {
            let message = format!("expected a number of bytes, found {}", r.describe(node));
            r.refuse(&node.span, &path, message, ALLOWED);
            return None;
        }
    };
    if mtu.is_none() {
        r.refuse(&node.span, &path, format!("{} is not an RDMA MTU", r.written(node)), ALLOWED);
    }
    mtu
}

fn load(section: &mut Section<'_>, r: &mut Reader<'_>) -> Load {
    let verb = section.opt_choice(r, "rdma-verb", VERBS);
    let connections = connections(section, r);
    if section.has("rdma-verb") && verb.is_none() {
        return Load::Same {
            verb: Verb::Write,
            connections: match connections {
                Some(Connections::Number(n)) => n,
                Some(Connections::Pair { send, read }) => send.saturating_add(read),
                None => fields::NUM_CONNECTIONS.default as u32,
            },
        };
    }
    let verb = verb.unwrap_or(VerbKey::One(Verb::Write));
    match (verb, connections.unwrap_or(Connections::Number(fields::NUM_CONNECTIONS.default as u32))) {
        (VerbKey::One(verb), Connections::Number(connections)) => Load::Same { verb, connections },
        (VerbKey::SendRead, Connections::Number(connections)) => Load::Alternating { connections },
        (VerbKey::SendRead, Connections::Pair { send, read }) => Load::Split { send, read },
        (VerbKey::One(verb), Connections::Pair { send, read }) => {
            let path = section.path_of("num-connections");
            let span = r.place(&path).unwrap_or_default();
            let help = "write one number, or set rdma-verb to \"send_read\"";
            r.refuse(&span, &path, "a pair of send and read needs both verbs", help);
            Load::Same { verb, connections: send.saturating_add(read) }
        }
    }
}

fn connections(section: &mut Section<'_>, r: &mut Reader<'_>) -> Option<Connections> {
    let path = section.path_of("num-connections");
    let node = section.node(r, "num-connections");
    let alias = section.entry(r, "num-qps");
    let node = match (node, alias) {
        (Some(node), None) => node,
        (None, Some(alias)) => {
            r.note_alias(&path, &section.path_of("num-qps"));
            &alias.node
        }
        (Some(_), Some(alias)) => {
            let help = "it is another name of num-connections; keep one";
            r.refuse(&alias.key_span, &section.path_of("num-qps"), "given besides num-connections", help);
            r.mark_refused(&path);
            return None;
        }
        (None, None) => return None,
    };
    match &node.value {
        Value::Int(_) => r.int(node, &path, &fields::NUM_CONNECTIONS).map(Connections::Number),
        Value::Table(_) => pair(node, &path, r),
        _ => {
            let message = format!("expected a number, found {}", r.describe(node));
            let help = "write a number, or for send_read a pair such as { send = 2, read = 3 }";
            r.refuse(&node.span, &path, message, help);
            None
        }
    }
}

fn pair(node: &Node, path: &str, r: &mut Reader<'_>) -> Option<Connections> {
    let mut section = r.section(node, path, &node.span)?;
    let mut half = |key: &'static str| {
        let half_path = section.path_of(key);
        let Some(node) = section.node(r, key) else {
            let help = "a pair says how many connections send and how many read";
            r.refuse(section.header(), &half_path, "is missing", help);
            r.mark_refused(path);
            return None;
        };
        let half = r.int(node, &half_path, &fields::NUM_CONNECTIONS);
        if half.is_none() {
            r.mark_refused(path);
        }
        half
    };
    let (send, read) = (half("send"), half("read"));
    section.finish(r, &[]);
    Some(Connections::Pair { send: send?, read: read? })
}
