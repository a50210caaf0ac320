//! The accelerator of the guests, where KVM is offered and does not work.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use executor::vm::Cache;

use super::run::{command, ran};

/// A QEMU whose guests hang under KVM, as they do on some hosts that offer it.
const HANGS_WITH_KVM: &str = r#"#!/bin/sh
PATH=${PATH#*:}
case " $* " in *" -accel kvm"*) exec sleep 1000 ;; esac
exec qemu-system-x86_64 "$@"
"#;

/// The image of Linux 6.1 in a cache of its own: the result of the trial is kept beside it.
fn copied(cache: &Path) {
    let image = Path::new("vm/6.1/image");
    let from = Cache::open(None).unwrap().folder().join(image.strip_prefix("vm").unwrap());
    let to = cache.join("lumina-fuzz").join(image);
    fs::create_dir_all(&to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[test]
fn guests_whose_kernel_hangs_under_kvm_run_under_tcg() {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join("bin");
    fs::create_dir(&programs).unwrap();
    let qemu = programs.join("qemu-system-x86_64");
    fs::write(&qemu, HANGS_WITH_KVM).unwrap();
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
    copied(folder.path());

    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let checked = ran(command()
        .args(["testbed", "vm", "check", "--requester-kernel", "6.1", "--responder-kernel", "6.1"])
        .env("PATH", path)
        .env("XDG_CACHE_HOME", folder.path())
        .env("XDG_RUNTIME_DIR", folder.path()));
    let defect =
        if Path::new("/dev/kvm").exists() { "a kernel does not boot with it in 30 s" } else { "/dev/kvm" };
    let accelerator = checked.stdout.lines().find(|line| line.contains("accelerator")).unwrap_or_default();
    assert!(
        accelerator.contains("TCG") && accelerator.contains(defect),
        "{}{}",
        checked.stdout,
        checked.stderr
    );
    assert!(checked.stdout.contains("each guest answers the other"), "{}{}", checked.stdout, checked.stderr);
}
