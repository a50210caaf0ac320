//! What all testbeds of guests share: processes that end with this one, consoles, folders of sockets, the parts of images,
//! and pairs of guests that are started when they are needed.

mod addresses;
pub(crate) mod agent;
pub(crate) mod apt;
mod capabilities;
pub(crate) mod checkup;
pub(crate) mod child;
mod console;
pub(crate) mod error;
mod first_process;
pub(crate) mod initramfs;
mod kernel;
pub(crate) mod libraries;
pub(crate) mod log;
pub(crate) mod manifest;
pub(crate) mod pack;
mod pairs;
pub(crate) mod programs;
pub mod run_folder;
pub(crate) mod store;
pub(crate) mod tool;
pub(crate) mod userland;

pub use crate::remote::Outcome;
pub use addresses::ADDRESSES;
pub(crate) use addresses::{MTU, mac_of, with_guests};
pub(crate) use capabilities::of_rxe;
pub use checkup::Step;
pub use console::Console;
pub(crate) use console::Fed;
pub use error::GuestError;
pub use first_process::FirstProcess;
pub use kernel::{Kernel, Options};
pub use manifest::{Manifest, PackageVersion};
pub(crate) use pairs::broken;
pub use pairs::{Pairs, Site};
pub use programs::beside_this;
pub use run_folder::RunFolder;

/// The agent of a host: the program that a guest runs, installed beside this one.
pub const AGENT: &str = dumper::observation::kernel::AGENT_PROGRAM;

/// Progress of a build, for people who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The next step.
    Step(&'a str),
    /// Percentage of a long step that is done.
    Percent(u8),
}
