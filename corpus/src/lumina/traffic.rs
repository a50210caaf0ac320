//! `traffic`.

use std::iter;

use super::{Dialect, NoteKind, events, importer::Importer};
use crate::{
    config::{
        Files, IterMode, Load, TestConfig, Traffic, TrafficClass, TrafficField, fields, fields::IntField,
    },
    source::{Reader, Section, Value, quoted},
    toml_form::{VERBS, VerbKey, field, small_numbers},
};

/// Fields that Lumina's files have.
fn luminas() -> impl Iterator<Item = &'static TrafficField> {
    TrafficField::ALL.iter().filter(|field| field.files == Files::All)
}

/// A differentiated services code point; the default mapping puts eight of them into a class.
const DSCP: IntField =
    IntField { key: "dscp-list", min: 0, max: 63, default: 0, unit: "", why: "a DSCP has 6 bits" };
/// DSCP values of one traffic class.
pub(super) const DSCP_PER_CLASS: u8 = 8;

pub(super) fn read(
    mut section: Section<'_>,
    config: &mut TestConfig,
    dialect: &mut Option<Dialect>,
    importer: &mut Importer<'_>,
) {
    // Every Lumina file has these keys; where one is missing, a note says that a default stands in.
    let keys: Vec<&str> = iter::once("rdma-verb").chain(luminas().map(|field| field.key)).collect();
    importer.defaults(&section, &keys);
    let chosen = dialect_of(&mut section, *dialect, importer);
    *dialect = Some(chosen);
    let r = &mut importer.r;
    let iter_mode = match chosen {
        Dialect::Paper => IterMode::Paper,
        Dialect::Published => IterMode::PerMessage,
    };
    let mut traffic = Traffic { load: load(&mut section, r), iter_mode, ..Traffic::default() };
    for one in luminas() {
        field(one, &mut traffic, &mut section, r);
    }
    config.traffic = traffic;
    if let Some(node) = section.node(r, "dscp-list") {
        let path = section.path_of("dscp-list");
        let dscps = small_numbers(node, &path, &DSCP, r);
        let classes = classes(&dscps, r.is_refused(&path));
        if dscps.iter().any(|dscp| dscp % DSCP_PER_CLASS != 0) {
            let text = "only the traffic class is kept: each DSCP becomes the first of its class";
            importer.note(NoteKind::Changed, Some(&node.span), path, text);
        }
        config.requester.traffic_class = Some(classes.clone());
        config.responder.traffic_class = Some(classes);
    }
    let r = &mut importer.r;
    if let Some(node) = section.node(r, "data-pkt-events") {
        config.events = events::read(node, &section.path_of("data-pkt-events"), &config.traffic, chosen, r);
    }
    settle(&section, &mut config.traffic, importer);
    importer.ignore(&mut section, &[("listen-port", "the testbed picks the port of its control connection")]);
    section.finish(&mut importer.r, &[]);
}

/// The dialect that the caller or the keys ask for.
fn dialect_of(section: &mut Section<'_>, forced: Option<Dialect>, importer: &mut Importer<'_>) -> Dialect {
    let (paper, published) = (section.has("num-connections"), section.has("num-qps"));
    if paper && published {
        if let Some(entry) = section.entry(&mut importer.r, "num-qps") {
            let message = "given besides num-connections";
            let help = "keep num-qps for the published tool's counting (from 0, in each message), \
                        num-connections for the paper's (from 1, over the connection)";
            importer.r.refuse(&entry.key_span, &section.path_of("num-qps"), message, help);
        }
    } else if !paper && !published {
        importer.defaults(section, &["num-connections"]);
    }
    forced.unwrap_or(if published && !paper { Dialect::Published } else { Dialect::Paper })
}

fn load(section: &mut Section<'_>, r: &mut Reader<'_>) -> Load {
    let verb = section.opt_choice(r, "rdma-verb", VERBS);
    let verb_known = verb.is_some() || !section.has("rdma-verb");
    let verb = verb.unwrap_or(VERBS[0].1);
    let key = if section.has("num-connections") { "num-connections" } else { "num-qps" };
    let path = section.path_of(key);
    let one = fields::NUM_CONNECTIONS.default as u32;
    // Both names are known keys, also the one that is not used.
    let (connections, qps) = (section.node(r, "num-connections"), section.node(r, "num-qps"));
    let node = connections.or(qps);
    if !verb_known {
        return Load::Same { verb: crate::config::Verb::Write, connections: one };
    }
    match (verb, node) {
        (VerbKey::One(verb), None) => Load::Same { verb, connections: one },
        (VerbKey::One(verb), Some(node)) => {
            if matches!(&node.value, Value::Text(text) if pair(text).is_some()) {
                let help = "write one number, or set rdma-verb to send_read";
                r.refuse(&node.span, &path, "a pair of numbers needs both verbs", help);
                return Load::Same { verb, connections: one };
            }
            let connections = r.int(node, &path, &fields::NUM_CONNECTIONS).unwrap_or(one);
            Load::Same { verb, connections }
        }
        (VerbKey::SendRead, node) => {
            let help = "write \"2,3\" for 2 connections that send and 3 that read";
            let split = match node.map(|node| (node, &node.value)) {
                Some((node, Value::Text(text))) => {
                    let split = pair(text);
                    if split.is_none() {
                        r.refuse(
                            &node.span,
                            &path,
                            format!("{} is not a pair of numbers", quoted(text)),
                            help,
                        );
                    }
                    split
                }
                Some((node, _)) => {
                    let message = format!("send_read needs a pair of numbers, found {}", r.describe(node));
                    r.refuse(&node.span, &path, message, help);
                    None
                }
                None => {
                    r.refuse(section.header(), &path, "is missing: send_read needs a pair of numbers", help);
                    None
                }
            };
            let (send, read) = split.unwrap_or((one, one));
            Load::Split { send, read }
        }
    }
}

/// `2,3`
fn pair(text: &str) -> Option<(u32, u32)> {
    let (send, read) = text.split_once(',')?;
    Some((send.trim().parse().ok()?, read.trim().parse().ok()?))
}

fn classes(dscps: &[u8], refused: bool) -> TrafficClass {
    let classes: Vec<u8> = dscps.iter().map(|dscp| dscp / DSCP_PER_CLASS).collect();
    match classes.as_slice() {
        [first, rest @ ..] if rest.iter().all(|class| class == first) && !refused => {
            TrafficClass::Same(*first)
        }
        _ => TrafficClass::PerConnection(classes),
    }
}

/// Replaces values that the published tool tolerates and our rules reject by equivalent ones.
fn settle(section: &Section<'_>, traffic: &mut Traffic, importer: &mut Importer<'_>) {
    if traffic.barrier_sync && traffic.load.connections() == 1 {
        traffic.barrier_sync = false;
        let path = section.path_of("barrier-sync");
        let span = importer.r.place(&path);
        importer.note(NoteKind::Changed, span.as_ref(), path, "false: with one connection nothing waits");
    }
    if traffic.tx_depth > traffic.num_msgs_per_qp && !importer.r.is_refused("traffic.num-msgs-per-qp") {
        traffic.tx_depth = traffic.num_msgs_per_qp;
        let path = section.path_of("tx-depth");
        let span = importer.r.place(&path);
        let text = format!("{}: a connection has no more messages", traffic.tx_depth);
        importer.note(NoteKind::Changed, span.as_ref(), path, &text);
    }
}
