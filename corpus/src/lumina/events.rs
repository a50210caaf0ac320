//! `traffic.data-pkt-events`.

use super::Dialect;
use crate::{
    config::{
        Action, ConnectionSet, Event, Progression, Target, Traffic, fields,
        fields::{IntField, MAX_EVENTS},
    },
    source::{Names, Node, Reader, Section, Value},
    toml_form::placeholder,
};

const ACTIONS: &Names<Action> = &[
    ("drop", Action::DROP),
    ("ecn", Action::Ecn),
    ("bit-error", Action::Corrupt),
    ("corrupt", Action::Corrupt),
];

/// Fields that decide how many packets a message has.
const SHAPE: [&str; 3] = ["traffic.mtu", "traffic.message-size", "traffic.num-msgs-per-qp"];

/// One event of ours for each of the file's, in its order.
pub(super) fn read(
    node: &Node,
    path: &str,
    traffic: &Traffic,
    dialect: Dialect,
    r: &mut Reader<'_>,
) -> Vec<Event> {
    // A key whose list has been commented out.
    if matches!(node.value, Value::Null) {
        return Vec::new();
    }
    let Some(items) = r.list(node, path, "events") else { return Vec::new() };
    if items.len() > MAX_EVENTS {
        let message = format!("there are {} events", items.len());
        r.refuse(&items[MAX_EVENTS].span, path, message, format!("at most {MAX_EVENTS} are allowed"));
        return Vec::new();
    }
    let mut events = Vec::with_capacity(items.len());
    for (item, path) in r.items(items, path) {
        let problems = r.problem_count();
        let event = r
            .section(item, &path, &item.span)
            .and_then(|section| event(section, traffic, dialect, r))
            .filter(|_| r.problem_count() == problems);
        events.push(event.unwrap_or_else(|| {
            r.mark_refused(&path);
            r.mark_refused("events");
            placeholder()
        }));
    }
    events
}

fn event(mut section: Section<'_>, traffic: &Traffic, dialect: Dialect, r: &mut Reader<'_>) -> Option<Event> {
    let action =
        required(&mut section, "type", r).and_then(|node| r.choice(node, &section.path_of("type"), ACTIONS));
    let (qpn, psns, iter) = (
        qpn(&mut section, traffic, dialect, r),
        psns(&mut section, traffic, dialect, r),
        section.int(r, &fields::ITER),
    );
    let depth_known = !r.is_refused("traffic.tx-depth");
    if dialect == Dialect::Published
        && traffic.tx_depth > 1
        && depth_known
        && action.is_some_and(|action| action != Action::Ecn)
    {
        let path = section.path_of("type");
        let message = format!(
            "the published tool injects only ecn with tx-depth above 1, and it is {}",
            traffic.tx_depth
        );
        let help = "set tx-depth to 1, or write num-connections and count as the paper does: \
                    qpn and psn from 1, psn over the connection";
        r.refuse(&r.place(&path).unwrap_or_default(), &path, message, help);
    }
    section.finish(r, &[]);
    let (psn, progression) = psns?;
    let target = Target::Data { psn, iter };
    Some(Event { connections: ConnectionSet::One(qpn?), target, progression, action: action? })
}

fn required<'n>(section: &mut Section<'n>, key: &'static str, r: &mut Reader<'_>) -> Option<&'n Node> {
    let node = section.node(r, key);
    if node.is_none() {
        let help = "an event has qpn, psn, type and iter";
        r.refuse(section.header(), &section.path_of(key), "is missing", help);
    }
    node
}

/// The same numbers, counted from 0.
const fn from_zero(field: &IntField) -> IntField {
    IntField { min: field.min - 1, max: field.max - 1, why: "the published tool counts from 0", ..*field }
}

/// `0`, `0 to 7`
fn below(count: u32) -> String {
    if count <= 1 { "0".to_owned() } else { format!("0 to {}", count - 1) }
}

fn qpn(section: &mut Section<'_>, traffic: &Traffic, dialect: Dialect, r: &mut Reader<'_>) -> Option<u32> {
    let path = section.path_of("qpn");
    let node = required(section, "qpn", r)?;
    if dialect == Dialect::Paper {
        return r.int(node, &path, &fields::QPN);
    }
    let qpn: u32 = r.int(node, &path, &from_zero(&fields::QPN))?;
    let known = ["traffic.num-qps", "traffic.num-connections", "traffic.rdma-verb"];
    let connections = traffic.load.connections();
    if qpn >= connections && !known.iter().any(|path| r.is_refused(path)) {
        let message = format!("there is no QP {qpn}: the test has {connections}");
        let help = format!("allowed: {} (the published tool counts from 0)", below(connections));
        r.refuse(&node.span, &path, message, help);
        return None;
    }
    Some(qpn + 1)
}

/// The first packet and, where the event repeats, how it goes on.
fn psns(
    section: &mut Section<'_>,
    traffic: &Traffic,
    dialect: Dialect,
    r: &mut Reader<'_>,
) -> Option<(u32, Option<Progression>)> {
    let path = section.path_of("psn");
    let node = required(section, "psn", r)?;
    if matches!(&node.value, Value::Text(text) if text == "all") {
        return Some((1, Some(Progression { every: 1, count: None })));
    }
    if !matches!(node.value, Value::Int(_)) {
        let message = format!("expected a whole number or all, found {}", r.describe(node));
        let first = if dialect == Dialect::Paper { 1 } else { 0 };
        r.refuse(&node.span, &path, message, format!("packets count from {first} in this dialect"));
        return None;
    }
    if dialect == Dialect::Paper {
        return Some((r.int(node, &path, &fields::PSN)?, None));
    }
    let psn: u32 = r.int(node, &path, &from_zero(&fields::PSN))?;
    let per_message = traffic.shape().packets_per_message();
    if psn >= per_message && !SHAPE.iter().any(|path| r.is_refused(path)) {
        let packets = if per_message == 1 { "packet" } else { "packets" };
        let message = format!("{psn} is beyond the {per_message} {packets} of a message");
        let help =
            format!("allowed: {}, or all (the published tool counts in each message)", below(per_message));
        r.refuse(&node.span, &path, message, help);
        return None;
    }
    let repeats = traffic.num_msgs_per_qp > 1;
    Some((psn + 1, repeats.then_some(Progression { every: per_message, count: None })))
}
