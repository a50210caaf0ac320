//! What the fuzz targets do with their input: one function a target, which panics when something is wrong.
//!
//! Plain functions, so that `cargo test` runs every committed corpus through them without a fuzzer.

#![allow(clippy::panic, reason = "to panic is how a body says that it found something")]

mod capture;
mod packet;

pub use capture::{pcap, pcapng};
pub use packet::packet;

/// A target: its name, which is that of its corpus, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[("packet", packet), ("pcap", pcap), ("pcapng", pcapng)];
