//! Guests of the VM testbed: QEMU running a stock Debian kernel with soft-RoCE (`rdma_rxe`) and the agent.

mod accelerator;
mod cable;
mod capabilities;
pub mod check;
mod guest;
mod image;
mod kvm;
mod monitor;
mod p4;
mod pair;
mod qemu;
mod site;
mod snapshot;
mod switch;

pub use accelerator::Accelerator;
pub use cable::Cable;
pub use capabilities::capabilities;
pub use guest::{Guest, Sockets, Start};
pub use image::{Build, Cache, Image};
pub use p4::P4Switch;
pub use pair::{Pair, Wiring, guest_socket, sockets, switch_socket};
pub use qemu::Qemu;
pub use site::Site;
pub use switch::{Between, SoftwareSwitch};
