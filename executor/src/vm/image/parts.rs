//! Parts of an image from Debian: the kernel, its modules, and the userland that brings up a soft-RoCE
//! device.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;

use super::apt::{Apt, Package, archive};
use super::manifest::Manifest;
use super::{Event, modules, replace};
use crate::vm::error::At as _;
use crate::vm::{Kernel, VmError};

/// The suite of the userland, with every kernel: its libraries are in the C library of this or any later
/// release.
const USERLAND_SUITE: &str = "bookworm";

/// Library folders of Debian.
const LIBRARIES: &str = "lib/x86_64-linux-gnu";

/// Packages of the userland, and the files of each that guests have.
const USERLAND: [(&str, &[&str]); 10] = [
    ("busybox-static", &["bin/busybox"]),
    ("iproute2", &["bin/rdma"]),
    ("libbsd0", &["lib/x86_64-linux-gnu/libbsd.so.0"]),
    ("libcap2", &["lib/x86_64-linux-gnu/libcap.so.2"]),
    ("libmd0", &["lib/x86_64-linux-gnu/libmd.so.0"]),
    ("libmnl0", &["lib/x86_64-linux-gnu/libmnl.so.0"]),
    ("libibverbs1", &["lib/x86_64-linux-gnu/libibverbs.so.1"]),
    ("ibverbs-providers", &["etc/libibverbs.d/rxe.driver"]),
    ("libnl-3-200", &["lib/x86_64-linux-gnu/libnl-3.so.200"]),
    ("libnl-route-3-200", &["lib/x86_64-linux-gnu/libnl-route-3.so.200"]),
];

/// Folder of libibverbs's providers, and name of the one of soft-RoCE: the number changes with the ABI.
const PROVIDERS: &str = "usr/lib/x86_64-linux-gnu/libibverbs";
const PROVIDER_PREFIX: &str = "librxe-rdmav";

/// The kernel's file, and the folder of files that go into the initramfs.
pub(super) const VMLINUZ: &str = "vmlinuz";
pub(super) const ROOT: &str = "root";

/// Bytes for lists of packages and the rest of apt's state.
const APT_STATE: u64 = 150 << 20;

/// Fetches the parts for a kernel into `folder`, in place of its contents.
pub(super) fn fetch(
    kernel: Kernel,
    mirror: Option<&str>,
    folder: &Path,
    tell: &dyn Fn(Event<'_>),
) -> Result<Manifest, VmError> {
    let archive = mirror.map_or_else(archive, |mirror| Ok(mirror.to_owned()))?;
    replace(folder, |new| {
        let (work, tree) = (new.join("work"), new.join("tree"));
        let suite = |suite| Apt::of(suite, &archive, &work, tell);
        let userland = suite(USERLAND_SUITE)?;
        let of_kernel = if kernel.suite() == USERLAND_SUITE { None } else { Some(suite(kernel.suite())?) };
        let of_kernel = of_kernel.as_ref().unwrap_or(&userland);

        let linux = of_kernel.stands_for("linux-image-amd64", "linux-image-")?;
        let release = linux.name.trim_start_matches("linux-image-").to_owned();
        if !kernel.has(&release) {
            let why = format!("{} has Linux {release} now, and {kernel} is wanted", kernel.suite());
            return Err(VmError::Package { package: linux.name, why });
        }
        let packages =
            USERLAND.iter().map(|(name, _)| userland.package(name)).collect::<Result<Vec<_>, _>>()?;
        check_space(new, packages.iter().chain([&linux]))?;
        of_kernel.fetch(std::slice::from_ref(&linux), &work.join("kernel"), &tree, tell)?;
        userland.fetch(&packages, &work.join("userland"), &tree, tell)?;

        tell(Event::Step("choosing what guests need"));
        let mut files = choose(&tree, &new.join(ROOT), &release)?;
        let vmlinuz = tree.join(format!("boot/vmlinuz-{release}"));
        fs::rename(&vmlinuz, new.join(VMLINUZ)).at("move", &vmlinuz)?;
        files.push(VMLINUZ.into());
        for folder in [&work, &tree] {
            fs::remove_dir_all(folder).at("remove", folder)?;
        }
        let packages = packages.into_iter().chain([linux]).map(Package::kept).collect();
        Manifest::of(new, kernel, release, packages, BTreeMap::new(), &files)
    })
}

/// Refuses a disk that cannot hold the packages and their contents.
fn check_space<'a>(folder: &Path, packages: impl Iterator<Item = &'a Package>) -> Result<(), VmError> {
    let needed = packages
        .map(|package| package.size.saturating_add(package.unpacked))
        .fold(APT_STATE, u64::saturating_add);
    let stat = statvfs(folder).map_err(std::io::Error::from).at("look at the room of", folder)?;
    let free = stat.blocks_available().saturating_mul(stat.fragment_size());
    if free < needed {
        return Err(VmError::Space { path: folder.to_owned(), free: free >> 20, needed: needed >> 20 });
    }
    Ok(())
}

