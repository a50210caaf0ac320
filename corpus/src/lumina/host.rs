//! `requester` and `responder`.

use super::{
    importer::Importer,
    nics::{TYPES, profile},
};
use crate::{
    config::{Host, Physical, RoceParameters, Role, default_address, fields},
    source::{Section, list_or, quoted},
    toml_form::ip_list,
};

/// Keys of the published orchestrator's way into a host.
const LOGIN: &[(&str, &str)] = &[
    ("username", "the published orchestrator logs in with it"),
    ("ssh-key-filepath", "the published orchestrator logs in with it"),
];

pub(super) fn read(mut section: Section<'_>, role: Role, importer: &mut Importer<'_>) -> Host {
    let mut host = Host::new(Host::DEFAULT_NIC, default_address(role));
    host.physical.workspace = section.opt_text(&mut importer.r, "workspace");
    host.physical.control_ip = section.opt_text(&mut importer.r, "control-ip");
    importer.defaults(&section, &["nic"]);
    if let Some(section) = section.opt_section(&mut importer.r, "nic") {
        nic(section, &mut host, importer);
    }
    if let Some(section) = section.opt_section(&mut importer.r, "roce-parameters") {
        host.roce = roce(section, importer);
    }
    importer.ignore(&mut section, LOGIN);
    section.finish(&mut importer.r, &[]);
    host
}

fn nic(mut section: Section<'_>, host: &mut Host, importer: &mut Importer<'_>) {
    let path = section.path_of("type");
    importer.defaults(&section, &["type", "ip-list"]);
    if let Some(node) = section.node(&mut importer.r, "type")
        && let Some(kind) = importer.r.text(node, &path)
    {
        match profile(kind) {
            Some(profile) => profile.clone_into(&mut host.nic),
            None => {
                let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
                let help = format!("allowed: {} (in any letter case)", list_or(&names));
                let message = format!("{} is not a NIC type of Lumina", quoted(kind));
                importer.r.refuse(&node.span, &path, message, help);
            }
        }
    }
    let list_path = section.path_of("ip-list");
    if let Some(node) = section.node(&mut importer.r, "ip-list") {
        host.ip_list = ip_list(node, &list_path, &mut importer.r);
    }
    host.physical = Physical {
        if_name: section.opt_text(&mut importer.r, "if-name"),
        switch_port: section.opt_int(&mut importer.r, &fields::SWITCH_PORT),
        pci_addr: section.opt_text(&mut importer.r, "pci-addr"),
        ib_device: section.opt_text(&mut importer.r, "ib-device"),
        ib_port: section.opt_int(&mut importer.r, &fields::IB_PORT),
        ..std::mem::take(&mut host.physical)
    };
    // The paper's listing can be read either way: with the NIC or beside it.
    if let Some(section) = section.opt_section(&mut importer.r, "roce-parameters") {
        host.roce = roce(section, importer);
    }
    importer.ignore(
        &mut section,
        &[("prio-dscp-map", "traffic classes are taken from dscp-list, eight DSCP values to a class")],
    );
    section.finish(&mut importer.r, &[]);
}

fn roce(mut section: Section<'_>, importer: &mut Importer<'_>) -> RoceParameters {
    let mut parameters = RoceParameters::default();
    let r = &mut importer.r;
    if let Some(entry) = section.entry(r, "dcqcn-enable") {
        let path = section.path_of("dcqcn-enable");
        if let Some(both) = r.bool(&entry.node, &path) {
            (parameters.dcqcn_rp_enable, parameters.dcqcn_np_enable) = (both, both);
        }
        for key in ["dcqcn-rp-enable", "dcqcn-np-enable"] {
            if let Some(entry) = section.entry(r, key) {
                let help = "keep dcqcn-enable for Intel NICs, or the rp and np keys for NVIDIA NICs";
                r.refuse(&entry.key_span, &section.path_of(key), "given besides dcqcn-enable", help);
            }
        }
    } else {
        parameters.dcqcn_rp_enable = section.bool(r, "dcqcn-rp-enable", parameters.dcqcn_rp_enable);
        parameters.dcqcn_np_enable = section.bool(r, "dcqcn-np-enable", parameters.dcqcn_np_enable);
    }
    parameters.min_time_between_cnps = section.int(r, &fields::MIN_TIME_BETWEEN_CNPS);
    parameters.adaptive_retrans = section.bool(r, "adaptive-retrans", parameters.adaptive_retrans);
    parameters.slow_restart = section.bool(r, "slow-restart", parameters.slow_restart);
    importer.defaults(&section, &["min-time-between-cnps", "adaptive-retrans", "slow-restart"]);
    section.finish(&mut importer.r, &[]);
    parameters
}
