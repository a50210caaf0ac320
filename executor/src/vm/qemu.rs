//! QEMU: whether it is there, how fast it is, and how a guest is asked of it.

use std::path::Path;

use super::accelerator::Accelerator;
use super::cable::Cable;
use super::{Image, kvm};
use crate::guests::tool::QEMU;
use crate::guests::{ADDRESSES, GuestError};

/// The first version whose NICs can be datagram sockets.
const OLDEST: (u32, u32) = (7, 2);

/// Memory of a guest, in MB.
const MEMORY: u32 = 256;

/// MTU of the guests' NICs: RoCE's largest, 4096, with its headers.
const MTU: u32 = 4200;

/// The network of the control NIC, which ends in QEMU, and the guest's address there.
const CONTROL_NET: &str = "192.168.76.0/24";
const CONTROL: &str = "192.168.76.15";

/// The port that the agent listens on in a guest.
const AGENT_PORT: u16 = 7471;

/// This machine's QEMU.
#[derive(Clone, Debug)]
pub struct Qemu {
    /// Its version.
    pub version: String,
    /// Accelerator that runs the guests.
    pub accelerator: Accelerator,
    /// Reason for an accelerator other than KVM.
    pub without_kvm: Option<String>,
}

impl Qemu {
    /// This machine's QEMU, with KVM if that boots the image's kernel.
    ///
    /// # Errors
    /// QEMU is not there, or too old.
    pub fn find(image: &Image) -> Result<Self, GuestError> {
        let version = Self::version()?;
        let without_kvm = kvm::works(&version, image).err();
        let accelerator = if without_kvm.is_none() { Accelerator::Kvm } else { Accelerator::Tcg };
        Ok(Self { version, accelerator, without_kvm })
    }

    /// The version of this machine's QEMU.
    ///
    /// # Errors
    /// QEMU is not there, or too old.
    pub fn version() -> Result<String, GuestError> {
        let said = QEMU.run("asking QEMU for its version", QEMU.command().arg("--version"))?;
        let too_old = |version: &str| GuestError::Tool {
            doing: "looking for QEMU".into(),
            program: QEMU.program.into(),
            said: format!("it is {version}; guests need {}.{} or newer", OLDEST.0, OLDEST.1),
        };
        let version = version(&said).ok_or_else(|| too_old("of an unknown version"))?;
        let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        if (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < OLDEST {
            return Err(too_old(version));
        }
        Ok(version.to_owned())
    }

    /// Arguments that the guest's state depends on: all but the places of its sockets. A snapshot fits the
    /// same arguments.
    pub(super) fn fixed_arguments(&self, image: &Image, host: u8) -> Vec<String> {
        let peer = 3 - host;
        // A panicked guest restarts after a second, which ends QEMU: its console is read to the end. On a busy machine
        // the kernel's check of the timer finds that the emulated one does not tick, and gives up.
        let kernel = format!(
            "console=ttyS0 quiet no_timer_check panic=1 lumina.host={host} lumina.peer={peer} lumina.addresses={ADDRESSES} \
             lumina.mtu={MTU} lumina.control={CONTROL}/24"
        );
        let mut arguments: Vec<String> =
            ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"].map(Into::into).into();
        let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        option("-accel", self.accelerator.option().into());
        option("-cpu", self.accelerator.processor().into());
        option("-m", MEMORY.to_string());
        option("-kernel", image.vmlinuz().display().to_string());
        option("-initrd", image.initramfs().display().to_string());
        option("-append", kernel);
        option("-chardev", "stdio,id=console,signal=off".into());
        option("-serial", "chardev:console".into());
        option("-device", format!("virtio-net-pci,netdev=data,mac=52:54:00:00:00:0{host},romfile="));
        option("-device", format!("virtio-net-pci,netdev=control,mac=52:54:00:00:01:0{host},romfile="));
        option(
            "-netdev",
            format!(
                "user,id=control,net={CONTROL_NET},dhcpstart={CONTROL},restrict=on,\
                 hostfwd=tcp:127.0.0.1:0-:{AGENT_PORT}"
            ),
        );
        arguments
    }
}

/// Arguments that differ from one start of a guest to the next: its sockets, and the snapshot that it starts
/// from.
pub(super) fn arguments_of_start(cable: &Cable, monitor: &Path, snapshot: Option<&Path>) -> Vec<String> {
    let netdev = match cable {
        Cable::Sockets { local, remote } => format!(
            "dgram,id=data,local.type=unix,local.path={},remote.type=unix,remote.path={}",
            escaped(local),
            escaped(remote)
        ),
        // Without offloads, which sockets have not either: a snapshot fits both.
        Cable::Tap(name) => format!("tap,id=data,ifname={name},script=no,downscript=no,vnet_hdr=off"),
    };
    let mut arguments = vec![
        "-netdev".to_owned(),
        netdev,
        "-qmp".to_owned(),
        format!("unix:{},server=on,wait=off", escaped(monitor)),
    ];
    if let Some(snapshot) = snapshot {
        let quoted = snapshot.display().to_string().replace('\'', r"'\''");
        arguments.extend(["-incoming".to_owned(), format!("exec:cat '{quoted}'")]);
    }
    arguments
}

/// A path in a list of options, where a comma is written twice.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// The version in the output of `--version`.
fn version(said: &str) -> Option<&str> {
    said.lines().next()?.strip_prefix("QEMU emulator version ")?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg)\nCopyright"), Some("7.2.22"));
        assert_eq!(version("qemu: no"), None);
        assert_eq!(version(""), None);
    }

    #[test]
    fn paths_keep_their_commas_and_apostrophes() {
        let at = Path::new;
        let cable = Cable::Sockets { local: at("/t/a,b").into(), remote: at("/t/c").into() };
        let arguments = arguments_of_start(&cable, at("/t/m"), Some(at("/t/it's")));
        assert_eq!(
            arguments,
            [
                "-netdev",
                "dgram,id=data,local.type=unix,local.path=/t/a,,b,remote.type=unix,remote.path=/t/c",
                "-qmp",
                "unix:/t/m,server=on,wait=off",
                "-incoming",
                r"exec:cat '/t/it'\''s'",
            ]
        );
    }
}
