//! Guests of the VM testbed: QEMU running a stock Debian kernel with soft-RoCE (`rdma_rxe`) and the agent.

pub mod check;
mod child;
pub mod console;
mod error;
mod guest;
mod image;
mod kernel;
mod monitor;
mod pair;
mod qemu;
pub mod run_folder;
mod snapshot;
mod tool;

pub use console::Console;
pub use error::VmError;
pub use guest::{Guest, Sockets, Start};
pub use image::{Build, Cache, Event, Image, Manifest, PackageVersion, default_agent};
pub use kernel::Kernel;
pub use pair::{Pair, Wiring, guest_socket, sockets, switch_socket};
pub use qemu::{ADDRESSES, Accelerator, Qemu};
pub use run_folder::RunFolder;
