//! The flow table of a host's NIC (`[requester.offload]`), as the kernel's classifier `flower` has it: made by the program `tc` before
//! a test, removed after it.

mod batch;

use std::fs;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use corpus::{Role, TestConfig};

use self::batch::{End, batch};
use super::proto::{Parameter, ParameterState};
use super::roots::Roots;
use crate::lock::locked;
use crate::verbs::Gid;

/// The program, of Debian's iproute2.
const TC: &str = "tc";

/// Lines of its stderr that a message repeats.
const SAID_LINES: usize = 2;

/// A network device whose hooks of packets (the qdisc `clsact`) are the agent's own.
#[derive(Debug)]
pub(super) struct Interface {
    name: String,
    /// True if the qdisc may be there: a test's, or one that an agent left when it died.
    may_have: Mutex<bool>,
}

/// A flow table, removed when this is dropped.
#[derive(Debug)]
pub(super) struct FlowTable(Arc<Interface>);

impl Interface {
    pub(super) const fn new(name: String) -> Self {
        Self { name, may_have: Mutex::new(true) }
    }

    /// Removes what may be left of a test.
    ///
    /// # Errors
    /// What `tc` says.
    pub(super) fn clear(&self) -> Result<(), String> {
        let mut may_have = locked(&self.may_have);
        if *may_have {
            let name = &self.name;
            // `replace` makes it if it is not there, which `del` would fail at.
            run(&format!("qdisc replace dev {name} clsact\nqdisc del dev {name} clsact\n"))
                .map_err(|why| format!("the flow table of {name} cannot be removed: {why}"))?;
            *may_have = false;
        }
        Ok(())
    }

    /// Makes the flow table that a test has for a host, whose connections have these GIDs; tells the commands.
    ///
    /// # Errors
    /// The test's device is another one, or what `tc` says.
    pub(super) fn put(
        self: &Arc<Self>,
        config: &TestConfig,
        role: Role,
        gids: &[Gid],
        on: Option<&str>,
        roots: &Roots,
    ) -> Result<Option<(FlowTable, Parameter)>, String> {
        self.clear()?;
        let Some(offload) = &config.host(role).offload else { return Ok(None) };
        let name = &self.name;
        if on != Some(name) {
            let on = on.unwrap_or("none");
            return Err(format!(
                "{}.offload: the network device of the addresses is {on}, and this agent puts flow tables into {name}",
                role.name()
            ));
        }
        let end = End {
            interface: name,
            mac: mac_of(name, roots)?,
            // A test has addresses of one family.
            is_ipv6: gids.iter().any(|gid| gid.ip().is_some_and(|ip| ip.is_ipv6())),
            connections: config.traffic.load.connections(),
        };
        let commands = batch(&end, offload);
        *locked(&self.may_have) = true;
        // Half a table is removed too.
        let table = FlowTable(Arc::clone(self));
        run(&commands).map_err(|why| format!("{}.offload: {why}", role.name()))?;
        let detail = told(&commands);
        Ok(Some((table, Parameter { name: "offload".into(), state: ParameterState::Applied.into(), detail })))
    }
}

impl Drop for FlowTable {
    fn drop(&mut self) {
        // The next test removes what this cannot, or is refused.
        let _ = self.0.clear();
    }
}

/// Flow label of the packets of a connection (from 1). In a test with flow tables it is the number, by which entries of both hosts
/// know the packets; 0 leaves the choice to the device.
pub(super) fn flow_label(config: &TestConfig, connection: u32) -> u32 {
    if config.tables().next().is_some() { connection } else { 0 }
}

/// Refusal of a test by an agent that has no device for its flow table.
pub(super) fn refused(config: &TestConfig, role: Role) -> Option<String> {
    config.host(role).offload.as_ref().map(|_| {
        format!(
            "{}.offload: this agent puts no flow tables into the host's NIC; remove it, or start the agent with \
             --flow-tables IF on a host whose network device IF has no qdisc `clsact` of another program",
            role.name()
        )
    })
}

/// The first command of each kind, and how many there are in all.
fn told(commands: &str) -> String {
    let mut shown: Vec<&str> = Vec::new();
    for kind in ["qdisc ", " egress ", " ingress "] {
        shown.extend(commands.lines().find(|line| line.contains(kind)));
    }
    format!("{} commands: tc {}", commands.lines().count(), shown.join("; tc "))
}

/// Address of a network device.
fn mac_of(name: &str, roots: &Roots) -> Result<[u8; 6], String> {
    let path = roots.sys.join("class/net").join(name).join("address");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse_mac(text.trim()).ok_or_else(|| format!("{}: {:?} is no MAC address", path.display(), text.trim()))
}

fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let octets: Option<Vec<u8>> = text.split(':').map(|octet| u8::from_str_radix(octet, 16).ok()).collect();
    octets?.try_into().ok()
}

/// Has `tc` carry out commands, up to the first that fails.
fn run(commands: &str) -> Result<(), String> {
    let failed = |error: io::Error| format!("{TC} (Debian: iproute2): {error}");
    let mut command = Command::new(TC);
    command.args(["-batch", "-"]).env("LC_ALL", "C");
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(failed)?;
    // If it ends before it has read all, it says why. The pipe closes here, which is the end of the commands.
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(commands.as_bytes()));
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().take(SAID_LINES).collect();
        return Err(format!("{TC} ({}): {}", output.status, said.join(" ")));
    }
    written.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::Offload;

    #[test]
    fn addresses_of_devices_are_read() {
        assert_eq!(parse_mac("52:54:00:00:00:0a"), Some([0x52, 0x54, 0, 0, 0, 10]));
        for wrong in ["", "52:54:00", "52:54:00:00:00:0g", "00:00:00:00:00:00:00"] {
            assert_eq!(parse_mac(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn labels_are_given_where_either_host_has_a_table() {
        let mut config = TestConfig::default();
        assert_eq!(flow_label(&config, 3), 0);
        assert_eq!(refused(&config, Role::Responder), None);
        config.responder.offload = Some(Offload::default());
        assert_eq!(flow_label(&config, 3), 3);
        assert!(refused(&config, Role::Responder).unwrap().starts_with("responder.offload: "));
        assert_eq!(refused(&config, Role::Requester), None);
    }

    #[test]
    fn the_first_commands_are_told() {
        let commands = "qdisc add dev a clsact\nfilter add dev a egress x\nfilter add dev a egress y\n";
        assert_eq!(told(commands), "3 commands: tc qdisc add dev a clsact; tc filter add dev a egress x");
    }

    #[test]
    fn a_table_for_another_device_is_refused_and_a_test_without_one_needs_none() {
        let interface = Arc::new(Interface { name: "eth0".into(), may_have: Mutex::new(false) });
        let put = |config: &TestConfig| {
            interface.put(config, Role::Requester, &[], Some("eth1"), &Roots::default()).err()
        };
        let mut config = TestConfig::default();
        assert_eq!(put(&config), None);
        config.requester.offload = Some(Offload::default());
        assert!(put(&config).unwrap().contains("of the addresses is eth1, and this agent"));
    }
}
