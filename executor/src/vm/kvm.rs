//! A trial of KVM. The presence of /dev/kvm does not prove that it works: on some hosts QEMU dies when the machine first
//! runs, on others the guest's kernel never gets anywhere.

use std::fs::{self, OpenOptions};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Image;
use super::accelerator::Accelerator;
use crate::guests::Console;
use crate::guests::child::Child;
use crate::guests::tool::QEMU;

/// Longest boot of a kernel under KVM, which takes a second on an idle machine.
const BOOT: Duration = Duration::from_secs(30);

/// End of a boot without a root file system.
const BOOTED: &str = "Kernel panic - not syncing: VFS";

/// Result of a trial, which holds until the machine boots again.
#[derive(Serialize, Deserialize)]
struct Verdict {
    /// The machine's boot, by the kernel's number of it.
    boot: String,
    qemu: String,
    /// Defect of KVM.
    defect: Option<String>,
}

/// Checks that this machine's KVM runs an image's kernel. The result is kept beside the image's snapshots.
///
/// # Errors
/// Its defect.
pub(super) fn works(qemu: &str, image: &Image) -> Result<(), String> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/kvm")
        .map_err(|error| format!("/dev/kvm: {error}"))?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
    let kept = image.snapshots.join("kvm.json");
    let known = fs::read(&kept).ok().and_then(|bytes| serde_json::from_slice::<Verdict>(&bytes).ok());
    if let Some(known) = known.filter(|known| known.boot == boot && known.qemu == qemu) {
        return known.defect.map_or(Ok(()), Err);
    }
    let defect = try_boot(image, BOOT).err();
    let verdict = Verdict { boot, qemu: qemu.to_owned(), defect };
    // If it cannot be kept, the next start tries again.
    let _ = fs::create_dir_all(&image.snapshots)
        .and_then(|()| fs::write(&kept, serde_json::to_vec(&verdict).unwrap_or_default()));
    verdict.defect.map_or(Ok(()), Err)
}

/// Boots the kernel alone, up to its panic for lack of a root file system.
fn try_boot(image: &Image, limit: Duration) -> Result<(), String> {
    let kvm = Accelerator::Kvm;
    let kernel = image.vmlinuz().display().to_string();
    let arguments = [
        ["-accel", kvm.option()],
        ["-cpu", kvm.processor()],
        ["-display", "none"],
        ["-kernel", &kernel],
        ["-append", "console=ttyS0 no_timer_check panic=-1"],
        ["-serial", "stdio"],
    ];
    let arguments = ["-nodefaults", "-no-reboot"].into_iter().chain(arguments.into_iter().flatten());
    let (child, _stdin, stdout) =
        Child::spawn(QEMU.program, arguments.map(Into::into).collect()).map_err(|error| error.to_string())?;
    let booted = |line: &str| line.contains(BOOTED).then_some(());
    if Console::of(stdout).wait_for(0, limit, booted).is_some() {
        return Ok(());
    }
    if child.ended().is_none() && !child.wait(Duration::from_millis(200)) {
        return Err(format!("a kernel does not boot with it in {} s", limit.as_secs()));
    }
    let said = child.stderr();
    Err(said.lines().find(|line| line.contains("error")).unwrap_or("QEMU ends with it").to_owned())
}
