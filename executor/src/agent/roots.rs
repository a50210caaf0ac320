//! Folders at which the kernel shows what it has of devices.

use std::path::{Path, PathBuf};

/// Folders at which the kernel's file systems are mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// sysfs.
    pub sys: PathBuf,
    /// debugfs.
    pub debug: PathBuf,
    /// configfs.
    pub config: PathBuf,
}

impl Default for Roots {
    /// Where every distribution mounts them.
    fn default() -> Self {
        Self { sys: "/sys".into(), debug: "/sys/kernel/debug".into(), config: "/sys/kernel/config".into() }
    }
}

/// One of the kernel's file systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// sysfs.
    Sys,
    /// debugfs.
    Debug,
    /// configfs.
    Config,
}

impl Root {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Sys, Self::Debug, Self::Config];

    /// Its word in a journal.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Sys => "sys",
            Self::Debug => "debug",
            Self::Config => "config",
        }
    }
}

impl Roots {
    /// The folder of a file system.
    #[must_use]
    pub fn of(&self, root: Root) -> &Path {
        match root {
            Root::Sys => &self.sys,
            Root::Debug => &self.debug,
            Root::Config => &self.config,
        }
    }
}
