//! Rules on hosts.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::{Check, offload, plural};
use crate::config::{Cidr, Ets, Host, Role, TestConfig, TrafficClass, fields};

/// Classes of IEEE 802.1Q.
const CLASSES: usize = fields::TRAFFIC_CLASS.max as usize + 1;

pub(super) fn check(config: &TestConfig, check: &mut Check) {
    for role in Role::ALL {
        let (host, name) = (config.host(role), role.name());
        names(host, name, check);
        addresses(host, name, check);
        let path = format_args!("{name}.roce-parameters.min-time-between-cnps");
        check.bounds(path, host.roce.min_time_between_cnps, &fields::MIN_TIME_BETWEEN_CNPS);
        if let Some(classes) = &host.traffic_class {
            traffic_class(classes, config.traffic.load.connections(), name, check);
        }
        if let Some(ets) = &host.ets {
            ets_rules(ets, host.traffic_class.as_ref(), name, check);
        }
        if let Some(offload) = &host.offload {
            offload::check(offload, config.traffic.load.connections(), name, check);
        }
    }
    pair(&config.requester, &config.responder, check);
    let recoveries = Role::ALL.map(|role| config.host(role).roce.loss_recovery);
    if recoveries[0] != recoveries[1] {
        let message =
            format!("is \"{}\", and the requester's \"{}\"", recoveries[1].name(), recoveries[0].name());
        let help = "set both alike: the two have no packets in common for what is missing";
        let requester = "requester.roce-parameters.loss-recovery";
        check.fail("responder.roce-parameters.loss-recovery", message, help, &[requester]);
    }
}

fn names(host: &Host, role: &str, check: &mut Check) {
    let physical = &host.physical;
    let names = [
        ("nic", Some(&host.nic)),
        ("if-name", physical.if_name.as_ref()),
        ("pci-addr", physical.pci_addr.as_ref()),
        ("ib-device", physical.ib_device.as_ref()),
        ("control-ip", physical.control_ip.as_ref()),
        ("workspace", physical.workspace.as_ref()),
    ];
    for (key, name) in names {
        let Some(name) = name else { continue };
        let path = format_args!("{role}.{key}");
        if name.trim().is_empty() {
            check.fail(path, "is empty", "give it a value or leave the key out", &[]);
        } else if name.len() > fields::MAX_NAME_LEN {
            let message = format!("has {} bytes", name.len());
            check.fail(path, message, format!("at most {} are allowed", fields::MAX_NAME_LEN), &[]);
        } else if name.chars().any(char::is_control) {
            check.fail(path, "contains control characters", "use one line of printable text", &[]);
        }
    }
    if let Some(port) = physical.ib_port {
        check.bounds(format_args!("{role}.ib-port"), port, &fields::IB_PORT);
    }
}

fn addresses(host: &Host, role: &str, check: &mut Check) {
    let path = format!("{role}.ip-list");
    if host.ip_list.is_empty() {
        check.fail(&path, "has no address", "list at least one, such as \"10.0.0.1/24\"", &[]);
    }
    if host.ip_list.len() > fields::MAX_ADDRESSES {
        let message = format!("has {} addresses", host.ip_list.len());
        check.fail(&path, message, format!("at most {} are allowed", fields::MAX_ADDRESSES), &[]);
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, cidr) in host.ip_list.iter().enumerate() {
        let path = format!("{path}[{}]", index + 1);
        if cidr.prefix > Cidr::max_prefix(cidr.addr) {
            let help = format!("allowed: 0 to {}", Cidr::max_prefix(cidr.addr));
            check.fail(&path, format!("{cidr} has too long a prefix"), help, &[]);
        }
        if !seen.insert(cidr.addr) {
            check.fail(&path, format!("{} is listed twice", cidr.addr), "remove one of them", &[]);
        } else if let Some(kind) = unusable(cidr.addr) {
            let message = format!("{} is {kind}", cidr.addr);
            check.fail(&path, message, "use a unicast address of the NIC's network", &[]);
        }
    }
}

fn unusable(addr: IpAddr) -> Option<&'static str> {
    match addr {
        _ if addr.is_unspecified() => Some("the unspecified address"),
        _ if addr.is_multicast() => Some("a multicast address"),
        _ if addr.is_loopback() => Some("a loopback address"),
        IpAddr::V4(v4) if v4.is_broadcast() => Some("the broadcast address"),
        _ => None,
    }
}

