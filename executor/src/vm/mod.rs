//! Guests of the VM testbed: QEMU running a stock Debian kernel with soft-RoCE (`rdma_rxe`) and the agent.

mod error;
mod image;
mod kernel;
mod tool;

pub use error::VmError;
pub use image::{Build, Cache, Event, Image, Manifest, PackageVersion, default_agent};
pub use kernel::Kernel;
