//! Description of a host: its devices and capabilities.

use super::families::Family;
use super::host::{Host, boot_id, kernel_release};
use super::parameters::Target;
use super::proto::{Description, Device, Gid, GidType, Limits, Port};
use super::roots::Roots;
use super::sysfs::{self, CounterFiles};
use crate::verbs::{self, Context, DeviceLimits, DeviceList, VerbsError, ethtool};

/// Puts back the settings of an agent that died, and describes everything. A device that cannot be opened is reported in the
/// place of devices.
pub(super) fn describe(host: &Host) -> Description {
    host.recover();
    let found = host.devices().and_then(|(list, names)| {
        let devices: Result<Vec<_>, _> = names.iter().map(|name| device(host, &list, name)).collect();
        devices.map_err(|error| error.to_string())
    });
    let (mut devices, no_devices) = match found {
        Ok(devices) => (devices, String::new()),
        Err(reason) => (Vec::new(), reason),
    };
    if let Some(first) = devices.first_mut() {
        first.notes.splice(..0, host.notes());
    }
    Description {
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel_release: kernel_release(),
        devices,
        no_devices,
        max_memory_bytes: host.max_memory(),
        protocol: super::protocol(),
        boot_id: boot_id(),
        instance: host.instance(),
    }
}

fn device(host: &Host, list: &DeviceList, name: &str) -> Result<Device, VerbsError> {
    let context = list.open(name)?;
    let limits = context.limits()?;
    let (roots, family) = (host.roots(), sysfs::family(host.roots(), name));
    let ports: Result<Vec<_>, _> =
        (1..=limits.ports).map(|number| port(roots, family, &context, name, number)).collect();
    let (mut firmware, mut notes) = (limits.firmware.clone(), Vec::new());
    if firmware.is_empty() && family.is_some_and(|family| !family.firmware.is_empty()) {
        match sysfs::firmware(roots, name) {
            Ok(version) => firmware = version,
            Err(reason) => notes.push(reason),
        }
    }
    Ok(Device {
        name: name.to_owned(),
        driver: sysfs::driver(roots, name),
        firmware,
        vendor_id: limits.vendor_id,
        vendor_part_id: limits.vendor_part_id,
        limits: Some(Limits::from(&limits)),
        ports: ports?,
        family: family.map_or("", |family| family.name).to_owned(),
        notes,
    })
}

fn port(
    roots: &Roots,
    family: Option<&'static Family>,
    context: &Context,
    device: &str,
    number: u8,
) -> Result<Port, VerbsError> {
    let state = context.port(number)?;
    let gids = context.gids(number)?;
    let interface = gids.iter().find_map(|gid| sysfs::interface_name(gid.interface));
    let folder = sysfs::port(roots, device, number);
    let (_, counters) = CounterFiles::open(&folder, interface.clone());
    let unread_counters = family.map_or_else(Vec::new, |family| sysfs::unread(family, &folder, &counters));
    // A network device that goes away has no driver any more.
    let driver = interface.as_ref().and_then(|name| ethtool::driver(name).ok()).unwrap_or_default();
    let names = sysfs::names(roots, device, number, interface);
    Ok(Port {
        number: number.into(),
        active: state.active,
        ethernet: state.ethernet,
        active_mtu: state.active_mtu,
        max_mtu: state.max_mtu,
        max_message_bytes: state.max_message_bytes.into(),
        gids: gids.iter().map(Gid::from).collect(),
        counters: Some(counters.into()),
        roce_parameters: Target { roots, family, names: &names }.available(),
        netdev: names.netdev,
        unread_counters,
        netdev_driver: driver.name,
        netdev_firmware: driver.firmware,
    })
}

impl From<&DeviceLimits> for Limits {
    fn from(limits: &DeviceLimits) -> Self {
        Self {
            max_qp: limits.max_qp,
            max_qp_wr: limits.max_qp_wr,
            max_cq: limits.max_cq,
            max_cqe: limits.max_cqe,
            max_mr_bytes: limits.max_mr_bytes,
            max_qp_rd_atom: limits.max_qp_rd_atom,
            max_qp_init_rd_atom: limits.max_qp_init_rd_atom,
        }
    }
}

impl From<&verbs::Gid> for Gid {
    fn from(gid: &verbs::Gid) -> Self {
        let kind = match gid.kind {
            verbs::GidType::Infiniband => GidType::Infiniband,
            verbs::GidType::RoceV1 => GidType::RoceV1,
            verbs::GidType::RoceV2 => GidType::RoceV2,
        };
        Self {
            index: gid.index,
            r#type: kind.into(),
            raw: gid.raw.to_vec(),
            ip: gid.ip().map(|ip| ip.to_string()).unwrap_or_default(),
        }
    }
}
