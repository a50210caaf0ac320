//! Names in the file of a testbed. They become parts of paths, and never reach a shell.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// Most characters of a name: the kernel's limit for that of a device (`IB_DEVICE_NAME_MAX`), without its end.
const MOST: usize = 63;

/// Name of a NIC.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct NicName(String);

/// Name of an RDMA device, as sysfs has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct DeviceName(String);

fn checked(name: String, others: &str) -> Result<String, String> {
    let is_of = |character: char| character.is_ascii_alphanumeric() || others.contains(character);
    let begins = name.chars().next().is_some_and(|first| first.is_ascii_alphanumeric());
    if begins && name.len() <= MOST && name.chars().all(is_of) {
        return Ok(name);
    }
    let others: Vec<String> = others.chars().map(|other| other.to_string()).collect();
    Err(format!(
        "{name:?} is no name; it has letters, digits and {}, begins with a letter or digit, and has at most {MOST} characters",
        others.join(" ")
    ))
}

impl TryFrom<String> for NicName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        checked(name, ".-").map(Self)
    }
}

impl FromStr for NicName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        name.to_owned().try_into()
    }
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        name.to_owned().try_into()
    }
}

impl TryFrom<String> for DeviceName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        checked(name, "._-").map(Self)
    }
}

impl NicName {
    /// It.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl DeviceName {
    /// It.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
