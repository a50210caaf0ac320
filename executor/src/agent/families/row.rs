//! Rows of the tables of families.

use corpus::RoceSetting;

use super::place::Place;

/// NICs whose RDMA devices have one driver.
#[derive(Debug)]
pub struct Family {
    /// The RDMA driver: mlx5, irdma.
    pub name: &'static str,
    /// Drivers that sysfs names for the device of the bus below an RDMA device of this family.
    pub drivers: &'static [&'static str],
    /// File in the folder of an RDMA device that only this family has, where there is no device of a bus.
    pub own_file: Option<&'static str>,
    /// Source files of the kernel that name these drivers or this file.
    pub named_in: &'static str,
    /// Source file of the kernel that has the firmware version of `fw_ver`; empty where there is no firmware.
    pub firmware: &'static str,
    /// Counters by the names that the driver gives them.
    pub counters: &'static [Counter],
    /// RoCE parameters of tests.
    pub settings: &'static [Setting],
    /// Knobs and values that are neither read nor set, and why.
    pub left_out: &'static [&'static str],
}

/// One counter.
#[derive(Debug)]
pub struct Counter {
    /// Its group.
    pub group: Group,
    /// Its name; `{priority}` is each priority of Ethernet.
    pub name: &'static str,
    /// The use that analyzers have for it.
    pub judged: Judged,
    /// What it counts.
    pub meaning: &'static str,
    /// Source file of the kernel that defines it.
    pub source: &'static str,
}

/// Group of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// `counters/` of a port of the RDMA device.
    Port,
    /// `hw_counters/` of a port of the RDMA device.
    Hw,
    /// `ethtool -S` of the network device.
    Ethtool,
}

impl Group {
    /// Where it is.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Port => "counters",
            Self::Hw => "hw_counters",
            Self::Ethtool => "ethtool -S",
        }
    }
}

/// Use that analyzers have for a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It is compared with the trace, by this cause (scoring/data/counters.toml).
    As(&'static str),
    /// It excuses packets that are missing.
    Discards,
    /// It excuses packets that are late.
    Pauses,
    /// None: it is recorded.
    Recorded,
}

/// A RoCE parameter of tests.
#[derive(Debug)]
pub struct Setting {
    /// The parameter.
    pub key: RoceSetting,
    /// Places that set it: the first that a host has is taken.
    pub places: &'static [Place],
    /// Why a host may have none of them, and what to use instead.
    pub otherwise: &'static str,
}

impl Setting {
    /// Its key in test files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        let path = self.key.path();
        path.rsplit_once('.').map_or(path, |(_, key)| key)
    }
}
