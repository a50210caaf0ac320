//! `testbed.toml`: the machines of a testbed of real NICs.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corpus::Role;
use dumper::serve::Address;
use dumper::serve::tls::{Machine, Role as Part};
use serde::Deserialize;

use super::names::{DeviceName, NicName};

/// A testbed of real NICs, as its file says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TestbedFile {
    /// The file.
    #[serde(skip)]
    pub path: PathBuf,
    /// Folder of the orchestrator's keys, relative to the file; none where all machines are this one.
    pub keys: Option<PathBuf>,
    /// The requester's host.
    pub requester: HostEntry,
    /// The responder's host.
    pub responder: HostEntry,
    /// The switch between them.
    pub switch: SwitchEntry,
    /// The dumpers, if the switch mirrors to some.
    #[serde(default, rename = "dumper")]
    pub dumpers: Vec<DumperEntry>,
    /// What tests are kept to.
    #[serde(default)]
    pub limits: LimitsEntry,
}

/// A host with a NIC under test.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HostEntry {
    /// Address of its `lumina-agent`.
    pub agent: Address,
    /// Name of the NIC in tests and reports, behind `real-`.
    pub nic: NicName,
    /// RDMA device; needed where the host has several.
    pub device: Option<DeviceName>,
    /// Port of the device.
    #[serde(default = "one")]
    pub port: u8,
    /// Addresses of the port that tests use; all that it has if left out.
    pub addresses: Option<BTreeSet<IpAddr>>,
}

/// Kind of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchKind {
    /// `lumina-switch`, on a machine with two network interfaces.
    Software,
    /// bmv2 with the P4 program, which counts microseconds.
    Bmv2,
    /// A Tofino with the P4 program, which counts nanoseconds.
    Tofino,
}

/// The switch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SwitchEntry {
    /// Its kind.
    pub kind: SwitchKind,
    /// Address of its P4Runtime server.
    pub control: Address,
    /// It is commanded in plaintext.
    #[serde(default)]
    pub insecure: bool,
    /// Of a P4 switch, its number in P4Runtime.
    pub device_id: Option<u64>,
    /// Of a P4 switch, the P4Info that the compiler made, relative to the file.
    pub p4info: Option<PathBuf>,
    /// Of a P4 switch, the compiled program, relative to the file.
    pub program: Option<PathBuf>,
    /// Of a P4 switch, the ports of the requester and of the responder.
    pub ports: Option<[u32; 2]>,
}

/// A dumper.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DumperEntry {
    /// Address of its `lumina-dumper`.
    pub address: Address,
    /// Of a P4 switch, the port that it is at.
    pub port: Option<u32>,
    /// Of a P4 switch, its share of the mirrored packets beside the others' shares.
    pub weight: Option<NonZeroU32>,
}

/// Limits of tests beyond those that the machines have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LimitsEntry {
    /// Most connections.
    pub max_connections: Option<NonZeroU32>,
    /// Most MiB of messages.
    pub max_mib: Option<NonZeroU32>,
    /// Least and largest exponent of the ACK timer.
    pub timeouts: Option<[u8; 2]>,
    /// Seconds for which a host that is gone is waited for, as it may be restarting.
    pub restart_s: Option<u32>,
}

/// Wait for a host that is restarting: servers take minutes.
const RESTART: Duration = Duration::from_secs(600);

/// Values of the exponent of the ACK timer (IBA vol. 1, 9.7.6.1.3); 0 is no timer.
const TIMEOUTS: RangeInclusive<u8> = 1..=31;

/// Ports of a Tofino's pipe: the upper two bits of the nine of a port are the pipe (open-p4studio, `tofino.p4`).
const PORTS_OF_A_PIPE: u32 = 128;

const fn one() -> u8 {
    1
}

/// A testbed's file that cannot be used, with what is wrong and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FileError(pub String);

