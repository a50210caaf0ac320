//! Repair: parts that a smaller test cannot have are removed, and the rest gets its simplest form.

use corpus::config::Points;
use corpus::{
    ConnectionSet, Event, Network, Progression, Repeat, Role, Target, TestConfig, Traffic, TrafficClass,
};

/// Removes the parts of a test that it has become too small for, and writes the rest in the simplest way.
/// Events that contradict each other remain: such a test is not valid.
pub(super) fn fit(config: &mut TestConfig) {
    let one_address = Role::ALL.iter().all(|role| config.host(*role).ip_list.len() < 2);
    let traffic = &mut config.traffic;
    let connections = traffic.load.connections();
    traffic.tx_depth = traffic.tx_depth.min(traffic.num_msgs_per_qp);
    traffic.barrier_sync &= connections > 1;
    traffic.multi_gid &= !one_address;
    for role in Role::ALL {
        let classes = &mut config.host_mut(role).traffic_class;
        if let Some(TrafficClass::PerConnection(list)) = classes
            && let [first, rest @ ..] = list.as_slice()
            && rest.iter().all(|class| class == first)
        {
            *classes = Some(TrafficClass::Same(*first));
        }
    }
    let packets = u32::try_from(config.traffic.shape().packets()).unwrap_or(u32::MAX);
    for event in &mut config.events {
        event.connections = simplest_set(&event.connections, connections);
        progression(event, packets);
    }
    config.events.retain(|event| event.connections != ConnectionSet::List(Vec::new()));
    let lossy = simplest_set(&config.network.loss_qpn, connections);
    let loses = config.network.loses() && lossy != ConnectionSet::List(Vec::new());
    config.network = if loses {
        Network { loss_qpn: lossy, ..config.network.clone() }
    } else {
        config.network.without_losses()
    };
    if !config.network.repeat.is_on() {
        config.network.repeat = Repeat::default();
    }
    let mut before = Vec::with_capacity(config.events.len());
    config.events.retain(|event| {
        let is_new = !before.contains(event);
        if is_new {
            before.push(event.clone());
        }
        is_new
    });
}

fn simplest_set(set: &ConnectionSet, connections: u32) -> ConnectionSet {
    let mut members: Vec<u32> = set.members(connections).filter(|qpn| *qpn <= connections).collect();
    members.sort_unstable();
    members.dedup();
    let count = members.len() as u32;
    match members.as_slice() {
        [one] => ConnectionSet::One(*one),
        [.., last] if *last == count && count == connections => ConnectionSet::All,
        [.., last] if *last == count => ConnectionSet::First(count),
        _ => ConnectionSet::List(members),
    }
}

/// Ends a progression with its connection, and leaves it out where it has one packet.
fn progression(event: &mut Event, packets: u32) {
    let Some(Progression { every, count }) = event.progression else { return };
    let count = match event.target {
        Target::Control { .. } => count,
        Target::Data { .. } => {
            let room = event.points(packets).map_or(1, Points::count);
            match count {
                None if room > 1 => None,
                _ => Some(room),
            }
        }
    };
    event.progression = (count != Some(1)).then_some(Progression { every, count });
}

/// Changes how many packets there are. Events stay on the same packet of the same message, or of the last one that is
/// left; those on every message stay on every message.
pub(super) fn reshape(config: &mut TestConfig, edit: impl FnOnce(&mut Traffic)) {
    let old = config.traffic.shape();
    edit(&mut config.traffic);
    let new = config.traffic.shape();
    let (old_per_message, per_message) = (old.packets_per_message(), new.packets_per_message());
    let last_message = config.traffic.num_msgs_per_qp.saturating_sub(1);
    for event in &mut config.events {
        let Target::Data { psn, .. } = &mut event.target else { continue };
        if let Some(place) = old.locate(*psn)
            && let Some(psns) = new.message_psns(place.message.min(last_message))
        {
            *psn = psns.start() + place.packet.min(per_message - 1);
        }
        if let Some(progression) = &mut event.progression
            && progression.every.is_multiple_of(old_per_message)
        {
            progression.every = (progression.every / old_per_message).saturating_mul(per_message);
        }
    }
}
