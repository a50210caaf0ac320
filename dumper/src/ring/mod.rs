//! Sockets whose frames are in memory that is shared with the kernel, so that a frame takes no system call and fewer copies.
//!
//! [`Frames`] are those that come in at an interface, one by one, and [`Blocks`] have many at a time (AF_PACKET, packet(7), and
//! Linux's Documentation/networking/packet_mmap.rst). [`xdp`] takes them before the kernel's network stack does (AF_XDP,
//! Documentation/networking/af_xdp.rst).

#![allow(unsafe_code, reason = "memory that is shared with the kernel, and calls without safe wrappers")]

mod blocks;
mod ethtool;
mod frames;
mod memory;
mod socket;
mod tag;
pub mod xdp;

pub use blocks::{Blocks, Group};
pub use ethtool::ethtool;
pub use frames::{Frames, Taken};
pub use socket::{Interface, OpenError, sender};
