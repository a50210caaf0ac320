//! The canonical text of a configuration.

use std::fmt::{self, Display, Write as _};

use crate::config::{
    Action, ConnectionSet, Control, Copies, Direction, Event, Files, Form, Hop, Host, IpVersion, Load,
    LossRecovery, Network, Operation, Path, Placement, Repeat, Role, Rule, SetField, Target, TestConfig,
    Traffic, TrafficClass, TrafficField, fields,
};

impl TestConfig {
    /// The configuration as TOML, every field written out, in a fixed order: equal configurations
    /// give equal texts on every run and machine, and reading the text gives the same value. It
    /// does not depend on defaults, so a kept text means the same to a later version.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = Out(String::new());
        for role in Role::ALL {
            host(&mut out, role.name(), self.host(role));
        }
        traffic(&mut out, &self.traffic);
        // Texts and identities from before there was a network stay as they are.
        if self.network != Network::default() {
            network(&mut out, &self.network);
        }
        for one in &self.events {
            event(&mut out, one);
        }
        for one in &self.control {
            control(&mut out, one);
        }
        out.0
    }
}

impl Display for TestConfig {
    /// The text of [`TestConfig::to_toml`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_toml())
    }
}

struct Out(String);

impl Out {
    fn header(&mut self, header: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(header);
        self.0.push('\n');
    }

    fn field(&mut self, key: &str, value: impl Display) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn text(&mut self, key: &str, text: &str) {
        self.field(key, quote(text));
    }

    fn opt_text(&mut self, key: &str, text: Option<&String>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }
}

/// A TOML basic string; everything that is not printable ASCII but legal text stays as it is.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", items.join(", "))
}

fn host(out: &mut Out, name: &str, host: &Host) {
    out.header(&format!("[{name}]"));
    out.text("nic", &host.nic);
    out.field("ip-list", list(host.ip_list.iter().map(|cidr| quote(&cidr.to_string()))));
    let physical = &host.physical;
    out.opt_text("if-name", physical.if_name.as_ref());
    if let Some(port) = physical.switch_port {
        out.field("switch-port", port);
    }
    out.opt_text("pci-addr", physical.pci_addr.as_ref());
    out.opt_text("ib-device", physical.ib_device.as_ref());
    if let Some(port) = physical.ib_port {
        out.field("ib-port", port);
    }
    out.opt_text("control-ip", physical.control_ip.as_ref());
    out.opt_text("workspace", physical.workspace.as_ref());
    match &host.traffic_class {
        None => {}
        Some(TrafficClass::Same(class)) => out.field("traffic-class", class),
        Some(TrafficClass::PerConnection(classes)) => out.field("traffic-class", list(classes)),
    }
    if let Some(ets) = &host.ets {
        out.field("ets", format!("{{ weights = {}, strict = {} }}", list(&ets.weights), list(&ets.strict)));
    }
    if let Some(offload) = &host.offload {
        out.header(&format!("[{name}.offload]"));
        out.field("flows", offload.flows);
        out.field("egress-masks", offload.egress_masks);
        out.field("ingress-masks", offload.ingress_masks);
        if let Placement::Masks(masks) = &offload.place {
            out.field("place", list(masks));
        }
        if let Some(named) = offload.place.named() {
            out.text("place", named.name());
        }
        // Texts and identities from before there were chains stay as they are.
        if u64::from(offload.tables) != fields::OFFLOAD_TABLES.default {
            out.field(fields::OFFLOAD_TABLES.key, offload.tables);
        }
        out.field("actions", offload.actions);
        out.field("vxlan", offload.vxlan);
        out.field("virtual-functions", offload.virtual_functions);
        out.field("max-idle-ms", offload.max_idle_ms);
        out.field("revalidate-ms", offload.revalidate_ms);
        out.text("scheduler", offload.scheduler.name());
        out.field("hyper-entries", offload.hyper_entries);
        for one in &offload.rules {
            rule(out, name, one);
        }
    }
    out.header(&format!("[{name}.roce-parameters]"));
    out.field("dcqcn-rp-enable", host.roce.dcqcn_rp_enable);
    out.field("dcqcn-np-enable", host.roce.dcqcn_np_enable);
    out.field("min-time-between-cnps", host.roce.min_time_between_cnps);
    out.field("adaptive-retrans", host.roce.adaptive_retrans);
    out.field("slow-restart", host.roce.slow_restart);
    // Texts and identities from before there was a choice stay as they are.
    if host.roce.loss_recovery != LossRecovery::GoBackN {
        out.text("loss-recovery", host.roce.loss_recovery.name());
    }
}

