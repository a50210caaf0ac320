//! Values of RDMA and network devices in the kernel's files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use dumper::observation::Counters;
use nix::net::if_::if_indextoname;

use super::families::{self, Family, Group, Judged, Names};
use super::roots::Roots;
use super::value;
use crate::verbs::ethtool;

/// RDMA devices, below sysfs (drivers/infiniband/core/device.c).
const RDMA: &str = "class/infiniband";

/// Files among counters that are settings: how long values are kept before the device is asked again.
const LIFESPAN: &str = "lifespan";

/// Room for the text of a counter: twenty digits and the end of the line.
const NUMBER_BYTES: usize = 32;

/// Folder of an RDMA device.
fn device(roots: &Roots, name: &str) -> PathBuf {
    roots.sys.join(RDMA).join(name)
}

/// Folder of a port of an RDMA device.
pub(super) fn port(roots: &Roots, name: &str, port: u8) -> PathBuf {
    device(roots, name).join("ports").join(port.to_string())
}

/// Names of a port of an RDMA device, of the device of the bus below and of its network device.
pub(super) fn names(roots: &Roots, name: &str, port: u8, netdev: Option<String>) -> Names {
    let function = link_name(&device(roots, name).join("device"));
    Names { device: name.to_owned(), port, function, netdev: netdev.unwrap_or_default() }
}

/// Name of the kernel driver of the device of the bus below an RDMA device; empty without a driver.
pub(super) fn driver(roots: &Roots, name: &str) -> String {
    link_name(&device(roots, name).join("device/driver"))
}

/// The last part of what a link names; empty if it is no link.
fn link_name(link: &Path) -> String {
    let target = fs::read_link(link);
    target.ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())).unwrap_or_default()
}

/// Family of an RDMA device, by its driver.
pub(super) fn family(roots: &Roots, name: &str) -> Option<&'static Family> {
    match &driver(roots, name)[..] {
        "" => families::of_software(|file| device(roots, name).join(file).is_file()),
        driver => families::of_driver(driver),
    }
}

/// Firmware version of an RDMA device.
///
/// # Errors
/// A message that names the file.
pub(super) fn firmware(roots: &Roots, name: &str) -> Result<String, String> {
    value::text(&device(roots, name).join("fw_ver"))
}

/// Counters of a family that analyzers compare with the trace and that are not among a port's: a message for each.
pub(super) fn unread(family: &Family, port: &Path, counters: &Counters) -> Vec<String> {
    let compared = family.counters.iter().filter(|counter| matches!(counter.judged, Judged::As(_)));
    let missing = compared.filter_map(|counter| {
        let found = match counter.group {
            Group::Port => &counters.port_counters,
            Group::Hw => &counters.hw_counters,
            Group::Ethtool => &counters.ethtool_counters,
        };
        if found.contains_key(counter.name) {
            return None;
        }
        match counter.group {
            Group::Ethtool => Some(format!("{} is not among the counters of ethtool -S", counter.name)),
            group => value::number(&port.join(group.name()).join(counter.name)).err(),
        }
    });
    missing.collect()
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
    use std::os::unix::fs::symlink;

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

    /// A host with an RDMA device: its driver, and files of its folder.
    fn host(driver: Option<&str>, files: &[(&str, &[u8])]) -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots { sys: folder.path().to_owned(), ..Roots::default() };
        let rdma = device(&roots, "rdma0");
        for (file, text) in files {
            let path = rdma.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(&rdma).unwrap();
        if let Some(driver) = driver {
            let function = folder.path().join("devices/pci0000:00/0000:04:00.0");
            fs::create_dir_all(&function).unwrap();
            symlink(&function, rdma.join("device")).unwrap();
            symlink(Path::new("../../../bus/pci/drivers").join(driver), function.join("driver")).unwrap();
        }
        (folder, roots)
    }

    #[test]
    fn families_are_told_by_their_driver() {
        for (driver, file, expected) in [
            (Some("mlx5_core"), "fw_ver", Some("mlx5")),
            (Some("ice"), "fw_ver", Some("irdma")),
            (Some("bnxt_en"), "fw_ver", Some("bnxt_re")),
            (Some("qede"), "parent", None),
            (None, "parent", Some("rxe")),
            (None, "fw_ver", None),
        ] {
            let (_folder, roots) = host(driver, &[(file, b"eth0\n")]);
            assert_eq!(family(&roots, "rdma0").map(|family| family.name), expected, "{driver:?}");
            let function = if driver.is_some() { "0000:04:00.0" } else { "" };
            assert_eq!(names(&roots, "rdma0", 1, None).function, function);
            assert_eq!(super::driver(&roots, "rdma0"), driver.unwrap_or_default());
        }
        let (_folder, roots) = host(None, &[]);
        assert!(family(&roots, "rdma1").is_none());
    }

    #[test]
    fn firmware_is_a_version_or_a_message() {
        let (_folder, roots) = host(Some("mlx5_core"), &[("fw_ver", b"22.36.1010\n")]);
        assert_eq!(firmware(&roots, "rdma0").as_deref(), Ok("22.36.1010"));
        for text in [&b""[..], b"\xc3\x28", &[b'9'; 5000], b"22\x0736"] {
            let (_folder, roots) = host(Some("mlx5_core"), &[("fw_ver", text)]);
            assert!(firmware(&roots, "rdma0").unwrap_err().contains("rdma0/fw_ver: "), "{text:?}");
        }
        assert!(firmware(&roots, "rdma1").unwrap_err().contains("No such file"));
    }

    #[test]
    fn every_family_has_its_counters_or_says_which_it_has_not() {
        for (driver, missing, broken) in [
            (Some("mlx5_core"), "implied_nak_seq_err", "np_cnp_sent"),
            (Some("ice"), "cnpSent", "RxECNMrkd"),
            (Some("bnxt_en"), "tx_cnp_pkts", "dup_req"),
            (None, "sent_pkts", "rcvd_pkts"),
        ] {
            let (_folder, roots) = host(driver, &[("parent", b"eth0\n")]);
            let (family, port) = (family(&roots, "rdma0").unwrap(), port(&roots, "rdma0", 1));
            let in_files = family.counters.iter().filter(|counter| counter.group != Group::Ethtool);
            for counter in in_files {
                let path = port.join(counter.group.name()).join(counter.name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "7\n").unwrap();
            }
            let unread = || unread(family, &port, &CounterFiles::open(&port, None).1);
            assert_eq!(unread(), Vec::<String>::new());

            let hw = port.join("hw_counters");
            fs::remove_file(hw.join(missing)).unwrap();
            for text in [&b"N/A"[..], b"\xff", b"", &[b'1'; 3000]] {
                fs::write(hw.join(broken), text).unwrap();
                let mut told = unread();
                told.sort_by_key(|message| message.contains(broken));
                assert!(told.len() == 2 && told[0].contains(&format!("{missing}: No such file")), "{told:?}");
            }
            fs::remove_file(hw.join(broken)).unwrap();
            fs::create_dir(hw.join(broken)).unwrap();
            assert!(unread().iter().any(|message| message.contains("directory")));
        }
    }

    #[test]
    fn the_loopback_is_found_by_its_number() {
        assert_eq!(interface_name(1).as_deref(), Some("lo"));
        assert_eq!(interface_name(0), None);
    }
}