/// Copies the guests' files out of the unpacked packages; returns their paths in the folder of the parts.
fn choose(tree: &Path, root: &Path, release: &str) -> Result<Vec<String>, VmError> {
    let mut kept = Vec::new();
    let mut keep = |path: &str, content: &[u8]| {
        let to = root.join(path);
        let folder = to.parent().unwrap_or(root);
        fs::create_dir_all(folder).at("make", folder)?;
        fs::write(&to, content).at("write", &to)?;
        kept.push(format!("{ROOT}/{path}"));
        Ok(())
    };
    for (package, files) in USERLAND {
        for file in files {
            let from = find(tree, file).ok_or_else(|| lacks(package, file))?;
            keep(file, &fs::read(&from).at("read", &from)?)?;
        }
    }
    let provider = provider(tree)?;
    let name = provider.file_name().unwrap_or_default().to_string_lossy().into_owned();
    keep(&format!("{PROVIDERS}/{name}"), &fs::read(&provider).at("read", &provider)?)?;

    let modules_of = format!("lib/modules/{release}");
    let folder = find(tree, &modules_of).ok_or_else(|| lacks("linux-image", &modules_of))?;
    let mut order = String::new();
    for module in modules::in_load_order(&folder)? {
        keep(&format!("modules/{}.ko", module.name), &module.code)?;
        order += &format!("{}.ko\n", module.name);
    }
    keep("modules/order", order.as_bytes())?;
    Ok(kept)
}

fn lacks(package: &str, file: &str) -> VmError {
    VmError::Package { package: package.into(), why: format!("it has no {file}") }
}

/// A file of a package, which has it either at the top or below `usr`.
fn find(tree: &Path, file: &str) -> Option<PathBuf> {
    ["", "usr"].into_iter().map(|top| tree.join(top).join(file)).find(|path| path.exists())
}

/// The provider of soft-RoCE.
fn provider(tree: &Path) -> Result<PathBuf, VmError> {
    let folder = format!("{LIBRARIES}/libibverbs");
    let found = find(tree, &folder).ok_or_else(|| lacks("ibverbs-providers", &folder))?;
    for entry in fs::read_dir(&found).at("list", &found)? {
        let path = entry.at("list", &found)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(PROVIDER_PREFIX) && name.ends_with(".so") {
            return Ok(path);
        }
    }
    Err(lacks("ibverbs-providers", &format!("{folder}/{PROVIDER_PREFIX}*.so")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_package_lacks_is_named() {
        let tree = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        let error = choose(tree.path(), root.path(), "6.1.0-50-amd64").unwrap_err();
        assert_eq!(error.to_string(), "package busybox-static: it has no bin/busybox");
    }

    #[test]
    fn files_are_found_on_both_sides_of_the_merge_of_usr() {
        let tree = tempfile::tempdir().unwrap();
        for file in ["bin/busybox", "usr/bin/rdma"] {
            fs::create_dir_all(tree.path().join(file).parent().unwrap()).unwrap();
            fs::write(tree.path().join(file), b"").unwrap();
        }
        assert_eq!(find(tree.path(), "bin/busybox"), Some(tree.path().join("bin/busybox")));
        assert_eq!(find(tree.path(), "bin/rdma"), Some(tree.path().join("usr/bin/rdma")));
        assert_eq!(find(tree.path(), "bin/sh"), None);
    }
}
