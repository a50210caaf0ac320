//! Meaning of the `nic` of a host: the model of a NIC, a guest that runs a real stack, or a real NIC.

use std::path::Path;

use corpus::Role;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::TestbedName;
use crate::guests::Kernel;
use crate::physical::{Lab, NicName};
use crate::profile::{self, NicProfile, ProfileError};

/// NIC of a host in a test.
#[derive(Debug, Clone, PartialEq)]
pub enum Nic {
    /// A simulated NIC.
    Model(Box<NicProfile>),
    /// `rdma_rxe` in a guest with this kernel.
    Guest(Kernel),
    /// A real NIC, by its name in the file of its testbed.
    Real(NicName),
}

/// Names of guests in tests: this, and their kernel.
const GUEST: &str = "rxe-";

/// Names of real NICs in tests: this, and their name in the file of their testbed.
const REAL: &str = "real-";

/// The text that stands for a real NIC where a NIC's profile is copied.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RealText {
    real: String,
    /// What its host had.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    firmware: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    /// The switch is commanded in plaintext.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    insecure_switch: bool,
}

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
        guest_named(nic).is_some() || real_named(nic).is_some() || profile::is_shipped(nic)
    }

    /// Name in tests of a real NIC.
    #[must_use]
    pub fn real_name(nic: &NicName) -> String {
        format!("{REAL}{nic}")
    }

    /// Returns true if this is the name of a real NIC.
    #[must_use]
    pub fn is_real(nic: &str) -> bool {
        real_named(nic).is_some()
    }

    /// Returns true if this is the name of a guest.
    #[must_use]
    pub fn is_guest(nic: &str) -> bool {
        guest_named(nic).is_some()
    }

    /// Loads the NIC named by `nic`: a guest (`rxe-6.1`), a real NIC (`real-cx5`), a profile that comes with the program, or (with a
    /// `/`, or ending in `.toml`) a file that holds one of them, relative to `folder`.
    ///
    /// # Errors
    /// There is no such NIC, or its file cannot be read or is wrong.
    pub fn load(nic: &str, folder: &Path) -> Result<Self, ProfileError> {
        if let Some(kernel) = guest_named(nic).or_else(|| guest_in(&folder.join(nic))) {
            return Ok(Self::Guest(kernel));
        }
        if let Some(real) = real_named(nic).or_else(|| real_in(&folder.join(nic))) {
            return Ok(Self::Real(real));
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
            Self::Real(nic) => format!("# A real NIC.\nreal = \"{nic}\"\n"),
        }
    }

    /// The same with the kernel that a guest has on a testbed: its release, and the checksum of its file; and with what the host
    /// of a real NIC has there, as the one of a role. Without them if there is no image, or if the host does not answer, so
    /// that no test runs either.
    #[must_use]
    pub fn text_on(&self, testbed: &TestbedName, role: Role) -> String {
        let text = self.to_toml();
        if let (Self::Real(nic), TestbedName::File(path)) = (self, testbed) {
            return real_text(nic, path, role).unwrap_or(text);
        }
        let Self::Guest(kernel) = self else { return text };
        let Some((release, sha256)) = testbed.kernel(kernel) else { return text };
        let testbed = testbed.of_findings();
        let testbed = testbed.name();
        format!("{text}testbed = \"{testbed}\"\nrelease = \"{release}\"\nsha256 = \"{sha256}\"\n")
    }

    /// The testbed that a guest ran on, by the file that stands for it.
    #[must_use]
    pub fn testbed_in(path: &Path) -> Option<TestbedName> {
        text_of::<GuestText>(path)?.testbed
    }

    /// What the host of a guest or a real NIC had, by the file that stands for it, in words.
    #[must_use]
    pub fn told_in(path: &Path) -> Option<String> {
        if let Some(guest) = text_of::<GuestText>(path) {
            return Some(format!("Linux {}", guest.release?));
        }
        let RealText { device, driver, firmware, kernel, insecure_switch, .. } = text_of(path)?;
        let stack = match (driver.unwrap_or_default(), firmware.unwrap_or_default()) {
            (driver, _) if driver.is_empty() => String::new(),
            (driver, firmware) => format!(", driver {driver}, firmware {firmware}"),
        };
        let how =
            if insecure_switch { "; its switch was commanded in plaintext (insecure = true)" } else { "" };
        Some(format!("{}{stack}, Linux {}{how}", device?, kernel?))
    }

    /// Name in reports.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Model(profile) => profile.name.clone(),
            Self::Guest(kernel) => Self::guest_name(kernel),
            Self::Real(nic) => Self::real_name(nic),
        }
    }
}

/// The text of a real NIC with what its host has.
fn real_text(nic: &NicName, testbed: &Path, role: Role) -> Option<String> {
    let lab = Lab::open(testbed).ok()?;
    let host = lab.host(role);
    let text = RealText {
        real: nic.to_string(),
        device: Some(host.device.clone()),
        driver: Some(host.driver.clone()),
        firmware: Some(host.firmware.clone()),
        kernel: Some(host.kernel.clone()),
        insecure_switch: lab.file().is_insecure(),
    };
    Some(format!("# A real NIC.\n{}", toml::to_string(&text).ok()?))
}

/// The name of a real NIC that is named so.
fn real_named(nic: &str) -> Option<NicName> {
    nic.strip_prefix(REAL).filter(|_| !nic.ends_with(".toml"))?.parse().ok()
}

/// The name of a real NIC that a file stands for.
fn real_in(path: &Path) -> Option<NicName> {
    text_of::<RealText>(path)?.real.parse().ok()
}

/// The kernel of a guest that is named so.
fn guest_named(nic: &str) -> Option<Kernel> {
    nic.strip_prefix(GUEST)?.parse().ok()
}

/// The kernel of a guest that a file stands for; any other file is a profile, or will be reported as a bad
/// one.
fn guest_in(path: &Path) -> Option<Kernel> {
    text_of::<GuestText>(path).map(|guest| guest.kernel)
}

fn text_of<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let is_file = path.extension().is_some_and(|extension| extension == "toml") && path.is_file();
    let text = corpus::read_text(path).ok().filter(|_| is_file)?;
    toml::from_str(&text).ok()
}
