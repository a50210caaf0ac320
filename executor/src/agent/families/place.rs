//! Places of settings: paths with the names of a device in them.

use super::super::roots::Root;

/// Priorities of Ethernet (IEEE 802.1Q), each of which may have a switch of its own.
const PRIORITIES: u8 = 8;

/// Longest name of a device that a path takes: RDMA devices have at most 63 bytes (`IB_DEVICE_NAME_MAX`,
/// include/rdma/ib_verbs.h), network devices 15 (`IFNAMSIZ`), PCI functions 12.
const MAX_NAME: usize = 63;

/// Where a setting is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The file system that has it.
    pub root: Root,
    /// Path below it. `{device}` is the RDMA device, `{port}` its port, `{function}` the device of the bus below, `{netdev}` the
    /// network device, `{priority}` each priority of Ethernet.
    pub path: &'static str,
    /// How the driver reads numbers.
    pub radix: Radix,
    /// File beside it by which a changed value takes effect: 1 is written to it.
    pub apply: Option<&'static str>,
    /// Source file of the kernel that defines it, or the driver out of tree.
    pub source: &'static str,
}

/// How a driver reads numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radix {
    /// `10`
    Decimal,
    /// `0xa`
    Hexadecimal,
}

impl Radix {
    /// A number as the driver reads it.
    pub(in super::super) fn written(self, number: u32) -> String {
        match self {
            Self::Decimal => number.to_string(),
            Self::Hexadecimal => format!("{number:#x}"),
        }
    }
}

/// Names of a port of an RDMA device.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Names {
    pub(in super::super) device: String,
    pub(in super::super) port: u8,
    /// Device of the bus below, such as a PCI function; empty for a device of software.
    pub(in super::super) function: String,
    /// Empty where there is none.
    pub(in super::super) netdev: String,
}

impl Place {
    /// The paths of a port below the root; none where the port lacks a name that they have.
    pub(in super::super) fn paths(&self, names: &Names) -> Vec<String> {
        let mut path = self.path.to_owned();
        let known = [
            ("{device}", &names.device),
            ("{function}", &names.function),
            ("{netdev}", &names.netdev),
            ("{port}", &names.port.to_string()),
        ];
        for (part, name) in known {
            if path.contains(part) {
                if !is_name(name) {
                    return Vec::new();
                }
                path = path.replace(part, name);
            }
        }
        if !path.contains("{priority}") {
            return vec![path];
        }
        (0..PRIORITIES).map(|priority| path.replace("{priority}", &priority.to_string())).collect()
    }

    /// Returns true if a path is one that some port has.
    pub(in super::super) fn has(&self, path: &str) -> bool {
        let (mut parts, mut names) = (self.path.split('/'), path.split('/'));
        let matches = parts.by_ref().zip(names.by_ref()).all(|(part, name)| match part {
            "{priority}" => (0..PRIORITIES).any(|priority| name == priority.to_string()),
            "{port}" => name.parse::<u8>().is_ok_and(|port| port > 0 && port.to_string() == name),
            part if part.starts_with('{') => is_name(name),
            part => part == name,
        });
        matches && self.path.split('/').count() == path.split('/').count()
    }
}

/// Returns true for the name of a device, which is one part of a path.
fn is_name(name: &str) -> bool {
    let is_graphic = name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    (1..=MAX_NAME).contains(&name.len()) && is_graphic && name != "." && name != ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place {
        root: Root::Sys,
        path: "class/net/{netdev}/enable/{priority}",
        radix: Radix::Hexadecimal,
        apply: None,
        source: "",
    };

    #[test]
    fn a_place_has_the_paths_of_ports_and_no_others() {
        let names = Names { netdev: "enp4s0f0np0".into(), ..Names::default() };
        let paths = PLACE.paths(&names);
        assert_eq!((paths.len(), &paths[7][..]), (8, "class/net/enp4s0f0np0/enable/7"));
        assert!(paths.iter().all(|path| PLACE.has(path)));
        let long = format!("class/net/{}/enable/7", "x".repeat(64));
        for path in [
            "",
            "/etc/passwd",
            "class/net/eth0/enable/8",
            "class/net/eth0/enable/07",
            "class/net/../enable/1",
            "class/net/./enable/1",
            "class/net//enable/1",
            "class/net/a b/enable/1",
            "class/net/eth0/enable/1/",
            "class/net/eth0/enable/1/..",
            "class/net/eth0/enable",
            "../class/net/eth0/enable/1",
            &long,
        ] {
            assert!(!PLACE.has(path), "{path}");
        }
        for netdev in ["", "..", "a/b"] {
            assert!(PLACE.paths(&Names { netdev: netdev.into(), ..Names::default() }).is_empty());
        }
        let port = Place { path: "{device}/ports/{port}/cc", ..PLACE };
        assert!(
            port.has("bnxt_re0/ports/1/cc") && !port.has("bnxt_re0/ports/0/cc") && !port.has("a/ports/+1/cc")
        );
    }

    #[test]
    fn numbers_are_written_as_drivers_read_them() {
        assert_eq!(
            (Radix::Decimal.written(50), Radix::Hexadecimal.written(50)),
            ("50".into(), "0x32".into())
        );
    }
}