fn rule(out: &mut Out, host: &str, rule: &Rule) {
    out.header(&format!("[[{host}.offload.rule]]"));
    out.field(fields::RULE_TABLE.key, rule.table);
    out.text("direction", rule.direction.map_or(Rule::BOTH, Direction::name));
    out.text("match", rule.ip_version.map_or(Rule::ANY, IpVersion::name));
    match rule.forward_to {
        Hop::Table(table) => out.field(fields::FORWARD_TO.key, table),
        Hop::Port => out.text(fields::FORWARD_TO.key, Hop::PORT),
    }
}

fn traffic(out: &mut Out, traffic: &Traffic) {
    out.header("[traffic]");
    let (verb, connections) = match traffic.load {
        Load::Same { verb, connections } => (verb.name(), connections.to_string()),
        Load::Alternating { connections } => ("send_read", connections.to_string()),
        Load::Split { send, read } => ("send_read", format!("{{ send = {send}, read = {read} }}")),
    };
    out.field("num-connections", connections);
    out.text("rdma-verb", verb);
    for field in TrafficField::ALL {
        let left_out = field.is_absent(traffic) || (field.files == Files::Later && field.is_default(traffic));
        match field.form {
            _ if left_out => {}
            Form::Word(_) => out.text(field.key, &field.text(traffic)),
            Form::Number(_) | Form::Flag | Form::Mtu => out.field(field.key, field.text(traffic)),
        }
    }
}

fn network(out: &mut Out, network: &Network) {
    out.header("[network]");
    for number in Network::NUMBERS {
        if let Some(value) = (number.get)(network) {
            out.field(number.field.key, value);
        }
    }
    out.text("loss-model", network.loss_model.name());
    out.field("loss-packets", list(network.loss_packets.named().map(|(name, _)| quote(name))));
    out.text("loss-direction", network.loss_direction.name());
    connections(out, "loss-qpn", &network.loss_qpn);
    out.text("loss-effect", network.loss_effect.name());
    if network.pfc {
        out.field("pfc", network.pfc);
    }
    // Texts with losses from before there were copies and paths stay as they are.
    if !network.paths.is_empty() {
        out.text("spray", network.spray.name());
        out.field(fields::FLOWLET_GAP_NS.key, network.flowlet_gap_ns);
        out.text("spray-packets", network.spray_packets.name());
    }
    if network.repeat != Repeat::default() {
        out.header("[network.repeat]");
        for number in Repeat::NUMBERS {
            out.field(number.field.key, (number.get)(&network.repeat));
        }
        out.text("match", network.repeat.matching.name());
    }
    for path in &network.paths {
        out.header("[[network.path]]");
        for number in Path::NUMBERS {
            out.field(number.field.key, (number.get)(path));
        }
    }
}

fn control(out: &mut Out, control: &Control) {
    out.header("[[control]]");
    out.field(fields::CONTROL_AT_MS.key, control.at_ms);
    out.text("host", control.host.name());
    out.text("do", control.operation.name());
    let field = match control.operation {
        Operation::UnbindVf(_) => &fields::CONTROL_VF,
        _ => &fields::CONTROL_COUNT,
    };
    out.field(field.key, control.operation.number());
}

fn connections(out: &mut Out, key: &str, set: &ConnectionSet) {
    match set {
        ConnectionSet::One(qpn) => out.field(key, qpn),
        ConnectionSet::List(qpns) => out.field(key, list(qpns)),
        ConnectionSet::First(n) => out.field(key, format!("{{ first = {n} }}")),
        ConnectionSet::All => out.text(key, "all"),
    }
}

fn event(out: &mut Out, event: &Event) {
    out.header("[[event]]");
    connections(out, "qpn", &event.connections);
    match event.target {
        Target::Data { psn, iter } => {
            out.field("psn", psn);
            out.field("iter", iter);
        }
        Target::Control { packet, nth } => {
            out.text("packet", packet.name());
            out.field("nth", nth);
        }
    }
    if let Some(progression) = event.progression {
        out.field("every", progression.every);
        if let Some(count) = progression.count {
            out.field("count", count);
        }
    }
    out.text("type", event.action.name());
    if let Some((operand, number)) = event.action.operand() {
        match operand.coarse {
            Some((coarse, each)) if number.is_multiple_of(each) => out.field(coarse.key, number / each),
            _ => out.field(operand.field.key, number),
        }
    }
    match event.action {
        Action::SetField(SetField { field, value }) => {
            out.text("field", field.name());
            out.field("value", value);
        }
        Action::Drop(Copies::All) => out.text(Copies::KEY, "all"),
        Action::Drop(Copies::One(copy)) => out.field(Copies::KEY, copy),
        _ => {}
    }
}
