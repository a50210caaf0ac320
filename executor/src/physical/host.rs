//! A host of a testbed, as its agent describes it.

use std::collections::BTreeSet;
use std::net::IpAddr;

use corpus::config::Cidr;
use corpus::{Role, TestConfig};

use super::PhysicalError;
use super::file::HostEntry;
use crate::agent::proto::{Description, Device, ParameterState, Port};
use crate::agent::protocol;

/// Bytes of a test that a host has no memory for are refused by its agent, too; so many are not asked for.
const MOST_BYTES: u64 = 1 << 30;

/// What a host is and has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFacts {
    /// Release of its kernel.
    pub kernel: String,
    /// RDMA device.
    pub device: String,
    /// NIC family (docs/nic-families.md); empty if it is none that is known.
    pub family: String,
    /// Driver of the device; empty for rdma_rxe.
    pub driver: String,
    /// Version of its firmware.
    pub firmware: String,
    /// Network device of the port.
    pub netdev: String,
    /// Port of the device.
    pub port: u8,
    /// True if packets flow there.
    pub active: bool,
    /// Path MTU of the port, in bytes.
    pub mtu: u32,
    /// Addresses that tests may use.
    pub addresses: Vec<IpAddr>,
    /// RoCE parameters that can be set.
    pub parameters: BTreeSet<String>,
    /// Most bytes of messages.
    pub max_bytes: u64,
    /// Most work requests of a queue.
    pub max_qp_wr: u32,
    /// Most Reads that a QP may have outstanding.
    pub max_rd_atomic: u32,
    /// What cannot be read there, and what an agent that died had left.
    pub notes: Vec<String>,
    /// The kernel's identifier of the boot.
    pub boot_id: String,
    /// Number of the agent's process.
    pub instance: u64,
}

impl HostFacts {
    /// What an agent says of the host of a role.
    ///
    /// # Errors
    /// It is of another version, or the host lacks something, which the error names.
    pub(super) fn of(role: Role, entry: &HostEntry, said: &Description) -> Result<Self, PhysicalError> {
        let wrong = |why: String, mend: &str| PhysicalError::Host {
            role,
            agent: entry.agent.to_string(),
            why,
            mend: mend.to_owned(),
        };
        if said.protocol != protocol() {
            let why = format!(
                "it is of another version: {} (this program: {})",
                said.agent_version,
                env!("CARGO_PKG_VERSION")
            );
            return Err(wrong(why, "install the lumina-agent that belongs to this lumina-fuzz"));
        }
        let device = device_of(entry, said).map_err(|(why, mend)| wrong(why, mend))?;
        let port = device.ports.iter().find(|port| port.number == u32::from(entry.port));
        let port = port.ok_or_else(|| {
            wrong(
                format!("{} has no port {}", device.name, entry.port),
                "correct `port` in the testbed's file",
            )
        })?;
        if !port.ethernet {
            let why = format!("port {} of {} is InfiniBand", port.number, device.name);
            return Err(wrong(why, "RoCE needs a port in Ethernet mode; set it with the vendor's tool"));
        }
        let addresses = addresses_of(entry, port).map_err(|why| {
            wrong(why, "give the network device an address, and let the driver make its RoCE v2 GID")
        })?;
        let limits = device.limits.unwrap_or_default();
        let is_present = |state: ParameterState| state == ParameterState::Present;
        let parameters = port.roce_parameters.iter().filter(|parameter| is_present(parameter.state()));
        Ok(Self {
            kernel: said.kernel_release.clone(),
            device: device.name.clone(),
            family: device.family.clone(),
            driver: device.driver.clone(),
            firmware: device.firmware.clone(),
            netdev: port.netdev.clone(),
            port: entry.port,
            active: port.active,
            mtu: port.active_mtu,
            addresses,
            parameters: parameters.map(|parameter| parameter.name.clone()).collect(),
            max_bytes: said.max_memory_bytes.min(MOST_BYTES),
            max_qp_wr: limits.max_qp_wr,
            max_rd_atomic: limits.max_qp_rd_atom.min(limits.max_qp_init_rd_atom),
            notes: device.notes.iter().chain(&port.unread_counters).cloned().collect(),
            boot_id: said.boot_id.clone(),
            instance: said.instance,
        })
    }

