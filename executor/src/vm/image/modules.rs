//! Kernel modules, in the order in which they have to be loaded.
//!
//! Debian's packages come without `modules.dep`, which is made when one is installed: the dependencies of a
//! module are read from the module itself (`depends=` in its section `.modinfo`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use lzma_rust2::XzReader;
use object::{Object as _, ObjectSection as _};

use crate::guests::GuestError;
use crate::guests::error::At as _;

/// Modules that a guest needs: its NICs, RDMA for programs, soft-RoCE; and those of flow tables: the qdisc `clsact`, a classifier and
/// an action. `rdma_rxe` of 6.1 requests the checksum when a device is added, and names it nowhere: without `crc32_generic`
/// that fails with ENOENT.
pub(super) const WANTED: [&str; 8] = [
    "crc32_generic",
    "virtio_pci",
    "virtio_net",
    "ib_uverbs",
    "rdma_rxe",
    "sch_ingress",
    "cls_flower",
    "act_gact",
];

/// Bytes that a module may have, unpacked.
const LARGEST: u64 = 64 << 20;

/// A module, ready for `insmod`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Module {
    /// Its name, without `.ko`.
    pub(super) name: String,
    /// Its code, unpacked.
    pub(super) code: Vec<u8>,
}

/// The modules that a guest loads, each after those that it needs. `folder` is the release's folder in `lib/modules`.
pub(super) fn in_load_order(folder: &Path) -> Result<Vec<Module>, GuestError> {
    let files = files(&folder.join("kernel"))?;
    let builtin_list = folder.join("modules.builtin");
    let builtin = fs::read_to_string(&builtin_list).at("read", &builtin_list)?;
    let builtin: BTreeSet<String> = builtin.lines().map(|line| name(Path::new(line))).collect();
    let mut read = |wanted: &str| {
        if builtin.contains(wanted) {
            return Ok::<_, GuestError>(None);
        }
        let missing = || GuestError::Package {
            package: "linux-image".into(),
            why: format!("it has no module {wanted}"),
        };
        let path = files.get(wanted).ok_or_else(missing)?;
        let code = unpacked(path)?;
        let depends = depends(&code).map_err(|why| GuestError::Package {
            package: "linux-image".into(),
            why: format!("module {wanted} cannot be read: {why}"),
        })?;
        Ok(Some((code, depends)))
    };
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    for wanted in WANTED {
        visit(wanted, &mut read, &mut seen, &mut order)?;
    }
    Ok(order)
}

/// Puts a module behind those that it needs. `read` gives its code and their names, or none if the kernel has
/// it built in.
fn visit<E>(
    name: &str,
    read: &mut impl FnMut(&str) -> Result<Option<(Vec<u8>, Vec<String>)>, E>,
    seen: &mut BTreeSet<String>,
    order: &mut Vec<Module>,
) -> Result<(), E> {
    if !seen.insert(name.to_owned()) {
        return Ok(());
    }
    let Some((code, depends)) = read(name)? else { return Ok(()) };
    for needed in depends {
        visit(&needed, read, seen, order)?;
    }
    order.push(Module { name: name.to_owned(), code });
    Ok(())
}

/// Every module below a folder, by name.
fn files(folder: &Path) -> Result<BTreeMap<String, PathBuf>, GuestError> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).at("list", &folder)? {
            let entry = entry.at("list", &folder)?;
            let path = entry.path();
            if entry.file_type().at("look at", &path)?.is_dir() {
                folders.push(path);
            } else {
                found.insert(name(&path), path);
            }
        }
    }
    Ok(found)
}

/// The name of a module's file. The kernel takes `-` and `_` for the same.
fn name(path: &Path) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    file.split(".ko").next().unwrap_or_default().replace('-', "_")
}

/// The code of a module, which newer Debian kernels pack with xz.
fn unpacked(path: &Path) -> Result<Vec<u8>, GuestError> {
    let file = fs::File::open(path).at("open", path)?;
    let mut code = Vec::new();
    if path.extension().is_some_and(|extension| extension == "xz") {
        XzReader::new(file, true).take(LARGEST).read_to_end(&mut code).at("unpack", path)?;
    } else {
        file.take(LARGEST).read_to_end(&mut code).at("read", path)?;
    }
    Ok(code)
}

/// Names of the modules that a module needs.
fn depends(code: &[u8]) -> Result<Vec<String>, String> {
    let file = object::File::parse(code).map_err(|error| error.to_string())?;
    let section = file.section_by_name(".modinfo").ok_or("it has no section .modinfo")?;
    let info = section.data().map_err(|error| error.to_string())?;
    let info = String::from_utf8_lossy(info);
    let depends = info.split('\0').find_map(|line| line.strip_prefix("depends=")).unwrap_or_default();
    Ok(depends.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dependencies of each module; those of `b` are unknown.
    fn order_of(wanted: &[&str], depends: &[(&str, &[&str])]) -> Result<Vec<String>, String> {
        let mut read = |name: &str| -> Result<_, String> {
            if name == "builtin" {
                return Ok(None);
            }
            let found = depends.iter().find(|(module, _)| *module == name).ok_or_else(|| name.to_owned())?;
            Ok(Some((Vec::new(), found.1.iter().map(ToString::to_string).collect())))
        };
        let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
        for name in wanted {
            visit(name, &mut read, &mut seen, &mut order)?;
        }
        Ok(order.into_iter().map(|module| module.name).collect())
    }

    #[test]
    fn each_module_follows_what_it_needs_once() {
        let order = order_of(
            &["net", "rxe"],
            &[
                ("net", &["ring", "builtin"]),
                ("ring", &[]),
                ("rxe", &["core", "tunnel"]),
                ("core", &["ring"]),
                ("tunnel", &[]),
            ],
        );
        assert_eq!(order.unwrap(), ["ring", "net", "core", "tunnel", "rxe"]);
    }

    #[test]
    fn modules_that_need_each_other_come_to_an_end() {
        assert_eq!(order_of(&["a"], &[("a", &["b"]), ("b", &["a"])]).unwrap(), ["b", "a"]);
    }

    #[test]
    fn a_module_that_is_nowhere_is_named() {
        assert_eq!(order_of(&["a"], &[("a", &["gone"])]).unwrap_err(), "gone");
    }

    #[test]
    fn names_are_those_of_the_kernel() {
        assert_eq!(name(Path::new("kernel/net/ipv6/ip6-udp-tunnel.ko.xz")), "ip6_udp_tunnel");
        assert_eq!(name(Path::new("rdma_rxe.ko")), "rdma_rxe");
    }

    #[test]
    fn what_is_no_module_is_refused() {
        assert!(depends(b"").is_err());
        assert!(depends(b"\x7fELF and nothing behind it").is_err());
    }
}
