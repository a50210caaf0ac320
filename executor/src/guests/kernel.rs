//! The kernels that guests can run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A Linux kernel as Debian ships it: the series whose `rdma_rxe` is under test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Kernel {
    /// Linux 6.1, of Debian 12.
    #[default]
    #[serde(rename = "6.1")]
    V6_1,
    /// Linux 6.12, of the backports of Debian 12.
    #[serde(rename = "6.12")]
    V6_12,
}

impl Kernel {
    /// Every kernel.
    pub const ALL: [Self; 2] = [Self::V6_1, Self::V6_12];

    /// Its series, as in `--kernel`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
        }
    }

    /// The Debian suite that has it, independent of the host's release.
    #[must_use]
    pub const fn suite(self) -> &'static str {
        match self {
            Self::V6_1 => "bookworm",
            Self::V6_12 => "bookworm-backports",
        }
    }

    /// Returns true if a release (`6.1.0-50-amd64`) is one of this series.
    pub(crate) fn has(self, release: &str) -> bool {
        release.strip_prefix(self.name()).is_some_and(|rest| rest.starts_with('.'))
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kernel {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kernel| kernel.name() == name)
            .ok_or_else(|| format!("no such kernel; there are {}", Self::ALL.map(Self::name).join(" and ")))
    }
}
