//! Rules on events: each must name packets that the traffic sends, and an action that is possible on them.

use std::fmt;

use super::{Check, overlap, plural};
use crate::config::{
    Action, ConnectionSet, ControlPacket, Event, Progression, Role, SetField, Target, TestConfig, Traffic,
    Verb,
    fields::{self, RETRY_SLACK},
};

/// Fields that decide how many packets a connection has.
const SHAPE: [&str; 3] = ["traffic.mtu", "traffic.message-size", "traffic.num-msgs-per-qp"];
/// Fields that decide the connections and their traffic.
pub(super) const LOAD: [&str; 2] = ["traffic.num-connections", "traffic.rdma-verb"];

pub(super) fn check(config: &TestConfig, check: &mut Check) {
    if config.events.len() > fields::MAX_EVENTS {
        let message = format!("there are {} events", config.events.len());
        let help = format!("at most {} are allowed; use connection sets and `every`", fields::MAX_EVENTS);
        check.fail("event", message, help, &[]);
        return;
    }
    // A number out of bounds has been reported; going through its connections could take for ever.
    if !fields::NUM_CONNECTIONS.allows(config.traffic.load.connections().into()) {
        return;
    }
    for (index, event) in config.events.iter().enumerate() {
        let path = format_args!("event[{}]", index + 1);
        let connections = config.traffic.load.connections();
        if !members_exist(&event.connections, connections, format_args!("{path}.qpn"), check) {
            continue;
        }
        operands(event, path, check);
        match event.target {
            Target::Data { psn, iter } => data(event, psn, iter, &config.traffic, path, check),
            Target::Control { packet, nth } => control(event, packet, nth, config, path, check),
        }
    }
    overlap::check(config, check);
}

/// Returns true if all members of the set at a path exist.
pub(super) fn members_exist(
    set: &ConnectionSet,
    connections: u32,
    path: fmt::Arguments<'_>,
    check: &mut Check,
) -> bool {
    let mut exists = |qpn: u32, path: fmt::Arguments<'_>| {
        let known = (1..=connections).contains(&qpn);
        if !known {
            let message = format!(
                "there is no connection {qpn}: the test has {}",
                plural(connections.into(), "connection")
            );
            let help = format!("allowed: {} (connections count from 1)", up_to(connections.into()));
            check.fail(path, message, help, &LOAD);
        }
        known
    };
    match set {
        ConnectionSet::All => true,
        ConnectionSet::One(qpn) => exists(*qpn, path),
        ConnectionSet::First(n) => exists(*n, format_args!("{path}.first")),
        ConnectionSet::List(list) => {
            let known = list
                .iter()
                .enumerate()
                .map(|(index, qpn)| exists(*qpn, format_args!("{path}[{}]", index + 1)))
                // Not `all`, which would stop at the first.
                .filter(|exists| !exists)
                .count()
                == 0;
            if list.is_empty() {
                check.fail(path, "names no connection", "list at least one, or write \"all\"", &[]);
                return false;
            }
            let mut sorted = list.clone();
            sorted.sort_unstable();
            if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                let message = format!("names connection {} twice", twice[0]);
                check.fail(path, message, "list each connection once", &[]);
                return false;
            }
            known
        }
    }
}

fn operands(event: &Event, path: fmt::Arguments<'_>, check: &mut Check) {
    if let Some((operand, number)) = event.action.operand() {
        check.bounds(format_args!("{path}.{}", operand.field.key), number, operand.field);
    }
    if let Action::SetField(SetField { field, value }) = event.action {
        check.bounds(format_args!("{path}.value"), value, &field.bounds());
    }
    if let Some(progression) = event.progression {
        check.bounds(format_args!("{path}.every"), progression.every, &fields::EVERY);
        if let Some(count) = progression.count {
            check.bounds(format_args!("{path}.count"), count, &fields::COUNT);
        }
    }
}

