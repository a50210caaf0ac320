//! The laboratory of a Lumina file: folders, hosts, switch and dumpers of the published orchestrator. A test does not depend on
//! them; they are kept so that a file that was read can be written again, and so that any test can be written for a laboratory.

use std::collections::BTreeMap;

use super::importer::Importer;
use crate::{
    config::fields::IntField,
    source::{Node, Value},
};

/// Type of a value, with its bounds where it is a number.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number(IntField),
}

/// A key of the published tool that says where a test runs.
struct Key {
    /// Path in the file, with dots.
    path: &'static str,
    kind: Kind,
    /// Value of a file that is written without a laboratory; it has to be replaced before the file is run.
    placeholder: &'static str,
}

const fn text(path: &'static str, placeholder: &'static str) -> Key {
    Key { path, kind: Kind::Text, placeholder }
}

const fn number(path: &'static str, max: u64, why: &'static str, placeholder: &'static str) -> Key {
    let field = IntField { key: path, min: 0, max, default: 0, unit: "", why };
    Key { path, kind: Kind::Number(field), placeholder }
}

/// Placeholders that several hosts have.
pub(super) const WORKSPACE: &str = "/path/to/lumina/";
pub(super) const IF_NAME: &str = "ens1";
pub(super) const PCI_ADDR: &str = "03:00.0";
const LOGIN: &str = "user";
const SSH_KEY: &str = "~/.ssh/id_rsa";
const PORT: &str = "a UDP or TCP port has 16 bits";
const SWITCH_PORT: &str = "ports of a switch have 16 bits";
const COUNT: &str = "a 32-bit count";

/// Everything that the published orchestrator and analyzer read of a file (`lumina/orchestrator/{main,host,switch}.py`,
/// `lumina/analyzer/main.py`) but for the NICs, the traffic, and what [`Physical`](crate::config::Physical) has.
const KEYS: &[Key] = &[
    text("local-workspace", "/path/to/lumina/lumina/"),
    text("result-path", "/path/to/results/"),
    text("aggregate-pcap-filename", "merge.pcap"),
    number("rewrite-udp-dst-port", 65_535, PORT, "9741"),
    number("num-repeats", 1 << 20, COUNT, "1"),
    text("switch.sde-path", "/path/to/bf-sde/"),
    text("switch.workspace", WORKSPACE),
    text("switch.control-ip", "192.0.2.1"),
    text("switch.username", LOGIN),
    text("switch.ssh-key-filepath", SSH_KEY),
    text("switch.port-speed", "100G"),
    text("switch.fec-type", "RS"),
    number("switch.listen-port", 65_535, PORT, "12345"),
    text("switch.local-switch-config-path", "switch-config.yml"),
    text("requester.username", LOGIN),
    text("requester.ssh-key-filepath", SSH_KEY),
    text("responder.username", LOGIN),
    text("responder.ssh-key-filepath", SSH_KEY),
    text("requester-mirror.workspace", WORKSPACE),
    text("requester-mirror.control-ip", "192.0.2.4"),
    text("requester-mirror.username", LOGIN),
    text("requester-mirror.ssh-key-filepath", SSH_KEY),
    text("requester-mirror.pkt-dump-conf.dump-filename", "requester.pcap"),
    number("requester-mirror.pkt-dump-conf.snap-len", 65_535, "bytes of a packet", "128"),
    number("requester-mirror.pkt-dump-conf.num-pkts", u32::MAX as u64, COUNT, "4194304"),
    text("requester-mirror.nic.if-name", IF_NAME),
    text("requester-mirror.nic.pci-addr", PCI_ADDR),
    number("requester-mirror.nic.switch-port", 65_535, SWITCH_PORT, "148"),
    number("requester-mirror.nic.rte-port-id", 65_535, "a port of DPDK has 16 bits", "0"),
    text("responder-mirror.workspace", WORKSPACE),
    text("responder-mirror.control-ip", "192.0.2.5"),
    text("responder-mirror.username", LOGIN),
    text("responder-mirror.ssh-key-filepath", SSH_KEY),
    text("responder-mirror.pkt-dump-conf.dump-filename", "responder.pcap"),
    number("responder-mirror.pkt-dump-conf.snap-len", 65_535, "bytes of a packet", "128"),
    number("responder-mirror.pkt-dump-conf.num-pkts", u32::MAX as u64, COUNT, "4194304"),
    text("responder-mirror.nic.if-name", IF_NAME),
    text("responder-mirror.nic.pci-addr", PCI_ADDR),
    number("responder-mirror.nic.switch-port", 65_535, SWITCH_PORT, "156"),
    number("responder-mirror.nic.rte-port-id", 65_535, "a port of DPDK has 16 bits", "0"),
    number("traffic.listen-port", 65_535, PORT, "13579"),
];