/// Rules on both hosts together.
fn pair(requester: &Host, responder: &Host, check: &mut Check) {
    let theirs: BTreeSet<IpAddr> = requester.ip_list.iter().map(|cidr| cidr.addr).collect();
    let reference = requester.ip_list.first().or(responder.ip_list.first());
    let Some(v4) = reference.map(|cidr| cidr.addr.is_ipv4()) else { return };
    let family = if v4 { "IPv4" } else { "IPv6" };
    for (role, host) in [("requester", requester), ("responder", responder)] {
        for (index, cidr) in host.ip_list.iter().enumerate() {
            let path = format!("{role}.ip-list[{}]", index + 1);
            if cidr.addr.is_ipv4() != v4 {
                let message = format!("{} is not {family}, as the first address is", cidr.addr);
                let help = "use one family for all addresses of both hosts";
                check.fail(&path, message, help, &["requester.ip-list"]);
            } else if role == "responder" && theirs.contains(&cidr.addr) {
                let message = format!("{} is the requester's address too", cidr.addr);
                check.fail(&path, message, "give each host addresses of its own", &["requester.ip-list"]);
            }
        }
    }
}

fn traffic_class(classes: &TrafficClass, connections: u32, role: &str, check: &mut Check) {
    let path = format!("{role}.traffic-class");
    match classes {
        TrafficClass::Same(class) => {
            check.bounds(&path, *class, &fields::TRAFFIC_CLASS);
        }
        TrafficClass::PerConnection(list) => {
            for (index, class) in list.iter().enumerate() {
                check.bounds(format_args!("{path}[{}]", index + 1), *class, &fields::TRAFFIC_CLASS);
            }
            if list.len() as u64 != u64::from(connections) {
                let message = format!(
                    "lists {} for {}",
                    if list.len() == 1 { "1 class".to_owned() } else { format!("{} classes", list.len()) },
                    plural(connections.into(), "connection")
                );
                let help = "list one class for each connection, or give one number for all";
                check.fail(&path, message, help, &["traffic.num-connections", "traffic.rdma-verb"]);
            }
        }
    }
}

fn ets_rules(ets: &Ets, classes: Option<&TrafficClass>, role: &str, check: &mut Check) {
    let path = format!("{role}.ets");
    let (weights, strict) = (format!("{path}.weights"), format!("{path}.strict"));
    if ets.weights.len() > CLASSES {
        let message = format!("has {} weights", ets.weights.len());
        check.fail(&weights, message, format!("there are {CLASSES} traffic classes, 0 to 7"), &[]);
    }
    for (class, weight) in ets.weights.iter().enumerate() {
        check.bounds(format_args!("{weights}[{}]", class + 1), *weight, &fields::ETS_WEIGHT);
    }
    let mut seen = BTreeSet::new();
    for (index, class) in ets.strict.iter().enumerate() {
        let entry = format!("{strict}[{}]", index + 1);
        if !check.bounds(&entry, *class, &fields::TRAFFIC_CLASS) {
            continue;
        }
        if !seen.insert(class) {
            check.fail(&entry, format!("class {class} is listed twice"), "remove one of them", &[]);
        } else if ets.weights.get(usize::from(*class)).is_some_and(|weight| *weight > 0) {
            let message = format!("class {class} is strict and has a weight as well");
            let help = format!("set weight {} of the list to 0, or do not list the class here", class + 1);
            check.fail(&entry, message, help, &[&weights]);
        }
    }
    if seen.is_empty() && ets.weights.iter().all(|weight| *weight == 0) {
        check.fail(
            &path,
            "serves no traffic class",
            "give a class a weight or make it strict",
            &[&weights, &strict],
        );
        return;
    }
    let Some(classes) = classes else {
        let help = "say which class each connection uses, for example `traffic-class = [0, 1]`";
        check.fail(
            &path,
            format!("shares the link between traffic classes, but {role}.traffic-class is absent"),
            help,
            &[&format!("{role}.traffic-class")],
        );
        return;
    };
    let used: BTreeSet<u8> = classes.classes().iter().copied().collect();
    for class in used.into_iter().filter(|class| usize::from(*class) < CLASSES && !ets.serves(*class)) {
        check.fail(
            format!("{role}.traffic-class"),
            format!("class {class} is neither strict nor weighted in {path}"),
            "give the class a weight, make it strict, or use another class",
            &[&weights, &strict],
        );
    }
}