fn data(event: &Event, psn: u32, iter: u32, traffic: &Traffic, path: fmt::Arguments<'_>, check: &mut Check) {
    let packets = traffic.shape().packets();
    let psn_path = format_args!("{path}.psn");
    if psn == 0 {
        check.fail(psn_path, "0 is out of range", "packets of a connection count from 1", &[]);
        return;
    }
    if u64::from(psn) > packets {
        let message = format!("{psn} is beyond the connection's {}", shape_words(traffic));
        check.fail(psn_path, message, format!("allowed: {}", up_to(packets)), &SHAPE);
        return;
    }
    let last = match event.progression {
        None => u64::from(psn),
        Some(Progression { count: None, .. }) => packets,
        Some(Progression { every, count: Some(count) }) => {
            u64::from(psn).saturating_add(u64::from(every).saturating_mul(u64::from(count).saturating_sub(1)))
        }
    };
    if let Some(progression) = event.progression.filter(|_| last > packets) {
        let message = format!("the last packet would be {last}, beyond the connection's {packets}");
        let most = (packets - u64::from(psn)) / u64::from(progression.every.max(1)) + 1;
        let help = format!("allowed here: {}; leave count out to go on to the end", up_to(most));
        check.fail(format!("{path}.count"), message, help, &SHAPE);
    }
    let known = traffic.shape().known_packets();
    if known < packets && last > known {
        let message = format!(
            "the event names packets up to {last}, and with dummy-idle-ns it depends on time which packets come behind the first message"
        );
        let help = format!("allowed: {}, or dummy-idle-ns 0", up_to(known));
        check.fail(psn_path, message, help, &["traffic.dummy-idle-ns"]);
        return;
    }
    if !check.bounds(format_args!("{path}.iter"), iter, &fields::ITER) {
        return;
    }
    if let Some(rounds) = retransmissions(&event.connections, traffic) {
        let most = rounds.saturating_mul(psn.into()).saturating_add(1);
        if u64::from(iter) > most {
            let message = format!(
                "packet {psn} is never sent {iter} times with max-retransmit-retry = {}",
                traffic.max_retransmit_retry
            );
            let help = format!("allowed: {}, or raise max-retransmit-retry", up_to(most));
            let rests_on = ["traffic.max-retransmit-retry", "traffic.rnr-retry", "traffic.rdma-verb"];
            check.fail(format!("{path}.iter"), message, help, &rests_on);
        }
    }
}

/// Largest number of retransmissions of a window before the connection either advances or breaks; `None` if
/// there is no limit. Every packet that arrives refills the budget, so packet n can be sent at most 1 + n
/// times this.
fn retransmissions(set: &ConnectionSet, traffic: &Traffic) -> Option<u64> {
    let retries = match u64::from(traffic.max_retransmit_retry) {
        0 => 0,
        retries => retries + RETRY_SLACK,
    };
    let sends = set
        .members(traffic.load.connections())
        .any(|qpn| traffic.load.carries(qpn, traffic.num_msgs_per_qp, Verb::Send));
    match (sends, u64::from(traffic.rnr_retry)) {
        (true, unlimited) if unlimited == fields::RNR_RETRY.max => None,
        (true, rnr) => Some(retries + rnr),
        (false, _) => Some(retries),
    }
}