/// Values of the keys that a file has, by their paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lab(BTreeMap<&'static str, String>);

impl Lab {
    /// The laboratory of a file.
    pub(super) fn read(tree: &Node, importer: &mut Importer<'_>) -> Self {
        let mut lab = Self::default();
        for key in KEYS {
            let Some(node) = below(tree, key.path) else { continue };
            let value = match key.kind {
                Kind::Text => importer.r.text(node, key.path).map(str::to_owned),
                Kind::Number(field) => {
                    importer.r.int::<u64>(node, key.path, &field).map(|number| number.to_string())
                }
            };
            lab.0.extend(value.map(|value| (key.path, value)));
        }
        lab
    }

    /// For one repetition whose results are in a folder.
    #[must_use]
    pub fn with_results_in(mut self, folder: &str) -> Self {
        self.0.extend([("result-path", folder.to_owned()), ("num-repeats", "1".to_owned())]);
        self
    }

    /// Name of the merged capture.
    #[must_use]
    pub fn capture_name(&self) -> &str {
        self.get("aggregate-pcap-filename")
    }

    /// Switch ports of the dumpers.
    #[must_use]
    pub fn dumper_ports(&self) -> [u32; 2] {
        // Numbers with bounds, as they were read; the placeholders are numbers too.
        ["requester-mirror.nic.switch-port", "responder-mirror.nic.switch-port"]
            .map(|path| self.get(path).parse().unwrap_or_default())
    }

    /// The value of a key, or the one that a file without it is written with.
    fn get(&self, path: &str) -> &str {
        let known = self.0.get(path).map(String::as_str);
        known
            .or_else(|| KEYS.iter().find(|key| key.path == path).map(|key| key.placeholder))
            .unwrap_or_default()
    }

    /// Writes the keys below a section, `""` for those of the whole file, in blocks indented by so many levels.
    pub(super) fn write(&self, out: &mut String, section: &str, level: usize) {
        let mut open = "";
        for key in KEYS {
            let below = if section.is_empty() { Some(key.path) } else { stripped(key.path, section) };
            let Some(below) = below else { continue };
            let (block, name) = below.rsplit_once('.').unwrap_or(("", below));
            if section.is_empty() && !block.is_empty() {
                continue;
            }
            if block != open {
                out.push_str(&format!("{:indent$}{block}:\n", "", indent = 2 * level));
                open = block;
            }
            let value = self.0.get(key.path).map_or(key.placeholder, String::as_str);
            let value = if matches!(key.kind, Kind::Text) { quote(value) } else { value.to_owned() };
            let indent = 2 * (level + usize::from(!block.is_empty()));
            out.push_str(&format!("{:indent$}{name}: {value}\n", ""));
        }
    }
}

fn stripped<'p>(path: &'p str, section: &str) -> Option<&'p str> {
    path.strip_prefix(section)?.strip_prefix('.')
}

/// The value at a path.
fn below<'n>(node: &'n Node, path: &str) -> Option<&'n Node> {
    path.split('.').try_fold(node, |node, key| match &node.value {
        Value::Table(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node),
        _ => None,
    })
}

/// A YAML double-quoted scalar, on one line whatever is in the text.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' | '"' => quoted.extend(['\\', c]),
            // Line and paragraph separators end a line too, and a byte order mark may be dropped.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lumina::from_yaml;

    proptest! {
        /// Whatever a file says of its laboratory is read back from what is written.
        #[test]
        fn every_text_comes_back(text in any::<String>()) {
            let file = format!("switch:\n  username: {}\ntraffic:\n  num-qps: 1\n", quote(&text));
            let read = from_yaml("f.yaml", &file, None).unwrap();
            prop_assert_eq!(read.lab.0.get("switch.username"), Some(&text));
        }
    }
}
