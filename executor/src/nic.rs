//! Meaning of the `nic` of a host: the model of a NIC, or a guest that runs a real stack.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::TestbedName;
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
    /// The testbed that it ran on, and its kernel there.
    testbed: Option<TestbedName>,
    release: Option<String>,
    sha256: Option<String>,
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

    /// The same with the kernel that a guest has on a testbed: its release, and the checksum of its file. Without them if there
    /// is no image, so that no test runs either.
    #[must_use]
    pub fn text_on(&self, testbed: TestbedName) -> String {
        let text = self.to_toml();
        let Self::Guest(kernel) = self else { return text };
        let Some((release, sha256)) = testbed.kernel(kernel) else { return text };
        let testbed = testbed.of_findings().name();
        format!("{text}testbed = \"{testbed}\"\nrelease = \"{release}\"\nsha256 = \"{sha256}\"\n")
    }

    /// The testbed that a guest ran on, by the file that stands for it.
    #[must_use]
    pub fn testbed_in(path: &Path) -> Option<TestbedName> {
        guest_text(path)?.testbed
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
    guest_text(path).map(|guest| guest.kernel)
}

fn guest_text(path: &Path) -> Option<GuestText> {
    let is_file = path.extension().is_some_and(|extension| extension == "toml") && path.is_file();
    let text = corpus::read_text(path).ok().filter(|_| is_file)?;
    toml::from_str(&text).ok()
}
