//! The NICs that the paper measured.

use std::fmt;
use std::path::Path;

use executor::{NicProfile, profile};

/// The NICs of an experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nics {
    /// The requester's.
    pub requester: &'static str,
    /// The responder's.
    pub responder: &'static str,
}

impl Nics {
    /// The same one at both hosts.
    pub const fn both(nic: &'static str) -> Self {
        Self { requester: nic, responder: nic }
    }
}

impl fmt::Display for Nics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.requester == self.responder {
            f.pad(self.requester)
        } else {
            f.pad(&format!("{} -> {}", self.requester, self.responder))
        }
    }
}

pub(super) const CX4: Nics = Nics::both("cx4-lx");
pub(super) const CX5: Nics = Nics::both("cx5");
pub(super) const CX6: Nics = Nics::both("cx6-dx");
pub(super) const E810: Nics = Nics::both("e810");

/// A model that is shipped.
pub(super) fn shipped(name: &str) -> NicProfile {
    profile::load(name, Path::new("")).expect("a shipped profile is read by its tests")
}
