//! The userland of guests: the files of Debian's packages that bring up a soft-RoCE device.

use std::fs;
use std::path::{Path, PathBuf};

use super::GuestError;
use super::apt::{Apt, Package};
use super::error::At as _;
use super::manifest::digest_of_bytes;

/// The suite of the userland, with every kernel: its libraries are in the C library of this or any later
/// release.
pub(crate) const SUITE: &str = "bookworm";

/// Library folders of Debian.
const LIBRARIES: &str = "lib/x86_64-linux-gnu";

/// Packages, and the files of each that guests have.
type Files = &'static [(&'static str, &'static [&'static str])];

/// Verbs, of soft-RoCE.
pub(crate) const VERBS: Files = &[
    ("libibverbs1", &["lib/x86_64-linux-gnu/libibverbs.so.1"]),
    ("ibverbs-providers", &["etc/libibverbs.d/rxe.driver"]),
    ("libnl-3-200", &["lib/x86_64-linux-gnu/libnl-3.so.200"]),
    ("libnl-route-3-200", &["lib/x86_64-linux-gnu/libnl-route-3.so.200"]),
];

/// Verbs, and the programs by which a script sets a guest up.
pub(crate) const VERBS_AND_TOOLS: Files = &[
    ("busybox-static", &["bin/busybox"]),
    ("iproute2", &["bin/rdma", "sbin/tc"]),
    ("libbpf1", &["lib/x86_64-linux-gnu/libbpf.so.1"]),
    ("libbsd0", &["lib/x86_64-linux-gnu/libbsd.so.0"]),
    ("libcap2", &["lib/x86_64-linux-gnu/libcap.so.2"]),
    ("libelf1", &["lib/x86_64-linux-gnu/libelf.so.1"]),
    ("libmd0", &["lib/x86_64-linux-gnu/libmd.so.0"]),
    ("libmnl0", &["lib/x86_64-linux-gnu/libmnl.so.0"]),
    ("libxtables12", &["lib/x86_64-linux-gnu/libxtables.so.12"]),
    ("zlib1g", &["lib/x86_64-linux-gnu/libz.so.1"]),
    VERBS[0],
    VERBS[1],
    VERBS[2],
    VERBS[3],
];

/// Folder of libibverbs's providers, and name of the one of soft-RoCE: the number changes with the ABI.
const PROVIDERS: &str = "usr/lib/x86_64-linux-gnu/libibverbs";
const PROVIDER_PREFIX: &str = "librxe-rdmav";

/// Checksum of the choice, which an image of another choice differs in.
pub(crate) fn digest(files: Files) -> String {
    digest_of_bytes(format!("{files:?}").as_bytes())
}

/// The packages.
pub(crate) fn packages(files: Files, apt: &Apt) -> Result<Vec<Package>, GuestError> {
    files.iter().map(|(name, _)| apt.package(name)).collect()
}

/// Puts the guests' files, from the unpacked packages in `tree`, below `root`; returns their paths in it.
pub(crate) fn choose(files: Files, tree: &Path, root: &Path) -> Result<Vec<String>, GuestError> {
    let mut kept = Vec::new();
    let mut copy = |path: &str, from: &Path| {
        keep(root, path, &fs::read(from).at("read", from)?)?;
        kept.push(path.to_owned());
        Ok::<_, GuestError>(())
    };
    for (package, files) in files {
        for file in *files {
            copy(file, &find(tree, file).ok_or_else(|| lacks(package, file))?)?;
        }
    }
    let provider = provider(tree)?;
    let name = provider.file_name().unwrap_or_default().to_string_lossy().into_owned();
    copy(&format!("{PROVIDERS}/{name}"), &provider)?;
    Ok(kept)
}

/// Writes a file below a folder.
pub(crate) fn keep(root: &Path, path: &str, content: &[u8]) -> Result<(), GuestError> {
    let to = root.join(path);
    let folder = to.parent().unwrap_or(root);
    fs::create_dir_all(folder).at("make", folder)?;
    fs::write(&to, content).at("write", &to)
}

/// Error of a package that has not a file.
pub(crate) fn lacks(package: &str, file: &str) -> GuestError {
    GuestError::Package { package: package.into(), why: format!("it has no {file}") }
}

/// A file of a package, which has it either at the top or below `usr`.
pub(crate) fn find(tree: &Path, file: &str) -> Option<PathBuf> {
    ["", "usr"].into_iter().map(|top| tree.join(top).join(file)).find(|path| path.exists())
}

/// The provider of soft-RoCE.
fn provider(tree: &Path) -> Result<PathBuf, GuestError> {
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
        let error = choose(VERBS_AND_TOOLS, tree.path(), root.path()).unwrap_err();
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
