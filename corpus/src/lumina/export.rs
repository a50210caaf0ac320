//! A configuration as a file of the published tool, or everything that it cannot say.

use std::fmt::{self, Write as _};

use super::{
    fold::{self, LuminaEvent},
    nics::{self, INTEL},
    refusal::{Refusal, Refusals},
    traffic::DSCP_PER_CLASS,
};
use crate::{
    check::Violation,
    config::{
        Action, Files, Host, IterMode, Load, Role, Target, TestConfig, Traffic, TrafficClass, TrafficField,
    },
};

impl TestConfig {
    /// The configuration as YAML of the published tool. Switch, dumpers and folders, which are
    /// facts of a laboratory, are not in it.
    ///
    /// # Errors
    /// Every field that the published tool cannot express, by name; or the
    /// [`violations`](Self::violations), if there are any.
    pub fn to_lumina(&self) -> Result<String, Refusals> {
        let broken = |violation: Violation| Refusal { field: violation.field, reason: violation.message };
        let mut refusals: Vec<Refusal> = self.violations().into_iter().map(broken).collect();
        if !refusals.is_empty() {
            return Err(Refusals(refusals));
        }
        for role in Role::ALL {
            refuse_host(role.name(), self.host(role), &mut refusals);
        }
        refuse_traffic(&self.traffic, &mut refusals);
        refuse_iter_mode(self, &mut refusals);
        if self.requester.traffic_class != self.responder.traffic_class {
            let reason = "Lumina has one dscp-list for both hosts, and they differ";
            refusals.push(Refusal { field: "responder.traffic-class".into(), reason: reason.into() });
        }
        let events = fold::events(self, &mut refusals);
        if refusals.is_empty() { Ok(write(self, &events)) } else { Err(Refusals(refusals)) }
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
    if host.ets.is_some() {
        refuse("ets", "Lumina does not set transmission selection".into());
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
    for field in TrafficField::ALL.iter().filter(|field| field.files != Files::All) {
        // Initial PSNs and ITER have reasons of their own.
        if field.number().is_some() && field.default != TrafficField::ABSENT && !field.is_default(traffic) {
            let (value, default) = ((field.get)(traffic), field.default);
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

fn write(config: &TestConfig, events: &[LuminaEvent]) -> String {
    let mut out = String::from(
        "# For the published Lumina tool: add local-workspace, result-path, switch, requester-mirror\n\
         # and responder-mirror of your laboratory. qpn and psn count from 0, psn in each message.\n",
    );
    // Writing to a String cannot fail.
    for role in Role::ALL {
        let _ = write_host(&mut out, role.name(), config.host(role));
    }
    let _ = write_traffic(&mut out, config, events);
    out
}

/// A YAML double-quoted scalar.
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn write_host(out: &mut String, role: &str, host: &Host) -> fmt::Result {
    let physical = &host.physical;
    writeln!(out, "{role}:")?;
    for (key, text) in [("workspace", &physical.workspace), ("control-ip", &physical.control_ip)] {
        if let Some(text) = text {
            writeln!(out, "  {key}: {}", quote(text))?;
        }
    }
    writeln!(out, "  nic:")?;
    if let Some(kind) = nics::kind(&host.nic) {
        writeln!(out, "    type: {kind}")?;
    }
    let texts = [
        ("if-name", &physical.if_name),
        ("pci-addr", &physical.pci_addr),
        ("ib-device", &physical.ib_device),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            writeln!(out, "    {key}: {}", quote(text))?;
        }
    }
    if let Some(port) = physical.ib_port {
        writeln!(out, "    ib-port: {port}")?;
    }
    if let Some(port) = physical.switch_port {
        writeln!(out, "    switch-port: {port}")?;
    }
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

fn write_traffic(out: &mut String, config: &TestConfig, events: &[LuminaEvent]) -> fmt::Result {
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
