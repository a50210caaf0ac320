//! A configuration as a file of the published tool, or everything that it cannot say.

use std::fmt::{self, Write as _};

use super::{
    fold::{self, LuminaEvent},
    lab::{IF_NAME, Lab, PCI_ADDR, WORKSPACE, quote},
    nics::{self, INTEL},
    refusal::{Refusal, Refusals},
    traffic::DSCP_PER_CLASS,
};
use crate::{
    check::Violation,
    config::{
        Action, Files, Host, IterMode, Load, LossRecovery, Role, Target, TestConfig, Traffic, TrafficClass,
        TrafficField,
    },
};

impl TestConfig {
    /// The configuration as YAML of the published tool, for a laboratory: its switch, dumpers, logins and folders. Where the
    /// laboratory, or the hosts of the test, do not say something that the published tool needs, a placeholder stands in.
    ///
    /// # Errors
    /// Every field that the published tool cannot express, by name; or the
    /// [`violations`](Self::violations), if there are any.
    pub fn to_lumina(&self, lab: &Lab) -> Result<String, Refusals> {
        let broken = |violation: Violation| Refusal { field: violation.field, reason: violation.message };
        let mut refusals: Vec<Refusal> = self.violations().into_iter().map(broken).collect();
        if !refusals.is_empty() {
            return Err(Refusals(refusals));
        }
        for role in Role::ALL {
            refuse_host(role.name(), self.host(role), &mut refusals);
        }
        refuse_traffic(&self.traffic, &mut refusals);
        if self.network.loses() {
            let reason = "Lumina loses no packets at random; name each of them in an event";
            refusals.push(Refusal { field: "network.loss-ppb".into(), reason: reason.into() });
        }
        if self.network.repeat.is_on() {
            let reason = "Lumina copies no packets but those that an event names";
            refusals.push(Refusal { field: "network.repeat".into(), reason: reason.into() });
        }
        if !self.network.paths.is_empty() {
            let reason = "Lumina has one path between the hosts, and delays no packets";
            refusals.push(Refusal { field: "network.path".into(), reason: reason.into() });
        }
        if self.network.pfc {
            let reason = "Lumina's testbed has no priority flow control";
            refusals.push(Refusal { field: "network.pfc".into(), reason: reason.into() });
        }
        refuse_iter_mode(self, &mut refusals);
        if self.requester.traffic_class != self.responder.traffic_class {
            let reason = "Lumina has one dscp-list for both hosts, and they differ";
            refusals.push(Refusal { field: "responder.traffic-class".into(), reason: reason.into() });
        }
        let events = fold::events(self, &mut refusals);
        if refusals.is_empty() { Ok(write(self, lab, &events)) } else { Err(Refusals(refusals)) }
    }
}

fn refuse_host(role: &str, host: &Host, refusals: &mut Vec<Refusal>) {
    let mut refuse = |field: &str, reason: String| {
        refusals.push(Refusal { field: format!("{role}.{field}"), reason });
    };
    if nics::kind(&host.nic).is_none() {
        let types: Vec<&str> = nics::TYPES.iter().map(|(_, profile)| *profile).collect();
        refuse("nic", format!("\"{}\" is no NIC type of Lumina; it has {}", host.nic, types.join(", ")));
    }
    if host.nic == INTEL && host.roce.dcqcn_rp_enable != host.roce.dcqcn_np_enable {
        let reason = "Intel NICs have one dcqcn-enable for both ends, and dcqcn-rp-enable differs from dcqcn-np-enable";
        refuse("roce-parameters", reason.into());
    }
    if host.roce.loss_recovery != LossRecovery::GoBackN {
        refuse("roce-parameters.loss-recovery", "Lumina's NICs recover from losses by go-back-N".into());
    }
    if host.ets.is_some() {
        refuse("ets", "Lumina does not set transmission selection".into());
    }
    if host.offload.is_some() {
        refuse("offload", "Lumina does not set a NIC's flow table".into());
    }
}

fn refuse_traffic(traffic: &Traffic, refusals: &mut Vec<Refusal>) {
    let mut refuse = |key: &str, reason: String| {
        refusals.push(Refusal { field: format!("traffic.{key}"), reason });
    };
    if matches!(traffic.load, Load::Alternating { .. }) {
        let reason = "Lumina does not mix Sends and Reads on one connection; use a pair { send, read }";
        refuse("rdma-verb", reason.into());
    }
    // These have reasons of their own.
    let others = [TrafficField::INITIAL_PSN.key, TrafficField::ITER_MODE.key];
    for field in TrafficField::ALL.iter().filter(|field| field.files != Files::All) {
        if !others.contains(&field.key) && !field.is_default(traffic) {
            let (value, default) = (field.text(traffic), field.text(&Traffic::default()));
            refuse(field.key, format!("Lumina has no such key, and {value} is not the default ({default})"));
        }
    }
    if let Some(psn) = traffic.initial_psn {
        refuse("initial-psn", format!("Lumina starts at random PSNs, not at {psn}"));
    }
}

/// The two ways of counting ITER agree if there is one message, or if no packet is ever sent twice.
fn refuse_iter_mode(config: &TestConfig, refusals: &mut Vec<Refusal>) {
    let only_marks = config
        .events
        .iter()
        .all(|event| event.action == Action::Ecn && !matches!(event.target, Target::Data { iter: 2.., .. }));
    if config.traffic.iter_mode == IterMode::Paper && config.traffic.num_msgs_per_qp > 1 && !only_marks {
        let reason = "the published tool counts ITER anew in each message; use \"per-message\"";
        refusals.push(Refusal { field: "traffic.iter-mode".into(), reason: reason.into() });
    }
}

