//! Events over a connection, folded back to events that repeat in every message.

use std::collections::{BTreeMap, BTreeSet};

use super::refusal::Refusal;
use crate::config::{Action, Event, Target, TestConfig};

/// Upper bound on the single packets that all events together name; a person does not read a test with a
/// longer list.
const MAX_PACKETS: u64 = 1_000_000;

/// An event of the published tool: numbers from 0, `psn` in each message or none for every packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LuminaEvent {
    pub(super) qpn: u32,
    pub(super) psn: Option<u32>,
    pub(super) kind: &'static str,
    pub(super) iter: u32,
}

/// Key of packets of one connection that are folded together.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
struct Group {
    qpn: u32,
    iter: u32,
    kind: &'static str,
}

/// The events, in our order; whatever cannot be said is refused by name.
pub(super) fn events(config: &TestConfig, refusals: &mut Vec<Refusal>) -> Vec<LuminaEvent> {
    let packets = u32::try_from(config.traffic.shape().packets()).unwrap_or(u32::MAX);
    // Each packet, with the event that names it.
    let mut groups: BTreeMap<Group, BTreeMap<u32, usize>> = BTreeMap::new();
    let mut budget = MAX_PACKETS;
    let mut refused: Vec<(usize, Refusal)> = Vec::new();
    for (index, event) in config.events.iter().enumerate() {
        let Some((kind, iter)) = sayable(config, event, index, &mut refused) else { continue };
        let Some(points) = event.points(packets) else { continue };
        let members: Vec<u32> = event.connections.members(config.traffic.load.connections()).collect();
        let named = u64::from(points.count()).saturating_mul(members.len() as u64);
        let Some(left) = budget.checked_sub(named) else {
            let reason = format!("the events name more than {MAX_PACKETS} packets, too many to list");
            refused.push((index, Refusal { field: path(index), reason }));
            refusals.extend(refused.into_iter().map(|(_, refusal)| refusal));
            return Vec::new();
        };
        budget = left;
        for qpn in members {
            let group = groups.entry(Group { qpn, iter, kind }).or_default();
            for psn in points.iter() {
                group.entry(psn).or_insert(index);
            }
        }
    }
    let mut folded = Vec::new();
    let mut partial = BTreeMap::new();
    for (group, psns) in groups {
        fold(config, group, &psns, &mut folded, &mut partial);
    }
    refused
        .extend(partial.into_iter().map(|(index, reason)| (index, Refusal { field: path(index), reason })));
    refused.sort_by_key(|(index, _)| *index);
    refusals.extend(refused.into_iter().map(|(_, refusal)| refusal));
    folded.sort_by_key(|(index, event)| (*index, event.qpn, event.psn));
    folded.into_iter().map(|(_, event)| event).collect()
}

fn path(index: usize) -> String {
    format!("event[{}]", index + 1)
}

/// Lumina's name of the action and the round, if it has both.
fn sayable(
    config: &TestConfig,
    event: &Event,
    index: usize,
    refused: &mut Vec<(usize, Refusal)>,
) -> Option<(&'static str, u32)> {
    let before = refused.len();
    let mut refuse = |key: &str, reason: String| {
        refused.push((index, Refusal { field: format!("{}.{key}", path(index)), reason }));
    };
    let iter = match event.target {
        Target::Data { iter, .. } => Some(iter),
        Target::Control { packet, .. } => {
            refuse("packet", format!("Lumina acts on data packets only, not on \"{}\"", packet.name()));
            None
        }
    };
    let kind = match event.action {
        Action::DROP => Some("drop"),
        Action::Ecn => Some("ecn"),
        Action::Corrupt => Some("bit-error"),
        other => {
            refuse("type", format!("Lumina has drop, ecn and bit-error (corrupt), not {}", other.name()));
            None
        }
    };
    if config.traffic.tx_depth > 1 && matches!(event.action, Action::DROP | Action::Corrupt) {
        let reason =
            format!("Lumina allows only ecn with tx-depth above 1, and it is {}", config.traffic.tx_depth);
        refuse("type", reason);
    }
    if refused.len() > before { None } else { Some((kind?, iter?)) }
}

fn fold(
    config: &TestConfig,
    group: Group,
    psns: &BTreeMap<u32, usize>,
    folded: &mut Vec<(usize, LuminaEvent)>,
    partial: &mut BTreeMap<usize, String>,
) {
    let shape = config.traffic.shape();
    let (per_message, messages) = (shape.packets_per_message(), config.traffic.num_msgs_per_qp);
    let event =
        |psn: Option<u32>| LuminaEvent { qpn: group.qpn - 1, psn, kind: group.kind, iter: group.iter };
    if per_message > 1 && psns.len() as u64 == shape.packets() {
        let first = psns.values().copied().min().unwrap_or_default();
        folded.push((first, event(None)));
        return;
    }
    // For each packet of a message, the messages in which it is hit.
    let mut hits: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for psn in psns.keys() {
        hits.entry((psn - 1) % per_message).or_default().insert((psn - 1) / per_message);
    }
    for (packet, hit) in hits {
        let of = |message: u32| psns[&(message * per_message + packet + 1)];
        if hit.len() == messages as usize {
            let first = hit.iter().map(|message| of(*message)).min().unwrap_or_default();
            folded.push((first, event(Some(packet))));
            continue;
        }
        for message in &hit {
            partial.entry(of(*message)).or_insert_with(|| {
                format!(
                    "Lumina repeats an event in every message, and this one takes packet {} of a message \
                     in {} of {messages} messages of connection {}",
                    packet + 1,
                    hit.len(),
                    group.qpn
                )
            });
        }
    }
}
