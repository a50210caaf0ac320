//! Two events must not do contradicting things to one packet.

use std::collections::BTreeMap;

use super::Check;
use crate::config::{ControlPacket, Event, LAST_OCCURRENCE, Points, Target, TestConfig};

/// Packets with different kinds never meet.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Data { iter: u32 },
    Control(ControlPacket),
}

/// Reports, for each event, the first earlier one that it contradicts.
pub(super) fn check(config: &TestConfig, check: &mut Check) {
    let packets = u32::try_from(config.traffic.shape().packets()).unwrap_or(u32::MAX);
    let connections = config.traffic.load.connections();
    let mut kinds: BTreeMap<Kind, Vec<(usize, &Event, Points)>> = BTreeMap::new();
    for (index, event) in config.events.iter().enumerate() {
        let (kind, end) = match event.target {
            Target::Data { iter, .. } => (Kind::Data { iter }, packets),
            Target::Control { packet, .. } => (Kind::Control(packet), LAST_OCCURRENCE),
        };
        // Events that name nothing have been reported.
        let Some(points) = event.points(end) else { continue };
        let earlier = kinds.entry(kind).or_default();
        let clash = earlier.iter().find_map(|(other_index, other, other_points)| {
            let reason = event.action.conflict(other.action)?;
            let number = points.meet(*other_points)?;
            let qpn = common(event, other, connections)?;
            Some((*other_index, *other, reason, number, qpn))
        });
        if let Some((other_index, other, reason, number, qpn)) = clash {
            let packet = match event.target {
                Target::Data { iter, .. } => format!("psn {number}, iter {iter}"),
                Target::Control { packet, .. } => format!("{} packet {number}", packet.name()),
            };
            let other_path = format!("event[{}]", other_index + 1);
            let other_name = other.action.name();
            check.fail(
                format!("event[{}]", index + 1),
                match event.action == other.action {
                    true => format!(
                        "repeats {other_path} ({other_name}) on {packet} of connection {qpn}: {reason}"
                    ),
                    false => format!(
                        "acts on {packet} of connection {qpn}, as {other_path} ({other_name}) does: {reason}"
                    ),
                },
                "remove one of the two or choose another packet",
                &[&other_path, "traffic.num-connections"],
            );
        }
        earlier.push((index, event, points));
    }
}

/// The first connection that both events name.
fn common(a: &Event, b: &Event, connections: u32) -> Option<u32> {
    if !a.connections.meets(&b.connections) {
        return None;
    }
    a.connections.members(connections).find(|qpn| b.connections.contains(*qpn))
}