fn write(config: &TestConfig, lab: &Lab, events: &[LuminaEvent]) -> String {
    let mut out =
        String::from("# For the published Lumina tool: qpn and psn count from 0, psn in each message.\n");
    lab.write(&mut out, "", 0);
    // Writing to a String cannot fail.
    let _ = writeln!(out, "switch:");
    lab.write(&mut out, "switch", 1);
    for role in Role::ALL {
        let _ = write_host(&mut out, role, config.host(role), lab);
    }
    for mirror in ["requester-mirror", "responder-mirror"] {
        let _ = writeln!(out, "{mirror}:");
        lab.write(&mut out, mirror, 1);
    }
    let _ = write_traffic(&mut out, config, lab, events);
    out
}

/// Values of a host that a test need not have: placeholders, to be replaced before the file is run.
const CONTROL_IPS: [&str; 2] = ["192.0.2.2", "192.0.2.3"];
const IB_DEVICE: &str = "mlx5_0";
const IB_PORT: u8 = 1;
const SWITCH_PORTS: [u16; 2] = [132, 140];

/// Switch ports of the requester's and the responder's host in a file that is written.
#[must_use]
pub fn switch_ports(config: &TestConfig) -> [u32; 2] {
    Role::ALL.map(|role| switch_port(config.host(role), role).into())
}

fn switch_port(host: &Host, role: Role) -> u16 {
    host.physical.switch_port.unwrap_or(SWITCH_PORTS[role as usize])
}

fn write_host(out: &mut String, role: Role, host: &Host, lab: &Lab) -> fmt::Result {
    let physical = &host.physical;
    writeln!(out, "{}:", role.name())?;
    let control_ip = CONTROL_IPS[role as usize];
    for (key, text, placeholder) in
        [("workspace", &physical.workspace, WORKSPACE), ("control-ip", &physical.control_ip, control_ip)]
    {
        writeln!(out, "  {key}: {}", quote(text.as_deref().unwrap_or(placeholder)))?;
    }
    lab.write(out, role.name(), 1);
    writeln!(out, "  nic:")?;
    if let Some(kind) = nics::kind(&host.nic) {
        writeln!(out, "    type: {kind}")?;
    }
    let texts = [
        ("if-name", &physical.if_name, IF_NAME),
        ("pci-addr", &physical.pci_addr, PCI_ADDR),
        ("ib-device", &physical.ib_device, IB_DEVICE),
    ];
    for (key, text, placeholder) in texts {
        writeln!(out, "    {key}: {}", quote(text.as_deref().unwrap_or(placeholder)))?;
    }
    writeln!(out, "    ib-port: {}", physical.ib_port.unwrap_or(IB_PORT))?;
    writeln!(out, "    switch-port: {}", switch_port(host, role))?;
    let addresses: Vec<String> = host.ip_list.iter().map(|cidr| quote(&cidr.to_string())).collect();
    writeln!(out, "    ip-list: [{}]", addresses.join(", "))?;
    let roce = &host.roce;
    writeln!(out, "  roce-parameters:")?;
    if host.nic == INTEL {
        writeln!(out, "    dcqcn-enable: {}", roce.dcqcn_rp_enable)?;
    } else {
        writeln!(out, "    dcqcn-rp-enable: {}", roce.dcqcn_rp_enable)?;
        writeln!(out, "    dcqcn-np-enable: {}", roce.dcqcn_np_enable)?;
    }
    writeln!(out, "    min-time-between-cnps: {}", roce.min_time_between_cnps)?;
    writeln!(out, "    adaptive-retrans: {}", roce.adaptive_retrans)?;
    writeln!(out, "    slow-restart: {}", roce.slow_restart)
}

fn write_traffic(out: &mut String, config: &TestConfig, lab: &Lab, events: &[LuminaEvent]) -> fmt::Result {
    let traffic = &config.traffic;
    let (verb, qps) = match traffic.load {
        Load::Same { verb, connections } => (verb.name(), connections.to_string()),
        Load::Split { send, read } => ("send_read", format!("\"{send},{read}\"")),
        // Refused before.
        Load::Alternating { connections } => ("send_read", connections.to_string()),
    };
    writeln!(out, "traffic:")?;
    writeln!(out, "  num-qps: {qps}")?;
    writeln!(out, "  rdma-verb: {verb}")?;
    lab.write(out, "traffic", 1);
    for field in TrafficField::ALL.iter().filter(|field| field.files == Files::All) {
        writeln!(out, "  {}: {}", field.key, field.text(traffic))?;
    }
    if let Some(classes) = &config.requester.traffic_class {
        writeln!(out, "  dscp-list: [{}]", dscps(classes, traffic.load.connections()).join(", "))?;
    }
    if events.is_empty() {
        return writeln!(out, "  data-pkt-events: []");
    }
    writeln!(out, "  data-pkt-events:")?;
    for LuminaEvent { qpn, psn, kind, iter } in events {
        let psn = psn.map_or("all".to_owned(), |psn| psn.to_string());
        writeln!(out, "    - {{qpn: {qpn}, psn: {psn}, type: {kind}, iter: {iter}}}")?;
    }
    Ok(())
}

/// The first DSCP of each connection's class.
fn dscps(classes: &TrafficClass, connections: u32) -> Vec<String> {
    (1..=connections)
        .filter_map(|qpn| classes.of(qpn))
        .map(|class| (class * DSCP_PER_CLASS).to_string())
        .collect()
}
