//! Values of RDMA and network devices in the kernel's files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use dumper::observation::Counters;
use nix::net::if_::if_indextoname;

use crate::verbs::ethtool;

/// RDMA devices.
const RDMA: &str = "/sys/class/infiniband";
/// Network devices.
const NET: &str = "/sys/class/net";

/// Files among counters that are settings: how long values are kept before the device is asked again.
const LIFESPAN: &str = "lifespan";

/// Room for the text of a counter: twenty digits and the end of the line.
const NUMBER_BYTES: usize = 32;

/// Folder of a port of an RDMA device.
pub(super) fn port(device: &str, port: u8) -> PathBuf {
    Path::new(RDMA).join(device).join("ports").join(port.to_string())
}

/// Name of the kernel driver of an RDMA device's PCI function; empty without a driver.
pub(super) fn driver(device: &str) -> String {
    let link = fs::read_link(Path::new(RDMA).join(device).join("device/driver"));
    link.ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())).unwrap_or_default()
}

/// Folder of a network device.
pub(super) fn netdev(interface: &str) -> PathBuf {
    Path::new(NET).join(interface)
}

/// Name of the network device with this number; 0 is no device.
pub(super) fn interface_name(number: u32) -> Option<String> {
    // For an unused number, nix (0.31) returns an empty name.
    if_indextoname(number).ok()?.into_string().ok().filter(|name| !name.is_empty())
}

/// Has the counters of a port read afresh each time, where the kernel lets this be set.
pub(super) fn read_afresh(port: &Path) {
    // Where it does not, values are at most 10 ms old.
    let _ = fs::write(port.join("hw_counters").join(LIFESPAN), "0");
}

/// The counters of a port of an RDMA device and of its network device. Their files stay open: finding one takes several
/// times as long as reading it.
pub(super) struct CounterFiles {
    port: Vec<CounterFile>,
    hw: Vec<CounterFile>,
    interface: Option<String>,
}

/// A counter's name, and the file that holds it.
type CounterFile = (String, File);

impl CounterFiles {
    /// Opens those of a port's folder and of a network device, and reads their values.
    pub(super) fn open(port: &Path, interface: Option<String>) -> (Self, Counters) {
        let (port_files, port_counters) = open(&port.join("counters"));
        let (hw, hw_counters) = open(&port.join("hw_counters"));
        let files = Self { port: port_files, hw, interface };
        let counters = Counters { port_counters, hw_counters, ethtool_counters: files.ethtool() };
        (files, counters)
    }

    /// Current values of the counters.
    pub(super) fn read(&self) -> Counters {
        let numbers = |files: &[CounterFile]| {
            files.iter().filter_map(|(name, file)| Some((name.clone(), number_in(file)?))).collect()
        };
        Counters {
            port_counters: numbers(&self.port),
            hw_counters: numbers(&self.hw),
            ethtool_counters: self.ethtool(),
        }
    }

    /// The same, if every file can still be read and the network device is this one.
    pub(super) fn read_all(&self, interface: Option<&str>) -> Option<Counters> {
        let counters = self.read();
        let all =
            counters.port_counters.len() == self.port.len() && counters.hw_counters.len() == self.hw.len();
        (all && self.interface.as_deref() == interface).then_some(counters)
    }

    /// A network device that goes away in the middle of a test has no counters any more.
    fn ethtool(&self) -> BTreeMap<String, u64> {
        self.interface.as_ref().and_then(|name| ethtool::statistics(name).ok()).unwrap_or_default()
    }
}

/// The files of a folder that hold a number, and these numbers; none where there is no such folder.
fn open(folder: &Path) -> (Vec<CounterFile>, BTreeMap<String, u64>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    named
        .filter(|(name, _)| name != LIFESPAN)
        .filter_map(|(name, path)| {
            let file = File::open(path).ok()?;
            let number = number_in(&file)?;
            Some(((name.clone(), file), (name, number)))
        })
        .unzip()
}

/// The number that a file begins with, if it holds nothing else. The kernel makes its text again for each
/// reading.
fn number_in(file: &File) -> Option<u64> {
    let mut text = [0; NUMBER_BYTES];
    let length = file.read_at(&mut text, 0).ok()?;
    str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
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
        let (files, counters) = CounterFiles::open(port.path(), None);
        assert_eq!(counters.port_counters, BTreeMap::from([("port_xmit_data".to_owned(), 12)]));
        assert_eq!(counters.hw_counters, BTreeMap::from([("sent_pkts".to_owned(), u64::MAX)]));
        assert_eq!(files.read(), counters);
        assert_eq!(files.read_all(None), Some(counters));
        assert_eq!(files.read_all(Some("lo")), None);
        fs::write(port.path().join("counters/port_xmit_data"), "7\n").unwrap();
        assert_eq!(files.read().port_counters, BTreeMap::from([("port_xmit_data".to_owned(), 7)]));
        read_afresh(port.path());
        assert_eq!(fs::read_to_string(port.path().join("hw_counters/lifespan")).unwrap(), "0");
    }

    #[test]
    fn the_loopback_is_found_by_its_number() {
        assert_eq!(interface_name(1).as_deref(), Some("lo"));
        assert_eq!(interface_name(0), None);
    }
}
