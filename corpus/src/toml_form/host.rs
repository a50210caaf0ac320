//! `[requester]` and `[responder]`.

use super::{HOMES, rule};
use crate::{
    config::{
        Cidr, Ets, Host, LossRecovery, NamedPlacement, Offload, Physical, Placement, RoceParameters, Role,
        Scheduler, TrafficClass, default_address, fields,
    },
    source::{Node, Reader, Section, Value, quoted},
};

pub(super) fn read(mut section: Section<'_>, role: Role, r: &mut Reader<'_>) -> Host {
    let mut host = Host::new(Host::DEFAULT_NIC, default_address(role));
    if let Some(nic) = section.opt_text(r, "nic") {
        host.nic = nic;
    }
    if let Some(node) = section.node(r, "ip-list") {
        host.ip_list = ip_list(node, &section.path_of("ip-list"), r);
    }
    host.physical = Physical {
        if_name: section.opt_text(r, "if-name"),
        switch_port: section.opt_int(r, &fields::SWITCH_PORT),
        pci_addr: section.opt_text(r, "pci-addr"),
        ib_device: section.opt_text(r, "ib-device"),
        ib_port: section.opt_int(r, &fields::IB_PORT),
        control_ip: section.opt_text(r, "control-ip"),
        workspace: section.opt_text(r, "workspace"),
    };
    if let Some(parameters) = section.opt_section(r, "roce-parameters") {
        host.roce = roce(parameters, r);
    }
    host.traffic_class = traffic_class(&mut section, r);
    if let Some(ets) = section.opt_section(r, "ets") {
        host.ets = Some(read_ets(ets, r));
    }
    if let Some(offload) = section.opt_section(r, "offload") {
        host.offload = Some(read_offload(offload, r));
    }
    section.finish(r, &HOMES);
    host
}

fn read_offload(mut section: Section<'_>, r: &mut Reader<'_>) -> Offload {
    let offload = Offload {
        flows: section.int(r, &fields::OFFLOAD_FLOWS),
        egress_masks: section.int(r, &fields::EGRESS_MASKS),
        ingress_masks: section.int(r, &fields::INGRESS_MASKS),
        place: place(&mut section, r),
        tables: section.int(r, &fields::OFFLOAD_TABLES),
        rules: rule::read(&mut section, r),
        actions: section.int(r, &fields::OFFLOAD_ACTIONS),
        vxlan: section.bool(r, "vxlan", false),
        virtual_functions: section.int(r, &fields::VIRTUAL_FUNCTIONS),
        max_idle_ms: section.int(r, &fields::MAX_IDLE_MS),
        revalidate_ms: section.int(r, &fields::REVALIDATE_MS),
        scheduler: section.opt_choice(r, "scheduler", Scheduler::NAMES).unwrap_or(Scheduler::Ovs),
        hyper_entries: section.int(r, &fields::HYPER_ENTRIES),
    };
    section.finish(r, &HOMES);
    offload
}

/// A name, or a list with a mask for each connection.
fn place(section: &mut Section<'_>, r: &mut Reader<'_>) -> Placement {
    let path = section.path_of(fields::PLACE.key);
    let Some(node) = section.node(r, fields::PLACE.key) else { return Placement::Spread };
    match node.value {
        Value::List(_) => Placement::Masks(small_numbers(node, &path, &fields::PLACE, r)),
        _ => r.choice(node, &path, NamedPlacement::NAMES).map_or(Placement::Spread, Placement::from),
    }
}

/// Addresses with prefix lengths. Refused entries are left out.
pub(crate) fn ip_list(node: &Node, path: &str, r: &mut Reader<'_>) -> Vec<Cidr> {
    let Some(items) = r.list(node, path, "addresses") else { return Vec::new() };
    let mut addresses = Vec::new();
    for (item, path) in r.items(items, path) {
        let Some(text) = r.text(item, &path) else { continue };
        match text.parse() {
            Ok(cidr) => addresses.push(cidr),
            Err(error) => {
                let message = format!("{} {error}", quoted(text));
                r.refuse(
                    &item.span,
                    &path,
                    message,
                    "write address/length, such as \"10.0.0.1/24\" or \"fd00::1/64\"",
                );
            }
        }
    }
    if addresses.len() < items.len() {
        // Their number and order differ from the file's.
        r.mark_refused(path);
    }
    addresses
}

fn roce(mut section: Section<'_>, r: &mut Reader<'_>) -> RoceParameters {
    let default = RoceParameters::default();
    let parameters = RoceParameters {
        dcqcn_rp_enable: section.bool(r, "dcqcn-rp-enable", default.dcqcn_rp_enable),
        dcqcn_np_enable: section.bool(r, "dcqcn-np-enable", default.dcqcn_np_enable),
        min_time_between_cnps: section.int(r, &fields::MIN_TIME_BETWEEN_CNPS),
        adaptive_retrans: section.bool(r, "adaptive-retrans", default.adaptive_retrans),
        slow_restart: section.bool(r, "slow-restart", default.slow_restart),
        loss_recovery: section
            .opt_choice(r, "loss-recovery", LossRecovery::NAMES)
            .unwrap_or(default.loss_recovery),
    };
    section.finish(r, &HOMES);
    parameters
}

fn traffic_class(section: &mut Section<'_>, r: &mut Reader<'_>) -> Option<TrafficClass> {
    let path = section.path_of("traffic-class");
    let node = section.node(r, "traffic-class")?;
    match &node.value {
        Value::Int(_) => r.int(node, &path, &fields::TRAFFIC_CLASS).map(TrafficClass::Same),
        Value::List(_) => {
            Some(TrafficClass::PerConnection(small_numbers(node, &path, &fields::TRAFFIC_CLASS, r)))
        }
        _ => {
            let message = format!("expected a number or a list of numbers, found {}", r.describe(node));
            r.refuse(
                &node.span,
                &path,
                message,
                "write one class (0 to 7), or a list with one for each connection",
            );
            None
        }
    }
}

fn read_ets(mut section: Section<'_>, r: &mut Reader<'_>) -> Ets {
    let mut numbers = |key: &'static str, field: &fields::IntField| {
        let path = section.path_of(key);
        section.node(r, key).map(|node| small_numbers(node, &path, field, r)).unwrap_or_default()
    };
    let ets = Ets {
        weights: numbers("weights", &fields::ETS_WEIGHT),
        strict: numbers("strict", &fields::TRAFFIC_CLASS),
    };
    section.finish(r, &HOMES);
    ets
}

pub(crate) fn small_numbers<T: TryFrom<u64>>(
    node: &Node,
    path: &str,
    field: &fields::IntField,
    r: &mut Reader<'_>,
) -> Vec<T> {
    let Some(items) = r.list(node, path, "numbers") else { return Vec::new() };
    let numbers: Vec<T> =
        r.items(items, path).into_iter().filter_map(|(item, path)| r.int(item, &path, field)).collect();
    if numbers.len() < items.len() {
        r.mark_refused(path);
    }
    numbers
}
