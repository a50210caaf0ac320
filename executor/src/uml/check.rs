//! Checks step by step that the testbed works on this machine.

use std::path::Path;
use std::time::Instant;

use corpus::TestConfig;

use super::{Cache, Site};
use crate::guests::checkup::{Checkup, Step, version};
use crate::guests::tool::{BC, BISON, FLEX, GCC, MAKE, SETARCH, SETPRIV, XZ};
use crate::guests::{AGENT, GuestError, Kernel, Outcome, Site as _, beside_this};

/// Goes through all that guests with these kernels need, the requester's first, and tells each step as it is done; whether
/// all are well.
pub fn check(cache: Option<&Path>, kernels: [Kernel; 2], tell: &mut dyn FnMut(&Step)) -> bool {
    let mut checkup = Checkup::new(tell);
    for tool in [SETPRIV, SETARCH, GCC, MAKE, FLEX, BISON, BC, XZ] {
        checkup.step(tool.program, || version(tool));
    }
    let cache = checkup.step("cache", || {
        let cache = Cache::open(cache)?;
        Ok((cache.folder().display().to_string(), cache))
    });
    let mut whole = cache.as_ref().map(drop);
    let both = if kernels[0] == kernels[1] { &kernels[..1] } else { &kernels[..] };
    for kernel in both {
        let image = checkup.needing(&format!("image of Linux {kernel}"), cache.as_ref(), |cache| {
            let image = cache.image(*kernel)?;
            let mut seen = format!("{}, whole", image.manifest.release);
            // Not wrong: --agent can have named another.
            if let Some(agent) = beside_this(AGENT).ok().filter(|agent| !image.has_agent(agent)) {
                let agent = agent.display();
                seen.push_str(&format!("; its agent is not {agent}, which testbed uml build would pack"));
            }
            Ok((seen, ()))
        });
        whole = whole.and(image);
    }
    let site = checkup.needing("guests", cache.zip(whole), |(cache, ())| {
        let started = Instant::now();
        let site = Site::start(&cache, kernels)?;
        let (took, now) = (started.elapsed().as_secs_f64(), site.now());
        Ok((format!("both agents answer after {took:.1} s, which are {now} of theirs"), site))
    });
    checkup.needing("test", site, |mut site| {
        let began = site.now();
        match site.run(&TestConfig::default()) {
            Outcome::Ran(observed) => {
                let packets = observed.trace.records().len();
                Ok((format!("{packets} packets between them in {} of their time", site.now() - began), ()))
            }
            Outcome::KernelTrouble(_) => Err(failed("its kernel is in trouble")),
            Outcome::Failed(failure) => Err(failed(&failure.error.to_string())),
        }
    });
    checkup.well
}

fn failed(why: &str) -> GuestError {
    GuestError::Guest { host: 1, why: why.to_owned(), said: String::new() }
}
