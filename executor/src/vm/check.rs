//! Checks step by step that the testbed works on this machine.

use std::path::Path;
use std::time::Instant;

use super::switch::{Between as _, SoftwareSwitch};
use super::{Cache, Pair, Qemu, Start, Wiring};
use crate::guests::checkup::{Checkup, Step, version, whole};
use crate::guests::tool::{APT_GET, SETPRIV};
use crate::guests::{GuestError, Kernel, RunFolder};

/// Goes through all that a pair of guests with these kernels needs, the requester's first, and tells each step as it is
/// done; whether all are well.
pub fn check(cache: Option<&Path>, kernels: &[Kernel; 2], tell: &mut dyn FnMut(&Step)) -> bool {
    let mut checkup = Checkup::new(tell);
    let version_of_qemu = checkup.step("QEMU", || Qemu::version().map(|version| (version, ())));
    checkup.step("setpriv", || version(SETPRIV));
    // Without it, images that are there already still work.
    checkup.step("apt", || version(APT_GET));
    let cache = checkup.step("cache", || {
        let cache = Cache::open(cache)?;
        Ok((cache.folder().display().to_string(), cache))
    });
    let mut images = [None, None];
    for (at, kernel) in kernels.iter().enumerate() {
        if at == 1 && kernels[0] == *kernel {
            images[1] = images[0].clone();
            continue;
        }
        let name = format!("image of Linux {kernel}");
        images[at] = checkup.needing(&name, cache.as_ref(), |cache| {
            let image = cache.image(kernel)?;
            Ok((whole(&image.manifest, "vm"), image))
        });
    }
    let [of_requester, of_responder] = images;
    let qemu = checkup.needing("accelerator", version_of_qemu.and(of_requester.as_ref()), |image| {
        let qemu = Qemu::find(image)?;
        let name = qemu.accelerator.name();
        let seen = match &qemu.without_kvm {
            Some(defect) => format!("{name}, several times slower than KVM ({defect})"),
            None => name.to_owned(),
        };
        Ok((seen, qemu))
    });
    let switch = checkup.step("switch", || {
        let folder = RunFolder::make()?;
        let switch = SoftwareSwitch::start(&folder)?;
        Ok((format!("listens at {}", switch.address), (switch, folder)))
    });
    let ready = qemu.zip(of_requester.zip(of_responder)).zip(switch);
    let pair = checkup.needing("guests", ready, |((qemu, images), (switch, folder))| {
        let started = Instant::now();
        let pair = Pair::start(&qemu, [&images.0, &images.1], &folder, &Wiring::Switch)?;
        let how = match (pair.requester.start_kind(), pair.responder.start_kind()) {
            (Start::Restored, Start::Restored) => "from snapshots",
            (Start::Booted, Start::Booted) => "booted",
            _ => "one booted, one from a snapshot",
        };
        Ok((
            format!("both agents answer after {:.1} s ({how})", started.elapsed().as_secs_f64()),
            (pair, switch, folder),
        ))
    });
    checkup.needing("ping", pair, |(mut pair, _switch, _folder)| {
        for (guest, host) in [(&mut pair.requester, 1), (&mut pair.responder, 2)] {
            if !guest.ping()? {
                let why = "its pings are not answered".to_owned();
                return Err(GuestError::Guest { host, why, said: guest.console().tail(12) });
            }
            if let Some(trouble) = guest.console().troubles().first() {
                return Err(GuestError::Guest {
                    host,
                    why: "its kernel is in trouble".into(),
                    said: trouble.headline.clone(),
                });
            }
        }
        Ok(("each guest answers the other, through the switch".into(), ()))
    });
    checkup.well
}
