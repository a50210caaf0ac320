//! Parts of an image from Debian: the kernel, its modules, and the userland.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::modules;
use crate::guests::apt::{Apt, Archives, Package, check_space};
use crate::guests::error::At as _;
use crate::guests::manifest::{Manifest, digest_of_bytes};
use crate::guests::store::replace;
use crate::guests::userland::{self, find, keep, lacks};
use crate::guests::{Event, GuestError, Kernel};

/// The kernel's file, and the folder of files that go into the initramfs.
pub(super) const VMLINUZ: &str = "vmlinuz";
pub(super) const ROOT: &str = "root";

/// Checksums of the choices of files, which parts of other choices differ in.
pub(super) fn choices() -> BTreeMap<String, String> {
    let modules = digest_of_bytes(modules::WANTED.join(" ").as_bytes());
    [("files", userland::digest(userland::VERBS_AND_TOOLS)), ("modules", modules)]
        .map(|(name, digest)| (name.to_owned(), digest))
        .into()
}

/// Fetches the parts for a kernel into `folder`, in place of its contents.
pub(super) fn fetch(
    kernel: &Kernel,
    mirror: Option<&str>,
    folder: &Path,
    tell: &dyn Fn(Event<'_>),
) -> Result<Manifest, GuestError> {
    let Some((series, version)) = kernel.of_debian() else {
        let why = "these guests run Debian's own kernels; a build of one runs with --testbed uml".to_owned();
        return Err(GuestError::Image { testbed: "vm", kernel: kernel.clone(), why });
    };
    let archives = Archives::of(mirror)?;
    replace(folder, |new| {
        let (work, tree) = (new.join("work"), new.join("tree"));
        let suite = |suite| Apt::of(suite, &archives, &work, tell);
        let userland = suite(userland::SUITE)?;
        let of_kernel = if series.suite() == userland::SUITE { None } else { Some(suite(series.suite())?) };
        let of_kernel = of_kernel.as_ref().unwrap_or(&userland);

        let metapackage = of_kernel.either(series.metapackages(), version)?;
        let linux = of_kernel.stands_for(&metapackage, "linux-image-")?;
        let release = linux.name.trim_start_matches("linux-image-").to_owned();
        if !series.has(&release) {
            let why = format!("{} has Linux {release} now, and {kernel} is wanted", series.suite());
            return Err(GuestError::Package { package: linux.name, why });
        }
        let packages = userland::packages(userland::VERBS_AND_TOOLS, &userland)?;
        check_space(new, packages.iter().chain([&linux]), 0)?;
        of_kernel.fetch(std::slice::from_ref(&linux), &work.join("kernel"), &tree, tell)?;
        userland.fetch(&packages, &work.join("userland"), &tree, tell)?;

        tell(Event::Step("choosing what guests need"));
        let root = new.join(ROOT);
        let mut files = userland::choose(userland::VERBS_AND_TOOLS, &tree, &root)?;
        files.extend(choose_modules(&tree, &root, &release)?);
        let mut files: Vec<String> = files.iter().map(|file| format!("{ROOT}/{file}")).collect();
        let vmlinuz = tree.join(format!("boot/vmlinuz-{release}"));
        fs::rename(&vmlinuz, new.join(VMLINUZ)).at("move", &vmlinuz)?;
        files.push(VMLINUZ.into());
        for folder in [&work, &tree] {
            fs::remove_dir_all(folder).at("remove", folder)?;
        }
        let packages = packages.into_iter().chain([linux]).map(Package::kept).collect();
        Manifest::of(new, kernel.clone(), release, packages, choices(), &files)
    })
}

/// Puts the modules of a release below `root`, with the order in which they are loaded; returns their paths in it.
fn choose_modules(tree: &Path, root: &Path, release: &str) -> Result<Vec<String>, GuestError> {
    let modules_of = format!("lib/modules/{release}");
    let folder = find(tree, &modules_of).ok_or_else(|| lacks("linux-image", &modules_of))?;
    let (mut kept, mut order) = (Vec::new(), String::new());
    for module in modules::in_load_order(&folder)? {
        let path = format!("modules/{}.ko", module.name);
        keep(root, &path, &module.code)?;
        kept.push(path);
        order += &format!("{}.ko\n", module.name);
    }
    keep(root, "modules/order", order.as_bytes())?;
    kept.push("modules/order".into());
    Ok(kept)
}
