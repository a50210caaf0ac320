//! Meaning of the `nic` of a host: the model of a NIC, or a guest that runs a real stack.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::guests::Kernel;
use crate::profile::{self, NicProfile, ProfileError};

/// NIC of a host in a test.
#[derive(Debug, Clone, PartialEq)]
pub enum Nic {
    /// A simulated NIC.
    Model(Box<NicProfile>),
    /// `rdma_rxe` in a guest with this kernel.
    Guest(Kernel),
}

/// Names of guests in tests: this, and their kernel.
const GUEST: &str = "rxe-";

/// The text that stands for a guest where a NIC's profile is copied.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GuestText {
    kernel: Kernel,
}

impl Nic {
    /// Name in tests of the guest with a kernel.
    #[must_use]
    pub fn guest_name(kernel: &Kernel) -> String {
        format!("{GUEST}{kernel}")
    }

    /// Returns true if this is the name of a NIC that comes with the program, not a path.
    #[must_use]
    pub fn is_shipped(nic: &str) -> bool {
        guest_named(nic).is_some() || profile::is_shipped(nic)
    }

    /// Returns true if this is the name of a guest.
    #[must_use]
    pub fn is_guest(nic: &str) -> bool {
        guest_named(nic).is_some()
    }

    /// Loads the NIC named by `nic`: a guest (`rxe-6.1`), a profile that comes with the program, or (with a
    /// `/`, or ending in `.toml`) a file that holds either, relative to `folder`.
    ///
    /// # Errors
    /// There is no such NIC, or its file cannot be read or is wrong.
    pub fn load(nic: &str, folder: &Path) -> Result<Self, ProfileError> {
        if let Some(kernel) = guest_named(nic).or_else(|| guest_in(&folder.join(nic))) {
            return Ok(Self::Guest(kernel));
        }
        profile::load(nic, folder).map(|profile| Self::Model(Box::new(profile)))
    }

    /// As text; reading it gives the same.
    #[must_use]
    pub fn to_toml(&self) -> String {
        match self {
            Self::Model(profile) => profile.to_toml(),
            Self::Guest(kernel) => {
                format!("# rdma_rxe of a guest.\nkernel = \"{kernel}\"\n")
            }
        }
    }

    /// Name in reports.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Model(profile) => profile.name.clone(),
            Self::Guest(kernel) => Self::guest_name(kernel),
        }
    }
}

/// The kernel of a guest that is named so.
fn guest_named(nic: &str) -> Option<Kernel> {
    nic.strip_prefix(GUEST)?.parse().ok()
}

/// The kernel of a guest that a file stands for; any other file is a profile, or will be reported as a bad
/// one.
fn guest_in(path: &Path) -> Option<Kernel> {
    let is_file = path.extension().is_some_and(|extension| extension == "toml") && path.is_file();
    let text = corpus::read_text(path).ok().filter(|_| is_file)?;
    toml::from_str::<GuestText>(&text).ok().map(|guest| guest.kernel)
}
