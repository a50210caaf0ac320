//! Reasons why a test is outside of a space.

use corpus::{Role, Spray, TestConfig};

use crate::axis::{AXES, Axis, Of};
use crate::classes;
use crate::offload;
use crate::paths;
use crate::settle::{fit_event, least_connections, network, spare};
use crate::show::{allowed, word};
use crate::space::Space;
use crate::tables;

/// The first reason, if there is one.
pub(crate) fn admit(space: &Space, test: &TestConfig) -> Result<(), String> {
    if let Some(violation) = test.violations().into_iter().next() {
        return Err(format!("it is not valid: {violation}"));
    }
    for entry in AXES {
        let outside = |path: &str, value: u64| {
            let (value, allowed) = (word(entry.kind, value), allowed(entry.kind, &space[entry.axis]));
            Err(format!("{path}: {value} is outside of the space; allowed: {allowed}"))
        };
        match entry.of {
            Of::Test(..) if entry.is_of_losses() && !test.network.loses() => {}
            Of::Test(..) if !counts(entry.axis, test) => {}
            Of::Test(get, _) if !space[entry.axis].contains(get(test)) => {
                return outside(entry.path, get(test));
            }
            Of::Host(get, _) => {
                let (_, key) = entry.section_and_key();
                for role in Role::ALL {
                    let value = get(test.host(role));
                    if !space[entry.axis].contains(value) {
                        return outside(&format!("{}.roce-parameters.{key}", role.name()), value);
                    }
                }
            }
            Of::Test(..) | Of::Part => {}
        }
    }
    for role in Role::ALL {
        addresses(space, test, role)?;
    }
    classes::admit(space, test)?;
    offload::admit(space, test)?;
    let (packets, cap) = (test.traffic.total_packets(), space.packet_cap);
    if packets > cap.into() {
        return Err(format!("it has {packets} packets; allowed: at most {cap}"));
    }
    events(space, test)
}

fn addresses(space: &Space, test: &TestConfig, role: Role) -> Result<(), String> {
    let (host, name) = (test.host(role), role.name());
    let (addresses, values) = (host.ip_list.len() as u64, &space[Axis::Addresses]);
    if test.traffic.multi_gid && !values.contains(addresses) {
        let allowed = allowed(Axis::Addresses.entry().kind, values);
        return Err(format!(
            "{name}.ip-list: {addresses} addresses are outside of the space; allowed: {allowed}"
        ));
    }
    Ok(())
}

/// Returns true if a setting of the network means something in a test.
fn counts(axis: Axis, test: &TestConfig) -> bool {
    let network = &test.network;
    match axis {
        Axis::RepeatMatch => network.repeat.retransmissions > 1,
        Axis::PathDelay | Axis::PathRate => !network.paths.is_empty(),
        Axis::Spray | Axis::SprayPackets => paths::are_spread(network),
        Axis::Flows
        | Axis::EgressMasks
        | Axis::IngressMasks
        | Axis::Place
        | Axis::Actions
        | Axis::Vxlan
        | Axis::VirtualFunctions
        | Axis::MaxIdle
        | Axis::Revalidate
        | Axis::Scheduler
        | Axis::HyperEntries => tables::table(test).is_some(),
        // Those with rules are refused for these.
        Axis::Tables => test.tables().next().is_some_and(|table| table.rules.is_empty()),
        Axis::FlowletGap => network.spray == Spray::Flowlet,
        _ => true,
    }
}

fn events(space: &Space, test: &TestConfig) -> Result<(), String> {
    let (count, most) = (test.events.len(), space.max_entries());
    if count > most {
        return Err(format!("it has {count} events; allowed: at most {most}"));
    }
    let least = least_connections(space, test);
    if u64::from(test.traffic.load.connections()) < least {
        return Err(format!(
            "it has one connection; allowed: at least {least}, so that one stays without events"
        ));
    }
    for (number, event) in (1..).zip(&test.events) {
        let mut fitted = event.clone();
        let part = if !fit_event(space, test, &mut fitted) {
            "what it does to which kind of packet, or its connections,"
        } else if fitted.action != event.action {
            "the operand of its action"
        } else if fitted.target != event.target {
            "its `iter` or `nth`"
        } else if fitted.progression != event.progression {
            "its progression"
        } else if fitted.connections != event.connections {
            "its form of connections"
        } else {
            continue;
        };
        return Err(format!("event[{number}]: {part} is outside of the space"));
    }
    let connections = test.traffic.load.connections();
    if network::fitted_set(space, test) != test.network.loss_qpn {
        return Err("network.loss-qpn: it is outside of the space; allowed: \"all\"".into());
    }
    let mut fitted = test.network.clone();
    paths::fit(&mut fitted);
    if fitted.paths != test.network.paths {
        let message = "network.path: delays in even steps, one rate, weight 1 and queue-packets 1024 are what targets vary";
        return Err(message.into());
    }
    if test.network.loss_bytes.is_some() || test.network.seed.is_some() {
        return Err("network: `loss-bytes` and `seed` are outside of every space; remove them".into());
    }
    if space.innocent() && spare(&test.events, connections).is_none() {
        return Err("no connection stays without events, as one has to here (events.innocent)".into());
    }
    Ok(())
}
