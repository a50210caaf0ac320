//! Guests of the VM testbed: QEMU running a stock Debian kernel with soft-RoCE (`rdma_rxe`) and the agent.

mod accelerator;
mod capabilities;
pub mod check;
mod child;
pub mod console;
mod error;
mod guest;
mod image;
mod kernel;
mod kvm;
mod monitor;
mod pair;
mod programs;
mod qemu;
pub mod run_folder;
mod site;
mod snapshot;
mod switch;
mod testbed;
mod tool;

pub use accelerator::Accelerator;
pub use capabilities::capabilities;
pub use console::Console;
pub use error::VmError;
pub use guest::{Guest, Sockets, Start};
pub use image::{Build, Cache, Event, Image, Manifest, PackageVersion};
pub use kernel::Kernel;
pub use pair::{Pair, Wiring, guest_socket, sockets, switch_socket};
pub use programs::beside_this;
pub use qemu::{ADDRESSES, Qemu};
pub use run_folder::RunFolder;
pub use testbed::Pairs;

/// The agent of a host: the program that a guest runs, installed beside this one.
pub const AGENT: &str = "lumina-agent";