fn control(
    event: &Event,
    packet: ControlPacket,
    nth: u32,
    config: &TestConfig,
    path: fmt::Arguments<'_>,
    check: &mut Check,
) {
    let traffic = &config.traffic;
    let load = traffic.load;
    let (messages, name) = (traffic.num_msgs_per_qp, packet.name());
    let kind_path = format_args!("{path}.packet");
    let carried_by_some = |verbs: &[Verb]| {
        event
            .connections
            .members(load.connections())
            .any(|qpn| verbs.iter().any(|verb| load.carries(qpn, messages, *verb)))
    };
    if !check.bounds(format_args!("{path}.nth"), nth, &fields::NTH) {
        return;
    }
    let exists = match packet {
        ControlPacket::ReadRequest if !carried_by_some(&[Verb::Read]) => {
            let message = "there are no Read requests: none of these connections reads";
            check.fail(
                kind_path,
                message,
                "use rdma-verb \"read\" or \"send_read\", or another packet",
                &LOAD,
            );
            false
        }
        ControlPacket::Ack if !carried_by_some(&[Verb::Write, Verb::Send]) => {
            let message =
                "there are no ACKs: these connections only read, and a Read is acknowledged by its response";
            check.fail(kind_path, message, "use packet \"data\" to hit responses, or another verb", &LOAD);
            false
        }
        ControlPacket::Cnp => cnp(event, config, kind_path, check),
        ControlPacket::ReadRequest | ControlPacket::Ack | ControlPacket::Nak => true,
    };
    if !exists {
        return;
    }
    if packet == ControlPacket::Cnp && event.action == Action::Ecn {
        let message = "a CNP answers ECN marks and is never marked itself";
        check.fail(format!("{path}.type"), message, "mark data packets, or drop or delay the CNP", &[]);
    }
    // Each control packet answers, or asks for, at least one transmission of a data packet.
    let Some(rounds) = retransmissions(&event.connections, traffic) else { return };
    let most = traffic.shape().packets().saturating_mul(rounds + 1);
    if u64::from(nth) > most {
        let message = format!("a connection of {} never has {nth} {name} packets", shape_words(traffic));
        check.fail(format!("{path}.nth"), message, format!("allowed: {}", up_to(most)), &SHAPE);
    }
}

/// Returns true if these ends of some of the connections can send CNPs.
pub(super) fn cnps_exist(config: &TestConfig, connections: &ConnectionSet, point: Role) -> bool {
    let traffic = &config.traffic;
    connections.members(traffic.load.connections()).any(|qpn| {
        let host = traffic.end_at(point, qpn);
        config.host(host).roce.dcqcn_np_enable
            && notifies(config, host)
            && traffic.load.sends_data(qpn, traffic.num_msgs_per_qp, point.peer())
    })
}

/// Returns true if the notification point of a host has something to answer: packets marked with ECN or, with slow restart,
/// packets out of order.
fn notifies(config: &TestConfig, point: Role) -> bool {
    config.host(point).roce.slow_restart || config.events.iter().any(|event| event.action == Action::Ecn)
}

/// Returns true if any CNP can be on the wire of these connections.
fn cnp(event: &Event, config: &TestConfig, path: fmt::Arguments<'_>, check: &mut Check) -> bool {
    let traffic = &config.traffic;
    let receivers: Vec<Role> = Role::ALL
        .into_iter()
        .filter(|receiver| {
            event.connections.members(traffic.load.connections()).any(|qpn| {
                let sender = traffic.end_at(*receiver, qpn).peer();
                traffic.load.sends_data(qpn, traffic.num_msgs_per_qp, sender)
            })
        })
        .collect();
    let points: Vec<Role> =
        receivers.iter().copied().filter(|role| config.host(*role).roce.dcqcn_np_enable).collect();
    if points.is_empty() {
        let hosts: Vec<&str> = receivers.iter().map(|role| role.name()).collect();
        let message = format!(
            "there are no CNPs: dcqcn-np-enable is false at the {} of the data",
            if hosts.len() == 1 { format!("receiver ({})", hosts[0]) } else { "receivers".to_owned() }
        );
        let rests_on: Vec<String> =
            hosts.iter().map(|host| format!("{host}.roce-parameters.dcqcn-np-enable")).collect();
        let mut rests_on: Vec<&str> = rests_on.iter().map(String::as_str).collect();
        rests_on.extend(LOAD);
        check.fail(path, message, "enable the notification point, or remove the event", &rests_on);
        return false;
    }
    if !points.iter().any(|point| notifies(config, *point)) {
        let message = "there are no CNPs: no event marks a packet with ECN";
        check.fail(path, message, "add an event of type \"ecn\", or remove this one", &["events"]);
        return false;
    }
    true
}

/// `1`, `1 to 7`
fn up_to(most: u64) -> String {
    if most == 1 { "1".to_owned() } else { format!("1 to {most}") }
}

fn shape_words(traffic: &Traffic) -> String {
    format!(
        "{} ({} of {})",
        plural(traffic.shape().packets(), "packet"),
        plural(traffic.num_msgs_per_qp.into(), "message"),
        plural(traffic.shape().packets_per_message().into(), "packet")
    )
}