    /// Driver and firmware, in words.
    #[must_use]
    pub fn stack(&self) -> String {
        match (self.driver.as_str(), self.firmware.as_str()) {
            ("", _) => "no PCI device, as with rdma_rxe".to_owned(),
            (driver, "") => format!("driver {driver}, firmware unknown"),
            (driver, firmware) => format!("driver {driver}, firmware {firmware}"),
        }
    }

    /// The first difference that makes it another host to a campaign, from before to now.
    pub(super) fn change(&self, now: &Self) -> Option<String> {
        let [before, after] = [self, now].map(|facts| {
            [
                ("RDMA device", &facts.device),
                ("driver", &facts.driver),
                ("firmware", &facts.firmware),
                ("kernel", &facts.kernel),
            ]
        });
        let different = before.into_iter().zip(after).find(|(before, after)| before != after);
        different
            .map(|((what, before), (_, after))| format!("its {what} was {before:?}, and is {after:?} now"))
    }
}

/// The device that tests use; or what is wrong, and what to do.
fn device_of<'a>(entry: &HostEntry, said: &'a Description) -> Result<&'a Device, (String, &'static str)> {
    let names = || said.devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ");
    match (&entry.device, said.devices.as_slice()) {
        (_, []) => Err((said.no_devices.clone(), "load the driver of the NIC; `rdma link` lists devices")),
        (Some(name), devices) => {
            devices.iter().find(|device| device.name == name.as_str()).ok_or_else(|| {
                (
                    format!("it has no RDMA device {name}; it has {}", names()),
                    "correct `device` in the testbed's file",
                )
            })
        }
        (None, [only]) => Ok(only),
        (None, _) => Err((
            format!("it has several RDMA devices: {}", names()),
            "name one with `device` in the testbed's file",
        )),
    }
}

/// The addresses of a port that tests use.
fn addresses_of(entry: &HostEntry, port: &Port) -> Result<Vec<IpAddr>, String> {
    let mut has: Vec<IpAddr> = port.gids.iter().filter_map(|gid| gid.ip.parse().ok()).collect();
    // Those of a link are not unique (RFC 4291, 2.5.6), and need a zone.
    has.retain(|address| !matches!(address, IpAddr::V6(address) if address.is_unicast_link_local()));
    if let Some(wanted) = &entry.addresses {
        if let Some(absent) = wanted.iter().find(|address| !has.contains(address)) {
            return Err(format!(
                "port {} has no RoCE v2 GID of {absent}, which `addresses` names",
                port.number
            ));
        }
        has.retain(|address| wanted.contains(address));
    }
    has.dedup();
    if !has.iter().any(IpAddr::is_ipv4) {
        return Err(format!("port {} ({}) has no RoCE v2 GID of an IPv4 address", port.number, port.netdev));
    }
    Ok(has)
}

/// A test with the devices and addresses of the hosts in the place of its own.
pub(super) fn with_hosts(config: &TestConfig, hosts: &[HostFacts; 2]) -> TestConfig {
    let mut config = config.clone();
    for (role, facts) in Role::ALL.into_iter().zip(hosts) {
        let host = config.host_mut(role);
        host.physical.ib_device = Some(facts.device.clone());
        host.physical.ib_port = Some(facts.port);
        for is_v6 in [false, true] {
            let own = facts.addresses.iter().filter(|address| address.is_ipv6() == is_v6);
            let asked = host.ip_list.iter_mut().filter(|asked| asked.addr.is_ipv6() == is_v6);
            for (asked, own) in asked.zip(own) {
                *asked = Cidr { addr: *own, prefix: Cidr::max_prefix(*own) };
            }
        }
    }
    config
}
