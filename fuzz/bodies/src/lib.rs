//! Bodies of the fuzz targets: one function a target, which panics when something is wrong.
//!
//! Plain functions, so that `cargo test` runs every committed corpus through them without a fuzzer.

#![allow(clippy::panic, reason = "to panic is how a body says that it found something")]

mod analyze;
mod capture;
mod choices;
mod config;
mod p4_source;
mod p4info;
mod p4runtime;
mod packet;
mod script;
mod services;
mod simulate;
mod switch;
mod target;
mod testbed_file;

use analyze::analyze;
use capture::{pcap, pcapng};
use config::{config_toml, config_yaml};
use p4_source::p4_source;
use p4info::p4info;
use p4runtime::p4runtime;
use packet::packet;
use script::script;
use services::services;
use simulate::simulate;
use switch::switch;
use target::target;
use testbed_file::testbed_file;

/// A target: its name, which is that of its corpus, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("analyze", analyze),
    ("config_toml", config_toml),
    ("config_yaml", config_yaml),
    ("p4_source", p4_source),
    ("p4info", p4info),
    ("p4runtime", p4runtime),
    ("packet", packet),
    ("pcap", pcap),
    ("pcapng", pcapng),
    ("script", script),
    ("services", services),
    ("simulate", simulate),
    ("switch", switch),
    ("target", target),
    ("testbed_file", testbed_file),
];
