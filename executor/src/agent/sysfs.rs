//! What the kernel shows of RDMA and network devices in files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dumper::observation::Counters;

use crate::verbs::ethtool;

/// RDMA devices.
const RDMA: &str = "/sys/class/infiniband";
/// Network devices.
const NET: &str = "/sys/class/net";

/// Files among counters that are settings: how long values are kept before the device is asked again.
const LIFESPAN: &str = "lifespan";

/// Folder of a port of an RDMA device.
pub(super) fn port(device: &str, port: u8) -> PathBuf {
    Path::new(RDMA).join(device).join("ports").join(port.to_string())
}

/// Name of the kernel driver of an RDMA device's PCI function; empty where there is none.
pub(super) fn driver(device: &str) -> String {
    let link = fs::read_link(Path::new(RDMA).join(device).join("device/driver"));
    link.ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())).unwrap_or_default()
}

/// Folder of a network device.
pub(super) fn netdev(interface: &str) -> PathBuf {
    Path::new(NET).join(interface)
}

/// Name of the network device with this number; 0 is none.
pub(super) fn interface_name(number: u32) -> Option<String> {
    let entries = fs::read_dir(NET).ok().filter(|_| number != 0)?;
    entries.flatten().find_map(|entry| {
        let index = fs::read_to_string(entry.path().join("ifindex")).ok()?;
        (index.trim().parse() == Ok(number)).then(|| entry.file_name().to_string_lossy().into_owned())
    })
}

/// Has the counters of a port read afresh each time, where the kernel lets this be set.
pub(super) fn read_afresh(port: &Path) {
    // Where it does not, values are at most 10 ms old.
    let _ = fs::write(port.join("hw_counters").join(LIFESPAN), "0");
}

/// All counters of a port of an RDMA device and of its network device.
pub(super) fn counters(port: &Path, interface: Option<&str>) -> Counters {
    Counters {
        port_counters: numbers(&port.join("counters")),
        hw_counters: numbers(&port.join("hw_counters")),
        // A network device that goes away in the middle of a test has no counters any more.
        ethtool_counters: interface.and_then(|name| ethtool::statistics(name).ok()).unwrap_or_default(),
    }
}

/// The files of a folder that hold a number; none where there is no such folder.
fn numbers(folder: &Path) -> BTreeMap<String, u64> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    named
        .filter(|(name, _)| name != LIFESPAN)
        .filter_map(|(name, path)| Some((name, fs::read_to_string(path).ok()?.trim().parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_the_files_that_hold_numbers() {
        let port = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("counters/port_xmit_data", "12\n"),
            ("hw_counters/sent_pkts", "18446744073709551615\n"),
            ("hw_counters/lifespan", "10\n"),
            ("hw_counters/not_a_number", "N/A (no PMA)\n"),
        ] {
            let path = port.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let counters = counters(port.path(), None);
        assert_eq!(counters.port_counters, BTreeMap::from([("port_xmit_data".to_owned(), 12)]));
        assert_eq!(counters.hw_counters, BTreeMap::from([("sent_pkts".to_owned(), u64::MAX)]));
        read_afresh(port.path());
        assert_eq!(fs::read_to_string(port.path().join("hw_counters/lifespan")).unwrap(), "0");
    }

    #[test]
    fn the_loopback_is_found_by_its_number() {
        assert_eq!(interface_name(1).as_deref(), Some("lo"));
        assert_eq!(interface_name(0), None);
    }
}
