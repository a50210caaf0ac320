//! Checks step by step that the testbed works on this machine.

use std::path::Path;
use std::time::Instant;

use corpus::TestConfig;

use super::{Cache, Site};
use crate::guests::checkup::{Checkup, Step, version, whole};
use crate::guests::tool::{BC, BISON, FLEX, GCC, MAKE, SETARCH, SETPRIV, XZ};
use crate::guests::{GuestError, Kernel, Outcome, Site as _};

/// Goes through all that guests with these kernels need, the requester's first, and tells each step as it is done; whether
/// all are well.
pub fn check(cache: Option<&Path>, kernels: &[Kernel; 2], tell: &mut dyn FnMut(&Step)) -> bool {
    let mut checkup = Checkup::new(tell);
    for tool in [SETPRIV, SETARCH, GCC, MAKE, FLEX, BISON, BC, XZ] {
        checkup.step(tool.program, || version(tool));
    }
    let cache = checkup.step("cache", || {
        let cache = Cache::open(cache)?;
        Ok((cache.folder().display().to_string(), cache))
    });
    let mut all = cache.as_ref().map(drop);
    let both = if kernels[0] == kernels[1] { &kernels[..1] } else { &kernels[..] };
    for kernel in both {
        let image = checkup.needing(&format!("image of Linux {kernel}"), cache.as_ref(), |cache| {
            let image = cache.image(kernel)?;
            Ok((whole(&image.manifest, "uml"), ()))
        });
        all = all.and(image);
    }
    checkup.needing("test", cache.zip(all), |(cache, ())| {
        let started = Instant::now();
        let mut site = Site::find(&cache, kernels)?;
        match site.run(&TestConfig::default()) {
            Outcome::Ran(observed) => {
                let (packets, took) = (observed.trace.records().len(), started.elapsed().as_secs_f64());
                Ok((format!("{packets} packets between two guests, in {took:.1} s with their boot"), ()))
            }
            Outcome::KernelTrouble(_) => Err(failed("a kernel is in trouble", &site)),
            Outcome::Failed(failure) => Err(failed(&failure.error.to_string(), &site)),
        }
    });
    checkup.well
}

/// The test failed; with the last lines of the requester's console.
fn failed(why: &str, site: &Site) -> GuestError {
    let [said, _] = site.consoles();
    let said = said[said.len().saturating_sub(12)..].join("\n");
    GuestError::Guest { host: 1, why: why.to_owned(), said }
}