impl TestbedFile {
    /// Loads a file.
    ///
    /// # Errors
    /// It cannot be read, or something in it is wrong; the error names the line or the field.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let text = corpus::read_text(path).map_err(|errors| FileError(errors.to_string()))?;
        Self::read(&text, path)
    }

    /// Loads a file whose machines have no keys yet: it need not name any.
    ///
    /// # Errors
    /// See [`Self::load`].
    pub fn read_for_keys(path: &Path) -> Result<Self, FileError> {
        let text = corpus::read_text(path).map_err(|errors| FileError(errors.to_string()))?;
        let mut file = Self::parse(&text, path)?;
        file.keys.get_or_insert_default();
        file.checked()
    }

    /// Reads the text of a file at a path.
    ///
    /// # Errors
    /// See [`Self::load`].
    pub fn read(text: &str, path: &Path) -> Result<Self, FileError> {
        Self::parse(text, path)?.checked()
    }

    fn parse(text: &str, path: &Path) -> Result<Self, FileError> {
        let parsed: Result<Self, _> = toml::from_str(text);
        let file = parsed
            .map_err(|error| FileError(format!("{}: {}", path.display(), error.to_string().trim_end())))?;
        Ok(Self { path: path.to_owned(), ..file })
    }

    fn checked(self) -> Result<Self, FileError> {
        match self.check() {
            Ok(()) => Ok(self),
            Err(why) => Err(FileError(format!("{}: {why}", self.path.display()))),
        }
    }

    /// Says what does not go together.
    fn check(&self) -> Result<(), String> {
        let services =
            [("requester.agent", &self.requester.agent), ("responder.agent", &self.responder.agent)];
        let dumpers = self.dumpers.iter().map(|dumper| ("dumper.address", &dumper.address));
        let control = ("switch.control", &self.switch.control);
        for (field, address) in services.into_iter().chain(dumpers).chain([control]) {
            let is_open = self.keys.is_none() && !(field == control.0 && self.switch.insecure);
            if is_open && !address.is_local() {
                let or =
                    if field == control.0 { ", or insecure = true, which reports then show" } else { "" };
                return Err(format!(
                    "{field}: {address} is another machine, which is commanded with keys alone: make them with `lumina-fuzz \
                     testbed keys {}`, and write keys = \"keys/orchestrator\" at the beginning{or}",
                    self.path.display()
                ));
            }
        }
        let addresses: BTreeSet<String> = services.iter().map(|(_, address)| address.to_string()).collect();
        if addresses.len() < services.len() {
            return Err(
                "requester.agent and responder.agent are the same; each host has an agent of its own".into(),
            );
        }
        for (field, host) in [("requester", &self.requester), ("responder", &self.responder)] {
            if host.port == 0 {
                return Err(format!("{field}.port: ports of an RDMA device begin with 1"));
            }
            if host.addresses.as_ref().is_some_and(BTreeSet::is_empty) {
                return Err(format!(
                    "{field}.addresses: is empty; leave it out, and tests use all of the port"
                ));
            }
        }
        if let Some([least, largest]) = self.limits.timeouts
            && !(TIMEOUTS.contains(&least) && TIMEOUTS.contains(&largest) && least <= largest)
        {
            return Err(format!(
                "limits.timeouts: [{least}, {largest}] is no range of exponents within {} to {}",
                TIMEOUTS.start(),
                TIMEOUTS.end()
            ));
        }
        self.check_switch()
    }

    fn check_switch(&self) -> Result<(), String> {
        let SwitchEntry { kind, device_id, p4info, program, ports, .. } = &self.switch;
        let of_p4 = [
            ("switch.device-id", device_id.is_some()),
            ("switch.p4info", p4info.is_some()),
            ("switch.program", program.is_some()),
            ("switch.ports", ports.is_some()),
        ];
        if *kind == SwitchKind::Software {
            let unused = of_p4.into_iter().chain(self.dumpers.iter().flat_map(|dumper| {
                [("dumper.port", dumper.port.is_some()), ("dumper.weight", dumper.weight.is_some())]
            }));
            return match unused.into_iter().find(|(_, is_there)| *is_there) {
                Some((field, _)) => Err(format!(
                    "{field}: is for switches with the P4 program; lumina-switch is told its ports when it is started (--port, --dumper)"
                )),
                None => Ok(()),
            };
        }
        if let Some((field, _)) = of_p4.into_iter().find(|(_, is_there)| !is_there) {
            return Err(format!("{field}: is missing; a switch with the P4 program needs it (docs/p4.md)"));
        }
        if self.dumpers.is_empty() {
            return Err(
                "dumper: there is none, and a P4 switch keeps no packets itself; add a [[dumper]]".into()
            );
        }
        let mut taken: BTreeSet<u32> = ports.iter().flatten().copied().collect();
        for dumper in &self.dumpers {
            match dumper.port {
                None => {
                    return Err(
                        "dumper.port: is missing; it is the port of the switch that the dumper is at".into(),
                    );
                }
                Some(port) if !taken.insert(port) => {
                    return Err(format!("dumper.port: {port} is that of another machine"));
                }
                Some(_) => {}
            }
        }
        if taken.len() < 2 + self.dumpers.len() {
            return Err("switch.ports: both hosts have the same one".into());
        }
        let pipes: BTreeSet<u32> = taken.iter().map(|port| port / PORTS_OF_A_PIPE).collect();
        if *kind == SwitchKind::Tofino && pipes.len() > 1 {
            return Err(format!(
                "switch.ports, dumper.port: they are ports of {} pipes ({PORTS_OF_A_PIPE} ports each), and registers are per pipe: \
                 sequence numbers and rounds are right in one only",
                pipes.len()
            ));
        }
        Ok(())
    }

    /// A host.
    #[must_use]
    pub const fn host(&self, role: Role) -> &HostEntry {
        match role {
            Role::Requester => &self.requester,
            Role::Responder => &self.responder,
        }
    }

    /// A path of the file, from where this program runs.
    #[must_use]
    pub fn beside(&self, path: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// Longest wait for a host that is restarting.
    #[must_use]
    pub fn restart(&self) -> Duration {
        self.limits.restart_s.map_or(RESTART, |seconds| Duration::from_secs(seconds.into()))
    }

    /// Returns true if the switch is commanded in plaintext although others may reach it.
    #[must_use]
    pub fn is_insecure(&self) -> bool {
        self.switch.insecure && !self.switch.control.is_local()
    }

    /// The machines, which get keys; the orchestrator's first.
    #[must_use]
    pub fn machines(&self) -> Vec<Machine> {
        let machine = |name: &str, role, address: &Address| {
            let addresses = match address {
                Address::Tcp(address) => vec![address.ip()],
                Address::Unix(_) => Vec::new(),
            };
            Machine { name: name.to_owned(), role, addresses }
        };
        let mut machines = vec![Machine {
            name: "orchestrator".to_owned(),
            role: Part::Orchestrator,
            addresses: Vec::new(),
        }];
        machines.push(machine("requester", Part::Agent, &self.requester.agent));
        machines.push(machine("responder", Part::Agent, &self.responder.agent));
        if !self.switch.insecure {
            machines.push(machine("switch", Part::Switch, &self.switch.control));
        }
        for (number, dumper) in (1..).zip(&self.dumpers) {
            machines.push(machine(&format!("dumper-{number}"), Part::Dumper, &dumper.address));
        }
        machines
    }
}
